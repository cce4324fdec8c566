package handlers_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/intake"
	"candor/service"
	"candor/statement"
)

// TestBillingNumbersAgree leads an account through a random history and has
// the API, the dashboard and the invoices say the same at each step.
func TestBillingNumbersAgree(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	live := intake.Scope{AccountID: b.account.AccountID, Livemode: true}
	random := rand.New(rand.NewPCG(7, 7))
	const page = "/dashboard/live/billing"
	var owed statement.Cents // by the running period
	used, periods := 0, 0
	for periods < 4 {
		var before struct {
			CurrentPeriod struct{ End time.Time } `json:"current_period"`
		}
		finance := b.staff(intake.RoleFinance)
		b.ok(json.Unmarshal(b.call(apiCall{method: http.MethodGet, path: "/billing/subscription", key: b.account.LiveKey}).Body.Bytes(), &before))
		switch random.IntN(3) {
		case 0:
			b.clock.advance(time.Duration(random.IntN(15*24)) * time.Hour)
			finance = b.staff(intake.RoleFinance)
			for ended := before.CurrentPeriod.End; !ended.After(b.clock.Now()); ended = ended.AddDate(0, 1, 0) {
				b.clock.advance(time.Minute)
				b.bill()
				invoices, _, err := b.service.Invoices(b.Context(), live.AccountID, 0, 1)
				b.ok(err)
				if invoices[0].Total != owed || invoices[0].SessionsUsed != used {
					t.Errorf("invoice of %d sessions for %s, want %d for %s", invoices[0].SessionsUsed, invoices[0].Total, used, owed)
				}
				owed, used, periods = 0, 0, periods+1
			}
		case 1:
			plan := service.Plans[random.IntN(len(service.Plans))]
			if answer := finance.post(page+"/plan", url.Values{"plan": {plan}}); answer.Code != http.StatusSeeOther && answer.Code != http.StatusUnprocessableEntity {
				t.Fatalf("change to %s: status %d", plan, answer.Code)
			}
		case 2:
			for range random.IntN(9) {
				b.newSession(live, intake.NewSession{})
				used++
			}
		}
		var api struct {
			Plan struct {
				Name                   string
				SessionsIncluded       *int             `json:"sessions_included"`
				PricePerSessionOverage *statement.Cents `json:"price_per_session_overage"`
			}
			Usage struct {
				SessionsUsed      int  `json:"sessions_used"`
				SessionsRemaining *int `json:"sessions_remaining"`
			}
		}
		b.ok(json.Unmarshal(b.call(apiCall{method: http.MethodGet, path: "/billing/subscription", key: b.account.LiveKey}).status(http.StatusOK).Body.Bytes(), &api))
		s, err := b.service.Subscription(b.Context(), live.AccountID)
		b.ok(err)
		owed = s.Lines.Total()
		if api.Usage.SessionsUsed != used || api.Plan.Name != s.Name || s.SessionsIncluded != nil && *api.Usage.SessionsRemaining != max(0, *s.SessionsIncluded-used) {
			t.Fatalf("the API says %+v, want %d used on %s", api, used, s.Name)
		}
		things := "live sessions"
		if used == 1 {
			things = "live session"
		}
		finance.wantPage(finance.get(page), http.StatusOK, fmt.Sprintf("<strong>%d %s</strong>", used, things), owed.String(), api.Plan.Name)
		if s.SessionsIncluded != nil && used > *s.SessionsIncluded {
			finance.wantPage(finance.get(page), http.StatusOK, fmt.Sprintf("%d more than the %d included", used-*s.SessionsIncluded, *s.SessionsIncluded), "% of your plan is used")
		}
	}
	// What happened in test mode was never billed.
	b.newSession(intake.Scope{AccountID: live.AccountID}, intake.NewSession{})
	if s, err := b.service.Subscription(b.Context(), live.AccountID); err != nil || s.Used != used {
		t.Errorf("a test session counted: %d used, %v; want %d", s.Used, err, used)
	}
	if _, err := b.db.ExecContext(b.Context(), `UPDATE invoice SET total_cents = 1`); err == nil || !strings.Contains(err.Error(), "is ") {
		t.Errorf("an issued invoice was changed: %v", err)
	}
	if _, err := b.db.ExecContext(b.Context(), `DELETE FROM invoice`); err == nil || !strings.Contains(err.Error(), "invoices are kept") {
		t.Errorf("an invoice was deleted: %v", err)
	}
}
