package form_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/service/forms"
	"candor/internal/statement"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// picture encodes a small image.
func picture(t *testing.T, encode func(io.Writer, image.Image) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// photo is a JPEG that differs from those with another n.
func photo(t *testing.T, n byte) []byte {
	t.Helper()
	return append(picture(t, func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }), n)
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
	c := harness.New(t).NewCustomer()
	files := []struct {
		name, stored, kind string
		content            []byte
	}{
		{"just fits.pdf", "just fits.pdf", "application/pdf", harness.PDFOf(statement.MaxDocumentBytes)},
		{"photo.jpg", "photo.jpg", "image/jpeg", photo(t, 1)},
		{"scan.txt", "scan.txt.png", "image/png", picture(t, png.Encode)},
		{"IMG_1.HEIC", "IMG_1.HEIC", "image/heic", []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00")},
		{"../../etc/passwd", "passwd.pdf", "application/pdf", harness.PDFOf(20)},
		{"..", "document.pdf", "application/pdf", harness.PDFOf(21)},
		{"report.hta", "report.hta.pdf", "application/pdf", harness.PDFOf(23)},
		{"statement.PDF", "statement.PDF", "application/pdf", harness.PDFOf(24)},
		{"holiday.JPG", "holiday.JPG", "image/jpeg", photo(t, 2)},
		{"licence.jpeg", "licence.jpeg", "image/jpeg", photo(t, 3)},
		{"IMG_2.heif", "IMG_2.heif", "image/heic", []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x02")},
		{"pay\u202efdp.\u200bexe\u2066", "payfdp.exe.pdf", "application/pdf", harness.PDFOf(25)},
		{strings.Repeat("n", 200), "document.pdf", "application/pdf", harness.PDFOf(26)},
		{strings.Repeat("n", 400), "document.pdf", "application/pdf", harness.PDFOf(22)},
	}
	for _, file := range files {
		if next := c.WantRedirect(c.Attach("bank_statement", file.name, file.content, "upload")); next != "documents" {
			t.Errorf("%q: sent on to %s, want documents", file.name, next)
		}
	}
	documents, err := c.Service.Vault.Documents(t.Context(), c.DB, c.ID)
	c.OK(err)
	if len(documents) != len(files) {
		t.Fatalf("%d documents, want %d", len(documents), len(files))
	}
	for i, file := range files {
		if d := documents[i]; d.FileName != file.stored || d.ContentType != file.kind || d.SizeBytes != int64(len(file.content)) {
			t.Errorf("%q is stored as %q, %s, %d bytes; want %q, %s, %d bytes", file.name, d.FileName, d.ContentType, d.SizeBytes,
				file.stored, file.kind, len(file.content))
		}
	}
	page := c.WantPage(c.Get("documents"), http.StatusOK)
	page.Shows("just fits.pdf", "10 MB", "Document uploaded").WantField("What is it? just fits.pdf", "bank_statement")
	c.WantPage(c.Get("documents"), http.StatusOK).Hides("Document uploaded")
	if next := c.WantRedirect(c.Post("documents",
		url.Values{"action": {"remove:" + documents[0].ID.String()}})); next != "documents" {
		t.Errorf("a removal leads to %s, want documents", next)
	}
	page = c.WantPage(c.Get("documents"), http.StatusOK)
	page.Shows("Document removed", "photo.jpg")
	page.Hides("just fits.pdf")
	if got, want := c.Events(), []string{"accessed"}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q: an upload completes nothing", got, want)
	}
}

func TestUploadsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	tests := []struct {
		name, category, file string
		content              []byte
		action, says         string
	}{
		{"one byte too many", "other", "a.pdf", harness.PDFOf(statement.MaxDocumentBytes + 1), "", statement.FileTooLarge},
		{"far too large", "other", "a.pdf", harness.PDFOf(30 << 20), "", statement.FileTooLarge},
		{"a program by another name", "other", "invoice.pdf", []byte("MZ\x90\x00\x03"), "",
			"The selected file must be a PDF, JPEG, PNG or HEIC"},
		{"a page", "other", "a.pdf", []byte("<html><script>alert(1)</script>"), "",
			"The selected file must be a PDF, JPEG, PNG or HEIC"},
		{"a bomb", "other", "a.png", bomb(), "", "picture is too large"},
		{"a damaged photo", "other", "a.jpg", []byte("\xff\xd8\xff\xe0"), "", "The selected file is damaged"},
		{"empty", "other", "a.pdf", nil, "", "The selected file is empty"},
		{"none chosen", "other", "", nil, "upload", "Select a file"},
		{"none chosen, no button", "other", "", nil, "", "Select a file"},
		{"odd category", "castle", "a.pdf", harness.PDFOf(30), "continue", "Select what this document is"},
	}
	for _, test := range tests {
		got := c.Attach(test.category, test.file, test.content, test.action)
		if got.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: answered %d, want 422", test.name, got.Code)
			continue
		}
		page.Read(t, got.Body.String()).Shows(test.says, "There is a problem")
	}
	c.WantPage(c.Attach("tax_return", "a.exe", []byte("MZ"), ""), http.StatusUnprocessableEntity).
		WantField("What is it?", "tax_return")
	if documents, err := c.DB.Documents(t.Context(), c.ID); err != nil || len(documents) != 0 {
		t.Errorf("documents = %v, %v; want none", documents, err)
	}
	if next := c.WantRedirect(c.Attach("", "", nil, "continue")); next != "personal_details" {
		t.Errorf("continuing without a file leads to %q, want personal_details", next)
	}
	for _, action := range []string{"remove:doc_nonsense", "remove:", "publish"} {
		c.WantPage(c.Post("documents", url.Values{"action": {action}}), http.StatusBadRequest)
	}
}

