package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/harness"
)

// continues is the body of a session that continues another one.
func continues(email, id string) string {
	return fmt.Sprintf(`{"form_type": "financial_statement", "customer_email": %q, "prefill_from": %q}`, email, id)
}

// TestPrefillFromIsRefused: each refusal names the field, and a session that the key doesn't
// see can't be told from one that doesn't exist (D101).
func TestPrefillFromIsRefused(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	const jo = "jo@customer.example"
	refused := func(email, id, says string) string {
		t.Helper()
		a := h.Post("/sessions", continues(email, id)).WantError(http.StatusUnprocessableEntity, "validation_error", "prefill_from")
		if message := a.Object()["error"].(map[string]any)["message"].(string); !strings.Contains(message, says) {
			t.Errorf("%s: %q", says, message)
		}
		return strings.ReplaceAll(a.Object()["error"].(map[string]any)["message"].(string), id, "")
	}
	mine := h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: jo})
	refused(jo, mine.ID.String(), "cancel it first")
	h.Open(mine.ID)
	refused(jo, mine.ID.String(), "cancel it first")
	h.Complete(mine.ID)
	refused("someone@else.example", mine.ID.String(), "another customer’s")
	refused("jo@customer.exam\u017fle", mine.ID.String(), "another customer’s")
	h.Post("/sessions", continues("JO@Customer.example", mine.ID.String())).WantStatus(http.StatusCreated)
	named := func(name string) string {
		return strings.TrimSuffix(continues(jo, mine.ID.String()), "}") + fmt.Sprintf(`, "customer_name": %q}`, name)
	}
	name := statementtest.Full().Personal.FullName
	h.Post("/sessions", named(strings.ToUpper(name))).WantStatus(http.StatusCreated)
	h.Post("/sessions", named("Robin Other")).WantError(http.StatusUnprocessableEntity, "validation_error", "prefill_from")

	stranger := h.NewAccount("other@lender.example", "starter")
	theirs := h.NewSession(domain.Scope{AccountID: stranger.AccountID}, domain.NewSession{CustomerEmail: jo})
	live := h.NewSession(domain.Scope{AccountID: h.Account.AccountID, Livemode: true}, domain.NewSession{CustomerEmail: jo})
	none := refused(jo, domain.NewSessionID().String(), "this account and mode")
	for _, id := range []string{theirs.ID.String(), live.ID.String(), "sess_1", "x"} {
		if got := refused(jo, id, ""); got != none {
			t.Errorf("%s: %q, want as for none: %q", id, got, none)
		}
	}

	both := strings.TrimSuffix(continues(jo, mine.ID.String()), "}") +
		`, "prefill": {"income": {"employment_income": {"bonuses": 1}}}}`
	h.Post("/sessions", both).WantError(http.StatusUnprocessableEntity, "validation_error", "prefill")
	h.Post("/sessions", `{"form_type": "financial_statement", "customer_email": "jo@customer.example", "prefill_from": 7}`).
		WantError(http.StatusBadRequest, "invalid_request", "prefill_from")

	unsent := h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: jo})
	h.Open(unsent.ID)
	h.Clock.Advance(30 * 24 * time.Hour) // expired, though no sweep ran
	h.Post("/sessions", continues(jo, unsent.ID.String())).WantStatus(http.StatusCreated)
	h.Clock.Advance(30 * 24 * time.Hour) // and not kept any more, likewise
	refused(jo, unsent.ID.String(), "not kept any more")
}

// TestPrefillFromNeedsDataRead: a key that can only create can't have answers shown to whom it
// names, and its link stays confidential (D51, D101).
func TestPrefillFromNeedsDataRead(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	former := h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: "jo@customer.example"})
	h.Complete(former.ID)
	maker := h.RestrictedKey(domain.Permissions{domain.SessionsWrite, domain.SessionsRead})
	reader := h.RestrictedKey(domain.Permissions{domain.SessionsWrite, domain.DataRead})
	post := func(key string) harness.Answer {
		return h.Do(harness.Call{
			Method: http.MethodPost, Path: "/sessions", Key: key, Header: "Idempotency-Key: one",
			Body: continues("jo@customer.example", former.ID.String()),
		})
	}
	post(maker).WantError(http.StatusForbidden, "forbidden", "prefill_from")
	id := post(reader).WantStatus(http.StatusCreated).Object()["id"].(string)
	if again := post(reader).WantStatus(http.StatusCreated).Object()["id"]; again != id {
		t.Errorf("the repeat made %v, want %s", again, id)
	}
	post(maker).WantError(http.StatusForbidden, "forbidden", "prefill_from")
	seen := h.Do(harness.Call{Method: http.MethodGet, Path: "/sessions/" + id, Key: maker}).WantStatus(http.StatusOK)
	if url := seen.Object()["session_url"]; url != nil {
		t.Errorf("a key without data:read has the link %v", url)
	}
}

