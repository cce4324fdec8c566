package handlers_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/harness"
)

// loot returns all that a thief of the database and of the documents' folder
// has, by where it stands.
func loot(h *harness.Harness) map[string][]byte {
	h.Helper()
	dump, err := exec.CommandContext(h.Context(), filepath.Join(dbtest.BinDir(h), "pg_dump"), "--inserts", h.DSN).Output()
	h.OK(err)
	all := map[string][]byte{"the database": dump}
	h.OK(filepath.WalkDir(h.BlobDir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			all[path], err = os.ReadFile(path)
		}
		return err
	}))
	return all
}

// inClear returns which of the texts stand in what is stored, as they are, in
// JSON or as the hexadecimal digits in which a dump has bytes.
func inClear(stored map[string][]byte, texts []string) (out []string) {
	for place, content := range stored {
		for _, text := range texts {
			quoted, _ := json.Marshal(text) // a string always marshals
			for _, form := range []string{text, string(quoted[1 : len(quoted)-1]), hex.EncodeToString([]byte(text))} {
				if bytes.Contains(content, []byte(form)) {
					out = append(out, text+" in "+place)
					break
				}
			}
		}
	}
	return out
}

var (
	amount = regexp.MustCompile(`^\$?[0-9][0-9 ,]*(\.[0-9]+)?$`)
	option = regexp.MustCompile(`^[a-z_]+$`)
)

// marks returns what of a section's typed values is long enough to be known
// again: texts, and amounts as typed and as numbers. Options are known to all.
func marks(section string) (out []string) {
	for _, values := range statementtest.Values(section) {
		typed := values[0]
		switch {
		case amount.MatchString(typed):
			number := strings.NewReplacer("$", "", ",", "", " ", "").Replace(typed)
			if strings.Contains(number, ".") && len(number) > 5 {
				out = append(out, typed, number)
			}
		case len(typed) > 4 && !option.MatchString(typed):
			out = append(out, typed)
		}
	}
	return out
}

// TestNothingIsStoredInClear fills in a whole form, has its PDF and documents
// stored, and looks for all of it in a dump of the database and in the folder of
// the documents. What D63 leaves readable is there, so the search finds things.
func TestNothingIsStoredInClear(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	var created struct{ ID domain.SessionID }
	h.OK(json.Unmarshal(h.PostOnce("order 1",
		`{"form_type": "financial_statement", "customer_email": "jo@customer.example", "customer_name": "Readable Name", "reference_id": "READABLE-7"}`).
		WantStatus(http.StatusCreated).Body.Bytes(), &created))
	c := h.Customer(h.SessionOf(created.ID))
	c.WantPage(c.Get(""), http.StatusOK)
	secrets := []string{"lots of refused marker", "%PDF-1.7 content marker", "removed content marker", "file name marker",
		"drawn marker", "late draft marker"}

	refused := statementtest.Values(statement.IncomeSection)
	refused.Set("employment_income.gross_salary", secrets[0])
	c.WantPage(c.Post(statement.IncomeSection, refused), http.StatusUnprocessableEntity)
	if found := inClear(loot(c.Harness), append(marks(statement.IncomeSection), secrets...)); len(found) > 0 {
		t.Errorf("with a refused draft in clear: %q", found)
	}
	for _, section := range statement.SectionNames[:5] {
		c.Answer(section)
		secrets = append(secrets, marks(section)...)
	}
	c.WantRedirect(c.Attach("income_evidence", "file name marker.pdf", []byte(secrets[1]+strings.Repeat("padding ", 20_000)+
		secrets[1]), ""))
	h.Upload(c.ID, "removed content marker.pdf")
	documents, err := h.DB.Documents(h.Context(), c.ID)
	h.OK(err)
	h.OK(h.Service.Forms.RemoveDocument(h.Context(), &domain.Session{ID: c.ID}, documents[1].ID))
	c.Answer(statement.DocumentsSection)
	c.WantRedirect(c.Sign())
	h.StorePDF(c.ID, []byte("%PDF-1.7 drawn marker"))
	open := h.NewCustomer()
	open.Get("")
	late := statementtest.Values(statement.PersonalDetailsSection)
	late.Set("phone", "late draft marker")
	open.WantPage(open.Post(statement.PersonalDetailsSection, late), http.StatusUnprocessableEntity)

	secrets = append(secrets, marks(statement.DeclarationSection)...)
	if len(secrets) < 60 {
		t.Errorf("%d texts to look for; want those of all sections", len(secrets))
	}
	stored := loot(h)
	if found := inClear(stored, secrets); len(found) > 0 {
		t.Errorf("in clear: %q", found)
	}
	if found := inClear(stored, []string{"Readable Name", "READABLE-7", "jo@customer.example"}); len(found) != 3 {
		t.Errorf("found %q; want name, reference and email of the customer", found)
	}
	if len(stored) != 3 {
		t.Errorf("%d places to look in; want the database and two files", len(stored))
	}

	// The partner still gets all of it.
	data := h.Get("/sessions/" + c.ID.String() + "/data").WantStatus(http.StatusOK).Body.String()
	for _, want := range []string{"Marrickville", "143209.41", "file name marker.pdf", "Toyota Finance Australia"} {
		if !strings.Contains(data, want) {
			t.Errorf("the data lack %q", want)
		}
	}
	if got := h.Get("/sessions/" + c.ID.String() + "/pdf").WantStatus(http.StatusOK).Body.String(); got != "%PDF-1.7 drawn marker" {
		t.Errorf("the PDF is %q", got)
	}
	file := h.Get("/sessions/" + c.ID.String() + "/documents/" + documents[0].ID.String()).WantStatus(http.StatusOK)
	if got := file.Body.String(); len(got) != 160_000+2*len("%PDF-1.7 content marker") || !strings.HasSuffix(got, "content marker") {
		t.Errorf("the document has %d bytes", len(got))
	}
	if got := file.Header().Get("Content-Disposition"); !strings.Contains(got, `filename="file name marker.pdf"`) {
		t.Errorf("the document's name is %s", got)
	}
}