func TestEveryButtonStoresTheChosenFile(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	for i, step := range [][2]string{{"upload", "documents"}, {"save", ""}, {"continue", "personal_details"}, {"", "documents"}} {
		if next := c.WantRedirect(c.Attach("other", fmt.Sprintf("%d.pdf", i), harness.PDFOf(30+i), step[0])); next != step[1] {
			t.Errorf("%q leads to %q, want %q", step[0], next, step[1])
		}
	}
	if documents, err := c.DB.Documents(t.Context(), c.ID); err != nil || len(documents) != 4 {
		t.Errorf("%d documents, %v; want 4", len(documents), err)
	}
}

// TestTheSameFileTwice adds a file again under another name and with another category.
// The page says so and keeps the first; a script is answered as for any file (D84).
func TestTheSameFileTwice(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.WantRedirect(c.Attach("other", "first.pdf", harness.PDFOf(40), "upload"))
	c.WantRedirect(c.Attach("income_evidence", "payslip.pdf", harness.PDFOf(30), "upload"))
	for _, test := range []struct{ category, name, action, next, says string }{
		{"income_evidence", "payslip.pdf", "upload", "documents", "You already added this file as payslip.pdf."},
		{"", "copy.pdf", "", "documents", "You already added this file as payslip.pdf."},
		{"tax_return", "copy.pdf", "upload", "documents",
			"You already added this file as payslip.pdf, under “Payslip or proof of income”."},
		{"other", "copy.pdf", "continue", "personal_details",
			"You already added this file as payslip.pdf, under “Payslip or proof of income”."},
		{"", "copy.pdf", "save", "", "You already added this file as payslip.pdf."},
	} {
		next := c.WantRedirect(c.Attach(test.category, test.name, harness.PDFOf(30), test.action))
		if next != test.next {
			t.Errorf("%q leads to %q, want %q", test.action, next, test.next)
		}
		shown := c.WantPage(c.Get(next), http.StatusOK)
		if shown.Shows(test.says); next != "documents" {
			continue
		}
		shown.Hides("copy.pdf", "There is a problem").WantField("What is it? payslip.pdf", "income_evidence")
		for _, row := range shown.All("li") {
			if row.Has("autofocus") != (row.Attr("id") == "uploaded-2") {
				t.Error("the focus isn't on the document that was added before")
			}
		}
		c.WantPage(c.Get("documents"), http.StatusOK).Hides("already added")
	}
	if n := counted(c, "SELECT count(*) FROM document"); n != 2 {
		t.Errorf("%d documents, want 2", n)
	}
}

