package form_test

import (
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// A slowNetwork is the form behind a connection that the test can hold up and cut.
type slowNetwork struct {
	form  http.Handler
	posts atomic.Int32
	cut   atomic.Bool  // posts lose their connection
	busy  atomic.Int32 // so many posts are answered with 503
	// refuse is the status, without a page, of the next post; 0 for the form's answer.
	refuse atomic.Int32
	mu     sync.Mutex
	held   chan struct{} // closed when posts may go on, nil for never held
}

// hold stops posts after their first bytes, until the returned function is called.
func (n *slowNetwork) hold() (release func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	held := make(chan struct{})
	n.held = held
	return sync.OnceFunc(func() { close(held) })
}

func (n *slowNetwork) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		n.posts.Add(1)
		n.mu.Lock()
		r.Body = &heldBody{ReadCloser: r.Body, until: n.held}
		n.mu.Unlock()
		if n.cut.Load() {
			panic(http.ErrAbortHandler)
		}
		if status := n.refuse.Swap(0); status != 0 {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(int(status))
			return
		}
		if n.busy.Add(-1) >= 0 {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
	}
	n.form.ServeHTTP(w, r)
}

type heldBody struct {
	io.ReadCloser
	until chan struct{}
	read  int
}

// Read waits once the first bytes were read.
func (b *heldBody) Read(p []byte) (int, error) {
	if b.read > 100_000 && b.until != nil {
		<-b.until
	}
	n, err := b.ReadCloser.Read(p)
	b.read += n
	return n, err
}

// uploader opens the documents page in a browser behind a slowNetwork.
func uploader(t *testing.T, options browsertest.Options) (*person, *slowNetwork) {
	t.Helper()
	h := harness.New(t, func(c *handlers.Config) { c.Development = true })
	n := &slowNetwork{form: h.Handler}
	server := testkit.Serve(t, n)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	p := &person{Customer: &harness.Customer{Harness: h, ID: session.ID}, base: server.URL, tab: browsertest.New(t, options)}
	arrive(p.tab, p.base, p.Customer, statement.DocumentsSection)
	return p, n
}

func (p *person) focusOn(selector string) {
	p.Helper()
	browsertest.Eval[bool](p.tab, fmt.Sprintf("document.querySelector(%q).focus(), true", selector))
}

const sending = `#uploading .file-row:not(.is-failed)`

