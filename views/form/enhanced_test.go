package form_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"candor/internal/statement"
	"candor/internal/testkit/browsertest"
	"candor/static"
	view "candor/views/form"
)

// tinyForm is the least server the pages work with: the answers of one
// customer in memory, the same documents whether or not htmx asks.
type tinyForm struct {
	mu        sync.Mutex
	statement statement.Statement
	posts     int
	copies    int
	uploads   []statement.Document
}

func (f *tinyForm) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+static.Prefix, http.StripPrefix(static.Prefix, http.FileServerFS(static.Files())))
	mux.HandleFunc("GET /hub", func(w http.ResponseWriter, r *http.Request) {
		h := hub(view.Completed)
		h.Announce = "Saved"
		_ = view.Hub(h).Render(r.Context(), w)
	})
	mux.HandleFunc("GET /sent", func(w http.ResponseWriter, r *http.Request) {
		f.copies++
		_ = view.Confirmation(view.ConfirmationPage{Page: page(), Submitted: now, CopyURL: "/copy", CopyReady: f.copies > 2, SelfURL: "/sent"}).Render(r.Context(), w)
	})
	mux.HandleFunc("/documents", f.documents)
	mux.HandleFunc("/{section}", f.section)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		f.mu.Lock()
		defer f.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

func (f *tinyForm) section(w http.ResponseWriter, r *http.Request) {
	section := f.statement.Section(r.PathValue("section"), now)
	if section == nil {
		http.NotFound(w, r)
		return
	}
	p := sectionPage(section)
	if r.Method == http.MethodPost {
		_ = r.ParseForm()
		action := r.PostForm.Get("action")
		if action != view.ActionAutosave {
			f.posts++
		}
		if action == view.ActionAutosave {
			section.Read(r.PostForm)
		} else if list, ok := strings.CutPrefix(action, view.ActionAdd+":"); ok {
			section.Read(r.PostForm)
			i, _ := section.List(list).Add()
			p.Focus = view.FirstInput(section.List(list), i)
			p.Announce = "Added"
		} else if item, ok := strings.CutPrefix(action, view.ActionRemove+":"); ok {
			section.Read(r.PostForm)
			list, number, _ := strings.Cut(item, ".")
			i, _ := strconv.Atoi(number)
			section.List(list).Remove(i)
			p.Focus = view.AfterRemoval(section.List(list), i)
		} else {
			p.Errors = section.Decode(r.PostForm)
			if len(p.Errors) == 0 {
				http.Redirect(w, r, "/hub", http.StatusSeeOther)
				return
			}
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	}
	_ = view.Section(p).Render(r.Context(), w)
}

func (f *tinyForm) documents(w http.ResponseWriter, r *http.Request) {
	p := view.DocumentsPage{Page: page(), Action: "/documents"}
	if r.Method == http.MethodPost {
		f.posts++
		_, header, err := r.FormFile("file")
		p.Category = r.FormValue("category")
		if err == nil {
			f.uploads = append(f.uploads, statement.Document{ID: "doc_1", FileName: header.Filename, SizeBytes: header.Size, Category: statement.DocumentCategory(p.Category)})
			http.Redirect(w, r, "/documents", http.StatusSeeOther)
			return
		}
	}
	p.Documents = f.uploads
	_ = view.Documents(p).Render(r.Context(), w)
}

func (f *tinyForm) postCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.posts
}

// both runs a test with script, where htmx posts, and without.
func both(t *testing.T, run func(t *testing.T, f *tinyForm, tab *browsertest.Tab, base string)) {
	for name, options := range map[string]browsertest.Options{"htmx": {}, "no script": {NoScript: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &tinyForm{}
			server := httptest.NewServer(f.handler())
			t.Cleanup(server.Close)
			run(t, f, browsertest.New(t, options), server.URL)
		})
	}
}

func id(name string) string { return `[id="` + name + `"]` }

func TestBrowserInvalidSectionKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, _ *tinyForm, tab *browsertest.Tab, base string) {
		tab.Open(base + "/personal_details")
		tab.Type(id("full_name"), "Jessica Nguyễn")
		tab.Type(id("date_of_birth.day"), "31")
		tab.Type(id("date_of_birth.month"), "feb")
		tab.Type(id("date_of_birth.year"), "1985")
		tab.Click(".actions .button-primary")
		tab.WaitFor(".error-summary")
		if got := tab.Title(); !strings.HasPrefix(got, "Error: Personal details") {
			t.Errorf("title = %q, want it to begin with Error:", got)
		}
		tab.WaitForFocus("error-summary")
		if got := tab.Value(id("full_name")); got != "Jessica Nguyễn" {
			t.Errorf("name after the errors = %q, want what was typed", got)
		}
		if got := tab.Value(id("date_of_birth.month")); got != "feb" {
			t.Errorf("month after the errors = %q, want what was typed", got)
		}
		tab.Click(`.error-summary a[href$="date_of_birth.day"]`)
		tab.WaitForFocus("date_of_birth.day")
	})
}

