package form_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// returning creates a session with a return URL through the API.
func returning(h *harness.Harness, url string) harness.Answer {
	h.Helper()
	return h.Post("/sessions", body(fmt.Sprintf(`, "return_url": %q`, url)))
}

// TestCustomerGoesBack follows a customer to the partner: by a link from the list of
// sections, and by a button after the signature in the browser that signed (D96).
func TestCustomerGoesBack(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	offering(h, "vi", "zh-Hans")
	const url = "https://my.lender.example:8443/loans/47%2F11?session%5Fid=theirs&tab=a%20b&session_id=theirs"
	created := returning(h, url).WantStatus(http.StatusCreated).Object()
	id, err := domain.ParseSessionID(created["id"].(string))
	h.OK(err)
	if got := h.Get("/sessions/" + id.String()).Object()["return_url"]; created["return_url"] != url || got != url {
		t.Errorf("return_url is %v and then %v", created["return_url"], got)
	}
	want := "https://my.lender.example:8443/loans/47%2F11?tab=a%20b&session_id=" + id.String() // theirs came first
	c, stranger := h.Customer(h.SessionOf(id)), h.Customer(h.SessionOf(id))
	hub := c.Get("")
	if got := c.WantPage(hub, http.StatusOK).Link("Back to Lender & Sons"); got != want || hub.Header().
		Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the list of sections leads to %q with %v", got, hub.Header())
	}
	for language, words := range map[string]string{"vi": "Quay lại Lender & Sons", "zh-Hans": "返回 Lender & Sons"} {
		if got := asks(c.OtherBrowser(), "", language).Link(words); got != want {
			t.Errorf("in %s it leads to %q", language, got)
		}
	}
	c.AnswerAll()
	leadsBack := func(p *page.Page) bool { return len(p.Leads("https://my.lender.example")) > 0 }
	if leadsBack(c.WantPage(c.Get("income"), http.StatusOK)) {
		t.Error("a section leads back")
	}
	c.WantRedirect(c.Sign())
	done := c.Get("")
	if got := c.WantPage(done, http.StatusOK).Link("Back to Lender & Sons"); got != want || done.Header().
		Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the confirmation leads to %q with %v", got, done.Header())
	}
	if leadsBack(stranger.WantPage(stranger.Get(""), http.StatusOK)) {
		t.Error("another browser is led back, too")
	}
	h.OK(h.Service.Sessions.Erase(h.Context(), h.TestScope(), id, []domain.SessionID{id}, "jo@customer.example", harness.Operator))
	if got := h.Get("/sessions/" + id.String()).Object()["return_url"]; got != nil {
		t.Errorf("after the erasure return_url is %v", got)
	}
}

// TestNoReturnURL: without one no page says anything of going back.
func TestNoReturnURL(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.WantPage(c.Get(""), http.StatusOK).Hides("Back to")
	c.AnswerAll()
	c.WantRedirect(c.Sign())
	c.WantPage(c.Get(""), http.StatusOK).Hides("Back to")
}

// TestReturnURLIsChecked: as a webhook URL is (D38).
func TestReturnURLIsChecked(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for _, url := range []string{
		"http://my.lender.example/", "http://localhost:3000/", "my.lender.example/back", "/back", "javascript:alert(1)",
		"javascript://my.lender.example/%0aalert(1)",
		"data:text/html,x", "https://jo:secret@my.lender.example/", "https://my.lender.example/#loans",
		"https://my.lender.example/ back",
		"https://intranet/", "https://10.0.0.1/", "https://my.lender.example/" + strings.Repeat("a", 2048),
	} {
		returning(h, url).WantError(http.StatusUnprocessableEntity, "validation_error", "return_url")
	}
	for _, url := range []string{"", "https://my.lender.example", "https://my.lender.example/?",
		"https://my.lender.example/" + strings.Repeat("a", 2048-26)} {
		returning(h, url).WantStatus(http.StatusCreated)
	}
	h.Post("/sessions", body(`, "return_url": 1`)).
		WantError(http.StatusBadRequest, "invalid_request", "return_url")
}
