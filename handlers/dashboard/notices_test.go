package dashboard_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"candor/handlers/dashboard"
)

// noticeLeft finds the code that a call leaves as its last argument, or before
// that of changedSettings.
var noticeLeft = regexp.MustCompile(
	`(?m)(?:Leave|backTo|backToMe|changed\w+|rotated)\(.*"([a-z_]+)"(?:\)$|, func)|Dated\("([a-z_]+)"`)

// TestEveryNoticeHasAText reads the source: each code that a handler leaves has
// a text, and each text is left. One that says that nothing was done is listed as such.
func TestEveryNoticeHasAText(t *testing.T) {
	t.Parallel()
	sources := ""
	for _, folder := range []string{".", "auth"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if name != "notices.go" {
				sources += string(source)
			}
			for _, found := range noticeLeft.FindAllStringSubmatch(string(source), -1) {
				code := found[1] + found[2]
				if dashboard.NoticeTexts[code] == "" {
					t.Errorf("%s leaves the notice %q, which has no text", name, code)
				}
			}
		}
	}
	nothing := regexp.MustCompile(`[Nn]othing (changed|was)|Too late|not ready|had already`)
	for code, text := range dashboard.NoticeTexts {
		if nothing.MatchString(text) && !slices.Contains(dashboard.NoticesUndone, code) {
			t.Errorf("the notice %q looks like a success: %s", code, text)
		}
		if !strings.Contains(sources, `"`+code+`"`) {
			t.Errorf("no handler leaves the notice %q", code)
		}
	}
}
