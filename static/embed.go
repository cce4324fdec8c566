// Package static embeds the built style sheets and scripts and knows their
// hashed file names. It doesn't know how they are served or which page uses
// them: handlers set the cache headers (the bytes of a hashed name never
// change). With the build tag dev, of `make dev`, it reads the files from
// static/dist at start, so that a changed style needs no new binary.
package static

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"sync"
)

// Prefix is the URL path, with both slashes, under which Files is served.
const Prefix = "/static/"

// ErrNotBuilt is returned if the binary was compiled before the front end.
var ErrNotBuilt = errors.New("static/dist has no manifest.json: run `make build`")

var manifest = sync.OnceValues(readManifest)

func readManifest() (map[string]string, error) {
	return parseManifest(dist)
}

func parseManifest(files fs.FS) (map[string]string, error) {
	raw, err := fs.ReadFile(files, "dist/manifest.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotBuilt
	}
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	var names map[string]string
	if err := json.Unmarshal(raw, &names); err != nil {
		return nil, fmt.Errorf("parse manifest: %w", err)
	}
	return names, nil
}

// Check returns ErrNotBuilt if the front end wasn't built. The server calls it
// at start, so that no page is served without its styles.
func Check() error {
	_, err := manifest()
	return err
}

// URL returns the path of the built file for a source such as "app.css", with
// its hash. The path for an unknown name returns 404 and says what to do.
func URL(name string) string {
	names, err := manifest()
	if err != nil {
		return Prefix + name + "?run-make-build"
	}
	file, ok := names[name]
	if !ok {
		return Prefix + name + "?not-in-static-build.mjs"
	}
	return path.Join(Prefix, file)
}

// hashed matches the name of a built file: its source's name, hash and ending.
var hashed = regexp.MustCompile(`^(.+)-[0-9A-Z]{8}(\.[a-z0-9]+)$`)

// Sibling returns the name of the built file whose source has the same name as that
// of a file from another build, and whether there is one.
func Sibling(name string) (string, bool) {
	parts := hashed.FindStringSubmatch(name)
	names, err := manifest()
	if parts == nil || err != nil {
		return "", false
	}
	file, ok := names[parts[1]+parts[2]]
	return file, ok
}

// Files returns the built files, at the root of the file system.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		// Only an invalid path fails, and this one is a constant.
		panic(err)
	}
	return files
}
