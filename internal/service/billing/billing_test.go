package billing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"candor/db"
	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/testkit"
	"candor/internal/testkit/servicetest"
)

// bank is a payment provider that does what the test says.
type bank struct {
	mu      sync.Mutex
	declare []billing.Outcome // one a charge, then all are paid
	charges int
}

func (*bank) Name() string { return "bank" }

func (k *bank) Charge(context.Context, *domain.Invoice) (billing.Outcome, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.charges++
	if len(k.declare) == 0 {
		return billing.Outcome{State: billing.Paid, Reference: fmt.Sprintf("payment %d", k.charges)}, nil
	}
	next := k.declare[0]
	k.declare = k.declare[1:]
	return next, nil
}

var declined = billing.Outcome{State: billing.Failed, Reason: "The card was declined."}

// terms are those of the tests: 10 % GST, charged to a card at once.
var terms = billing.Terms{GSTBasisPoints: 1000, Seller: domain.Seller{Cards: true}}

// A biller is a fixture with the billing runner and a ledger.
type biller struct {
	*servicetest.Fixture
	runner *billing.Runner
	bank   *bank
	id     domain.AccountID
}

func newBiller(t testing.TB) *biller {
	b := servicetest.NewFixture(t, func(c *servicetest.Config) { c.Terms = terms })
	k := &bank{}
	return &biller{Fixture: b, bank: k, id: b.Account.AccountID, runner: &billing.Runner{
		DB: b.DB, Ledger: &billing.Ledger{Events: b.Outbox, Terms: terms}, Provider: k, Logger: b.Logger,
	}}
}

// to sets the clock and runs what is due.
func (b *biller) to(at time.Time) {
	b.Helper()
	b.Offset.Store(int64(at.Sub(servicetest.Start)))
	b.OK(b.runner.Run(b.Ctx, b.Clock.Now()))
}

// use creates n live sessions.
func (b *biller) use(n int) {
	b.Helper()
	for range n {
		b.OK(b.createLive())
	}
}

func (b *biller) createLive() error {
	return b.DB.InTx(b.Ctx, func(tx *db.Tx) error {
		_, err := b.Sessions.Insert(b.Ctx, tx, domain.Scope{AccountID: b.id, Livemode: true}, domain.NewSession{
			FormType: domain.FinancialStatement, CustomerEmail: "jo@customer.example",
		})
		return err
	})
}

func (b *biller) invoices() []domain.Invoice {
	b.Helper()
	all, more, err := b.Billing.Invoices(b.Ctx, b.id, 0, 1000)
	b.OK(err)
	if more {
		b.Fatal("more than 1000 invoices")
	}
	return all
}

// last is the newest invoice.
func (b *biller) last() domain.Invoice {
	b.Helper()
	all := b.invoices()
	if len(all) == 0 {
		b.Fatal("there is no invoice")
	}
	return all[0]
}

// webhooks are the billing events, as their webhooks say it, oldest first.
func (b *biller) webhooks() (out []string) {
	b.Helper()
	var bodies [][]byte
	b.OK(b.DB.Raw().SelectContext(b.Ctx, &bodies, `SELECT body FROM event WHERE session_id IS NULL ORDER BY sequence`))
	for _, body := range bodies {
		var e struct {
			Event string
			Data  map[string]any
		}
		b.OK(json.Unmarshal(body, &e))
		switch e.Event {
		case "billing.invoice_paid":
			out = append(out, fmt.Sprintf("paid %v %v", e.Data["amount"], e.Data["currency"]))
		case "billing.invoice_payment_failed":
			out = append(out, fmt.Sprintf("failed %v, again %v", e.Data["amount"], e.Data["retry_at"]))
		case "billing.subscription_cancelled":
			out = append(out, fmt.Sprintf("cancelled %v: %v", e.Data["effective_date"], e.Data["reason"]))
		}
	}
	return out
}

func (b *biller) status() domain.SubscriptionStatus {
	b.Helper()
	s, err := b.Billing.Subscription(b.Ctx, b.id)
	b.OK(err)
	return s.Status
}

func (b *biller) wantWebhooks(from int, want ...string) int {
	b.Helper()
	got := b.webhooks()
	if strings.Join(got[min(from, len(got)):], "\n") != strings.Join(want, "\n") {
		b.Errorf("webhooks:\n%s\nwant:\n%s", strings.Join(got[min(from, len(got)):], "\n"), strings.Join(want, "\n"))
	}
	return len(got)
}

