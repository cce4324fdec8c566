package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// TestPrefillIsChecked checks that prefill is read strictly, and that each
// mistake is named with its path and the way to mend it (D58).
func TestPrefillIsChecked(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for name, test := range map[string]struct{ prefill, field, says string }{
		"unknown section": {`{"asets": {}}`, "prefill.asets", "personal_details, income, assets, liabilities, expenses"},
		"summary":         {`{"summary": {"net_worth": 1}}`, "prefill.summary", "personal_details"},
		"unknown member": {`{"income": {"salary": 1}}`, "prefill.income.salary",
			"prefill.income.salary is not a member that the form knows."},
		"section a list": {`{"income": []}`, "prefill.income", "must be an object"},
		"negative value": {`{"assets": {"vehicles": [{"value": -1}]}}`, "prefill.assets.vehicles.0.value",
			"prefill.assets.vehicles.0.value must be $0 or more."},
		"choice": {`{"assets": {"bank_accounts": [{"account_type": "Savings"}]}}`,
			"prefill.assets.bank_accounts.0.account_type", "transaction, savings, term_deposit, offset, other"},
		"large": {`{"income": null` + strings.Repeat(" ", 32<<10) + `}`, "prefill",
			"prefill must have at most 32768 bytes."},
		"date of tomorrow": {`{"personal_details": {"date_of_birth": "2026-11-21"}}`, "prefill.personal_details.date_of_birth",
			"must be in the past"},
	} {
		t.Run(name, func(t *testing.T) {
			a := h.In(t).Post("/sessions", with(`"prefill": `+test.prefill)).WantError(http.StatusUnprocessableEntity, "validation_error",
				test.field)
			if !strings.Contains(a.Body.String(), test.says) {
				t.Errorf("%s doesn't say %q", a.Body, test.says)
			}
		})
	}
	a := h.Post("/sessions",
		with(`"language": "fr", "prefill": {"income": {"a": 1, "b": 1}, "assets": {"vehicles": [{"value": "1.234"}]}}`))
	a.WantError(http.StatusUnprocessableEntity, "validation_error", "language")
	if got := wrongFields(a); !slices.Equal(got, []string{"language", "prefill.assets.vehicles.0.value", "prefill.income.a",
		"prefill.income.b"}) {
		t.Errorf("details.errors names %q", got)
	}
	for _, wrong := range []string{`[]`, `"{}"`, `5`, `false`} {
		h.Post("/sessions", with(`"prefill": `+wrong)).WantError(http.StatusBadRequest, "invalid_request", "prefill")
	}
	for _, right := range []string{`null`, `{}`, `{"income": null}`, `{"income": {}}`, `{"assets": {"vehicles": []}}`} {
		created := h.Post("/sessions", with(`"prefill": `+right)).WantStatus(http.StatusCreated).Object()
		if got := keysOf(created); !slices.Equal(got, createdFields) {
			t.Errorf("%s: fields %q", right, got)
		}
	}
}

// TestPrefillAndIdempotency checks that the same key with another prefill is a
// conflict.
func TestPrefillAndIdempotency(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	body := func(salary string) string {
		return with(`"prefill": {"income": {"employment_income": {"gross_salary": ` + salary + `}}}`)
	}
	first := h.PostOnce("order", body("85000")).WantStatus(http.StatusCreated)
	if again := h.PostOnce("order", body("85000")).WantStatus(http.StatusCreated); again.Body.String() != first.Body.String() {
		t.Errorf("the replay is %s, want %s", again.Body, first.Body)
	}
	h.PostOnce("order", body("85001")).WantError(http.StatusUnprocessableEntity, "idempotency_key_reused", "")
	h.PostOnce("order", harness.ValidBody).WantError(http.StatusUnprocessableEntity, "idempotency_key_reused", "")
}

// TestLinkOfAPrefilledSession checks that a key without data:read doesn't get
// the link to what another key gave, opened or not (D51, D58).
func TestLinkOfAPrefilledSession(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	created := h.Post("/sessions", with(`"prefill": {"income": {"employment_income": {"gross_salary": 1}}}`)).
		WantStatus(http.StatusCreated).Object()
	for key, want := range map[string]any{
		h.RestrictedKey(domain.Permissions{domain.SessionsRead, domain.SessionsWrite}): nil, h.Account.TestKey: created["session_url"],
	} {
		got := h.Do(harness.Call{Method: http.MethodGet, Path: "/sessions/" + created["id"].(string), Key: key}).
			WantStatus(http.StatusOK).Object()["session_url"]
		if got != want {
			t.Errorf("session_url %v, want %v", got, want)
		}
	}
}
