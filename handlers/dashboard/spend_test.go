package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

const billingSpend = billingPage + "/spend"

// spendForm is a form of the billing page.
func spendForm(limit string, alerts ...string) url.Values {
	out := url.Values{"spend_cap": {limit}}
	for i, alert := range alerts {
		out.Set(fmt.Sprintf("alert_%d", i+1), alert)
	}
	return out
}

// createLive creates a live session by API and returns its status and error code.
func createLive(h *harness.Harness, key string) (status int, code string) {
	h.Helper()
	answer := h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Key: h.Account.LiveKey, Body: harness.ValidBody,
		Header: "Idempotency-Key: " + key})
	if answer.Code != http.StatusCreated {
		code, _ = answer.Object()["error"].(map[string]any)["code"].(string)
	}
	return answer.Code, code
}

// However many live sessions are created at once, those that cost something end
// exactly at the cap (D68); raising it admits the same requests.
func TestSpendCapIsExact(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	extraUse(h, 0)
	finance, owner := h.Staff(domain.RoleFinance), h.Owner()
	for _, as := range []string{"", "$45.50", "45.50"} { // the first and the last change nothing
		finance.WantRedirect(finance.Post(billingSpend, spendForm(as)), billingPage)
	}
	costs := func(words string) {
		t.Helper()
		owner.WantPage(owner.Get("/dashboard/live/sessions/new"), http.StatusOK, words)
	}
	costs("You’ve used 0 of your 10 included sessions. This one counts, too.")
	finance.WantPage(finance.Get(billingPage), http.StatusOK, "Spend cap and alerts saved").WantField("spend_cap", "45.50")

	var created, refused, other atomic.Int32
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			switch status, code := createLive(h, fmt.Sprintf("first-%d", i)); {
			case status == http.StatusCreated:
				created.Add(1)
			case status == http.StatusForbidden && code == "spend_cap_reached":
				refused.Add(1)
			default:
				other.Add(1)
			}
		})
	}
	all.Wait()
	if created.Load() != 14 || refused.Load() != 16 || other.Load() != 0 {
		t.Errorf("created %d, refused %d, else %d; want 14 (10 included, 4 for $40.00), 16, 0", created.Load(), refused.Load(),
			other.Load())
	}
	costs("You’ve used all your 10 included sessions. Your spend cap allows no more in this period.")
	finance.WantPage(finance.Get(billingPage), http.StatusOK, "14 live sessions", "$40.00", "Live sessions are stopped",
		"beyond your spend cap of $45.50", "wait for the next period on 20 January")
	finance.WantPage(finance.Get("/dashboard/live"), http.StatusOK, "Spend cap reached. Live sessions are stopped.").
		Offers("Show spend cap")
	h.Post("/sessions", harness.ValidBody).WantStatus(http.StatusCreated) // test mode has no cap

	// A refused request isn't kept for its key.
	if status, code := createLive(h, "again"); status != http.StatusForbidden {
		t.Errorf("beyond the cap: %d %s", status, code)
	}
	finance.WantRedirect(finance.Post(billingSpend, spendForm("50")), billingPage)
	for _, want := range []int{http.StatusCreated, http.StatusCreated} {
		if status, _ := createLive(h, "again"); status != want {
			t.Errorf("with a higher cap, the same request: %d, want %d", status, want)
		}
	}
	if status, _ := createLive(h, "one more"); status != http.StatusForbidden {
		t.Errorf("beyond the higher cap: %d", status)
	}

	// The next period starts at nothing; without a cap nothing stops.
	h.Clock.Advance(31 * 24 * time.Hour)
	if status, _ := createLive(h, "next period"); status != http.StatusCreated {
		t.Errorf("in the next period, before the last one is closed: %d", status)
	}
	finance = h.Staff(domain.RoleFinance)
	finance.WantRedirect(finance.Post(billingSpend, spendForm("")), billingPage)
	for i := range 12 {
		if status, _ := createLive(h, fmt.Sprintf("uncapped-%d", i)); status != http.StatusCreated {
			t.Errorf("without a cap, session %d: %d", i, status)
		}
	}
	audited(h, domain.AuditSpendLimits, 3)
}