func TestBrowserInvalidSectionMakesNoHistory(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer((&tinyForm{}).handler())
	t.Cleanup(server.Close)
	tab := browsertest.New(t, browsertest.Options{})
	tab.Open(server.URL + "/hub")
	tab.Click(`a[href="/personal_details"]`)
	tab.WaitFor(id("full_name"))
	tab.Click(".actions .button-primary")
	tab.WaitFor(".error-summary")
	tab.Back()
	if got := tab.URL(); !strings.HasSuffix(got, "/hub") {
		t.Errorf("back from an invalid section leads to %s, want the hub", got)
	}
}

func TestBrowserListGrowsAndShrinks(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, _ *tinyForm, tab *browsertest.Tab, base string) {
		tab.Open(base + "/assets")
		for i, name := range []string{"Ute", "Caravan", "Boat"} {
			if i == 0 {
				tab.Click(id("vehicles"))
			} else {
				tab.Click(`button[value="add:vehicles"]`)
				tab.WaitForFocus("vehicles." + strconv.Itoa(i) + ".description")
			}
			input := id("vehicles." + strconv.Itoa(i) + ".description")
			tab.Type(input, name)
		}
		tab.Click(`button[value="remove:vehicles.0"]`)
		tab.WaitGone(id("vehicles.2.description"))
		tab.WaitForFocus("item-vehicles-1")
		for i, want := range []string{"Caravan", "Boat"} {
			if got := tab.Value(id("vehicles." + strconv.Itoa(i) + ".description")); got != want {
				t.Errorf("vehicle %d after removing the first = %q, want %q", i, got, want)
			}
		}
	})
}

func TestBrowserRemovalIsConfirmed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer((&tinyForm{}).handler())
	t.Cleanup(server.Close)
	tab := browsertest.New(t, browsertest.Options{})
	tab.Open(server.URL + "/assets")
	tab.Click(id("real_property"))
	tab.Click(`button[value="add:real_property"]`)
	tab.WaitFor(id("real_property.1.description"))
	tab.WaitForText("#status", "Added")
	tab.Click(`button[value="remove:real_property.0"]`)
	if got := tab.WaitForDialog(); got != "Remove property 1?" {
		t.Errorf("question = %q, want it to name the property", got)
	}
	tab.WaitGone(id("real_property.1.description"))
}

func TestBrowserValidSectionLeadsToTheHub(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, _ *tinyForm, tab *browsertest.Tab, base string) {
		tab.Open(base + "/income")
		tab.Click(id("employment_income"))
		tab.Select(id("employment_income.gross_salary.period"), "year")
		tab.Type(id("employment_income.gross_salary"), "$98,500")
		tab.Press("\r")
		tab.WaitForURL("/hub")
		tab.WaitFor(".tasks")
		if got := tab.Title(); !strings.HasPrefix(got, "Your statement") {
			t.Errorf("title = %q, want the hub's", got)
		}
		tab.WaitForText("#status", "Saved")
		tab.Back()
		tab.WaitFor(id("employment_income.gross_salary"))
		if got := tab.Value(id("employment_income.gross_salary")); !strings.Contains(strings.ReplaceAll(got, ",", ""), "98500") {
			t.Errorf("salary after going back = %q, want the saved one", got)
		}
	})
}

func TestBrowserImpatientClicksPostOnce(t *testing.T) {
	t.Parallel()
	f := &tinyForm{}
	server := httptest.NewServer(f.handler())
	t.Cleanup(server.Close)
	tab := browsertest.New(t, browsertest.Options{})
	tab.Open(server.URL + "/income")
	tab.Click(id("has-none"))
	tab.ClickTimes(".actions .button-primary", 3)
	tab.WaitForURL("/hub")
	if got := f.postCount(); got != 1 {
		t.Errorf("three clicks posted %d times, want once", got)
	}
}

func TestBrowserConfirmationWaitsForTheCopy(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer((&tinyForm{}).handler())
	t.Cleanup(server.Close)
	tab := browsertest.New(t, browsertest.Options{})
	tab.Open(server.URL + "/sent")
	tab.WaitForText("#copy", "being made")
	tab.WaitFor(`#copy a[href="/copy"]`)
	tab.WaitForText("#status", "copy is ready")
}

func TestBrowserTooBigFileIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	f := &tinyForm{}
	server := httptest.NewServer(f.handler())
	t.Cleanup(server.Close)
	tab := browsertest.New(t, browsertest.Options{})
	tab.Open(server.URL + "/documents")
	tab.Upload("#file", uploadFile(t, statement.MaxDocumentBytes+1))
	tab.WaitForText("#uploading", statement.FileTooLarge)
	tab.WaitForText("#status", "statement.pdf: "+statement.FileTooLarge)
	if f.postCount() > 0 {
		t.Error("a file that is too large was sent")
	}
}

func TestBrowserUploadWithoutScript(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer((&tinyForm{}).handler())
	t.Cleanup(server.Close)
	tab := browsertest.New(t, browsertest.Options{NoScript: true})
	tab.Open(server.URL + "/documents")
	tab.Upload("#file", uploadFile(t, 4096))
	tab.Select("#category", "bank_statement")
	tab.Click(`.group button[value="upload"]`)
	tab.WaitForText(".files", "statement.pdf")
}

func uploadFile(t *testing.T, size int) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "statement.pdf")
	if err := os.WriteFile(file, append([]byte("%PDF-1.7\n"), make([]byte, size-9)...), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
