package devpg

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ErrNoBinaries is returned when PostgreSQL is not installed.
var ErrNoBinaries = errors.New(
	"devpg: no PostgreSQL server programs (initdb, postgres) found: apt-get install postgresql, or brew install postgresql, or set DATABASE_URL to a running server")

var versionPattern = regexp.MustCompile(`\d+`)

// usualPlaces are where packages put the server's programs outside PATH.
var usualPlaces = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
	"/usr/local/pgsql/bin",
}

// FindBinDir returns the folder of initdb and postgres: dir itself if given,
// else the one on PATH, pg_config's, or the newest in the usual places.
func FindBinDir(dir string) (string, error) {
	dirs := candidates(dir)
	if len(dirs) == 0 && dir != "" {
		return "", fmt.Errorf("devpg: no initdb and postgres in %s: name another folder, or none to search for them", dir)
	}
	if len(dirs) == 0 {
		return "", ErrNoBinaries
	}
	return dirs[0], nil
}

// binariesFor is FindBinDir for an existing data folder, whose major version
// the programs must match.
func binariesFor(data, dir string) (string, error) {
	first, err := FindBinDir(dir)
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return first, nil //nolint:nilerr // no data yet: any version will do
	}
	want := strings.TrimSpace(string(b))
	for _, d := range candidates(dir) {
		out, err := exec.Command(filepath.Join(d, "postgres"), "--version").Output()
		if err == nil && versionPattern.FindString(string(out)) == want {
			return d, nil
		}
	}
	return "", fmt.Errorf(
		"devpg: %s was made by PostgreSQL %s, which is not installed: install it, or move the folder away to start afresh", data, want)
}

// candidates lists the usable folders, best first.
func candidates(dir string) []string {
	var dirs []string
	if dir != "" {
		dirs = []string{dir}
	} else {
		if p, err := exec.LookPath("postgres"); err == nil {
			if real, err := filepath.EvalSymlinks(p); err == nil {
				p = real
			}
			dirs = append(dirs, filepath.Dir(p))
		}
		if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
			dirs = append(dirs, strings.TrimSpace(string(out)))
		}
		dirs = append(dirs, installed()...)
	}
	return slices.DeleteFunc(dirs, func(d string) bool { return !isExecutable(d, "initdb") || !isExecutable(d, "postgres") })
}

// installed globs the usual places, newest version first.
func installed() []string {
	var dirs []string
	for _, pattern := range usualPlaces {
		found, _ := filepath.Glob(pattern) // the patterns are constant and valid
		dirs = append(dirs, found...)
	}
	major := func(d string) int {
		n, _ := strconv.Atoi(versionPattern.FindString(d))
		return n
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return major(b) - major(a) })
	return dirs
}

func isExecutable(dir, name string) bool {
	st, err := os.Stat(filepath.Join(dir, name))
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}
