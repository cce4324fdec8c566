package pdf

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// attachedData extracts the only file in a PDF.
func attachedData(t *testing.T, file []byte) (list string, content []byte) {
	t.Helper()
	list = poppler(t, file, "pdfdetach", "-list", "FILE")
	out := filepath.Join(t.TempDir(), "data.json")
	poppler(t, file, "pdfdetach", "-save", "1", "-o", out, "FILE")
	content, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return list, content
}

// The PDF holds the exact bytes of the data, and the digest that it prints is
// theirs (D81).
func TestRenderAttachesTheData(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]Statement{"full": full(), "sparse": sparse(), "international": international(),
		"longest": longest()} {
		want, err := json.Marshal(in.Answers)
		if err != nil {
			t.Fatal(err)
		}
		file := render(t, in).Bytes
		list, got := attachedData(t, file)
		if !strings.HasPrefix(list, "1 embedded files\n1: financial_statement_"+in.SessionID+".json") || !bytes.Equal(got, want) {
			t.Errorf("%s: the PDF has %s of %d bytes, want the %d bytes of the data", name, list, len(got), len(want))
		}
		if !strings.Contains(squash(textOf(t, file)), fmt.Sprintf("%x", sha256.Sum256(got))) {
			t.Errorf("%s: the document doesn't show the SHA-256 of the data in it", name)
		}
		if objects := poppler(t, file, "qpdf", "--json", "--json-key=attachments", "FILE"); !strings.Contains(objects,
			`"mimetype": "application/json"`) ||
			!strings.Contains(objects, `"creationdate": "2026-11-20T03:14:15Z"`) {
			t.Errorf("%s: the attachment is %s", name, objects)
		}
	}
}

// An invoice has no attachment.
func TestInvoiceAttachesNothing(t *testing.T) {
	t.Parallel()
	if list := poppler(t, renderInvoice(t, crowded()).Bytes, "pdfdetach", "-list", "FILE"); list != "0 embedded files\n" {
		t.Errorf("an invoice has %s", list)
	}
}