// TestSimulatedYear leads an account through all plans and states and prints
// its ledger. It starts on a 31st, in a leap year's winter.
func TestSimulatedYear(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newBiller(t)
	day := func(month time.Month, day int) time.Time { return time.Date(2028, month, day, 12, 0, 0, 0, time.UTC) }
	// The fixture's own subscription ends before the story begins.
	b.OK(b.Billing.Cancel(b.Ctx, b.id, servicetest.Someone, true, "another beginning"))
	b.to(day(time.January, 31))
	b.OK(b.Billing.Subscribe(b.Ctx, b.id, servicetest.Someone, "starter"))
	before, said := len(b.invoices()), len(b.webhooks())

	b.use(9) // Starter, within
	b.to(day(time.February, 29))
	if n := len(b.invoices()); n != before {
		t.Errorf("an invoice was made at the period's very end: %d, want %d", n, before)
	}
	b.to(day(time.February, 29).Add(time.Minute))
	said = b.wantWebhooks(said, "paid 0 AUD")

	b.use(13) // Starter, three beyond
	b.to(day(time.March, 31).Add(time.Minute))
	said = b.wantWebhooks(said, "paid 3000 AUD")
	if i := b.last(); i.GST != 273 || i.Status != domain.InvoicePaid || len(i.Lines) != 2 {
		t.Errorf("invoice of March: %+v", i)
	}

	b.use(12) // two beyond on Starter, then a step up: 100 from the first one on
	b.OK(b.Billing.ChangePlan(b.Ctx, b.id, servicetest.Someone, "professional"))
	b.use(100) // twelve beyond on Professional
	b.bank.declare = []billing.Outcome{declined, declined, declined, declined}
	b.to(day(time.April, 30).Add(time.Minute))
	said = b.wantWebhooks(said, "failed 8000, again 2028-05-03T12:01:00.000Z")
	b.to(day(time.May, 3).Add(2 * time.Minute))
	said = b.wantWebhooks(said, "failed 8000, again 2028-05-08T12:02:00.000Z")
	b.to(day(time.May, 8).Add(3 * time.Minute))
	said = b.wantWebhooks(said, "failed 8000, again 2028-05-15T12:03:00.000Z")
	if b.status() != domain.SubscriptionActive {
		t.Errorf("while it is tried again the subscription is %s", b.status())
	}
	b.to(day(time.May, 15).Add(4 * time.Minute))
	said = b.wantWebhooks(said, "failed 8000, again <nil>")
	if b.status() != domain.SubscriptionPastDue {
		t.Errorf("after the last try the subscription is %s", b.status())
	}
	b.use(1) // past due works on (D32)
	if _, err := b.Billing.MarkPaid(b.Ctx, b.last().ID, servicetest.Someone, "bank transfer 77"); err != nil ||
		b.status() != domain.SubscriptionActive {
		t.Errorf("paid by hand: %v, %s", err, b.status())
	}
	said = b.wantWebhooks(said, "paid 8000 AUD")

	b.OK(b.Billing.ChangePlan(b.Ctx, b.id, servicetest.Someone, "starter")) // a step down: at the period's end
	b.OK(b.Billing.ChangePlan(b.Ctx, b.id, servicetest.Someone, "enterprise"))
	b.use(200)
	b.to(day(time.May, 31).Add(time.Minute))
	said = b.wantWebhooks(said, "paid 0 AUD")
	b.OK(b.Billing.ChangePlan(b.Ctx, b.id, servicetest.Someone, "professional"))
	b.use(150) // Enterprise until the end of June
	b.to(day(time.June, 30).Add(time.Minute))
	said = b.wantWebhooks(said, "paid 0 AUD")
	b.use(101)
	b.to(day(time.July, 31).Add(time.Minute))
	said = b.wantWebhooks(said, "paid 500 AUD")

	b.use(3)
	b.OK(b.Billing.Cancel(b.Ctx, b.id, servicetest.Someone, false, "moving house"))
	said = b.wantWebhooks(said, "cancelled 2028-08-31T12:00:00.000Z: moving house")
	if err := b.createLive(); !errors.Is(err, &domain.Error{Code: domain.CodeForbidden}) {
		t.Errorf("a cancelled account created a live session: %v", err)
	}
	b.OK(b.Billing.Reactivate(b.Ctx, b.id, servicetest.Someone))
	b.use(1)
	b.to(day(time.August, 31).Add(time.Minute))
	said = b.wantWebhooks(said, "paid 0 AUD")

	b.use(102)
	b.to(day(time.September, 15))
	b.OK(b.Billing.Cancel(b.Ctx, b.id, servicetest.Someone, true, "too dear"))
	b.wantWebhooks(said, "cancelled 2028-09-15T12:00:00.000Z: too dear")
	if i := b.last(); i.Total != 1000 || !i.PeriodEnd.Equal(day(time.September, 15)) || i.Status != domain.InvoiceOpen {
		t.Errorf("last invoice %+v", i)
	}
	b.to(day(time.September, 15).Add(time.Minute))
	if _, err := b.Billing.Subscription(b.Ctx, b.id); !errors.Is(err, &domain.Error{Code: domain.CodeSubscriptionNotFound}) {
		t.Errorf("after the end: %v", err)
	}
	b.to(day(time.October, 1))
	b.OK(b.Billing.Subscribe(b.Ctx, b.id, servicetest.Someone, "starter"))
	if err := b.Billing.Subscribe(b.Ctx, b.id, servicetest.Someone, "starter"); err == nil {
		t.Error("subscribed twice")
	}
	said = len(b.webhooks())
	b.use(11)
	b.to(day(time.December, 31)) // the worker was away: two periods are closed at once
	b.wantWebhooks(said, "paid 0 AUD", "paid 1000 AUD")
	b.to(time.Date(2029, 1, 31, 12, 0, 0, 0, time.UTC))
	if n := len(b.invoices()); n != before+11 {
		t.Errorf("%d invoices, want 11", n-before)
	}
	b.balanced()
	t.Log("\n" + b.ledger())
}

