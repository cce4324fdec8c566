package form_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// fewPosts lets each link, the browsers of each network that opened their form, and
// others of the network post that often at once.
func fewPosts(t *testing.T, link, opened, network int) func(*handlers.Config) {
	t.Helper()
	return func(c *handlers.Config) {
		c.LinkLimiter, c.OpenedLimiter = harness.Burst(t, link), harness.Burst(t, opened)
		c.NetworkLimiter = harness.Burst(t, network)
	}
}

// waits checks that the answer asks to wait a second.
func waits(c *harness.Customer, got *httptest.ResponseRecorder) {
	c.Helper()
	c.WantPage(got, http.StatusTooManyRequests).Shows("Please wait a moment", "Your saved answers are safe.")
	if got.Header().Get("Retry-After") != "1" {
		c.Errorf("Retry-After is %q, want 1", got.Header().Get("Retry-After"))
	}
}

func TestPostsOfALinkAreLimited(t *testing.T) {
	t.Parallel()
	h := harness.New(t, fewPosts(t, 3, 1000, 1000))
	c, other := h.NewCustomer(), h.NewCustomer()
	stranger := &harness.Customer{Harness: h, ID: c.ID, Cookies: map[string]string{}}
	for range 5 { // who hasn't the link takes nothing from it
		c.WantPage(stranger.Post("income", nil), http.StatusNotFound)
	}
	for range 3 {
		c.WantRedirect(c.Post("income", url.Values{"action": {"save"}}))
	}
	waits(c, c.Post("income", url.Values{"action": {"save"}}))
	waits(c, c.Attach("other", "a.pdf", harness.PDFOf(30), "upload"))
	c.WantPage(c.Get("income"), http.StatusOK)
	other.WantRedirect(other.Post("income", url.Values{"action": {"save"}}))
	h.Clock.Advance(time.Second)
	c.WantRedirect(c.Post("income", url.Values{"action": {"save"}}))
	if documents, err := h.DB.Documents(t.Context(), c.ID); err != nil || len(documents) != 0 {
		t.Errorf("documents %v, %v", documents, err)
	}
}

// TestCopiesOfALinkAreLimited downloads what is drawn for each download; the English
// document is stored, and isn't counted.
func TestCopiesOfALinkAreLimited(t *testing.T) {
	t.Parallel()
	const atOnce = 12
	h := harness.New(t, fewPosts(t, atOnce, 1000, 1000))
	offering(h, "vi")
	c := h.NewCustomer()
	c.AnswerAll()
	c.WantRedirect(c.Sign())
	c.StorePDF(c.ID, []byte("%PDF-1.7 original"))
	c.WantRedirect(choose(c, "vi"))
	h.Clock.Advance(time.Minute)
	for range atOnce {
		if got := c.Get("pdf"); got.Code != http.StatusOK {
			t.Fatalf("a copy is %d", got.Code)
		}
	}
	if got := c.Get("pdf"); got.Code != http.StatusTooManyRequests || got.Header().Get("Retry-After") != "1" {
		t.Errorf("one copy too many is %d %q", got.Code, got.Header())
	}
	if got := c.Get("pdf?original=yes"); got.Code != http.StatusOK {
		t.Errorf("the English document is %d", got.Code)
	}
}

// TestPostsByARenewedLinkAreCountedApart: who holds a link that was renewed can't use up
// what the customer may post.
func TestPostsByARenewedLinkAreCountedApart(t *testing.T) {
	t.Parallel()
	h := harness.New(t, fewPosts(t, 3, 1000, 1000))
	before := h.NewCustomer()
	session, err := h.Service.Sessions.RenewLink(t.Context(), h.TestScope(), before.ID, harness.Operator)
	h.OK(err)
	for range 3 {
		before.WantPage(before.Post("income", url.Values{"action": {"save"}}), http.StatusNotFound)
	}
	waits(before, before.Post("income", url.Values{"action": {"save"}}))
	customer := h.CustomerAt(session, strings.TrimPrefix(h.Service.Sessions.URL(session, true), harness.BaseURL))
	customer.WantRedirect(customer.Post("income", url.Values{"action": {"save"}}))
}

func TestPostsOfANetworkAreLimited(t *testing.T) {
	t.Parallel()
	h := harness.New(t, fewPosts(t, 1000, 6, 4))
	c, other := h.NewCustomer(), h.NewCustomer()
	stranger := &harness.Customer{Harness: h, ID: c.ID, Cookies: map[string]string{}}
	for range 4 {
		c.WantPage(stranger.Post("income", nil), http.StatusNotFound)
	}
	waits(c, stranger.Post("income", nil))
	forged := &harness.Customer{Harness: h, ID: other.ID, Cookies: c.Cookies} // a cookie opens its own form
	waits(c, forged.Post("income", nil))
	for range 3 {
		c.WantRedirect(c.Post("income", url.Values{"action": {"save"}}))
		other.WantRedirect(other.Post("income", url.Values{"action": {"save"}}))
	}
	waits(c, c.Post("income", url.Values{"action": {"save"}}))

	wrong := func() *httptest.ResponseRecorder {
		return c.Send(httptest.NewRequest(http.MethodGet, c.Path("")+"/wrong", nil))
	}
	for range 4 {
		c.WantPage(wrong(), http.StatusNotFound)
	}
	waits(c, wrong())
	h.NewCustomer() // a right link opens
}

// TestBrowserRefusalKeepsWhatWasTyped checks that a page whose post is refused for now
// stays as it is, says so in view, and can be sent again.
func TestBrowserRefusalKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t, fewPosts(t, 2, 1000, 1000))
	c := h.NewCustomer()
	tab := browsertest.New(t, browsertest.Options{AllowStatus: []int{http.StatusTooManyRequests}})
	arrive(tab, base, c, "personal_details")
	title := tab.Title()
	for range 2 {
		c.WantRedirect(c.Post("income", url.Values{"action": {"save"}}))
	}
	tab.Type(input("full_name"), "Zaphod")
	tab.Click(".actions .button-primary")
	tab.WaitForText("#refusal", "Please wait a moment")
	if got := tab.Value(input("full_name")); !strings.HasSuffix(got, "Zaphod") {
		t.Errorf("the name is %q after the refusal", got)
	}
	if got := tab.Title(); got != title {
		t.Errorf("the title is %q after the refusal, want %q", got, title)
	}
	if y := browsertest.Eval[float64](tab, "document.querySelector('#refusal h1').getBoundingClientRect().top"); y < 0 || y > 300 {
		t.Errorf("the refusal stands at %v, out of view", y)
	}
	tab.Axe()
	h.Clock.Advance(time.Minute) // for the button, and for a save by the page itself
	tab.Click(".actions .button-primary")
	tab.WaitFor(".error-summary")
	if left := tab.Text("#refusal"); left != "" {
		t.Errorf("the refusal still says %q", left)
	}
	if got := tab.Value(input("full_name")); !strings.HasSuffix(got, "Zaphod") {
		t.Errorf("the name is %q afterwards", got)
	}
	tab.NoErrors()
}