func TestTwentyDocuments(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	other := c.Harness.NewCustomer()
	for i := range statement.MaxDocuments {
		c.WantRedirect(c.Attach("other", fmt.Sprintf("%d.pdf", i), harness.PDFOf(30+i), "upload"))
	}
	page := c.WantPage(c.Get("documents"), http.StatusOK)
	page.Shows("You have uploaded 20 documents")
	page.Lacks("File", "Upload file")
	page = c.WantPage(c.Attach("other", "21.pdf", harness.PDFOf(70), "upload"), http.StatusUnprocessableEntity)
	if got := page.Errors()["uploaded"]; !strings.Contains(got, "You can upload 20 files") {
		t.Errorf("the list's error is %q", got)
	}

	documents, err := c.DB.Documents(t.Context(), c.ID)
	c.OK(err)
	other.Get("")
	other.WantRedirect(other.Post("documents", url.Values{"action": {"remove:" + documents[0].ID.String()}}))
	if left, err := c.DB.Documents(t.Context(), c.ID); err != nil || len(left) != statement.MaxDocuments {
		t.Errorf("%d documents, %v; want 20: another session's customer removed one", len(left), err)
	}
}

// TestFieldsInAnyOrder checks that a file counts the same before and after the
// fields that say what it is (D47).
func TestFieldsInAnyOrder(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	send := func(parts ...string) *httptest.ResponseRecorder {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		for _, part := range parts {
			name, value, _ := strings.Cut(part, "=")
			if name == "file" {
				into, err := w.CreateFormFile("file", value+".pdf")
				c.OK(err)
				_, err = into.Write(append(harness.PDFOf(100_000), value...))
				c.OK(err)
				continue
			}
			c.OK(w.WriteField(name, value))
		}
		c.OK(w.Close())
		r := httptest.NewRequest(http.MethodPost, c.Path(statement.DocumentsSection), &body)
		r.Header.Set("Content-Type", w.FormDataContentType())
		return c.Send(r)
	}
	kept := func() []string {
		documents, err := c.Service.Vault.Documents(t.Context(), c.DB, c.ID)
		c.OK(err)
		var names []string
		for _, d := range documents {
			names = append(names, d.FileName+" "+string(d.Category))
		}
		return names
	}
	c.WantRedirect(send("category=other", "action=upload", "file=1"))
	c.WantRedirect(send("file=2", "category=tax_return", "action=save"))
	c.WantRedirect(send("category=bank_statement", "file=3", "action=continue", "file=ignored"))
	c.WantPage(send("file=4", "category=castle"), http.StatusUnprocessableEntity).Shows(statement.NoCategory)
	c.WantRedirect(send("file=5"))
	c.WantPage(send("category=other", "file=6", "action=publish"), http.StatusBadRequest)
	want := []string{"1.pdf other", "2.pdf tax_return", "3.pdf bank_statement", "5.pdf "}
	if got := kept(); !slices.Equal(got, want) {
		t.Fatalf("documents = %q, want %q", got, want)
	}
	documents, err := c.DB.Documents(t.Context(), c.ID)
	c.OK(err)
	c.WantRedirect(send("action=remove:"+documents[0].ID.String(), "category=other", "file=7"))
	c.WantRedirect(send("category=other", "file=8", "action=remove:"+documents[1].ID.String()))
	if got := kept(); !slices.Equal(got, want[2:]) {
		t.Errorf("documents = %q, want %q", got, want[2:])
	}
}

