package dashboard_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	ledger "candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/service/billing"
	"candor/internal/statement"
	"candor/internal/testkit/harness"
)

// agreeing is an account whose numbers are to be the same wherever they are
// shown, and what they should be.
type agreeing struct {
	*harness.Harness
	live       domain.Scope
	subscribed bool
	cancelled  bool      // at the period's end
	start, end time.Time // of the period
	used       int
	carried    int             // of an interrupted period
	until      time.Time       // when that would have ended
	owed       statement.Cents // by the running period
	invoices   int
}

const billingPage = "/dashboard/live/billing"

// invoiced compares the period's invoice with what was shown of it.
func (a *agreeing) invoiced() {
	a.Helper()
	invoices, _, err := a.Service.Billing.Invoices(a.Context(), a.live.AccountID, 0, 1)
	a.OK(err)
	if a.invoices++; len(invoices) == 0 || invoices[0].Number != int64(a.invoices) || invoices[0].Total != a.owed ||
		invoices[0].SessionsUsed != a.used {
		a.Fatalf("invoices %+v; want number %d of %d sessions for %s", invoices, a.invoices, a.used, a.owed)
	}
}

// pass lets time go by, and the worker do what is due.
func (a *agreeing) pass(d time.Duration) {
	a.Helper()
	a.Clock.Advance(d)
	if !a.subscribed || a.end.After(a.Clock.Now()) {
		return
	}
	a.Clock.Advance(time.Minute)
	bill(a.Harness)
	a.invoiced()
	a.used, a.carried, a.subscribed = 0, 0, !a.cancelled
}

func (a *agreeing) cancelNow() {
	a.Helper()
	if a.used > 0 || a.Clock.Now().Sub(a.start) >= ledger.ShortestPeriod {
		a.invoiced()
	}
	if a.carried == 0 {
		a.until = a.end
	}
	a.carried, a.used, a.subscribed = a.carried+a.used, 0, false
	a.cancelled = false
}

// step does one thing at random in the dashboard, whether it can be done or
// not.
func (a *agreeing) step(random *rand.Rand, finance *harness.StaffBrowser) {
	a.Helper()
	a.Clock.Advance(time.Second)
	done := func(path string, form url.Values) bool {
		a.Helper()
		answer := finance.Post(billingPage+path, form)
		if answer.Code != http.StatusSeeOther && answer.Code != http.StatusUnprocessableEntity && a.subscribed {
			a.Fatalf("POST %s %v: status %d", path, form, answer.Code)
		}
		return answer.Code == http.StatusSeeOther
	}
	plan := domain.PlanIDs[random.IntN(len(domain.PlanIDs))]
	switch random.IntN(9) {
	case 0, 1:
		a.pass(time.Duration(random.IntN(15*24)) * time.Hour)
	case 2:
		done("/plan", url.Values{"plan": {plan}})
	case 3:
		// An operator can do what finance can't.
		_ = a.Service.Billing.ChangePlan(a.Context(), a.live.AccountID, harness.Operator, plan)
	case 4:
		done("/cancel", url.Values{"when": {"now"}, "reason": {"random"}})
		if a.subscribed {
			a.cancelNow()
		}
	case 5:
		done("/cancel", url.Values{"when": {"end"}, "reason": {"random"}})
		a.cancelled = a.cancelled || a.subscribed
	case 6:
		done("/reactivate", nil)
		a.cancelled = false
		if a.subscribed {
			return
		}
		if done("/subscribe", url.Values{"plan": {plan}}) {
			a.subscribed, a.cancelled = true, false
			if !a.until.After(a.Clock.Now()) {
				a.carried = 0
			}
		}
	default:
		for range random.IntN(9) {
			if a.subscribed && !a.cancelled {
				a.NewSession(a.live, domain.NewSession{})
				a.used++
			}
		}
	}
}

