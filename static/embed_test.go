package static

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

func TestURLNamesABuiltFile(t *testing.T) {
	t.Parallel()
	if err := Check(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"app.css", "app.js", "icon.svg"} {
		url := URL(name)
		file, ok := strings.CutPrefix(url, Prefix)
		if !ok {
			t.Fatalf("URL(%q) = %q, want a path below %s", name, url, Prefix)
		}
		info, err := fs.Stat(Files(), file)
		if err != nil {
			t.Fatalf("URL(%q) names a file that isn't built: %v", name, err)
		}
		if info.Size() == 0 {
			t.Errorf("%s is empty", file)
		}
	}
}

func TestURLOfUnknownFileSaysWhy(t *testing.T) {
	t.Parallel()
	if got := URL("nothing.css"); !strings.Contains(got, "not-in-static-build") {
		t.Errorf("URL of an unknown file = %q, want a path that says it isn't built", got)
	}
}

func TestUnbuiltTreeIsReported(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"dist/.gitkeep": {}}
	if _, err := parseManifest(tree); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("parseManifest of a tree without a build = %v, want ErrNotBuilt", err)
	}
}
