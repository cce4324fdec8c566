package handlers_test

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
)

// TestLiveModeAwaitsApproval: an account that no operator has approved creates
// test sessions and no live ones, by key or by hand, and says why (D52).
func TestLiveModeAwaitsApproval(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.db.Raw().ExecContext(b.Context(), `UPDATE account SET approved_at = NULL`)
	b.ok(err)
	live := apiCall{method: http.MethodPost, path: "/sessions", body: validBody, key: b.account.LiveKey}
	if a := b.call(live).refused(http.StatusForbidden, "forbidden", ""); !strings.Contains(a.Body.String(), "not approved for live mode") {
		t.Errorf("the refusal doesn't say why: %s", a.Body)
	}
	b.post("/sessions", validBody).status(http.StatusCreated)
	owner := b.staff(domain.RoleOwner)
	owner.wantPage(owner.get("/dashboard/live/sessions"), http.StatusOK, "Live mode awaits approval", "email your owners")
	byHand := url.Values{"customer_email": {"jo@customer.example"}, "days": {"30"}}
	if answer := owner.post("/dashboard/live/sessions", byHand); answer.Code < 400 {
		t.Errorf("a live session was made by hand: %d", answer.Code)
	}
	for i := range 4 {
		_, err := b.service.Team.Invite(b.Context(), b.account.AccountID, someone, team.InvitationParams{Email: string(rune('a'+i)) + "@lender.example", Role: domain.RoleSupport})
		if (err == nil) != (i < 3) {
			t.Errorf("invitation %d: %v", i+1, err)
		}
	}

	for range 2 { // the second changes nothing
		_, err := b.service.Accounts.Approve(b.Context(), b.account.AccountID, someone)
		b.ok(err)
	}
	b.call(live).status(http.StatusCreated)
	b.audited(domain.AuditAccountApproved, 1)
	var letters int
	b.ok(b.db.Raw().GetContext(b.Context(), &letters, `SELECT count(*) FROM river_job WHERE args->>'notice' = 'live_mode'`))
	if letters != 2 { // one for each owner
		t.Errorf("%d emails to owners, want 2", letters)
	}
	if strings.Contains(owner.get("/dashboard/live/sessions").Body.String(), "awaits approval") {
		t.Error("the page still says that live mode awaits approval")
	}
}

// TestNamesHoldNoLinks: names stand in emails to third parties (D52).
func TestNamesHoldNoLinks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	set := func(name string) error {
		return b.service.Accounts.ChangeSettings(b.Context(), b.account.AccountID, someone, accounts.Settings{Name: name})
	}
	for _, name := range []string{
		"http://evil.example", "Win at www.evil.example", "evil.example/prize", "https://evil", "Visit evil.com", "EVIL.COM.AU now", "evil.example:8080", "Lender\nBcc: x",
	} {
		if set(name) == nil {
			t.Errorf("an account may be called %q", name)
		}
		err := b.service.Auth.SignUp(b.Context(), auth.NewAccount{Company: name, Name: name, Email: "new@lender.example", Password: "a long enough passphrase"}, domain.Visitor{})
		var refused *domain.Error
		if !errors.As(err, &refused) || len(refused.Fields) != 2 {
			t.Errorf("sign-up with %q: %v", name, err)
		}
	}
	for _, name := range []string{"Lender & Sons Pty. Ltd.", "J.P. Morgan", "St. George", "A.B.C. Finance", "Dr. No", "Łódź Kredyt Sp. z o.o.", "No. 1 Loans", "24/7 Loans"} {
		if err := set(name); err != nil {
			t.Errorf("an account may not be called %q: %v", name, err)
		}
	}
}
