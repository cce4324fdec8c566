package handlers_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/platform/keyring"
	"candor/internal/statement"
	"candor/internal/testkit/harness"
)

// withKeys is the same server with other secret keys. Links and cookies aren't
// sealed: what a test holds of those is made with the new ones.
func withKeys(h *harness.Harness, text string) *harness.Harness {
	h.Helper()
	ring, err := keyring.Parse(text)
	h.OK(err)
	config := h.Service.Config
	config.Ring = ring
	other := *h
	other.Config.CookieKeys = ring.CookieKeys()
	other.Restart(config)
	return &other
}

// TestMissingKey takes the secret key away with which all was sealed. What needs
// it says so, with 503 and a line in the log that names the key. The rest works.
func TestMissingKey(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	var created struct{ ID domain.SessionID }
	h.OK(json.Unmarshal(h.PostOnce("order 1", harness.ValidBody).WantStatus(http.StatusCreated).Body.Bytes(), &created))
	h.Open(created.ID)
	content := h.Upload(created.ID, "payslip.pdf")
	for _, section := range statement.SectionNames[:6] {
		h.Fill(created.ID, section)
	}
	customer := h.Customer(h.SessionOf(created.ID))
	customer.WantRedirect(customer.Sign())
	h.StorePDF(created.ID, []byte("%PDF"))
	documents, err := h.DB.Documents(h.Context(), created.ID)
	h.OK(err)
	started := h.NewCustomer()
	started.Get("")
	started.Answer(statement.IncomeSection)
	owner := h.Owner()
	secret, recovery := owner.TwoStep()
	h.Clock.Advance(time.Minute)

	kept := h
	h = withKeys(h, keyring.Generate("another"))
	h.Logs.Clear()
	path := "/sessions/" + created.ID.String()
	sealed := func(what string, answer harness.Answer) {
		t.Helper()
		answer.WantError(http.StatusServiceUnavailable, "service_unavailable", "")
		if logs := h.Logs.String(); !strings.Contains(logs, `"level":"ERROR"`) || !strings.Contains(logs, `no key named \"test\"`) {
			t.Errorf("%s: the log doesn't name the key: %s", what, logs)
		}
		h.Logs.Clear()
	}
	sealed("data", h.Get(path+"/data"))
	sealed("PDF", h.Get(path+"/pdf"))
	sealed("document", h.Get(path+"/documents/"+documents[0].ID.String()))
	sealed("replay", h.PostOnce("order 1", harness.ValidBody))
	h.Get(path).WantStatus(http.StatusOK)
	h.Get("/sessions").WantStatus(http.StatusOK)
	h.PostOnce("order 2", harness.ValidBody).WantStatus(http.StatusCreated)

	if got := h.SignedOut().Get(h.Link(started.ID)); got.Code != http.StatusServiceUnavailable {
		t.Errorf("the form's link answered %d, want 503", got.Code)
	}
	fresh := h.NewCustomer() // a form that began after the change works
	fresh.Get("")
	fresh.Answer(statement.IncomeSection)

	browser := h.HalfIn()
	const signIn = "/dashboard/sign-in/code"
	browser.WantPage(browser.Post(signIn, harness.CodeForm(kept.Code(secret, 0))), http.StatusUnprocessableEntity,
		"Use a recovery code")
	browser.WantRedirect(browser.Post(signIn, harness.CodeForm(recovery[0])), "/dashboard")
	browser.WantPage(browser.Get("/dashboard/test"+path), http.StatusOK, "A document whose name can’t be read now")
	for _, address := range []string{"/dashboard/test" + path + "/pdf", "/dashboard/test" + path + "/documents/" +
		documents[0].ID.String()} {
		browser.WantPage(browser.Get(address), http.StatusServiceUnavailable, "This can’t be read now", "reference below")
	}
	browser.WantPage(browser.Post("/dashboard/test/webhooks/secret/show", nil), http.StatusUnprocessableEntity,
		"can’t be read: the secret key that sealed it isn’t configured")
	if got := browser.Post("/dashboard/test/webhooks/test", nil); got.Code == http.StatusInternalServerError {
		t.Error("a test event answered 500")
	}
	if strings.Contains(h.Logs.String(), `"status":500`) {
		t.Errorf("something answered 500: %s", h.Logs.String())
	}

	// The key is configured again, behind the other one: everything is back.
	if got := kept.Get(path + "/documents/" + documents[0].ID.String()).WantStatus(http.StatusOK).
		Body.String(); got != string(content) {
		t.Errorf("the document is %q", got)
	}
}
