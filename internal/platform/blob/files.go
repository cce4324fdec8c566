package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// Files is a Store in a folder of the file system. A blob is written to a
// temporary file, synced and renamed, so that it is there whole or not at
// all, also after a power cut.
type Files struct{ dir string }

// NewFiles returns a Store in dir, which is made where it is missing.
func NewFiles(dir string) (*Files, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder for documents: %w", err)
	}
	return &Files{dir}, nil
}

var validID = regexp.MustCompile(`^[a-z0-9_]{8,64}$`)

// unfinished ends the name of a file that is being written.
const unfinished = ".part"

// place is the blob's file; the last characters of an id are random, so they
// spread the files over folders.
func (f *Files) place(id string) (string, error) {
	if !validID.MatchString(id) {
		return "", fmt.Errorf("blob id %q is malformed", id)
	}
	return filepath.Join(f.dir, id[len(id)-2:], id), nil
}

// Put stores what r yields.
func (f *Files) Put(_ context.Context, id string, r io.Reader) (err error) {
	path, err := f.place(id)
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("store blob: %w", err)
	}
	// The name follows from the id, so that Delete finds what a crash left.
	temp, err := os.OpenFile(path+unfinished, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("store blob: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name()) // the first error is the one to tell
		}
	}()
	_, err = io.Copy(temp, r)
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err == nil {
		err = errors.Join(syncFolder(folder), syncFolder(f.dir))
	}
	if err != nil {
		return fmt.Errorf("store blob: %w", err)
	}
	return nil
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Open returns a blob for reading, or ErrNotFound.
func (f *Files) Open(_ context.Context, id string) (io.ReadCloser, error) {
	path, err := f.place(id)
	if err != nil {
		return nil, ErrNotFound
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	return file, err
}

// Delete removes a blob, an unfinished one too.
func (f *Files) Delete(_ context.Context, id string) error {
	path, err := f.place(id)
	if err != nil {
		return err
	}
	for _, name := range []string{path, path + unfinished} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete blob: %w", err)
		}
	}
	if err := syncFolder(filepath.Dir(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete blob: %w", err)
	}
	return nil
}
