package pdf

import (
	"bytes"
	"encoding/xml"
	"regexp"
	"strings"
	"testing"

	"candor/internal/statement"
)

func TestRenderDescribesItself(t *testing.T) {
	t.Parallel()
	in := international()
	in.AccountName = `A <b> & "c" ]]> 😀`
	file := render(t, in).Bytes
	text := poppler(t, file, "qpdf", "--qdf", "--object-streams=disable", "FILE", "-")
	for _, s := range []string{"/Lang (en-AU)", "/Metadata ", "<dc:creator><rdf:Seq><rdf:li>A &lt;b&gt; &amp; &#34;c&#34; ]]&gt; \uFFFD</rdf:li>",
		"<dc:description><rdf:Alt><rdf:li xml:lang=\"x-default\">" + in.SessionID, "<xmp:CreateDate>2026-11-20T03:14:15Z<"} {
		if !strings.Contains(text, s) {
			t.Errorf("the file lacks %q", s)
		}
	}
	if !bytes.HasPrefix(file, []byte("%PDF-1.4\n")) { // XMP is of that version
		t.Errorf("the file starts with %q", file[:9])
	}
	meta := poppler(t, file, "pdfinfo", "-meta", "FILE")
	var parsed struct{}
	if err := xml.Unmarshal([]byte(meta), &parsed); err != nil || !strings.Contains(meta, "<dc:language>") {
		t.Errorf("the XMP isn't linked, or no XML (%v): %s", err, meta)
	}
	if n := strings.Count(text, "/Title ") - 1; n != statement.SectionsTotal { // one is the document's
		t.Errorf("%d bookmarks, want %d", n, statement.SectionsTotal)
	}
	fonts := strings.Split(strings.TrimSpace(poppler(t, file, "pdffonts", "FILE")), "\n")[2:]
	names := map[string]bool{}
	for _, font := range fonts {
		name := strings.Fields(font)[0]
		if !regexp.MustCompile(`^[A-Z]{6}\+DejaVuSansCondensed(-Bold)?$`).MatchString(name) || !regexp.MustCompile(`yes yes yes`).MatchString(font) || names[name] {
			t.Errorf("font %q", font)
		}
		names[name] = true
	}
	if len(fonts) < 4 {
		t.Errorf("only %d fonts", len(fonts))
	}
}
