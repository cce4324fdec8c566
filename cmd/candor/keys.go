package main

import (
	"os"
	"path/filepath"

	"candor/internal/platform/keyring"
)

// openKeys returns the configured keys, or those of the data folder, which
// are made the first time.
func openKeys(c Config) (*keyring.Keyring, error) {
	if c.Keys != nil {
		return c.Keys, nil
	}
	text, err := keepOnce(filepath.Join(c.DataDir, "secret-keys"), func() []byte { return []byte(keyring.Generate("development")) })
	if err != nil {
		return nil, err
	}
	return keyring.Parse(string(text))
}

// keepOnce returns the content of a file, which is made where it is missing:
// whole and by one process alone, and for its owner's eyes.
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
	// A link, unlike a rename, fails where another process was first.
	if err := os.Link(fresh.Name(), path); err != nil && !os.IsExist(err) {
		return nil, err
	}
	return os.ReadFile(path)
}
