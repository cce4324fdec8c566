package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"candor/cmd/candor/config"
	"candor/internal/platform/keyring"
)

// openDataDir creates the data folder and checks that it can be written.
func openDataDir(dir string) error {
	unusable := func(err error) error {
		return fmt.Errorf("can't write in the data folder: %w: make it writable, or set CANDOR_DATA_DIR to another folder", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return unusable(err)
	}
	probe, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return unusable(err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return unusable(err)
	}
	return nil
}

// openKeys returns the configured keys, or the keys in the data folder, which are
// generated at the first start.
func openKeys(c config.Config) (*keyring.Keyring, error) {
	if c.Keys != nil {
		return c.Keys, nil
	}
	text, err := keepOnce(filepath.Join(c.DataDir, "secret-keys"), func() []byte { return []byte(keyring.Generate("development")) })
	if err != nil {
		return nil, err
	}
	return keyring.Parse(string(text))
}

// keepOnce returns the content of a file. It creates the file if it is missing, as
// a whole, in one process only, and readable by its owner only.
func keepOnce(path string, content func() []byte) ([]byte, error) {
	found, err := os.ReadFile(path)
	if !os.IsNotExist(err) {
		return found, err
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), ".new-") // mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(fresh.Name())
	_, err = fresh.Write(content())
	if closeErr := fresh.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	// A link, unlike a rename, fails if another process was first.
	if err := os.Link(fresh.Name(), path); err != nil && !os.IsExist(err) {
		return nil, err
	}
	return os.ReadFile(path)
}
