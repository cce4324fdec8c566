package accounts_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/service/accounts"
	"candor/internal/service/billing"
	"candor/internal/service/keys"
	"candor/internal/service/staff/passwords"
	"candor/internal/testkit/servicetest"
)

func TestCreateAccount(t *testing.T) {
	t.Parallel()
	b := servicetest.NewFixture(t, func(c *servicetest.Config) { c.PasswordCost = passwords.Cost{} })
	for key, live := range map[string]bool{b.Account.TestKey: false, b.Account.LiveKey: true} {
		got, err := b.Keys.Authenticate(b.Ctx, key, "192.0.2.1")
		if err != nil || got.AccountID != b.Account.AccountID || got.Livemode != live || got.Permissions != nil {
			t.Errorf("key %.12s… stands for %+v, %v", key, got, err)
		}
	}
	for scope, want := range map[domain.Scope]string{b.Test(): b.Account.TestWebhookSecret, b.Live(): b.Account.LiveWebhookSecret} {
		setting, err := b.DB.EndpointSecrets(b.Ctx, scope, nil)
		b.OK(err)
		opened, err := b.Ring.Open(scope.SecretOwner(), setting.Secret)
		if err != nil || string(opened) != want || !strings.HasPrefix(want, "whsec_") || strings.Contains(string(setting.Secret),
			want[6:]) {
			t.Errorf("secret %q is kept as %q, %v", want, opened, err)
		}
	}
	var hash string
	b.OK(b.DB.Raw().GetContext(b.Ctx, &hash,
		"SELECT password_hash FROM staff_user WHERE email = 'owner@lender.example' AND role = 'owner'"))
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") || !passwords.Verify(hash, b.Account.Password) {
		t.Errorf("the password isn't kept as its Argon2id hash: %s", hash)
	}
	for _, wrong := range []struct{ hash, password string }{
		{hash, b.Account.Password + "x"}, {hash, ""}, {"", b.Account.Password}, {strings.Replace(hash, "t=2", "t=1", 1),
			b.Account.Password},
		{strings.Replace(hash, "argon2id", "argon2i", 1), b.Account.Password}, {hash[:strings.LastIndex(hash, "$")+1],
			b.Account.Password}, {hash + "A", b.Account.Password},
	} {
		if passwords.Verify(wrong.hash, wrong.password) {
			t.Errorf("%q is taken for %s", wrong.password, wrong.hash)
		}
	}
	subscription, err := b.Billing.Subscription(b.Ctx, b.Account.AccountID)
	if err != nil || subscription.ID != "starter" || subscription.BillingEmail != "owner@lender.example" {
		t.Errorf("subscription %+v, %v", subscription, err)
	}
	all, err := b.DB.Accounts(b.Ctx)
	if err != nil || len(all) != 1 || all[0].Name != "Lender" {
		t.Errorf("accounts %+v, %v", all, err)
	}
}

