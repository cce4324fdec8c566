package views_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"strings"
	"testing"

	"candor/static"
	"candor/views"
)

// maxHubBytes is what the first page may cost on a slow line: its HTML, style
// sheet and script, compressed.
const maxHubBytes = 60 << 10

func TestHubIsSmall(t *testing.T) {
	t.Parallel()
	var html bytes.Buffer
	if err := views.Hub(hub()).Render(t.Context(), &html); err != nil {
		t.Fatal(err)
	}
	size := compressed(t, html.Bytes())
	for _, name := range []string{"app.css", "app.js", "icon.svg"} {
		content, err := fs.ReadFile(static.Files(), strings.TrimPrefix(static.URL(name), static.Prefix))
		if err != nil {
			t.Fatal(err)
		}
		size += compressed(t, content)
	}
	t.Logf("hub with style sheet and script: %d bytes compressed", size)
	if size > maxHubBytes {
		t.Errorf("the hub costs %d bytes compressed, want at most %d", size, maxHubBytes)
	}
}

func compressed(t *testing.T, content []byte) int {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}