// TestPrefillFromWaitsForAnErasure: of an erasure and a session that continues the erased one,
// either the copy is made first or nothing is copied (D90, D101).
func TestPrefillFromWaitsForAnErasure(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	former := h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: "jo@customer.example"})
	h.Complete(former.ID)
	answer := make(chan harness.Answer, 1)
	h.OK(h.DB.InTx(h.Context(), func(tx *db.Tx) error {
		locked, err := tx.LockSession(h.Context(), h.TestScope(), former.ID)
		if err != nil {
			return err
		}
		go func() { answer <- h.Post("/sessions", continues("jo@customer.example", former.ID.String())) }()
		h.WaitForLock()
		now := h.Clock.Now()
		_, err = tx.EraseSession(h.Context(), locked, &domain.Erasure{ID: domain.NewErasureID(), SessionID: former.ID, At: now})
		return err
	}))
	(<-answer).WantError(http.StatusUnprocessableEntity, "validation_error", "prefill_from")
}

// TestAskIsChecked refuses what can't be shown to a customer as the partner's words (D102).
func TestAskIsChecked(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	post := func(ask string) harness.Answer {
		return h.Post("/sessions", `{"form_type": "financial_statement", "customer_email": "jo@customer.example", "ask": `+ask+`}`)
	}
	item := func(section, note string) string {
		raw, err := json.Marshal(map[string]string{"section": section, "note": note})
		h.OK(err)
		return string(raw)
	}
	for _, c := range []struct{ ask, field, says string }{
		{`[` + item("declaration", "Sign again") + `]`, "ask.0.section", "must be one of personal_details"},
		{`[` + item("payslips", "Send them") + `]`, "ask.0.section", "must be one of"},
		{`[` + item("income", "One") + `, ` + item("income", "Two") + `]`, "ask.1.section", "asked for before"},
		{`[` + item("income", "") + `]`, "ask.0.note", "must say what"},
		{`[` + item("income", " \n\u200b") + `]`, "ask.0.note", "must say what"},
		{`[` + item("income", strings.Repeat("x", 501)) + `]`, "ask.0.note", "500 characters"},
		{`[` + item("income", strings.Repeat("x\n", 251)) + `]`, "ask.0.note", "500 characters"},
		{`[` + item("income", "1\n2\n3\n4\n5\n6") + `]`, "ask.0.note", "at most 5 lines"},
		{`[` + item("income", "ring\u0007") + `]`, "ask.0.note", "must not contain control characters"},
		{`[` + item("income", "See https://evil.example/pay") + `]`, "ask.0.note", "web address"},
		{`[` + item("assets", "Fine") + `, ` + item("income", "Pay at www.evil.example") + `]`, "ask.1.note", "web address"},
		{`[` + strings.TrimSuffix(strings.Repeat(item("income", "Again")+",", 7), ",") + `]`, "ask", "at most 6 items"},
	} {
		a := post(c.ask).WantError(http.StatusUnprocessableEntity, "validation_error", c.field)
		if message := a.Object()["error"].(map[string]any)["message"].(string); !strings.Contains(message, c.says) {
			t.Errorf("%s: %q", c.ask, message)
		}
	}
	for wrong, field := range map[string]string{`{}`: "ask", `"income"`: "ask", `[1]`: "ask.0", `[null]`: "ask.0",
		`[{"section": "income", "text": "Typed"}]`: "ask.0.note", `[{"section": ["income"], "note": "Typed"}]`: "ask.0.section"} {
		post(wrong).WantError(http.StatusBadRequest, "invalid_request", field)
	}
	post(`[`+strings.Repeat(`{}, `, 9000)+`{}]`).WantError(http.StatusBadRequest, "invalid_request", "ask.0.section")
	post(`[]`).WantStatus(http.StatusCreated)
	post(`null`).WantStatus(http.StatusCreated)
	post(`[` + item("income", strings.Repeat("é", 500)) + `]`).WantStatus(http.StatusCreated)
}
