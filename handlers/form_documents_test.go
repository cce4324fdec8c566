package handlers_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"candor/internal/statement"
)

// pdfOf is a file of that many bytes that begins as a PDF does.
func pdfOf(size int) []byte {
	return append([]byte("%PDF-1.7\n"), make([]byte, size-len("%PDF-1.7\n"))...)
}

// picture encodes a small image.
func picture(t *testing.T, encode func(io.Writer, image.Image) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bomb is a PNG of some bytes that claims to be 60,000 pixels square.
func bomb() []byte {
	header := append([]byte("IHDR"), 0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60, 8, 6, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	out = append(out, header...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(header))
}

func TestUploadsThatAreAccepted(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	files := []struct {
		name, stored, kind string
		content            []byte
	}{
		{"just fits.pdf", "just fits.pdf", "application/pdf", pdfOf(statement.MaxDocumentBytes)},
		{"photo.jpg", "photo.jpg", "image/jpeg", picture(t, func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) })},
		{"scan.txt", "scan.txt.png", "image/png", picture(t, png.Encode)},
		{"IMG_1.HEIC", "IMG_1.HEIC", "image/heic", []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00")},
		{"../../etc/passwd", "passwd.pdf", "application/pdf", pdfOf(20)},
		{"..", "document.pdf", "application/pdf", pdfOf(21)},
		{"report.hta", "report.hta.pdf", "application/pdf", pdfOf(23)},
		{"statement.PDF", "statement.PDF", "application/pdf", pdfOf(24)},
		{"holiday.JPG", "holiday.JPG", "image/jpeg", picture(t, func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) })},
		{"licence.jpeg", "licence.jpeg", "image/jpeg", picture(t, func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) })},
		{"IMG_2.heif", "IMG_2.heif", "image/heic", []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00")},
		{"pay\u202efdp.\u200bexe\u2066", "payfdp.exe.pdf", "application/pdf", pdfOf(25)},
		{strings.Repeat("n", 200), "document.pdf", "application/pdf", pdfOf(26)},
		{strings.Repeat("n", 400), "document.pdf", "application/pdf", pdfOf(22)},
	}
	for _, file := range files {
		if next := c.redirects(c.attach("bank_statement", file.name, file.content, "upload")); next != "documents" {
			t.Errorf("%q: sent on to %s, want documents", file.name, next)
		}
	}
	documents, err := c.service.Vault.Documents(t.Context(), c.db, c.id)
	c.ok(err)
	if len(documents) != len(files) {
		t.Fatalf("%d documents, want %d", len(documents), len(files))
	}
	for i, file := range files {
		if d := documents[i]; d.FileName != file.stored || d.ContentType != file.kind || d.SizeBytes != int64(len(file.content)) {
			t.Errorf("%q is stored as %q, %s, %d bytes; want %q, %s, %d bytes", file.name, d.FileName, d.ContentType, d.SizeBytes, file.stored, file.kind, len(file.content))
		}
	}
	page := c.page(c.get("documents"), http.StatusOK)
	shows(t, page, "just fits.pdf", "Bank statement, 10 MB", "Document uploaded")
	hides(t, c.page(c.get("documents"), http.StatusOK), "Document uploaded")
	if next := c.redirects(c.post("documents", url.Values{"action": {"remove:" + documents[0].ID.String()}})); next != "documents" {
		t.Errorf("a removal leads to %s, want documents", next)
	}
	page = c.page(c.get("documents"), http.StatusOK)
	shows(t, page, "Document removed", "photo.jpg")
	hides(t, page, "just fits.pdf")
	if got, want := c.story(), []string{"accessed"}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q: an upload completes nothing", got, want)
	}
}

func TestUploadsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	tests := []struct {
		name, category, file string
		content              []byte
		action, says         string
	}{
		{"one byte too many", "other", "a.pdf", pdfOf(statement.MaxDocumentBytes + 1), "", statement.FileTooLarge},
		{"far too large", "other", "a.pdf", pdfOf(30 << 20), "", statement.FileTooLarge},
		{"a program by another name", "other", "invoice.pdf", []byte("MZ\x90\x00\x03"), "", "The selected file must be a PDF, JPEG, PNG or HEIC"},
		{"a page", "other", "a.pdf", []byte("<html><script>alert(1)</script>"), "", "The selected file must be a PDF, JPEG, PNG or HEIC"},
		{"a bomb", "other", "a.png", bomb(), "", "too many pixels"},
		{"a damaged photo", "other", "a.jpg", []byte("\xff\xd8\xff\xe0"), "", "The selected file is damaged"},
		{"empty", "other", "a.pdf", nil, "", "The selected file is empty"},
		{"none chosen", "other", "", nil, "upload", "Select a file"},
		{"none chosen, no button", "other", "", nil, "", "Select a file"},
		{"no category", "", "a.pdf", pdfOf(30), "upload", "Select what this document is"},
		{"odd category", "castle", "a.pdf", pdfOf(30), "continue", "Select what this document is"},
	}
	for _, test := range tests {
		got := c.attach(test.category, test.file, test.content, test.action)
		if got.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: answered %d, want 422", test.name, got.Code)
			continue
		}
		page := got.Body.String()
		if !strings.Contains(page, test.says) || !strings.Contains(page, "There is a problem") {
			t.Errorf("%s: the page doesn't say %q", test.name, test.says)
		}
	}
	shows(t, c.page(c.attach("tax_return", "a.exe", []byte("MZ"), ""), http.StatusUnprocessableEntity), `value="tax_return" selected`)
	if documents, err := c.db.Documents(t.Context(), c.id); err != nil || len(documents) != 0 {
		t.Errorf("documents = %v, %v; want none", documents, err)
	}
	if next := c.redirects(c.attach("", "", nil, "continue")); next != "personal_details" {
		t.Errorf("continuing without a file leads to %q, want personal_details", next)
	}
	for _, action := range []string{"remove:doc_nonsense", "remove:", "publish"} {
		c.page(c.post("documents", url.Values{"action": {action}}), http.StatusBadRequest)
	}
}

func TestEveryButtonStoresTheChosenFile(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	for i, step := range [][2]string{{"upload", "documents"}, {"save", ""}, {"continue", "personal_details"}, {"", "documents"}} {
		if next := c.redirects(c.attach("other", fmt.Sprintf("%d.pdf", i), pdfOf(30), step[0])); next != step[1] {
			t.Errorf("%q leads to %q, want %q", step[0], next, step[1])
		}
	}
	if documents, err := c.db.Documents(t.Context(), c.id); err != nil || len(documents) != 4 {
		t.Errorf("%d documents, %v; want 4", len(documents), err)
	}
}

func TestTwentyDocuments(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	other := c.bench.newCustomer()
	for i := range statement.MaxDocuments {
		c.redirects(c.attach("other", fmt.Sprintf("%d.pdf", i), pdfOf(30), "upload"))
	}
	page := c.page(c.get("documents"), http.StatusOK)
	shows(t, page, "You have uploaded 20 documents")
	hides(t, page, `type="file"`)
	page = c.page(c.attach("other", "21.pdf", pdfOf(30), "upload"), http.StatusUnprocessableEntity)
	shows(t, page, "You can upload 20 files", `href="#uploaded"`, `id="uploaded"`)

	documents, err := c.db.Documents(t.Context(), c.id)
	c.ok(err)
	other.get("")
	other.redirects(other.post("documents", url.Values{"action": {"remove:" + documents[0].ID.String()}}))
	if left, err := c.db.Documents(t.Context(), c.id); err != nil || len(left) != statement.MaxDocuments {
		t.Errorf("%d documents, %v; want 20: another session's customer removed one", len(left), err)
	}
}

