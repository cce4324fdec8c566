package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// TestNextSteps shows a customer what happens next in the partner's words (D83).
func TestNextSteps(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, path := h.Staff(domain.RoleOwner), "/dashboard/test/settings"
	set := func(words string) url.Values { return url.Values{"name": {"Lender & Sons"}, "next_steps": {words}} }
	for words, want := range map[string]string{
		"See https://lender.example": "must not contain a web address", "Go to www.lender": "must not contain a web address",
		strings.Repeat("é", 501): "500 characters",
	} {
		refused := owner.WantPage(owner.Post(path, set(words)), http.StatusUnprocessableEntity, want).WantField("next_steps", words)
		if said := refused.Field("next_steps").Description; !strings.Contains(said, want) {
			t.Errorf("a screen reader says of %q: %q", words, said)
		}
	}
	signed := func() *harness.Customer {
		c := h.NewCustomer()
		c.AnswerAll()
		c.WantRedirect(c.Sign())
		return c
	}
	const ours = "Lender & Sons reads it, and contacts you with any questions."
	c := signed()
	c.WantPage(c.Get(""), http.StatusOK).Shows(ours)

	words := "We call you within two days. " + strings.ReplaceAll(harness.Hostile, "\u202e", "")
	owner.WantRedirect(owner.Post(path, set("We call you\r\nwithin two days. "+harness.Hostile)), path)
	owner.WantPage(owner.Get(path), http.StatusOK).WantField("next_steps", words)
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "next steps")
	c.WantPage(c.Get(""), http.StatusOK).Shows(words).Hides(ours)
	c.WantPage(c.Get("copy"), http.StatusOK).Shows(words)
}

// TestReceiptEmail tells a live session's customer once that the statement arrived, if
// the partner wants it (D83).
func TestReceiptEmail(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	m := h.Mailbox()
	stranger := h.NewAccount("other@lender.example", "starter")
	other := h.StaffOf(stranger.AccountID, domain.RoleOwner)
	live := domain.Scope{AccountID: h.Account.AccountID, Livemode: true}
	submit := func(scope domain.Scope, reference string, language domain.Language) *harness.Customer {
		c := h.Customer(h.NewSession(scope, domain.NewSession{CustomerEmail: "jo@customer.example", ReferenceID: reference,
			Language: language}))
		c.AnswerAll()
		c.WantRedirect(c.Sign())
		return c
	}
	path := "/dashboard/live/settings"
	on := url.Values{"name": {"Lender & Sons"}, "next_steps": {"We call you within two days."}, "receipt_email": {"true"}}
	other.WantRedirect(other.Post(path, on), path)
	submit(live, "LOAN-1", "") // off at first, and another account's setting is its own
	jobs := func() int {
		return harness.QueryOne[int](h, `SELECT count(*) FROM river_job WHERE kind = 'customer_receipt'`)
	}
	if jobs() != 0 {
		t.Error("an email is sent without the setting")
	}

	owner := h.Staff(domain.RoleOwner)
	owner.WantRedirect(owner.Post(path, on), path)
	owner.WantPage(owner.Get("/dashboard/live/audit"), http.StatusOK, "receipt email")
	submit(h.TestScope(), "LOAN-2", "")
	if jobs() != 0 {
		t.Error("an email is sent in test mode")
	}
	c := submit(live, "LOAN-417", "")
	email := m.Email("jo@customer.example", "Your statement has been sent")
	for _, want := range []string{"Signed and sent to Lender & Sons on ", "Your reference: LOAN-417",
		"We call you within two days."} {
		if !strings.Contains(email.Text, want) {
			t.Errorf("the email lacks %q:\n%s", want, email.Text)
		}
	}
	for _, never := range []string{"://", "Zoë", "O'Brien", "98,750", "zoe.obrien"} {
		if strings.Contains(email.Text+email.HTML, never) {
			t.Errorf("the email has %q", never)
		}
	}

	again := func(id domain.SessionID) {
		h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error {
			return h.Service.Outbox.ReceiptToCustomer(t.Context(), tx, id, domain.Vietnamese) // another job for the same session
		}))
	}
	again(c.ID)
	m.Idle()
	if n := harness.QueryOne[int](h, `
		WITH again AS (UPDATE river_job SET state = 'available', finalized_at = NULL, scheduled_at = now()
			WHERE kind = 'customer_receipt' RETURNING 1)
		SELECT count(*) FROM again`); n != 1 {
		t.Errorf("%d jobs for one session", n)
	}
	m.Idle()
	owner.WantRedirect(owner.Post(path, url.Values{"name": {"Lender & Sons"}, "next_steps": {""}}), path)
	off := submit(live, "LOAN-3", "")
	again(off.ID) // a job from before the setting was switched off
	m.Idle()
}
