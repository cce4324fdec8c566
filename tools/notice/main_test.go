package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestNotice checks that the licence of everything in the program is known, and that
// the text names it.
func TestNotice(t *testing.T) {
	t.Parallel()
	text, err := notice("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`Go go1\.\d+\S* \(BSD\)`,
		`github\.com/riverqueue/river v\S+ \(MPL-2\.0\)\nhttps://pkg\.go\.dev/github\.com/riverqueue/river@v`,
		`codeberg\.org/go-fonts/dejavu v\S+ \(.*Bitstream Vera.*\)`,
		`htmx\.org 4\.\S+ \(0BSD\)`, `lucide-static \S+ \(.*ISC.*\)`, `@fontsource-variable/inter \S+ \(OFL-1\.1\)`,
		`@expo-google-fonts/inter \S+ \(.*OFL-1\.1\)`, `@expo-google-fonts/noto-sans-sc \S+ \(.*OFL-1\.1\)`, // of PDFs
		`candor \(MIT\)\nfiles of Candor's source`, // the list of common passwords
	} {
		if !regexp.MustCompile(`(?m)^` + want).Match(text) {
			t.Errorf("the notice has no line %s", want)
		}
	}
	for _, no := range []string{"stripe-mock", "chromedp", "axe-core"} { // for tests and tools
		if strings.Contains(string(text), no) {
			t.Errorf("the notice names %s, which isn't in the program", no)
		}
	}
	if n := strings.Count(string(text), "1.8. \"License\""); n > 2 { // with two first lines
		t.Errorf("the text of the MPL is there %d times, want once for each first line", n)
	}
}

// TestUnknownLicence checks that a licence which wasn't looked at stops the release.
func TestUnknownLicence(t *testing.T) {
	t.Parallel()
	p := part{name: "example.com/odd", version: "v1.0.0", files: []string{"../../go.mod"}}
	if err := p.write(nil, map[string]string{}); err == nil || !strings.Contains(err.Error(),
		"example.com/odd v1.0.0 has no licence") {
		t.Errorf("an unknown licence: %v", err)
	}
}
