package dashboard_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/service/accounts"
	"candor/internal/service/staff/auth"
	"candor/internal/service/staff/team"
	"candor/internal/testkit/harness"
)

// TestLiveModeAwaitsApproval: an account that no operator has approved creates
// test sessions and no live ones, by key or by hand, and says why (D52).
func TestLiveModeAwaitsApproval(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	execSQL(h, `UPDATE account SET approved_at = NULL`)
	live := harness.Call{Method: http.MethodPost, Path: "/sessions", Body: harness.ValidBody, Key: h.Account.LiveKey}
	if a := h.Do(live).WantError(http.StatusForbidden, "forbidden", ""); !strings.Contains(a.Body.String(),
		"not approved for live mode") {
		t.Errorf("the refusal doesn't say why: %s", a.Body)
	}
	h.Post("/sessions", harness.ValidBody).WantStatus(http.StatusCreated)
	owner := h.Staff(domain.RoleOwner)
	owner.WantPage(owner.Get("/dashboard/live/sessions"), http.StatusOK, "Live mode awaits approval", "email your owners")
	byHand := url.Values{"customer_email": {"jo@customer.example"}, "expires_in_days": {"30"}}
	owner.WantPage(owner.Post("/dashboard/live/sessions", byHand), http.StatusUnprocessableEntity, "not approved for live mode yet").
		WantField("customer_email", "jo@customer.example")
	for i := range 4 {
		_, err := h.Service.Team.Invite(h.Context(), h.Account.AccountID, harness.Operator,
			team.InvitationParams{Email: string(rune('a'+i)) + "@lender.example", Role: domain.RoleSupport})
		if (err == nil) != (i < 3) {
			t.Errorf("invitation %d: %v", i+1, err)
		}
	}

	for range 2 { // the second changes nothing
		_, err := h.Service.Accounts.Approve(h.Context(), h.Account.AccountID, harness.Operator)
		h.OK(err)
	}
	h.Do(live).WantStatus(http.StatusCreated)
	audited(h, domain.AuditAccountApproved, 1)
	emails := harness.QueryOne[int](h, `SELECT count(*) FROM river_job WHERE args->>'notice' = 'live_mode'`)
	if emails != 2 { // one for each owner
		t.Errorf("%d emails to owners, want 2", emails)
	}
	if strings.Contains(owner.Get("/dashboard/live/sessions").Body.String(), "awaits approval") {
		t.Error("the page still says that live mode awaits approval")
	}
}

// TestNamesHoldNoLinks: names stand in emails to third parties (D52).
func TestNamesHoldNoLinks(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	set := func(name string) error {
		return h.Service.Accounts.ChangeSettings(h.Context(), h.Account.AccountID, harness.Operator,
			func(s *accounts.Settings) { s.Name = name })
	}
	for _, name := range []string{
		"http://evil.example", "Win at www.evil.example", "evil.example/prize", "https://evil", "Visit evil.com", "EVIL.COM.AU now",
		"evil.example:8080", "Lender\nBcc: x", "Account locked, see candor-billing.eu", "Loans.club",
	} {
		if set(name) == nil {
			t.Errorf("an account may be called %q", name)
		}
		err := h.Service.StaffAuth.SignUp(h.Context(), auth.NewAccount{Company: name, Name: name, Email: "new@lender.example",
			Password: "a long enough passphrase"}, domain.Visitor{})
		var refused *domain.Error
		if !errors.As(err, &refused) || len(refused.Fields) != 2 {
			t.Errorf("sign-up with %q: %v", name, err)
		}
	}
	for _, name := range []string{"Lender & Sons Pty. Ltd.", "J.P. Morgan", "St. George", "A.B.C. Finance", "Dr. No",
		"Łódź Kredyt Sp. z o.o.", "No. 1 Loans", "24/7 Loans", "St.George Bank", "Smith Pty.Ltd"} {
		if err := set(name); err != nil {
			t.Errorf("an account may not be called %q: %v", name, err)
		}
	}
	execSQL(h, `UPDATE account SET name = 'Loans.club', next_steps = 'See help.bank' WHERE id = $1`, h.Account.AccountID)
	h.OK(h.Service.Accounts.ChangeSettings(h.Context(), h.Account.AccountID, harness.Operator,
		func(s *accounts.Settings) { s.BrandColour = "123b5d" })) // what an earlier rule allowed holds up nothing else
}