// balanced checks what must hold of any history: invoices follow each other
// without gap or overlap, their numbers too, and they sum up to the sessions
// that there are.
func (b *biller) balanced() {
	b.Helper()
	all := b.invoices()
	for i, invoice := range all {
		if n := int64(len(all) - i); invoice.Number != n {
			b.Errorf("invoice %d of %d has the number %d", n, len(all), invoice.Number)
		}
		if i > 0 && invoice.SubscriptionID == all[i-1].SubscriptionID && !invoice.PeriodEnd.Equal(all[i-1].PeriodStart) {
			b.Errorf("%s ends at %s, the next starts at %s", invoice.NumberText(), invoice.PeriodEnd, all[i-1].PeriodStart)
		}
		var sessions int
		b.OK(b.DB.Raw().GetContext(b.Ctx, &sessions,
			`SELECT count(*) FROM session WHERE account_id = $1 AND livemode AND created_at >= $2 AND created_at < $3`,
			b.id, invoice.PeriodStart, invoice.PeriodEnd))
		billed := 0
		for _, line := range invoice.Lines {
			billed += line.Sessions
			if line.Amount < 0 || line.Amount != line.Price*statement.Cents(line.Sessions) {
				b.Errorf("%s: line %+v", invoice.NumberText(), line)
			}
		}
		if sessions != invoice.SessionsUsed || billed != sessions {
			b.Errorf("%s: %d sessions, %d used, %d on its lines", invoice.NumberText(), sessions, invoice.SessionsUsed, billed)
		}
	}
	drifts, err := b.DB.UsageDrifts(b.Ctx, b.Clock.Now())
	b.OK(err)
	if len(drifts) > 0 {
		b.Errorf("counted wrongly: %+v", drifts)
	}
}

// ledger is what the account was billed, as a table.
func (b *biller) ledger() string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "INVOICE\tFROM\tTO\tSESSIONS\tLINES\tTOTAL\tGST\tSTATE")
	all := b.invoices()
	for i := len(all) - 1; i >= 0; i-- {
		var lines []string
		for _, l := range all[i].Lines {
			lines = append(lines, fmt.Sprintf("%s %d × %s", l.Plan, l.Sessions, l.Price))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", all[i].NumberText(), all[i].PeriodStart.Format(time.DateTime),
			all[i].PeriodEnd.Format(time.DateTime),
			all[i].SessionsUsed, strings.Join(lines, ", "), all[i].Total, all[i].GST, all[i].Status)
	}
	_ = table.Flush()
	return out.String()
}

// TestSessionsAtThePeriodsEnd has 100 sessions created while workers close the
// period: each counts once, in one period.
func TestSessionsAtThePeriodsEnd(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	end := servicetest.Start.AddDate(0, 1, 0)
	b.Offset.Store(int64(end.Add(billing.Grace).Sub(servicetest.Start)))
	now := b.Clock.Now()
	slow := end.Add(-time.Millisecond) // a server whose clock is a minute slow
	other := servicetest.New(func() servicetest.Config { c := b.Config; c.Clock = func() time.Time { return slow }; return c }())
	var work sync.WaitGroup
	for i := range 100 {
		work.Go(func() {
			on := b.Services
			if i%2 == 0 {
				on = other
			}
			err := on.DB.InTx(b.Ctx, func(tx *db.Tx) error {
				_, err := on.Sessions.Insert(b.Ctx, tx, domain.Scope{AccountID: b.id, Livemode: true}, domain.NewSession{
					FormType: domain.FinancialStatement, CustomerEmail: "jo@customer.example",
				})
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		if i%25 == 10 {
			work.Go(func() {
				if err := b.runner.Run(b.Ctx, now); err != nil {
					t.Error(err)
				}
			})
		}
	}
	work.Wait()
	b.OK(b.runner.Run(b.Ctx, now))
	if n := len(b.invoices()); n != 1 {
		t.Errorf("%d invoices for one period", n)
	}
	b.to(end.AddDate(0, 1, 0).Add(billing.Grace))
	b.balanced()
	sum := 0
	for _, i := range b.invoices() {
		sum += i.SessionsUsed
		if i.SessionsUsed == 0 {
			t.Logf("%s has no session: the race was lost by one side", i.NumberText())
		}
	}
	if sum != 100 {
		t.Errorf("%d sessions were billed, want 100", sum)
	}
}
