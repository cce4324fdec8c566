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

// folderLetters is how many letters a Folder keeps.
const folderLetters = 100

// Folder keeps letters as files instead of sending them, so that every process
// of a development machine sees them.
type Folder struct {
	dir    string
	logger *slog.Logger
}

var _ Sender = (*Folder)(nil)

// NewFolder returns a Folder in dir, which it makes.
func NewFolder(dir string, logger *slog.Logger) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("mail: make the folder of letters: %w", err)
	}
	return &Folder{dir: dir, logger: logger}, nil
}

// Send keeps the letter and logs that there is one; its links work, so they
// aren't logged.
func (f *Folder) Send(ctx context.Context, m Message) error {
	m.SentAt = time.Now().UTC()
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("mail: encode a letter: %w", err)
	}
	file, err := os.CreateTemp(f.dir, m.SentAt.Format("20060102T150405.000000000")+"-*.tmp") // 0600
	if err != nil {
		return fmt.Errorf("mail: keep a letter: %w", err)
	}
	_, err = file.Write(b)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("mail: keep a letter: %w", err)
	}
	if err := os.Rename(file.Name(), strings.TrimSuffix(file.Name(), ".tmp")+".json"); err != nil {
		return fmt.Errorf("mail: keep a letter: %w", err)
	}
	f.logger.WarnContext(ctx, "a letter was not sent, this being development: read it at /dev/mail", "subject", m.Subject)
	return nil
}

// Letters returns the letters, the latest first, and forgets the oldest where
// there are many.
func (f *Folder) Letters() ([]Message, error) {
	names, err := filepath.Glob(filepath.Join(f.dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("mail: list letters: %w", err)
	}
	slices.Sort(names)
	slices.Reverse(names)
	var out []Message
	for i, name := range names {
		if i >= folderLetters {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("mail: forget a letter: %w", err)
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
			return nil, fmt.Errorf("mail: read a letter: %w", err)
		}
		out = append(out, m)
	}
	return out, nil
}