func TestCreateAccountRefuses(t *testing.T) {
	t.Parallel()
	b := servicetest.NewFixture(t)
	tests := []struct {
		params accounts.Params
		code   domain.Code
		field  string
	}{
		{accounts.Params{Name: " ", Email: "a@b.example", Plan: "starter"}, domain.CodeValidation, "name"},
		{accounts.Params{Name: "a\nb", Email: "a@b.example", Plan: "starter"}, domain.CodeValidation, "name"},
		{accounts.Params{Name: "A", Email: "jo", Plan: "starter"}, domain.CodeInvalidEmail, "email"},
		{accounts.Params{Name: "A", Email: "OWNER@lender.example", Plan: "starter"}, domain.CodeValidation, "email"},
		{accounts.Params{Name: "A", Email: "a@b.example", Plan: "free"}, domain.CodeValidation, "plan"},
	}
	for _, tt := range tests {
		_, err := b.Accounts.Create(b.Ctx, tt.params, servicetest.Someone)
		var e *domain.Error
		if !errors.As(err, &e) || e.Code != tt.code || e.Fields[0].Field != tt.field {
			t.Errorf("%+v: %v, want %s on %s", tt.params, err, tt.code, tt.field)
		}
	}
	if n := b.Count("SELECT count(*) FROM account"); n != 1 {
		t.Errorf("%d accounts, want the first alone", n)
	}
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	b := servicetest.NewFixture(t)
	key, text, err := b.Keys.Create(b.Ctx, b.Live(), servicetest.Someone, keys.Params{Name: " Reports ",
		Permissions: domain.Permissions{domain.BillingRead}})
	b.OK(err)
	got, err := b.Keys.Authenticate(b.Ctx, text, "192.0.2.1")
	if err != nil || got.KeyID != key.ID || got.Scope != b.Live() || !got.Permissions.Allow(domain.BillingRead) ||
		got.Permissions.Allow(domain.DataRead) || key.Name != "Reports" {
		t.Errorf("restricted key stands for %+v, %v", got, err)
	}
	_, _, err = b.Keys.Create(b.Ctx, b.Live(), servicetest.Someone, keys.Params{Name: "a\x00b"})
	b.Code("a name with a NUL", err, domain.CodeValidation)
	b.OK(b.Keys.Delete(b.Ctx, b.Live(), servicetest.Someone, key.ID, "Reports"))
	_, unknown := domain.NewAPIKey(b.Live(), "", servicetest.Start)
	for _, bad := range []string{"", "x", text, unknown, b.Account.LiveKey + "x", strings.ToLower(b.Account.LiveKey)} {
		got, err := b.Keys.Authenticate(b.Ctx, bad, "192.0.2.1")
		b.Code(bad, err, domain.CodeInvalidAPIKey)
		if known := got.KeyID == key.ID && got.Scope == b.Live(); known != (bad == text) {
			t.Errorf("%q is refused as the key %+v", bad, got)
		}
	}
}

func TestSubscriptionAndLiveSessions(t *testing.T) {
	t.Parallel()
	b := servicetest.NewFixture(t)
	for i := range 12 {
		if i < 3 {
			b.Session() // test sessions cost nothing
		}
		session, err := b.Create(b.Live())
		b.OK(err)
		if i == 0 {
			_, err := b.Sessions.Cancel(b.Ctx, b.Live(), session.ID, servicetest.Someone) // cancelling gives nothing back
			b.OK(err)
		}
	}
	_, err := b.Create(b.Live(), func(w *domain.NewSession) { w.CustomerEmail = "" })
	b.Code("a refused session", err, domain.CodeInvalidEmail)
	got, err := b.Billing.Subscription(b.Ctx, b.Account.AccountID)
	if err != nil || got.Used != 12 || *got.Remaining != 0 || !got.Period.Start.Equal(servicetest.Start) {
		t.Errorf("subscription %+v, %v; want 12 used, 0 remaining", got, err)
	}
	b.Pass(got.Period.End.Sub(servicetest.Start))
	if got, err := b.Billing.Subscription(b.Ctx, b.Account.AccountID); err != nil || got.Used != 0 || *got.Remaining != 10 {
		t.Errorf("in the next period: %+v, %v", got, err)
	}
	set := func(values string) {
		_, err := b.DB.Raw().ExecContext(b.Ctx, "UPDATE subscription SET "+values)
		b.OK(err)
	}
	set("status = 'past_due'")
	_, err = b.Create(b.Live())
	b.OK(err)
	set("plan_id = 'enterprise'")
	if got, err := b.Billing.Subscription(b.Ctx, b.Account.AccountID); err != nil || got.Used != 1 || got.Remaining != nil ||
		got.SessionsIncluded != nil {
		t.Errorf("Enterprise: %+v, %v", got, err)
	}
	set("status = 'cancelled'")
	_, err = b.Create(b.Live())
	b.Code("a cancelled subscription", err, domain.CodeForbidden)
	set("effective_at = '2026-12-01'")
	_, err = b.Create(b.Live())
	b.Code("no subscription", err, domain.CodeForbidden)
	_, err = b.Billing.Subscription(b.Ctx, b.Account.AccountID)
	b.Code("no subscription", err, domain.CodeSubscriptionNotFound)
	b.Session() // test keys need none
}

