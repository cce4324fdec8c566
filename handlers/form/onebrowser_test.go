package form_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

const marker = "Quandong Harvesting"

// oneBrowser is the path of the session's link for those who may not read answers.
func oneBrowser(h *harness.Harness, session *domain.Session) string {
	return strings.TrimPrefix(h.Service.Sessions.URL(session, false), harness.BaseURL)
}

// answersAt opens a link in a new browser and returns the status.
func answersAt(h *harness.Harness, link string) *httptest.ResponseRecorder {
	h.Helper()
	return h.Serve(httptest.NewRequestWithContext(h.Context(), http.MethodGet, link, nil))
}

// wantNothing fails if the browser sees or changes the form in any way.
func wantNothing(c *harness.Customer) {
	c.Helper()
	typed := url.Values{"employer": {"Of another"}, "action": {"autosave"}, "was": {""}}
	for what, answer := range map[string]*httptest.ResponseRecorder{
		"the hub": c.Get(""), "a section": c.Get("personal_details"), "documents": c.Get("documents"),
		"the check page":    c.Get("declaration"),
		"a save":            c.Post("personal_details", url.Values{"employer": {"Of another"}, "action": {"save"}}),
		"an automatic save": c.Post("personal_details", typed),
		"an upload":         c.Attach("", "payslip.pdf", []byte("%PDF-1.7\n"), "upload"),
	} {
		if answer.Code != http.StatusNotFound || strings.Contains(answer.Body.String(), marker) {
			c.Errorf("%s answers %d, with the answer: %t", what, answer.Code, strings.Contains(answer.Body.String(), marker))
		}
	}
}

func save(c *harness.Customer, employer string) {
	c.Helper()
	if got := c.Post("personal_details", url.Values{"employer": {employer}, "action": {"save"}}); got.Code != http.StatusSeeOther {
		c.Fatalf("the save answers %d", got.Code)
	}
}

// TestLinkForOneBrowser: who may not read answers has a link that shows them to the
// browser that saved them alone (D92).
func TestLinkForOneBrowser(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	link := oneBrowser(h, session)
	support := h.CustomerAt(session, link)
	support.WantPage(support.Get("personal_details"), http.StatusOK).Hides(marker)

	customer := h.CustomerAt(session, link)
	save(customer, marker)
	wantNothing(support)
	if got := answersAt(h, link); got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), "Go on where you began") {
		t.Errorf("the link in another browser answers %d", got.Code)
	}
	customer.WantPage(customer.Get("personal_details"), http.StatusOK).WantField("Employer", marker)
	if got := customer.Send(httptest.NewRequestWithContext(t.Context(), http.MethodGet, link,
		nil)); got.Code != http.StatusSeeOther {
		t.Errorf("the link once more in the customer’s browser answers %d", got.Code)
	}
	customer.WantPage(customer.Get("personal_details"), http.StatusOK).WantField("Employer", marker)

	// A second device, by the link of those who may read.
	laptop := h.CustomerAt(session, h.Link(session.ID))
	laptop.WantPage(laptop.Get("personal_details"), http.StatusOK).WantField("Employer", marker)
	save(laptop, marker+" Pty Ltd")
	wantNothing(customer)
	if got := customer.Send(httptest.NewRequestWithContext(t.Context(), http.MethodGet, h.Link(session.ID),
		nil)); got.Code != http.StatusSeeOther {
		t.Errorf("the full link answers %d", got.Code)
	}
	customer.WantPage(customer.Get("personal_details"), http.StatusOK).WantField("Employer", marker+" Pty Ltd")

	page := h.Owner()
	page.WantPage(page.Get("/dashboard/test/sessions/"+session.ID.String()), http.StatusOK, "Link tried in another browser",
		h.Link(session.ID))
	for _, forged := range []string{strings.Replace(link, "/b0.", "/", 1), strings.Replace(link, "/b0.", "/b1.", 1),
		strings.Replace(link, "/b0.", "/b.", 1), strings.Replace(link, "/b0.", "/0.", 1), strings.Replace(h.Link(session.ID),
			session.ID.String()+"/", session.ID.String()+"/b0.", 1)} {
		if got := answersAt(h, forged); got.Code != http.StatusNotFound {
			t.Errorf("%s answers %d", forged, got.Code)
		}
	}
	h.Complete(session.ID)
	if got := answersAt(h, link); got.Code != http.StatusSeeOther {
		t.Errorf("the link of a completed session answers %d", got.Code)
	}
	late := h.CustomerAt(session, link)
	late.WantPage(late.Get(""), http.StatusOK).Shows("Your statement has been sent").Hides(marker)
}

// TestLinkForOneBrowserOfWhoWasFirst: who saves before the customer sees nothing of what
// the customer saves by the other link.
func TestLinkForOneBrowserOfWhoWasFirst(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	support := h.CustomerAt(session, oneBrowser(h, session))
	save(support, "x")
	customer := h.CustomerAt(session, h.Link(session.ID))
	save(customer, marker)
	wantNothing(support)
	renewed, err := h.Service.Sessions.RenewLink(t.Context(), session.Scope(), session.ID, harness.Operator)
	h.OK(err)
	if got := answersAt(h, oneBrowser(h, renewed)); got.Code != http.StatusNotFound {
		t.Errorf("the renewed link for one browser answers %d", got.Code)
	}
}

// TestLinkForOneBrowserAfterTheSimulator: what it saved is of no browser, so the first that
// opens the form is the one (D92).
func TestLinkForOneBrowserAfterTheSimulator(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	link := oneBrowser(h, session)
	early := h.CustomerAt(session, link)
	early.Get("")
	h.Post("/test/sessions/"+session.ID.String()+"/advance",
		`{"to": "income", "data": {"personal_details": {"employer": "`+marker+`"}}}`).WantStatus(http.StatusOK)
	ahead := httptest.NewRequestWithContext(t.Context(), http.MethodHead, link, nil)
	h.Serve(ahead) // by a program, which is no opening
	customer := h.CustomerAt(session, link)
	customer.WantPage(customer.Get("personal_details"), http.StatusOK).WantField("Employer", marker)
	wantNothing(early)
	if got := answersAt(h, link); got.Code != http.StatusNotFound {
		t.Errorf("the link in another browser answers %d", got.Code)
	}
	laptop := h.CustomerAt(session, h.Link(session.ID))
	laptop.WantPage(laptop.Get("personal_details"), http.StatusOK).WantField("Employer", marker)
	save(customer, marker+" Pty Ltd")
}

// TestLinkForOneBrowserRace reads while the first answers are saved.
func TestLinkForOneBrowserRace(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	for i := range 20 {
		session := h.NewSession(h.TestScope(), domain.NewSession{})
		support, customer := h.CustomerAt(session, oneBrowser(h, session)), h.CustomerAt(session, h.Link(session.ID))
		support.Get("")
		if i%2 == 1 {
			save(support, "who saved first")
		}
		begin := make(chan struct{})
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				own := support.OtherBrowser()
				<-begin
				for range 10 {
					if got := own.Get("personal_details"); strings.Contains(got.Body.String(), marker) {
						t.Errorf("%d shows what was saved elsewhere", got.Code)
					}
				}
			})
		}
		close(begin)
		save(customer, marker)
		readers.Wait()
	}
}
