package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
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

// String is the folder.
func (f *Files) String() string { return f.dir }

var validID = regexp.MustCompile(`^[a-z0-9_]{8,64}$`)

// These end the name of a file that is being written, by Put and by Add.
const (
	unfinished = ".part"
	unmoved    = ".move.part"
)

// place is the blob's file; the last characters of an id are random, so they
// spread the files over folders.
func (f *Files) place(id string) (string, error) {
	if !validID.MatchString(id) {
		return "", malformed(id)
	}
	return filepath.Join(f.dir, id[len(id)-2:], id), nil
}

func malformed(id string) error { return fmt.Errorf("blob id %q is malformed", id) }

// Put stores what r yields.
func (f *Files) Put(_ context.Context, id string, r io.Reader) error {
	path, err := f.place(id)
	if err != nil {
		return err
	}
	return f.write(path, unfinished, r, os.Rename)
}

// Add stores what r yields, or returns ErrExists. Calls for one folder wait for each
// other, in other processes too: they write to the same file if the id is the same.
func (f *Files) Add(_ context.Context, id string, r io.Reader) error {
	path, err := f.place(id)
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("store blob: %w", err)
	}
	lock, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("store blob: %w", err)
	}
	defer lock.Close() // ends the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("store blob: %w", err)
	}
	// Not Put's name: the service can put the blob at the same time.
	err = f.write(path, unmoved, r, func(temp, path string) error {
		return errors.Join(os.Link(temp, path), os.Remove(temp))
	})
	switch {
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	case errors.Is(err, fs.ErrNotExist): // Delete removed what was being written
		return ErrNotFound
	}
	return err
}

// write writes a file beside path, and finish gives it that name. The file's name
// follows from the id, so that Delete finds what a crash left.
func (f *Files) write(path, suffix string, r io.Reader, finish func(temp, path string) error) (err error) {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return storeError(err)
	}
	temp, err := os.OpenFile(path+suffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return storeError(err)
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
		err = finish(temp.Name(), path)
	}
	if err == nil {
		err = errors.Join(syncFolder(folder), syncFolder(f.dir))
	}
	if err != nil {
		return storeError(err)
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
	for _, name := range []string{path, path + unfinished, path + unmoved} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete blob: %w", err)
		}
	}
	if err := syncFolder(filepath.Dir(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete blob: %w", err)
	}
	return nil
}

// List yields the ids and sizes of all blobs.
func (f *Files) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		err := filepath.WalkDir(f.dir, func(_ string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			if d.IsDir() || !validID.MatchString(d.Name()) {
				return nil
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && !yield(Info{ID: d.Name(), Size: info.Size()}, nil) {
				return fs.SkipAll
			}
			return err
		})
		if err != nil {
			yield(Info{}, fmt.Errorf("list blobs: %w", err))
		}
	}
}
