package form_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// TestBrowserFormerAnswers walks on a phone through a form that offers the answers of a former
// session: one tap a section, then the signature, and the data are the former ones (D101).
func TestBrowserFormerAnswers(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	former := h.NewCustomer()
	former.AnswerAll()
	h.Upload(former.ID, "June payslip.pdf")
	former.WantRedirect(former.Sign())
	c := h.Customer(h.NewSession(h.TestScope(), domain.NewSession{PrefillFrom: former.ID.String(), Ask: []domain.Ask{
		{Section: statement.DocumentsSection, Note: "The June payslip is missing a page.\nPages 1 to 3, please."},
		{Section: statement.IncomeSection, Note: "Is the bonus for the year?"},
	}}))
	p := &person{Customer: c, base: base, tab: browsertest.New(t, browsertest.Options{})}
	p.tab.Open(base + h.Link(c.ID))
	p.tab.WaitForURL(p.Path(""))
	p.look("former/1-hub")
	taps := 1
	p.tab.Click(".stack .button-primary")
	for _, name := range statement.BeforeDeclaration {
		p.tab.WaitForURL("/" + name)
		if name == statement.IncomeSection { // of which something is asked
			p.look("former/2-" + name)
		}
		taps++
		p.tab.Click(".actions .button-primary")
	}
	p.tab.WaitForURL("/declaration")
	p.look("former/3-check")
	if taps != 1+len(statement.BeforeDeclaration) {
		t.Errorf("%d taps", taps)
	}
	c.WantRedirect(c.Sign())
	now := signedOf(h, c.ID)
	if before := signedOf(h, former.ID); !reflect.DeepEqual(answersOf(before), answersOf(now)) {
		t.Errorf("signed %v,\nwant     %v", answersOf(now), answersOf(before))
	}
	if got := fmt.Sprint(now["changed_sections"]); got != "[]" {
		t.Errorf("changed %s", got)
	}
}

// signedOf is dataOf without the API, which a browser's harness doesn't serve to tests.
func signedOf(h *harness.Harness, id domain.SessionID) (data map[string]any) {
	h.Helper()
	signed, err := h.Service.Sessions.Data(h.Context(), h.TestScope(), id, harness.Operator)
	h.OK(err)
	raw, err := json.Marshal(signed.Statement)
	h.OK(err)
	h.OK(json.Unmarshal(raw, &data))
	return data
}