// TestCategoryAfterTheUpload stores files without a category, which the section
// asks for before it is completed.
func TestCategoryAfterTheUpload(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.Get("documents")
	if next := c.WantRedirect(c.Attach("", "payslip.pdf", harness.PDFOf(30), "upload")); next != "documents" {
		t.Errorf("an upload leads to %q, want documents", next)
	}
	c.WantRedirect(c.Attach("", "card.pdf", harness.PDFOf(31), "save"))
	asked := c.WantPage(c.Attach("", "tax.pdf", harness.PDFOf(32), "continue"), http.StatusUnprocessableEntity)
	stored, err := c.DB.Documents(t.Context(), c.ID)
	c.OK(err)
	var fields []string
	for i, name := range []string{"payslip.pdf", "card.pdf", "tax.pdf"} {
		field := statement.CategoryField(stored[i].ID.String())
		fields = append(fields, field)
		if got, want := asked.Errors()[field], statement.NoCategory+": "+name; got != want {
			t.Errorf("the error of %s is %q, want %q", name, got, want)
		}
		if f := asked.Field("What is it? " + name); !f.Invalid || !strings.Contains(f.Description, statement.NoCategory) {
			t.Errorf("the list beside %s is %+v, want it invalid", name, f)
		}
	}
	if n := counted(c, "SELECT count(*) FROM section WHERE session_id = $1 AND problems = ARRAY['category ' || $2]", c.ID,
		statement.NoCategory); n != 1 {
		t.Error("the rule isn't counted once, without the documents that broke it")
	}
	c.WantPage(c.Post("documents", url.Values{"action": {"describe"}, fields[0]: {"castle"}}), http.StatusUnprocessableEntity).
		Shows(statement.NoCategory + ": payslip.pdf")
	other := c.Harness.NewCustomer()
	other.Get("")
	other.WantRedirect(other.Post("documents", url.Values{"action": {"describe"}, fields[0]: {"other"}}))

	c.WantRedirect(c.Post("documents", url.Values{"action": {"describe"}, fields[0]: {"income_evidence"}}))
	c.WantPage(c.Get("documents"), http.StatusOK).Shows("Your answers are saved").WantField("What is it? payslip.pdf",
		"income_evidence")
	// Other buttons store categories, too; a page without them clears none.
	c.WantRedirect(c.Post("documents", url.Values{"action": {"save"}, fields[0]: {""}, fields[1]: {"loan_statement"}}))
	c.WantPage(c.Get(""), http.StatusOK).Shows("In progress")
	c.WantPage(c.Post("documents", url.Values{"action": {"continue"}}), http.StatusUnprocessableEntity).
		Shows(statement.NoCategory + ": tax.pdf").Hides("payslip.pdf:")
	c.WantRedirect(c.Post("documents", url.Values{"action": {"continue"}, fields[2]: {"tax_return"}}))
	documents, err := c.DB.Documents(t.Context(), c.ID)
	c.OK(err)
	for i, want := range []string{"income_evidence", "loan_statement", "tax_return"} {
		if documents[i].Category != want {
			t.Errorf("document %d is %q, want %q", i, documents[i].Category, want)
		}
	}
}

// TestGuessedCategory shows what a file's name says, stores it by Continue alone, and
// never over a choice (D84).
func TestGuessedCategory(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	for i, name := range []string{"payslip.pdf", "IMG_1.pdf", "IMG_2.pdf"} {
		c.WantRedirect(c.Attach("", name, harness.PDFOf(30+i), "upload"))
	}
	c.WantPage(c.Get("documents"), http.StatusOK).Shows("Guessed from its name").WantField("What is it? payslip.pdf",
		"income_evidence").WantField("All without an answer are", "")
	stored, err := c.DB.Documents(t.Context(), c.ID)
	c.OK(err)
	posted := func(action string, more ...string) url.Values {
		values := url.Values{"action": {action}}
		for i, d := range stored {
			shown := []string{"income_evidence", "", ""}[i]
			values.Set(statement.CategoryField(d.ID.String()), shown)
			values.Set(statement.ShownField(d.ID.String()), shown)
		}
		for i := 0; i < len(more); i += 2 {
			values.Set(more[i], more[i+1])
		}
		return values
	}
	categories := func(want ...string) {
		t.Helper()
		documents, err := c.DB.Documents(t.Context(), c.ID)
		c.OK(err)
		for i, d := range documents {
			if d.Category != want[i] {
				t.Errorf("%d is %q, want %q", i+1, d.Category, want[i])
			}
		}
	}
	for _, action := range []string{"save", "describe", "upload", "language:vi", "language:en-AU"} {
		c.Post("documents", posted(action))
		categories("", "", "")
	}
	c.WantPage(c.Post("documents", posted("save", statement.RestField, "castle")), http.StatusUnprocessableEntity).
		Shows(statement.NoCategory)
	c.WantRedirect(c.Post("documents", posted("save", statement.RestField, "bank_statement")))
	categories("", "bank_statement", "bank_statement")
	c.WantPage(c.Get("documents"), http.StatusOK).Hides("All without an answer are")
	c.WantRedirect(c.Post("documents", posted("continue")))
	categories("income_evidence", "bank_statement", "bank_statement")
	other := statement.CategoryField(stored[0].ID.String())
	c.WantRedirect(c.Post("documents", url.Values{"action": {"save"}, other: {"other"}}))
	c.WantRedirect(c.Post("documents", posted("continue"))) // another tab's page
	categories("other", "bank_statement", "bank_statement")
}

