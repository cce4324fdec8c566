package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/platform/ratelimit"
	"candor/internal/testkit/browsertest"
)

// fewPosts lets each link and each network post that often at once.
func fewPosts(t *testing.T, link, network int) func(*handlers.Config) {
	t.Helper()
	limiter := func(burst int) *ratelimit.Memory {
		l, err := ratelimit.New(ratelimit.Config{PerMinute: 60, Burst: burst, Keys: 100})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	return func(c *handlers.Config) { c.LinkLimiter, c.NetworkLimiter = limiter(link), limiter(network) }
}

// waits checks that the answer asks to wait a second.
func (c *customer) waits(got *httptest.ResponseRecorder) {
	c.Helper()
	shows(c, c.page(got, http.StatusTooManyRequests), "Please wait a moment", "Your saved answers are safe.")
	if got.Header().Get("Retry-After") != "1" {
		c.Errorf("Retry-After is %q, want 1", got.Header().Get("Retry-After"))
	}
}

func TestPostsOfALinkAreLimited(t *testing.T) {
	t.Parallel()
	b := newBench(t, fewPosts(t, 3, 1000))
	c, other := b.newCustomer(), b.newCustomer()
	stranger := &customer{bench: b, id: c.id, cookies: map[string]string{}}
	for range 5 { // who hasn't the link takes nothing from it
		c.page(stranger.post("income", nil), http.StatusNotFound)
	}
	for range 3 {
		c.redirects(c.post("income", url.Values{"action": {"save"}}))
	}
	c.waits(c.post("income", url.Values{"action": {"save"}}))
	c.waits(c.attach("other", "a.pdf", pdfOf(30), "upload"))
	c.page(c.get("income"), http.StatusOK)
	other.redirects(other.post("income", url.Values{"action": {"save"}}))
	b.clock.advance(time.Second)
	c.redirects(c.post("income", url.Values{"action": {"save"}}))
	if documents, err := b.db.Documents(t.Context(), c.id); err != nil || len(documents) != 0 {
		t.Errorf("documents %v, %v", documents, err)
	}
}

func TestPostsOfANetworkAreLimited(t *testing.T) {
	t.Parallel()
	b := newBench(t, fewPosts(t, 1000, 4))
	c, other := b.newCustomer(), b.newCustomer()
	for range 2 {
		c.redirects(c.post("income", url.Values{"action": {"save"}}))
		other.redirects(other.post("income", url.Values{"action": {"save"}}))
	}
	c.waits(c.post("income", url.Values{"action": {"save"}}))

	wrong := func() *httptest.ResponseRecorder {
		return c.send(httptest.NewRequest(http.MethodGet, c.path("")+"/wrong", nil))
	}
	for range 4 {
		c.page(wrong(), http.StatusNotFound)
	}
	c.waits(wrong())
	b.newCustomer() // a right link opens
}

// TestRefusalKeepsWhatWasTyped checks that a page whose post is refused for now
// stays as it is, says so in view, and can be sent again.
func TestRefusalKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	b, base := serveHTTP(t, fewPosts(t, 1, 1000))
	c := b.newCustomer()
	tab := browsertest.New(t, browsertest.Options{AllowStatus: []int{http.StatusTooManyRequests}})
	tab.Open(base + b.link(c.id))
	tab.Open(base + c.path("personal_details"))
	title := tab.Title()
	tab.Type(input("full_name"), "Zaphod")
	c.redirects(c.post("income", url.Values{"action": {"save"}}))
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
	b.clock.advance(time.Second)
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
