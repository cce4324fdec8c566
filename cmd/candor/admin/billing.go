package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"candor/cmd/candor/cli"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// shownSubscription is an account's subscription after a command.
type shownSubscription struct {
	AccountID   string          `json:"account_id"`
	Account     string          `json:"account"`
	Plan        string          `json:"plan"`
	NextPlan    *string         `json:"next_plan"` // after the period's end
	Status      string          `json:"status"`
	EffectiveAt *form.Timestamp `json:"effective_at"` // of a cancellation
	PeriodStart form.Timestamp  `json:"period_start"`
	PeriodEnd   form.Timestamp  `json:"period_end"`
	InvoiceDate form.Timestamp  `json:"next_invoice_date"`
	Used        int             `json:"sessions_used"`
	Amount      statement.Cents `json:"amount"` // dollars, of the period so far

	Issued []shownInvoice `json:"issued_invoices,omitempty"` // by this command
}

// Text describes the subscription.
func (s *shownSubscription) Text() string {
	plan := s.Plan
	if s.NextPlan != nil {
		plan += ", " + *s.NextPlan + " from " + cli.Time(s.PeriodEnd)
	}
	status := s.Status
	if s.EffectiveAt != nil {
		status += ", ends " + cli.Time(*s.EffectiveAt)
	}
	table := cli.NewTable()
	table.Row("Account", s.Account+" ("+s.AccountID+")")
	table.Row("Plan", plan)
	table.Row("Status", status)
	table.Row("Period", cli.Time(s.PeriodStart)+" to "+cli.Time(s.PeriodEnd))
	table.Row("Next invoice", s.InvoiceDate)
	table.Row("Used", fmt.Sprintf("%d live sessions, %s so far", s.Used, s.Amount))
	addIssued(table, s.Issued)
	return table.String()
}

// endedSubscription is a subscription that a command ended at once.
type endedSubscription struct {
	AccountID string         `json:"account_id"`
	Account   string         `json:"account"`
	Status    string         `json:"status"`
	Issued    []shownInvoice `json:"issued_invoices"`
}

// Text names the last invoice, if there is one.
func (s *endedSubscription) Text() string {
	if len(s.Issued) == 0 {
		return "The subscription has ended. It has no last invoice: nothing was used in the less than a minute of its last period.\n"
	}
	table := cli.NewTable()
	addIssued(table, s.Issued)
	return "The subscription has ended. Its last invoice was issued.\n" + table.String()
}

// addIssued shows what a command's invoices say, for an operator to check.
func addIssued(table *cli.Table, issued []shownInvoice) {
	for _, i := range issued {
		seller := "no seller: CANDOR_SELLER_NAME and CANDOR_SELLER_ABN aren't set"
		if i.Seller != "" || i.SellerABN != "" {
			seller = strings.TrimSpace(i.Seller + " (ABN " + i.SellerABN + ")")
		}
		table.Row("Issued", fmt.Sprintf("%s: %s with %s GST, %s, due %s, from %s", i.Number, i.Amount, i.GST, i.Status,
			i.DueAt.Format(time.DateOnly), seller))
	}
}

// billing runs a command about one account's subscription: change changes it and
// returns the invoices that it issued, nil if it can issue none. Then the
// subscription is shown.
func (c commands) billing(ctx context.Context, flags *cli.Flags, args []string, change func(context.Context,
	*scopedApp) ([]domain.Invoice, error)) error {
	app, err := c.openScope(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	// An interrupt doesn't stop a change, because its outcome would be unknown.
	ctx = context.WithoutCancel(ctx)
	issued, err := change(ctx, app)
	if err != nil {
		return err
	}
	of, err := app.Billing.Subscription(ctx, app.scope.AccountID)
	if issued != nil && errors.Is(err, &domain.Error{Code: domain.CodeSubscriptionNotFound}) {
		return flags.Print(c.Out, &endedSubscription{AccountID: app.shown.AccountID, Account: app.shown.Account, Status: "ended",
			Issued: showInvoices(issued)})
	}
	if err != nil {
		return err
	}
	return flags.Print(c.Out, &shownSubscription{
		AccountID: app.shown.AccountID, Account: app.shown.Account, Plan: of.Plan.ID, NextPlan: of.NextPlanID,
		Status: string(of.Status), EffectiveAt: form.AtOptional(of.EffectiveAt),
		PeriodStart: form.At(of.Period.Start), PeriodEnd: form.At(of.Period.End), InvoiceDate: form.At(of.InvoiceDate), Used: of.Used,
		Amount: of.Lines.Total(), Issued: showInvoices(issued),
	})
}

func (c commands) billingShow(ctx context.Context, args []string) error {
	return c.billing(ctx, cli.NewJSONFlags("billing show"), args, func(context.Context, *scopedApp) ([]domain.Invoice, error) {
		return nil, nil
	})
}

func (c commands) billingPlan(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("billing plan")
	plan := flags.Text("plan")
	return c.invoicing(ctx, flags, args, func(ctx context.Context, app *scopedApp) error {
		return app.Billing.ChangePlan(ctx, app.scope.AccountID, operator, *plan)
	})
}

func (c commands) billingCancel(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("billing cancel")
	reason := flags.Text("reason")
	now := flags.Bool("now", false, "")
	return c.invoicing(ctx, flags, args, func(ctx context.Context, app *scopedApp) error {
		return app.Billing.Cancel(ctx, app.scope.AccountID, operator, *now, *reason)
	})
}

func (c commands) billingSubscribe(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("billing subscribe")
	plan := flags.Text("plan")
	return c.billing(ctx, flags, args, func(ctx context.Context, app *scopedApp) ([]domain.Invoice, error) {
		return nil, app.Billing.Subscribe(ctx, app.scope.AccountID, operator, *plan)
	})
}

func (c commands) billingReactivate(ctx context.Context, args []string) error {
	return c.billing(ctx, cli.NewJSONFlags("billing reactivate"), args, func(ctx context.Context,
		app *scopedApp) ([]domain.Invoice, error) {
		return nil, app.Billing.Reactivate(ctx, app.scope.AccountID, operator)
	})
}

// wrongCount is a period whose counted sessions differ from its sessions.
type wrongCount struct {
	AccountID   string         `json:"account_id"`
	PeriodStart form.Timestamp `json:"period_start"`
	Counted     int            `json:"counted"`
	Sessions    int            `json:"sessions"`
}

type wrongCounts []wrongCount

// Text lists the wrong counts.
func (w wrongCounts) Text() string {
	if len(w) == 0 {
		return "All used sessions are counted correctly.\n"
	}
	table := cli.NewTable("ACCOUNT", "PERIOD START", "COUNTED", "SESSIONS")
	for _, one := range w {
		table.Row(one.AccountID, one.PeriodStart, one.Counted, one.Sessions)
	}
	return table.String()
}

func (c commands) billingRecount(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("billing recount")
	app, err := c.open(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	drifts, err := app.DB.UsageDrifts(ctx, domain.SystemClock.Now())
	if err != nil {
		return err
	}
	wrong := make(wrongCounts, len(drifts))
	for i, d := range drifts {
		wrong[i] = wrongCount{d.AccountID.String(), form.At(d.PeriodStart), d.Counted, d.Sessions}
	}
	return flags.Print(c.Out, wrong)
}
