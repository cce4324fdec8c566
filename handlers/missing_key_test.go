package handlers_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
	"candor/internal/statement"
	"candor/internal/testkit/servicetest"
)

// withKeys is the same server with other secret keys. Links and cookies aren't
// sealed: what a test holds of those is made with the new ones.
func (b *bench) withKeys(text string) *bench {
	b.Helper()
	ring, err := keyring.Parse(text)
	b.ok(err)
	config := b.service.Config
	config.Ring = ring
	other := *b
	other.service = servicetest.New(config)
	other.config = using(other.config, other.service)
	other.config.CookieKeys = ring.CookieKeys()
	other.handler, err = handlers.New(other.config)
	b.ok(err)
	return &other
}

// TestMissingKey takes the secret key away with which all was sealed. What needs
// it says so, with 503 and a line in the log that names the key. The rest works.
func TestMissingKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var created struct{ ID domain.SessionID }
	b.ok(json.Unmarshal(b.once("order 1", validBody).status(http.StatusCreated).Body.Bytes(), &created))
	b.open(created.ID)
	content := b.upload(created.ID, "payslip.pdf")
	for _, section := range statement.SectionNames[:6] {
		b.fill(created.ID, section)
	}
	customer := b.customer(b.sessionOf(created.ID))
	customer.redirects(customer.sign())
	b.storePDF(created.ID, []byte("%PDF"))
	documents, err := b.db.Documents(b.Context(), created.ID)
	b.ok(err)
	started := b.newCustomer()
	started.get("")
	started.answer(statement.IncomeSection)
	owner := b.owner()
	secret, recovery := owner.twoStep()
	b.clock.advance(time.Minute)

	kept := b
	b = b.withKeys(keyring.Generate("another"))
	b.logs.clear()
	path := "/sessions/" + created.ID.String()
	sealed := func(what string, answer answer) {
		t.Helper()
		answer.refused(http.StatusServiceUnavailable, "service_unavailable", "")
		if logs := b.logs.String(); !strings.Contains(logs, `"level":"ERROR"`) || !strings.Contains(logs, `no key named \"test\"`) {
			t.Errorf("%s: the log doesn't name the key: %s", what, logs)
		}
		b.logs.clear()
	}
	sealed("data", b.get(path+"/data"))
	sealed("PDF", b.get(path+"/pdf"))
	sealed("document", b.get(path+"/documents/"+documents[0].ID.String()))
	sealed("replay", b.once("order 1", validBody))
	b.get(path).status(http.StatusOK)
	b.get("/sessions").status(http.StatusOK)
	b.once("order 2", validBody).status(http.StatusCreated)

	if got := b.stranger().get(b.link(started.id)); got.Code != http.StatusServiceUnavailable {
		t.Errorf("the form's link answered %d, want 503", got.Code)
	}
	fresh := b.newCustomer() // a form that began after the change works
	fresh.get("")
	fresh.answer(statement.IncomeSection)

	browser := b.halfIn()
	const signIn = "/dashboard/sign-in/code"
	browser.wantPage(browser.post(signIn, codeForm(kept.code(secret, 0))), http.StatusUnprocessableEntity, "Use a recovery code")
	browser.wantRedirect(browser.post(signIn, codeForm(recovery[0])), "/dashboard")
	browser.wantPage(browser.get("/dashboard/test"+path), http.StatusOK, "A document whose name can’t be read now")
	for _, address := range []string{"/dashboard/test" + path + "/pdf", "/dashboard/test" + path + "/documents/" + documents[0].ID.String()} {
		browser.wantPage(browser.get(address), http.StatusServiceUnavailable, "This can’t be read now", "reference below")
	}
	browser.wantPage(browser.post("/dashboard/test/webhooks/secret/show", nil), http.StatusUnprocessableEntity, "can&#39;t be read: the secret key that sealed it isn&#39;t configured")
	if got := browser.post("/dashboard/test/webhooks/test", nil); got.Code == http.StatusInternalServerError {
		t.Error("a test event answered 500")
	}
	if strings.Contains(b.logs.String(), `"status":500`) {
		t.Errorf("something answered 500: %s", b.logs.String())
	}

	// The key is configured again, behind the other one: everything is back.
	if got := kept.get(path + "/documents/" + documents[0].ID.String()).status(http.StatusOK).Body.String(); got != string(content) {
		t.Errorf("the document is %q", got)
	}
}
