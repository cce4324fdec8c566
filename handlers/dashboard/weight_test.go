package dashboard_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/static"
)

// maxFirstView is what a first view of the dashboard may weigh, compressed, in bytes:
// the page, its style, scripts, icons and typeface.
const maxFirstView = 80 << 10

// TestFirstViewIsLight: a page that follows changes has htmx, others don't.
func TestFirstViewIsLight(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	for path, follows := range map[string]bool{"": true, "/sessions": true, "/settings": false, "/team": false} {
		answer := owner.Get("/dashboard/test" + path)
		shown := owner.WantPage(answer, http.StatusOK)
		sum := len(compressed(t, answer.Body.Bytes()))
		files := append(shown.Loads("/static/"), static.URL("icons.svg"))
		if len(files) < 5 {
			t.Errorf("%q loads %q", path, files)
		}
		for _, file := range files {
			content := owner.Get(file).Body.Bytes()
			if packed := compressed(t, content); len(packed) < len(content) {
				content = packed
			}
			sum += len(content)
		}
		t.Logf("%q: %d bytes in %d files", path, sum, len(files))
		if most := maxFirstView; sum > most {
			t.Errorf("%q weighs %d bytes, want at most %d", path, sum, most)
		}
		if got := len(shown.Loads("/static/live-")) > 0; got != follows {
			t.Errorf("%q loads htmx: %t, want %t", path, got, follows)
		}
	}
}

func compressed(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
