package doc

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// avoided are words and phrases of CONTRIBUTING.md's English section. The last
// ones are former names of things that have one name now.
var avoided = regexp.MustCompile(
	`(?i)\b(nobody|somebody|whoever|anew|meanwhile|works? no more|(?:goes|going|go|went) on (?:in|by|as|for|until|to|with)\b|goes on\b|as it says|` +
		`is called from now on|(?:is|are|was|were) told of|had come to an end|deeds?|front ?doors?|wish(?:es)?)\b`)

// quoted are texts that have such a word on purpose, by file: "" for the whole
// file.
var quoted = map[string][]string{
	"":                    {"NoBody", "nobody@"}, // of net/http; an address in tests
	"CONTRIBUTING.md":     {`Avoid: nobody, somebody, whoever, anew, meanwhile, "works no more", "goes on", "as it says".`},
	"doc/english_test.go": {""},

	"db/schema.sql": {"so that nobody deadlocks"}, // from a released migration

	"internal/platform/devpg/place.go": {`"postgres", "nobody"`}, // a user of the system
}

// TestPlainEnglish finds words that our English avoids, in every file that is
// written by hand.
func TestPlainEnglish(t *testing.T) {
	t.Parallel()
	for _, path := range append(sources(t, ".go", ".templ", ".md", ".sh", ".css", ".js", ".mjs", ".sql", ".yml"), "../Makefile") {
		name := filepath.ToSlash(strings.TrimPrefix(path, "../"))
		if strings.HasPrefix(name, "db/migrations/") || strings.HasPrefix(name, "static/dist/") || strings.Contains(name, "testdata/") {
			continue // released, built or given
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := string(content)
		for _, quote := range slices.Concat(quoted[""], quoted[name]) {
			if quote == "" {
				text = ""
			}
			text = strings.ReplaceAll(text, quote, "")
		}
		for i, line := range strings.Split(text, "\n") {
			for _, word := range avoided.FindAllString(line, -1) {
				t.Errorf("%s:%d: %q: say it in plain English, see CONTRIBUTING.md", name, i+1, word)
			}
		}
	}
}