// compare reads the numbers wherever they are shown.
func (a *agreeing) compare(finance *harness.StaffBrowser) {
	a.Helper()
	answer := a.Do(harness.Call{Method: http.MethodGet, Path: "/billing/subscription", Key: a.Account.LiveKey})
	if !a.subscribed {
		answer.WantStatus(http.StatusNotFound)
		texts := []string{"No subscription"}
		if a.carried > 0 && a.until.After(a.Clock.Now()) {
			texts = append(texts, "cancelled before its end", fmt.Sprintf("the %d session", a.carried))
		}
		finance.WantPage(finance.Get(billingPage), http.StatusOK, texts...)
		return
	}
	var api struct {
		Plan  struct{ Name string }
		Usage struct {
			SessionsUsed      int  `json:"sessions_used"`
			SessionsRemaining *int `json:"sessions_remaining"`
		}
	}
	a.OK(json.Unmarshal(answer.WantStatus(http.StatusOK).Body.Bytes(), &api))
	s, err := a.Service.Billing.Subscription(a.Context(), a.live.AccountID)
	a.OK(err)
	a.owed, a.start, a.end = s.Lines.Total(), s.Period.Start, s.Period.End
	included := s.SessionsIncluded
	if api.Usage.SessionsUsed != a.used || api.Plan.Name != s.Name || included != nil && *api.Usage.SessionsRemaining != max(0,
		*included-a.carried-a.used) {
		a.Fatalf("the API says %+v, want %d used and %d carried on %s", api, a.used, a.carried, s.Name)
	}
	if report, err := a.Service.Billing.Usage(a.Context(), a.live, billing.UsageRange{Period: "last_90_days"}); err != nil ||
		report.Created < a.used {
		a.Errorf("usage %+v, %v; want %d at least", report, err, a.used)
	}
	things := "live sessions"
	if a.used == 1 {
		things = "live session"
	}
	texts := []string{fmt.Sprintf("%d %s", a.used, things), a.owed.String(), api.Plan.Name}
	if included != nil && a.carried+a.used > *included {
		texts = append(texts, fmt.Sprintf("%d included + %d extra", *included, a.carried+a.used-*included))
		if !a.cancelled {
			texts = append(texts, fmt.Sprintf("used all your %d included sessions", *included))
		}
	}
	finance.WantPage(finance.Get(billingPage), http.StatusOK, texts...)
	if included != nil && a.carried+a.used > *included {
		finance.WantPage(finance.Get("/dashboard/live"), http.StatusOK, fmt.Sprintf("%d included + %d extra", *included,
			a.carried+a.used-*included))
	}
}

// TestBillingNumbersAgree leads an account through a random history and has
// the API, the dashboard and the invoices say the same at each step.
func TestBillingNumbersAgree(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 7))
	h := harness.New(t)
	a := &agreeing{Harness: h, live: domain.Scope{AccountID: h.Account.AccountID, Livemode: true}, subscribed: true}
	a.compare(h.Staff(domain.RoleFinance))
	for step := 0; step < 40 && a.invoices < 5; step++ {
		a.step(random, h.Staff(domain.RoleFinance))
		a.compare(h.Staff(domain.RoleFinance))
	}
	if !a.subscribed {
		h.OK(h.Service.Billing.Subscribe(h.Context(), a.live.AccountID, harness.Operator, "starter"))
	}
	// What happened in test mode was never billed.
	h.NewSession(domain.Scope{AccountID: a.live.AccountID}, domain.NewSession{})
	if s, err := h.Service.Billing.Subscription(h.Context(), a.live.AccountID); err != nil || s.Used != a.used {
		t.Errorf("a test session counted: %d used, %v; want %d", s.Used, err, a.used)
	}
}

// TestInvoicesAreKept changes what must not change.
func TestInvoicesAreKept(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.LastInvoice(h.Account.AccountID)
	for statement, refusal := range map[string]string{
		`UPDATE invoice SET total_cents = 1`:                      "invoice 1 is settled",
		`DELETE FROM invoice`:                                     "invoices are kept",
		`TRUNCATE invoice`:                                        "invoice is append-only",
		`UPDATE invoice_number SET last = 0`:                      "go up by one",
		`UPDATE invoice_number SET last = last`:                   "go up by one",
		`UPDATE invoice_number SET last = last + 2`:               "go up by one",
		`DELETE FROM invoice_number`:                              "invoice_number is append-only",
		`TRUNCATE invoice_number`:                                 "invoice_number is append-only",
		`INSERT INTO invoice_number VALUES (0)`:                   "invoice_number_one_idx",
		`INSERT INTO invoice_number SELECT 2 FROM invoice_number`: "invoice_number_one_idx",
	} {
		if _, err := h.DB.Raw().ExecContext(h.Context(), statement); err == nil || !strings.Contains(err.Error(), refusal) {
			t.Errorf("%s: %v, want %q", statement, err, refusal)
		}
	}
	if _, err := h.DB.Raw().ExecContext(h.Context(), `UPDATE invoice_number SET last = last + 1`); err != nil {
		t.Errorf("the next number: %v", err)
	}
}