// TestFieldsInAnyOrder checks that a file counts the same before and after the
// fields that say what it is (D47).
func TestFieldsInAnyOrder(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	send := func(parts ...string) *httptest.ResponseRecorder {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		for _, part := range parts {
			name, value, _ := strings.Cut(part, "=")
			if name == "file" {
				into, err := w.CreateFormFile("file", value+".pdf")
				c.ok(err)
				_, err = into.Write(pdfOf(100_000))
				c.ok(err)
				continue
			}
			c.ok(w.WriteField(name, value))
		}
		c.ok(w.Close())
		r := httptest.NewRequest(http.MethodPost, c.path(statement.DocumentsSection), &body)
		r.Header.Set("Content-Type", w.FormDataContentType())
		return c.send(r)
	}
	kept := func() []string {
		documents, err := c.service.Vault.Documents(t.Context(), c.db, c.id)
		c.ok(err)
		var names []string
		for _, d := range documents {
			names = append(names, d.FileName+" "+string(d.Category))
		}
		return names
	}
	c.redirects(send("category=other", "action=upload", "file=1"))
	c.redirects(send("file=2", "category=tax_return", "action=save"))
	c.redirects(send("category=bank_statement", "file=3", "action=continue", "file=ignored"))
	shows(t, c.page(send("file=4", "category=castle"), http.StatusUnprocessableEntity), statement.NoCategory)
	shows(t, c.page(send("file=5"), http.StatusUnprocessableEntity), statement.NoCategory)
	c.page(send("category=other", "file=6", "action=publish"), http.StatusBadRequest)
	want := []string{"1.pdf other", "2.pdf tax_return", "3.pdf bank_statement"}
	if got := kept(); !slices.Equal(got, want) {
		t.Fatalf("documents = %q, want %q", got, want)
	}
	documents, err := c.db.Documents(t.Context(), c.id)
	c.ok(err)
	c.redirects(send("action=remove:"+documents[0].ID.String(), "category=other", "file=7"))
	c.redirects(send("category=other", "file=8", "action=remove:"+documents[1].ID.String()))
	if got := kept(); !slices.Equal(got, want[2:]) {
		t.Errorf("documents = %q, want %q", got, want[2:])
	}
}

// TestUploadInTwoTabs checks that a second upload at the same time is refused
// in words, and that the first one isn't disturbed.
func TestUploadInTwoTabs(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	c.get("")
	other := c.again()
	body, w := io.Pipe()
	form := multipart.NewWriter(w)
	first := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		r := httptest.NewRequest(http.MethodPost, c.path(statement.DocumentsSection), body)
		r.Header.Set("Content-Type", form.FormDataContentType())
		first <- c.send(r)
	}()
	c.ok(form.WriteField("category", "other"))
	part, err := form.CreateFormFile("file", "slow.pdf")
	c.ok(err)
	_, err = part.Write(pdfOf(100_000))
	c.ok(err)
	shows(t, other.page(other.attach("tax_return", "a.pdf", pdfOf(30), "upload"), http.StatusUnprocessableEntity),
		statement.UploadRunning, `value="tax_return" selected`)
	c.ok(form.Close())
	c.ok(w.Close())
	c.redirects(<-first)
	other.redirects(other.attach("tax_return", "a.pdf", pdfOf(30), "upload"))
}

// TestEndlessUploadEnds sends more than anyone would wait for.
func TestEndlessUploadEnds(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	body := &endless{start: "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\n%PDF-1.7"}
	r := httptest.NewRequest(http.MethodPost, c.path("documents"), body)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	shows(t, c.page(c.send(r), http.StatusUnprocessableEntity), statement.FileTooLarge)
	if limit := int64(100 << 20); body.read > limit {
		t.Errorf("%d bytes were read, want at most %d", body.read, limit)
	}
}

// endless yields its start and then zeros for ever.
type endless struct {
	start string
	read  int64
}

// Read fills p.
func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.start)
	e.start = e.start[n:]
	if n == 0 {
		clear(p)
		n = len(p)
	}
	e.read += int64(n)
	return n, nil
}