// TestSignatureWaitsForCategories uploads after the section was completed.
func TestSignatureWaitsForCategories(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.AnswerAll()
	c.WantRedirect(c.Attach("", "late.pdf", harness.PDFOf(30), "save"))
	c.WantPage(c.Get(""), http.StatusOK).Shows("Changes to finish")
	c.WantPage(c.Sign(), http.StatusUnprocessableEntity).Shows("Some sections aren’t finished", "What is it? late.pdf")
	if err := c.Service.Forms.Submit(t.Context(), &domain.Session{ID: c.ID},
		forms.Signature{Declaration: statement.Declaration{Accepted: true, FullName: "Zoë O'Brien"}}); err == nil {
		t.Fatal("a form was submitted with a document without a category")
	}
	documents, err := c.DB.Documents(t.Context(), c.ID)
	c.OK(err)
	c.WantRedirect(c.Post("documents", url.Values{"action": {"save"}, statement.CategoryField(documents[0].ID.String()): {"other"}}))
	c.WantRedirect(c.Sign())
	data, err := c.Service.Sessions.Data(t.Context(), c.TestScope(), c.ID, harness.Operator)
	c.OK(err)
	if got := data.Statement.Documents; len(got) != 1 || got[0].Category != "other" {
		t.Errorf("documents of the data = %+v, want one with its category", got)
	}
}

