package docs_test

import (
	"html"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// get is a page as anyone gets it.
func get(h *harness.Harness, path string) string {
	h.Helper()
	answer := h.SignedOut().Get(path)
	if answer.Code != http.StatusOK {
		h.Fatalf("GET %s: %d", path, answer.Code)
	}
	return answer.Body.String()
}

var (
	codeBlock = regexp.MustCompile(`(?s)<code id="([^"]+)" class="language-(\w+)">(.*?)</code>`)
	markup    = regexp.MustCompile(`<[^>]+>`)
)

// A block is code of a page, as a reader copies it.
type block struct{ id, language, code string }

func blocks(page string) (out []block) {
	for _, m := range codeBlock.FindAllStringSubmatch(page, -1) {
		out = append(out, block{m[1], m[2], html.UnescapeString(markup.ReplaceAllString(m[3], ""))})
	}
	return out
}

// part is the section of a page that has the heading with that id.
func part(page, id string) string {
	_, after, _ := strings.Cut(page, `id="`+id+`"`)
	section, _, _ := strings.Cut(after, "</section>")
	return section
}
