package pdf

import (
	"bytes"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"candor/internal/statement"
	"candor/internal/testkit"
)

func TestRenderDescribesItself(t *testing.T) {
	t.Parallel()
	in := international()
	in.AccountName = `A <b> & "c" ]]> 😀`
	file := render(t, in).Bytes
	text := poppler(t, file, "qpdf", "--qdf", "--object-streams=disable", "FILE", "-")
	for _, s := range []string{"/Lang (en-AU)", "/Metadata ",
		"<dc:creator><rdf:Seq><rdf:li>A &lt;b&gt; &amp; &#34;c&#34; ]]&gt; [U+1F600]</rdf:li>",
		"<dc:description><rdf:Alt><rdf:li xml:lang=\"x-default\">" + in.SessionID, "<xmp:CreateDate>2026-11-20T03:14:15Z<"} {
		if !strings.Contains(text, s) {
			t.Errorf("the file lacks %q", s)
		}
	}
	if !bytes.HasPrefix(file, []byte("%PDF-1.7\n")) { // signatures are of that version
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
		if !regexp.MustCompile(`^[A-Z]{6}\+(Inter|Inter-SemiBold|NotoSansSC|DejaVuSansCondensed)$`).MatchString(name) ||
			!regexp.MustCompile(`yes yes yes`).MatchString(font) || names[name] {
			t.Errorf("font %q", font)
		}
		names[name] = true
	}
	if len(fonts) < 2 {
		t.Errorf("only %d fonts", len(fonts))
	}
}

// pdfcpu is strict if asked, and shares no code with what wrote the files.
func TestRenderIsValid(t *testing.T) {
	t.Parallel()
	testkit.Slow(t) // pdfcpu is compiled first
	root, err := testkit.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"invoice": renderInvoice(t, crowded()).Bytes}
	for name, in := range map[string]Statement{"full": full(), "sparse": sparse(), "international": international(),
		"longest": longest()} {
		files[name] = render(t, in).Bytes
	}
	for name, file := range files {
		path := filepath.Join(t.TempDir(), name+".pdf")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		check := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools/lint.mod", "pdfcpu", "validate", "--conf=disable",
			"--mode=strict", path)
		check.Dir = root
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