// TestManyFieldsBesideAFile checks that a form full of fields is bounded, and that
// the file still counts.
func TestManyFieldsBesideAFile(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := range 5000 {
		c.OK(w.WriteField(fmt.Sprintf("category.doc_%d", i), "other"))
	}
	part, err := w.CreateFormFile("file", "a.pdf")
	c.OK(err)
	_, err = part.Write(harness.PDFOf(30))
	c.OK(err)
	c.OK(w.WriteField("category", "tax_return"))
	c.OK(w.WriteField("action", "save"))
	c.OK(w.Close())
	r := httptest.NewRequest(http.MethodPost, c.Path(statement.DocumentsSection), &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	if next := c.WantRedirect(c.Send(r)); next != "" {
		t.Errorf("it leads to %q, want the hub", next)
	}
	if documents, err := c.DB.Documents(t.Context(), c.ID); err != nil || len(documents) != 1 ||
		documents[0].Category != "tax_return" {
		t.Errorf("documents = %v, %v; want the tax return", documents, err)
	}
}

// TestCancelledUploadLeavesNothing ends an upload half-way, as the page's button
// does. Only the bytes that arrived count against the session's budget.
func TestCancelledUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.Get("")
	upload := startUpload(c)
	_, err := upload.file.Write(harness.PDFOf(200_000))
	c.OK(err)
	c.OK(upload.body.CloseWithError(io.ErrUnexpectedEOF))
	if got := <-upload.answered; got.Code != http.StatusBadRequest {
		t.Errorf("a cancelled upload answered %d, want 400", got.Code)
	}
	if n := counted(c, "SELECT (SELECT count(*) FROM document) + (SELECT count(*) FROM blob_garbage)"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	if n := counted(c, "SELECT uploaded_bytes FROM session WHERE id = $1", c.ID); n < 1 || n > 300_000 {
		t.Errorf("%d bytes are counted, want those that arrived", n)
	}
	c.WantRedirect(c.Attach("", "again.pdf", harness.PDFOf(30), "upload"))
}

// counted is the result of a query for one number.
func counted(c *harness.Customer, query string, args ...any) (n int) {
	c.Helper()
	c.OK(c.DB.Raw().GetContext(c.Context(), &n, query, args...))
	return n
}

// A slowUpload is under way: it has sent the first part of its file.
type slowUpload struct {
	*harness.Customer
	form     *multipart.Writer
	file     io.Writer
	body     *io.PipeWriter
	answered chan *httptest.ResponseRecorder
}

func startUpload(c *harness.Customer) *slowUpload {
	c.Helper()
	body, w := io.Pipe()
	u := &slowUpload{Customer: c, form: multipart.NewWriter(w), body: w, answered: make(chan *httptest.ResponseRecorder, 1)}
	go func() {
		r := httptest.NewRequest(http.MethodPost, c.Path(statement.DocumentsSection), body)
		r.Header.Set("Content-Type", u.form.FormDataContentType())
		u.answered <- c.Send(r)
	}()
	c.OK(u.form.WriteField("category", "other"))
	var err error
	u.file, err = u.form.CreateFormFile("file", "slow.pdf")
	c.OK(err)
	_, err = u.file.Write(harness.PDFOf(100_000))
	c.OK(err)
	return u
}

// end sends the rest and returns the answer.
func (u *slowUpload) end() *httptest.ResponseRecorder {
	u.Helper()
	u.OK(u.form.Close())
	u.OK(u.body.Close())
	return <-u.answered
}

// TestUploadInTwoTabs checks that a second upload at the same time is refused
// in words, and that the first one isn't disturbed.
func TestUploadInTwoTabs(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.Get("")
	other := c.OtherBrowser()
	upload := startUpload(c)
	refused := other.WantPage(other.Attach("tax_return", "a.pdf", harness.PDFOf(30), "upload"), http.StatusUnprocessableEntity)
	refused.Shows(statement.UploadRunning).WantField("What is it?", "tax_return")
	c.WantRedirect(upload.end())
	other.WantRedirect(other.Attach("tax_return", "a.pdf", harness.PDFOf(30), "upload"))
}

// TestRenewalEndsAnUpload: a file that began to arrive before the link was renewed isn't
// stored, whatever becomes of the upload, and its sender sees no page of the form again.
func TestRenewalEndsAnUpload(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]struct{ file, action string }{
		"stored": {string(harness.PDFOf(100_000)), "continue"}, "removal": {"", "remove:" + domain.NewDocumentID().String()},
		"too large": {string(harness.PDFOf(statement.MaxDocumentBytes)), "upload"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := harness.New(t).NewCustomer()
			c.Get("")
			upload := startUpload(c)
			_, err := c.Service.Sessions.RenewLink(t.Context(), c.TestScope(), c.ID, harness.Operator)
			c.OK(err)
			_, err = io.WriteString(upload.file, rest.file)
			c.OK(err)
			c.OK(upload.form.WriteField("action", rest.action))
			c.WantPage(upload.end(), http.StatusNotFound)
			if n := counted(c,
				"SELECT (SELECT count(*) FROM document) + (SELECT count(*) FROM blob_garbage) + (SELECT count(*) FROM section WHERE completed_at IS NOT NULL)"); n != 0 {
				t.Errorf("%d rows of documents, blobs and completed sections", n)
			}
		})
	}
}

// TestEndlessUploadEnds sends more than anyone would wait for.
func TestEndlessUploadEnds(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	body := &endless{start: "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\n%PDF-1.7"}
	r := httptest.NewRequest(http.MethodPost, c.Path("documents"), body)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	c.WantPage(c.Send(r), http.StatusUnprocessableEntity).Shows(statement.FileTooLarge)
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

// TestRemovedFilesTakeLittle adds a file of 9 MB and removes it, again and again over one
// link (D87). 414 MB once waited for their hour.
func TestRemovedFilesTakeLittle(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	c := harness.New(t).NewCustomer()
	c.Get("")
	stored := func() (bytes int64) {
		c.OK(filepath.WalkDir(c.BlobDir, func(_ string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			info, err := entry.Info()
			c.OK(err)
			bytes += info.Size()
			return nil
		}))
		return bytes
	}
	for i := range 12 {
		c.WantRedirect(c.Attach("other", "a.pdf", harness.PDFOf(9<<20), "upload"))
		document := harness.QueryOne[domain.DocumentID](c.Harness, "SELECT id FROM document WHERE session_id = $1", c.ID)
		c.WantRedirect(c.Post("documents", url.Values{"action": {"remove:" + document.String()}}))
		if n := stored(); n > 50<<20 {
			t.Fatalf("%d MB are stored after %d removals", n>>20, i+1)
		}
	}
	if n := stored(); n < 45<<20 {
		t.Errorf("%d MB wait, want 45: a backup may name them", n>>20)
	}
}
