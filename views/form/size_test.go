package form_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/static"
	view "candor/views/form"
)

// maxHubBytes is what the first page may cost on a slow line: its HTML, style
// sheet and script, compressed, and the largest logo that is kept.
const maxHubBytes = 45 << 10

func TestHubIsSmall(t *testing.T) {
	t.Parallel()
	h := hub()
	h.Languages = domain.Languages[:]
	largest := 0
	for _, language := range domain.Languages {
		var html bytes.Buffer
		if err := in(language, view.Hub(h)).Render(t.Context(), &html); err != nil {
			t.Fatal(err)
		}
		largest = max(largest, compressed(t, html.Bytes()))
	}
	size := largest + domain.MaxLogoBytes
	for _, name := range []string{"app.css", "app.js", "icon.svg"} {
		content, err := fs.ReadFile(static.Files(), strings.TrimPrefix(static.URL(name), static.Prefix))
		if err != nil {
			t.Fatal(err)
		}
		size += compressed(t, content)
	}
	t.Logf("largest hub with style sheet, script and a logo of %d bytes: %d bytes compressed", domain.MaxLogoBytes, size)
	if size > maxHubBytes {
		t.Errorf("the hub costs %d bytes compressed, want at most %d", size, maxHubBytes)
	}
}

func compressed(t *testing.T, content []byte) int {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression) // as files are served
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}
