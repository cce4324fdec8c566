// Package doc holds the project's documents to its code.
package doc

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDecisionsAreCited holds decisions.md to the code: each number that a
// comment or a test cites is on that page, and each on that page is cited.
func TestDecisionsAreCited(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("decisions.md")
	if err != nil {
		t.Fatal(err)
	}
	decided := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^- \*\*(D\d+)\.\*\* `).FindAllStringSubmatch(string(page), -1) {
		if decided[match[1]] {
			t.Errorf("decisions.md has %s twice", match[1])
		}
		decided[match[1]] = true
	}
	if len(decided) < 50 {
		t.Fatalf("found only %d decisions: is decisions.md written in another way now?", len(decided))
	}
	cited := map[string]string{}
	number := regexp.MustCompile(`\bD[1-9]\d*\b`)
	for _, path := range sources(t, ".go", ".templ", ".sql") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range number.FindAllString(string(text), -1) {
			cited[d] = path
		}
	}
	for d, path := range cited {
		if !decided[d] {
			t.Errorf("%s cites %s, which isn't in decisions.md", path, d)
		}
	}
	for d := range decided {
		if cited[d] == "" {
			t.Errorf("no code or test cites %s: cite it where it is carried out", d)
		}
	}
}

// sources lists the project's files that were written by hand and end with one
// of the given extensions.
func sources(t *testing.T, extensions ...string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || len(entry.Name()) > 2 && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case strings.HasSuffix(path, "_templ.go") || !slices.Contains(extensions, filepath.Ext(path)):
			return nil
		}
		out = append(out, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
