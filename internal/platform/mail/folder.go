package mail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// folderSize is how many emails a Folder keeps.
const folderSize = 100

// Folder stores emails as files instead of sending them, so that every process of
// a development machine sees them.
type Folder struct {
	dir    string
	logger *slog.Logger
}

var _ Sender = (*Folder)(nil)

// NewFolder returns a Folder in dir, and makes dir.
func NewFolder(dir string, logger *slog.Logger) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("mail: make the folder of emails: %w", err)
	}
	return &Folder{dir: dir, logger: logger}, nil
}

// Send stores the email and logs its subject. The links in it work, so its text
// isn't logged.
func (f *Folder) Send(ctx context.Context, m Message) error {
	if err := m.Claimed(ctx); err != nil {
		return err
	}
	m.SentAt = time.Now().UTC()
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("mail: encode an email: %w", err)
	}
	file, err := os.CreateTemp(f.dir, m.SentAt.Format("20060102T150405.000000000")+"-*.tmp") // 0600
	if err != nil {
		return fmt.Errorf("mail: store an email: %w", err)
	}
	_, err = file.Write(b)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("mail: store an email: %w", err)
	}
	if err := os.Rename(file.Name(), strings.TrimSuffix(file.Name(), ".tmp")+".json"); err != nil {
		return fmt.Errorf("mail: store an email: %w", err)
	}
	f.logger.WarnContext(ctx, "an email was stored instead of sent, as this is development: read it at /dev/mail",
		"subject", m.Subject)
	return nil
}

// Emails returns the emails, latest first. If there are more than folderSize, it
// deletes the oldest.
func (f *Folder) Emails() ([]Message, error) {
	names, err := filepath.Glob(filepath.Join(f.dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("mail: list emails: %w", err)
	}
	slices.Sort(names)
	slices.Reverse(names)
	var out []Message
	for i, name := range names {
		if i >= folderSize {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("mail: delete an email: %w", err)
			}
			continue
		}
		b, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var m Message
		if err == nil {
			err = json.Unmarshal(b, &m)
		}
		if err != nil {
			return nil, fmt.Errorf("mail: read an email: %w", err)
		}
		out = append(out, m)
	}
	return out, nil
}
