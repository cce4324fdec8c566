package pdf

import (
	"os"
	"path/filepath"
	"testing"

	"codeberg.org/go-fonts/dejavu/dejavusanscondensed"
)

// TestInstalledFont looks below a folder of its own, for a letter that DejaVu has.
func TestInstalledFont(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put := func(place int, content []byte) string {
		path := filepath.Join(root, installed[place])
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if got := installedFont(root, 'ж'); got != "" {
		t.Errorf("found %s in an empty folder", got)
	}
	put(0, append([]byte("ttcf"), dejavusanscondensed.TTF[4:]...))
	want := put(1, dejavusanscondensed.TTF)
	if got := installedFont(root, 'ж'); got != want {
		t.Errorf("found %q, want %s: the first can't be embedded", got, want)
	}
	if got := installedFont(root, '中'); got != "" {
		t.Errorf("found %s, which has no Chinese", got)
	}
}