// TestBrowserSeveralFilesAtOnce chooses good and bad files, sees their progress, cancels one,
// presses Continue too early and is asked what the documents are.
func TestBrowserSeveralFilesAtOnce(t *testing.T) {
	t.Parallel()
	p, network := uploader(t, browsertest.Options{})
	release := network.hold()
	p.tab.Upload("#file",
		temporaryFile(t, "notes.txt", []byte("text")), temporaryFile(t, "Payslip October 2026.pdf", harness.PDFOf(9<<20)),
		temporaryFile(t, "IMG_4711.HEIC", append([]byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00"), make([]byte, 9<<20)...)),
		temporaryFile(t, "scan.pdf", harness.PDFOf(statement.MaxDocumentBytes+1)), temporaryFile(t, "empty.pdf", nil))
	p.tab.WaitForTrue(`document.querySelector("progress").value > 0`)
	said := p.tab.Text("#status")
	for _, text := range []string{"notes.txt: " + statement.FileTypeUnknown, "scan.pdf: " + statement.FileTooLarge,
		"empty.pdf: " + statement.FileEmpty} {
		if !strings.Contains(said, text) || !strings.Contains(p.tab.Text("#uploading"), strings.SplitAfter(text, ": ")[1]) {
			t.Errorf("said %q, want %q", said, text)
		}
	}
	if shown := browsertest.Eval[string](p.tab,
		`document.querySelector("progress").value + "% " + document.querySelector("progress + span").textContent`); shown == "100% 100%" || !strings.HasPrefix(shown, strings.Fields(shown)[1]) {
		t.Errorf("the progress of a file that is held up is %q", shown)
	}
	look(p.tab, "upload-2-sending")

	p.focusOn(sending + " button")
	p.tab.Press("\r")
	p.tab.WaitForText("#status", "Upload cancelled")
	if got := browsertest.Eval[string](p.tab, `document.activeElement.closest("li").textContent`); !strings.Contains(got,
		"IMG_4711.HEIC") {
		t.Errorf("after the cancellation the focus is on %q, want the next file's button", got)
	}
	release()
	p.tab.WaitForText("#stored", "IMG_4711.HEIC")
	p.tab.WaitForText("#status", "Document uploaded")
	p.tab.WaitForFocus("file")
	p.tab.WaitGone(sending)

	release = network.hold()
	p.tab.Upload("#file", temporaryFile(t, "card.pdf", harness.PDFOf(9<<20)))
	p.tab.WaitForTrue(`document.querySelector("progress")?.value > 0`)
	p.tab.Click(mainButton)
	p.tab.WaitForText("#status", "Waiting for 1 file…")
	p.tab.View("form/upload-3-waiting")
	release()
	p.tab.WaitForFocus("error-summary")
	p.tab.WaitForText(".error-summary", statement.NoCategory+": IMG_4711.HEIC")
	p.tab.WaitForText(".error-summary", statement.NoCategory+": card.pdf")
	look(p.tab, "upload-4-asked")
	p.tab.Click(".error-summary a")
	p.tab.WaitForTrue(`document.activeElement === document.querySelector("#uploaded-1 select")`)
	p.tab.Press("Bank")
	p.tab.WaitForText("#status", saved)
	if !browsertest.Eval[bool](p.tab, `document.activeElement === document.querySelector("#uploaded-1 select")`) {
		t.Error("a saved category took the focus away")
	}
	p.describe(2, "loan_statement")
	p.press("/personal_details")

	documents, err := p.DB.Documents(t.Context(), p.ID)
	p.OK(err)
	if len(documents) != 2 || documents[0].Category != "bank_statement" || documents[0].ContentType != "image/heic" ||
		documents[1].Category != "loan_statement" {
		t.Errorf("documents = %+v, want the photo and the card's statement", documents)
	}
	if n := counted(p.Customer, "SELECT count(*) FROM blob_garbage"); n != 0 {
		t.Errorf("the cancelled upload left %d blobs", n)
	}
}

// TestBrowserContinueWaitsForFiles presses Continue while two files are on their way: the page
// says what it waits for, can be kept, stays if a file fails, and leads on by itself.
func TestBrowserContinueWaitsForFiles(t *testing.T) {
	t.Parallel()
	p, network := uploader(t, browsertest.Options{AllowStatus: []int{http.StatusUnprocessableEntity}})
	const pressed = `.actions .button-primary[aria-disabled="true"]`
	release := network.hold()
	p.tab.Upload("#file", temporaryFile(t, "payslip.pdf", harness.PDFOf(9<<20)), temporaryFile(t, "damaged.png",
		[]byte("\x89PNG\r\n\x1a\n")),
		temporaryFile(t, "scan.pdf", harness.PDFOf(statement.MaxDocumentBytes+1)))
	p.tab.WaitForTrue(`document.querySelector("progress")?.value > 0`)
	p.focusOn(mainButton)
	p.tab.Press("\r")
	p.tab.WaitForText("#status", "Waiting for 2 files…")
	p.tab.WaitForText("#waiting", "Waiting for 2 files…")
	p.tab.WaitFor(pressed)
	p.tab.Press("\r") // once more does nothing
	p.focusOn("#waiting button")
	p.tab.Press("\r")
	p.tab.WaitGone(pressed)
	p.tab.WaitForTrue(`document.querySelector("#waiting").hidden && document.activeElement.closest(".actions") !== null`)
	p.tab.Press("\r")
	p.tab.WaitFor(pressed)
	release()
	p.tab.WaitForText("#status", "damaged.png: "+statement.FileDamaged)
	p.tab.WaitGone(pressed)
	if posts := network.posts.Load(); posts != 2 {
		t.Errorf("%d posts, want one for each file that isn't too large", posts)
	}

	continueMeanwhile := func(name string, size int) {
		release := network.hold()
		p.tab.Upload("#file", temporaryFile(t, name, harness.PDFOf(size)))
		p.tab.WaitForTrue(`document.querySelector("progress")?.value > 0`)
		p.tab.Click(mainButton)
		p.tab.WaitForText("#waiting", "Waiting for 1 file…")
		release()
	}
	continueMeanwhile("passport.pdf", 8<<20)
	p.tab.WaitForTrue(`document.activeElement.matches("#stored select") && document.activeElement.value === "identification"`)
	p.tab.WaitGone(pressed)
	if n := counted(p.Customer, "SELECT count(*) FROM document WHERE category <> ''"); n != 0 {
		t.Errorf("%d guesses are stored that came after Continue", n)
	}
	p.tab.Click(mainButton)
	p.tab.WaitForURL("/personal_details")
	if n := counted(p.Customer, "SELECT count(*) FROM document WHERE category IN ('income_evidence', 'identification')"); n != 2 {
		t.Errorf("%d documents have the category that the page showed, want 2", n)
	}

	p.tab.Open(p.base + p.Path("documents") + "?category=tax_return")
	continueMeanwhile("notice.pdf", 7<<20)
	p.tab.WaitForURL("/personal_details")
	if posts := network.posts.Load(); posts != 6 {
		t.Errorf("%d posts, want four files and Continue twice", posts)
	}
}

// TestBrowserFilesBesideTheirLikes adds a file twice, and sets what all that have no category
// are (D84).
func TestBrowserFilesBesideTheirLikes(t *testing.T) {
	t.Parallel()
	p, _ := uploader(t, browsertest.Options{})
	p.tab.Upload("#file", temporaryFile(t, "IMG_1.pdf", harness.PDFOf(100)), temporaryFile(t, "payslip.pdf", harness.PDFOf(200)),
		temporaryFile(t, "IMG_2.pdf", harness.PDFOf(300)),
		temporaryFile(t, "copy of payslip.pdf", harness.PDFOf(200)), temporaryFile(t, "notes.txt", []byte("text")))
	p.tab.WaitForText("#uploading", "You already added this file as payslip.pdf.")
	p.tab.WaitForText("#stored", "Guessed from its name")
	p.tab.WaitForText("#rest", "All without an answer are")
	look(p.tab, "upload-5-again")
	p.focusOn("#rest select")
	p.tab.Press("Ban")
	p.tab.WaitForText("#status", saved)
	if n := counted(p.Customer,
		"SELECT count(*) FILTER (WHERE category = 'bank_statement') * 10 + count(*) FILTER (WHERE category = '') FROM document"); n != 21 {
		t.Errorf("bank statements and none: %d, want 2 and the guess, which isn't stored", n)
	}
	p.tab.View("form/upload-6-rest")
	p.press("/personal_details")
	if n := counted(p.Customer, "SELECT count(*) FROM document WHERE category = 'income_evidence'"); n != 1 {
		t.Error("Continue didn't store the guess that the page showed")
	}
}

// TestBrowserUploadsOverABadConnection loses a connection, meets a busy server, and continues.
func TestBrowserUploadsOverABadConnection(t *testing.T) {
	t.Parallel()
	p, network := uploader(t, browsertest.Options{AllowCuts: true, AllowStatus: []int{http.StatusServiceUnavailable,
		http.StatusUnprocessableEntity, 0}})
	p.Upload(p.ID, "before.pdf")
	p.tab.Reload()
	network.cut.Store(true)
	p.tab.Upload("#file", temporaryFile(t, "lost.pdf", harness.PDFOf(200)))
	p.tab.WaitForText("#status", "lost.pdf: This file was not sent. Choose it again.")
	p.tab.Click(".actions .button-primary")
	p.tab.WaitForText(".actions", "No connection. Press again when it is back.")
	p.tab.Select("#stored select", "other")
	p.tab.WaitForText("#refusal", "This could not be saved. What you typed stays here.")
	for what, expression := range map[string]string{"in view": "refused.top >= 0", "in the column": "refused.left === column.left"} {
		if !browsertest.Eval[bool](p.tab, `(([refused, column]) => `+expression+
			`)(["#refusal > p", "main > .wrap"].map((e) => document.querySelector(e).getBoundingClientRect()))`) {
			t.Errorf("what couldn't be saved isn't said %s", what)
		}
	}
	p.tab.View("upload/unsaved")
	network.cut.Store(false)
	network.posts.Store(0)
	p.tab.Upload("#file", temporaryFile(t, "damaged.png", []byte("\x89PNG\r\n\x1a\n")), temporaryFile(t, "kept.pdf",
		harness.PDFOf(300)))
	p.tab.WaitForText("#stored", "kept.pdf")
	p.tab.WaitForText("#uploading", statement.FileDamaged)

	network.busy.Store(1)
	p.tab.Upload("#file", temporaryFile(t, "later.pdf", harness.PDFOf(200)))
	p.tab.WaitForText("#stored", "later.pdf")
	if got := p.tab.Text("#uploading"); got != "" {
		t.Errorf("beside the stored files stands %q, want nothing", got)
	}
	if got := network.posts.Load(); got != 4 {
		t.Errorf("%d posts for three files and one retry, want 4", got)
	}
}

// TestBrowserOneFileTooMany chooses one more than a statement still holds.
func TestBrowserOneFileTooMany(t *testing.T) {
	t.Parallel()
	p, network := uploader(t, browsertest.Options{})
	const before = statement.MaxDocuments - 3
	for i := range before {
		p.Upload(p.ID, fmt.Sprintf("before-%d.pdf", i))
	}
	p.tab.Reload()
	var files []string
	for i := range statement.MaxDocuments - before + 1 {
		files = append(files, temporaryFile(t, fmt.Sprintf("%02d.pdf", i+1), harness.PDFOf(100+i)))
	}
	p.tab.Upload("#file", files...)
	p.tab.WaitForText("#uploading", statement.TooManyFiles)
	p.tab.WaitForText("#adding", "You have uploaded 20 documents")
	if shown := browsertest.Eval[int](p.tab,
		`document.querySelectorAll("#stored .file-row").length`); shown != statement.MaxDocuments ||
		network.posts.Load() != statement.MaxDocuments-before {
		t.Errorf("%d files are shown after %d posts, want 20 after 3", shown, network.posts.Load())
	}
	inspect(p.tab, "upload-twenty")
}

// TestBrowserUploadToAClosedSession shows what has become of the session.
func TestBrowserUploadToAClosedSession(t *testing.T) {
	t.Parallel()
	p, _ := uploader(t, browsertest.Options{AllowStatus: []int{http.StatusGone}})
	_, err := p.Service.Sessions.Cancel(t.Context(), p.TestScope(), p.ID, harness.Operator)
	p.OK(err)
	p.tab.Upload("#file", temporaryFile(t, "a.pdf", harness.PDFOf(100)))
	p.tab.WaitForText("h1", "no longer needed")
}

// TestBrowserBackEndsUploads presses Back while a file is sent: the buttons of the page before
// work.
func TestBrowserBackEndsUploads(t *testing.T) {
	t.Parallel()
	p, network := uploader(t, browsertest.Options{AllowStatus: []int{0}, AllowCuts: true})
	p.Fill(p.ID, "expenses")
	p.tab.Open(p.base + p.Path("expenses"))
	p.press("/documents")
	release := network.hold()
	defer release()
	p.tab.Upload("#file", temporaryFile(t, "a.pdf", harness.PDFOf(9<<20)), temporaryFile(t, "b.pdf", harness.PDFOf(100)))
	p.tab.WaitForTrue(`document.querySelector("progress")?.value > 0`)
	p.tab.Back()
	p.tab.WaitGone("#uploading")
	p.press("/documents")
	p.tab.WaitFor("#file")
	release()
	p.tab.Upload("#file", temporaryFile(t, "c.pdf", harness.PDFOf(100)))
	p.tab.WaitForText("#stored", "c.pdf")
}

// TestBrowserRefusedUpload says which file a proxy refused, and sends the next.
func TestBrowserRefusedUpload(t *testing.T) {
	t.Parallel()
	p, network := uploader(t, browsertest.Options{AllowStatus: []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}})
	for i, status := range []int32{http.StatusBadRequest, http.StatusRequestEntityTooLarge} {
		network.refuse.Store(status)
		refused, kept := fmt.Sprint("refused-", i, ".pdf"), fmt.Sprint("kept-", i, ".pdf")
		p.tab.Upload("#file", temporaryFile(t, refused, harness.PDFOf(200+i)), temporaryFile(t, kept, harness.PDFOf(300+i)))
		p.tab.WaitForText("#stored", kept)
		p.tab.WaitForText("#uploading", refused)
		p.tab.WaitForText("#uploading", "This file was not sent. Choose it again")
	}
}

// TestBrowserFilePickerByKeyboard reaches the choice of files and, on a phone, the camera
// with the Tab key, sees the focus, and finds both named in the form's language.
func TestBrowserFilePickerByKeyboard(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options browsertest.Options
		then    string // has the focus after the picker
	}{"phone": {browsertest.Options{Touch: true}, "Take a photo"}, "desktop": {browsertest.Options{Device: browsertest.Desktop},
		"Continue"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := uploader(t, test.options)
			p.focusOn("h1")
			p.tab.Press("\t")
			p.tab.WaitForFocus("file")
			for property, want := range map[string]string{
				`getComputedStyle(document.querySelector(".picker")).outlineStyle`: "solid",
				`document.querySelector("#file").labels[0].innerText.trim()`:       "Choose files",
				`String(document.querySelector("#file").multiple)`:                 "true",
			} {
				if got := browsertest.Eval[string](p.tab, property); got != want {
					t.Errorf("%s is %q, want %q", property, got, want)
				}
			}
			p.tab.Press("\t")
			if got := browsertest.Eval[string](p.tab,
				`document.activeElement.closest("label, button").textContent.trim()`); got != test.then {
				t.Errorf("after the picker comes %q, want %q", got, test.then)
			}
			inspect(p.tab, "upload-picker-"+name)
		})
	}
}

// TestBrowserPhotoFromTheCamera takes a photo while a file is on its way.
func TestBrowserPhotoFromTheCamera(t *testing.T) {
	t.Parallel()
	p, network := uploader(t, browsertest.Options{Touch: true})
	release := network.hold()
	p.tab.Upload("#file", temporaryFile(t, "a.pdf", harness.PDFOf(9<<20)))
	p.tab.WaitForTrue(`document.querySelector("progress")?.value > 0`)
	p.tab.Upload(".camera input", temporaryFile(t, "photo.jpg", picture(t, func(w io.Writer, m image.Image) error {
		return jpeg.Encode(w, m, nil)
	})))
	p.tab.WaitForText("#uploading", "photo.jpg")
	release()
	p.tab.WaitForText("#stored", "photo.jpg")
	if got := network.posts.Load(); got != 2 {
		t.Errorf("%d posts for two files, want 2", got)
	}
}