// A cap of nothing admits the included sessions, also those of a plan that was
// just chosen; one below what was spent stops only what costs.
func TestSpendCapOfNothing(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	extraUse(h, 11)
	finance := h.Staff(domain.RoleFinance)
	stopped := spendForm("0")
	stopped.Set("stop_now", "yes")
	finance.WantRedirect(finance.Post(billingSpend, stopped), billingPage)
	if status, code := createLive(h, "a"); status != http.StatusForbidden || code != "spend_cap_reached" {
		t.Errorf("beyond a cap of nothing: %d %s", status, code)
	}
	typed := url.Values{"customer_email": {"jo@customer.example"}, "expires_in_days": {"7"}}
	support := h.Staff(domain.RoleSupport)
	support.WantPage(support.Post("/dashboard/live/sessions", typed), http.StatusUnprocessableEntity,
		"Your account has reached its spend cap").WantField("customer_email", "jo@customer.example")
	finance.WantRedirect(finance.Post(billingPage+"/plan", url.Values{"plan": {"professional"}}), billingPage)
	if status, _ := createLive(h, "b"); status != http.StatusCreated {
		t.Errorf("an included session of the next plan: %d", status)
	}
}

func TestSpendLimitsAreChecked(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	finance := h.Staff(domain.RoleFinance)
	for name, form := range map[string]url.Values{
		"words": spendForm("lots"), "below nothing": spendForm("-1"), "three decimals": spendForm("1.234"),
		"a rate": spendForm("100 a week"), "an alert of nothing": spendForm("", "0"), "too much": spendForm("99999999999999999"),
	} {
		finance.WantPage(finance.Post(billingSpend, form), http.StatusUnprocessableEntity, "There is a problem")
		if harness.QueryOne[int](h, `SELECT count(*) FROM billing_setting`) != 0 {
			t.Errorf("%s was stored", name)
		}
	}
	finance.WantRedirect(finance.Post(billingSpend, spendForm("1,000", "250", "", "100.50")), billingPage)
	page := finance.WantPage(finance.Get(billingPage), http.StatusOK)
	page.WantField("spend_cap", "1,000")
	page.WantField("alert_1", "100.50")
	page.WantField("alert_2", "250")
	for _, role := range []domain.Role{domain.RoleDeveloper, domain.RoleSupport} {
		if got := h.Staff(role).Post(billingSpend, spendForm("1")); got.Code != http.StatusForbidden {
			t.Errorf("%s sets the cap: %d", role, got.Code)
		}
	}
}

// Each amount and the cap send one email a period, however many runs notice it.
func TestSpendAlerts(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	box := h.Mailbox()
	extraUse(h, 0)
	finance := h.Staff(domain.RoleFinance)
	finance.WantRedirect(finance.Post(billingSpend, spendForm("40", "10", "30")), billingPage)
	live := domain.Scope{AccountID: h.Account.AccountID, Livemode: true}
	use := func(sessions int) {
		t.Helper()
		for range sessions {
			h.NewSession(live, domain.NewSession{})
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { bill(h) })
		}
		all.Wait()
	}
	const to = "partner@lender.example"
	execSQL(h, `
		INSERT INTO usage_notice (account_id, period_start, plan_id, percent, at) SELECT account_id, billed_to, plan_id, 1000, now()
			FROM subscription`) // no notices about usage
	use(10)
	box.Idle()
	use(2)
	if m := box.Email(to, "You’ve spent $20.00 in this billing period"); !strings.Contains(m.Text,
		"You asked for an email at $10.") {
		t.Errorf("the alert:\n%s", m.Text)
	}
	use(0)
	box.Idle()
	use(1)
	box.Email(to, "You’ve spent $30.00 in this billing period")
	use(1)
	box.Email(to, "Live sessions are stopped: your spend cap of $40 is reached")
	use(0)
	box.Idle()
	finance.WantRedirect(finance.Post(billingSpend, spendForm("50", "10", "30")), billingPage)
	use(1)
	box.Email(to, "Live sessions are stopped: your spend cap of $50 is reached")
	box.Idle()
}