func TestUsageRanges(t *testing.T) {
	t.Parallel()
	b := servicetest.NewFixture(t) // 20 November 2026
	tests := []struct {
		ask         billing.UsageRange
		first, last string // last "" for an error of the code in first
	}{
		{billing.UsageRange{}, "2026-11-01", "2026-11-30"},
		{billing.UsageRange{Period: "current_month"}, "2026-11-01", "2026-11-30"},
		{billing.UsageRange{Period: "last_month"}, "2026-10-01", "2026-10-31"},
		{billing.UsageRange{Period: "last_30_days"}, "2026-10-22", "2026-11-20"},
		{billing.UsageRange{Period: "last_90_days"}, "2026-08-23", "2026-11-20"},
		{billing.UsageRange{Period: "last_year"}, "invalid_request", ""},
		{billing.UsageRange{Period: "last_year", StartDate: "2026-01-01", EndDate: "2026-01-01"}, "2026-01-01", "2026-01-01"},
		{billing.UsageRange{StartDate: "2024-01-01", EndDate: "2024-12-31"}, "2024-01-01", "2024-12-31"},
		{billing.UsageRange{StartDate: "2025-01-01", EndDate: "2026-01-02"}, "invalid_date_range", ""},
		{billing.UsageRange{StartDate: "2026-01-02", EndDate: "2026-01-01"}, "invalid_date_range", ""},
		{billing.UsageRange{StartDate: "2026-01-02"}, "invalid_date_range", ""},
		{billing.UsageRange{EndDate: "2026-01-02"}, "invalid_date_range", ""},
		{billing.UsageRange{StartDate: "2026-02-30", EndDate: "2026-03-01"}, "invalid_date_range", ""},
		{billing.UsageRange{StartDate: "0000-01-01", EndDate: "0000-12-31"}, "0000-01-01", "0000-12-31"},
		{billing.UsageRange{StartDate: "9999-01-01", EndDate: "9999-12-31"}, "9999-01-01", "9999-12-31"},
	}
	for _, tt := range tests {
		got, err := b.Billing.Usage(b.Ctx, b.Test(), tt.ask)
		if tt.last == "" {
			b.Code(tt.ask.Period+tt.ask.StartDate+tt.ask.EndDate, err, domain.Code(tt.first))
			continue
		}
		if err != nil || got.First.Format(time.DateOnly) != tt.first || got.Last.Format(time.DateOnly) != tt.last {
			t.Errorf("%+v: %+v, %v; want %s to %s", tt.ask, got, err, tt.first, tt.last)
		}
	}
	if got, err := b.Billing.Usage(b.Ctx, b.Test(), billing.UsageRange{}); err != nil || len(got.Daily) != 20 {
		t.Errorf("the current month has %d days so far, %v; want 20", len(got.Daily), err)
	}
}

// What an operator makes for a new partner is in the partner's audit log.
func TestCreateAccountIsAudited(t *testing.T) {
	t.Parallel()
	b := servicetest.NewFixture(t)
	page, _, err := b.Audit.Page(b.Ctx, b.Account.AccountID, domain.AuditFilter{}, nil, 100)
	b.OK(err)
	got := map[string]int{}
	for _, e := range page {
		mode := "both"
		if e.Livemode != nil {
			mode = map[bool]string{true: "live", false: "test"}[*e.Livemode]
		}
		got[string(e.Action)+" by "+e.ActorName+" "+mode+" "+string(e.After)]++
	}
	team, err := b.Team.List(b.Ctx, b.Account.AccountID)
	b.OK(err)
	for _, want := range []string{
		`account.created by a test both {"plan": "starter", "owner": "` + team[0].ID.String() + `"}`,
		`api_key.created by a test test {"name": "First key", "permissions": "full access"}`,
		`api_key.created by a test live {"name": "First key", "permissions": "full access"}`,
	} {
		if got[want] != 1 || len(page) != 3 {
			t.Errorf("the audit log has %v, want one %s", got, want)
		}
	}
	keys, err := b.Keys.List(b.Ctx, b.Live())
	if err != nil || keys[0].CreatedBy != "a test" {
		t.Errorf("the first key is made by %q, %v", keys[0].CreatedBy, err)
	}
}
