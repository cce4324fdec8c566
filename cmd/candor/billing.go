package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// shownBilling is how an account's subscription stands.
type shownBilling struct {
	AccountID   string          `json:"account_id"`
	Account     string          `json:"account"`
	Plan        string          `json:"plan"`
	NextPlan    *string         `json:"next_plan"` // from the period's end on
	Status      string          `json:"status"`
	EffectiveAt *form.Timestamp `json:"effective_at"` // of a cancellation
	PeriodStart form.Timestamp  `json:"period_start"`
	PeriodEnd   form.Timestamp  `json:"period_end"`
	InvoiceDate form.Timestamp  `json:"next_invoice_date"`
	Used        int             `json:"sessions_used"`
	Amount      statement.Cents `json:"amount"` // dollars, of the period so far

	Issued []listedInvoice `json:"issued_invoices,omitempty"` // by this command
}

// runBilling does something to the account's billing, which may issue invoices,
// and shows how it stands.
func runBilling(ctx context.Context, p *process, flags *flag.FlagSet, args []string, do func(ctx context.Context, a *app, account domain.AccountID) ([]domain.Invoice, error)) error {
	asJSON := flags.Bool("json", false, "")
	a, scope, shown, err := openScoped(ctx, p, flags, args)
	if err != nil {
		return err
	}
	defer a.close()
	// Seen through when interrupted, or nobody would know what came of it.
	ctx = context.WithoutCancel(ctx)
	issued, err := do(ctx, a, scope.AccountID)
	if err != nil {
		return err
	}
	of, err := a.service.Subscription(ctx, scope.AccountID)
	if len(issued) > 0 && errors.Is(err, &domain.Error{Code: domain.CodeSubscriptionNotFound}) {
		return show(p.stdout, *asJSON, endedBilling{AccountID: shown.AccountID, Account: shown.Account, Status: "ended", Issued: listInvoices(issued)})
	}
	if err != nil {
		return err
	}
	out := shownBilling{
		AccountID: shown.AccountID, Account: shown.Account, Plan: of.Plan.ID, NextPlan: of.NextPlanID, Status: string(of.Status), EffectiveAt: form.AtOptional(of.EffectiveAt),
		PeriodStart: form.At(of.Period.Start), PeriodEnd: form.At(of.Period.End), InvoiceDate: form.At(of.InvoiceDate), Used: of.Used,
		Amount: of.Lines.Total(),
		Issued: listInvoices(issued),
	}
	return show(p.stdout, *asJSON, out)
}

// show prints what was asked for, for people or for programs.
func show(w io.Writer, asJSON bool, what interface{ write(io.Writer) error }) error {
	if asJSON {
		return writeJSON(w, what)
	}
	return what.write(w)
}

func (s shownBilling) write(w io.Writer) error {
	plan := s.Plan
	if s.NextPlan != nil {
		plan += ", " + *s.NextPlan + " from " + s.PeriodEnd.Format(time.RFC3339)
	}
	status := s.Status
	if s.EffectiveAt != nil {
		status += ", ends " + s.EffectiveAt.Format(time.RFC3339)
	}
	_, err := fmt.Fprintf(w, "Account       %s (%s)\nPlan          %s\nStatus        %s\nPeriod        %s to %s\nNext invoice  %s\nUsed          %d live sessions, %s so far\n",
		printable(s.Account), s.AccountID, plan, status, s.PeriodStart.Format(time.RFC3339), s.PeriodEnd.Format(time.RFC3339),
		s.InvoiceDate.Format(time.RFC3339), s.Used, s.Amount)
	if err != nil {
		return err
	}
	return writeIssued(w, s.Issued)
}

func runBillingShow(ctx context.Context, p *process, args []string) error {
	return runBilling(ctx, p, flag.NewFlagSet("billing show", flag.ContinueOnError), args, func(context.Context, *app, domain.AccountID) ([]domain.Invoice, error) { return nil, nil })
}

func runBillingPlan(ctx context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("billing plan", flag.ContinueOnError)
	plan := flags.String("plan", "", "")
	return changeBilling(ctx, p, flags, args, func(ctx context.Context, a *app, account domain.AccountID) error {
		return a.service.ChangePlan(ctx, account, operator, *plan)
	})
}

func runBillingSubscribe(ctx context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("billing subscribe", flag.ContinueOnError)
	plan := flags.String("plan", "", "")
	return runBilling(ctx, p, flags, args, func(ctx context.Context, a *app, account domain.AccountID) ([]domain.Invoice, error) {
		return nil, a.service.Subscribe(ctx, account, operator, *plan)
	})
}

func runBillingCancel(ctx context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("billing cancel", flag.ContinueOnError)
	reason := flags.String("reason", "", "")
	now := flags.Bool("now", false, "")
	return changeBilling(ctx, p, flags, args, func(ctx context.Context, a *app, account domain.AccountID) error {
		return a.service.CancelSubscription(ctx, account, operator, *now, *reason)
	})
}

func runBillingReactivate(ctx context.Context, p *process, args []string) error {
	return runBilling(ctx, p, flag.NewFlagSet("billing reactivate", flag.ContinueOnError), args, func(ctx context.Context, a *app, account domain.AccountID) ([]domain.Invoice, error) {
		return nil, a.service.Reactivate(ctx, account, operator)
	})
}

// listedInvoice is an invoice as operators see it.
type listedInvoice struct {
	Number        string          `json:"number"`
	ID            string          `json:"id"`
	AccountID     string          `json:"account_id"`
	Account       string          `json:"account"`
	PeriodStart   form.Timestamp  `json:"period_start"`
	PeriodEnd     form.Timestamp  `json:"period_end"`
	Amount        statement.Cents `json:"amount"` // dollars
	GST           statement.Cents `json:"gst"`    // dollars, included in the amount
	Seller        string          `json:"seller"`
	SellerABN     string          `json:"seller_abn"`
	Currency      string          `json:"currency"`
	Status        string          `json:"status"`
	DueAt         form.Timestamp  `json:"due_at"`
	Failures      int             `json:"failures"`
	NextAttemptAt *form.Timestamp `json:"next_attempt_at"`
}

func listInvoices(all []domain.Invoice) []listedInvoice {
	out := make([]listedInvoice, len(all))
	for i := range all {
		out[i] = listInvoice(&all[i])
	}
	return out
}

func listInvoice(i *domain.Invoice) listedInvoice {
	seller := i.IssuedBy()
	return listedInvoice{
		Number: i.NumberText(), ID: i.ID.String(), AccountID: i.AccountID.String(), Account: i.AccountName, PeriodStart: form.At(i.PeriodStart), PeriodEnd: form.At(i.PeriodEnd),
		Amount: i.Total, Currency: i.Currency, Status: string(i.Status), DueAt: form.At(i.DueAt), Failures: i.Failures, NextAttemptAt: form.AtOptional(i.NextAttemptAt),
		GST: i.GST, Seller: seller.Name, SellerABN: seller.ABN,
	}
}

// maxListedInvoices is how many of an account's invoices are listed.
const maxListedInvoices = 1000

// runBillingInvoices lists what is owed by all accounts, or all invoices of
// one.
func runBillingInvoices(ctx context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("billing invoices", flag.ContinueOnError)
	account := flags.String("account", "", "")
	asJSON := flags.Bool("json", false, "")
	if err := parseFlags(flags, args); err != nil {
		return err
	}
	a, err := openCommand(ctx, p)
	if err != nil {
		return err
	}
	defer a.close()
	var found []domain.Invoice
	if *account == "" {
		found, err = a.service.UnsettledInvoices(ctx)
	} else {
		var scope domain.Scope
		if scope, _, err = (&scopeFlags{account: *account, live: true}).find(ctx, a); err == nil {
			found, _, err = a.service.Invoices(ctx, scope.AccountID, 0, maxListedInvoices)
		}
	}
	if err != nil {
		return err
	}
	out := listInvoices(found)
	if *asJSON {
		return writeJSON(p.stdout, out)
	}
	if len(out) == 0 {
		_, err := fmt.Fprintln(p.stdout, "No invoice. Without --account, those that are neither paid nor void are listed.")
		return err
	}
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "INVOICE\tACCOUNT\tTO\tAMOUNT\tSTATUS\tDUE\tFAILURES\tNEXT ATTEMPT")
	for _, i := range out {
		next := "–"
		if i.NextAttemptAt != nil {
			next = i.NextAttemptAt.Format(time.RFC3339)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", i.Number, printable(i.Account), i.PeriodEnd.Format(time.DateOnly), i.Amount, i.Status,
			i.DueAt.Format(time.DateOnly), i.Failures, next)
	}
	return table.Flush()
}

// settling is one way to settle an invoice by hand.
type settling func(ctx context.Context, a *app, id domain.InvoiceID, note string) (*domain.Invoice, error)

// runSettle settles the invoice of that number or id.
func runSettle(ctx context.Context, p *process, name string, args []string, how settling) error {
	flags := flag.NewFlagSet("billing "+name, flag.ContinueOnError)
	note := flags.String("note", "", "")
	asJSON := flags.Bool("json", false, "")
	if err := parseSome(flags, args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return &usageError{flags.Name() + " needs the number of an invoice, such as CAN-000042"}
	}
	named := flags.Arg(0)
	if err := parseFlags(flags, flags.Args()[1:]); err != nil {
		return err
	}
	a, err := openCommand(ctx, p)
	if err != nil {
		return err
	}
	defer a.close()
	ctx = context.WithoutCancel(ctx)
	id, err := findInvoice(ctx, a, named)
	if err != nil {
		return err
	}
	settled, err := how(ctx, a, id, *note)
	if err != nil {
		return err
	}
	if *asJSON {
		return writeJSON(p.stdout, listInvoice(settled))
	}
	line := fmt.Sprintf("%s of %s, %s: %s", settled.NumberText(), printable(settled.AccountName), settled.Total, settled.Status)
	if settled.NextAttemptAt != nil {
		line += ", tried again at " + settled.NextAttemptAt.Format(time.RFC3339)
	}
	_, err = fmt.Fprintln(p.stdout, line)
	return err
}

// findInvoice returns the id of the invoice that is named by its id or number.
func findInvoice(ctx context.Context, a *app, named string) (domain.InvoiceID, error) {
	if id, err := domain.ParseInvoiceID(named); err == nil {
		return id, nil
	}
	number, err := strconv.ParseInt(strings.TrimPrefix(named, domain.InvoicePrefix), 10, 64)
	if err != nil {
		return domain.InvoiceID{}, &usageError{fmt.Sprintf("%q is no number of an invoice, such as CAN-000042", named)}
	}
	return a.service.InvoiceByNumber(ctx, number)
}

func runBillingPaid(ctx context.Context, p *process, args []string) error {
	return runSettle(ctx, p, "paid", args, func(ctx context.Context, a *app, id domain.InvoiceID, note string) (*domain.Invoice, error) {
		return a.service.MarkPaid(ctx, id, operator, note)
	})
}

func runBillingFailed(ctx context.Context, p *process, args []string) error {
	return runSettle(ctx, p, "failed", args, func(ctx context.Context, a *app, id domain.InvoiceID, note string) (*domain.Invoice, error) {
		return a.service.MarkFailed(ctx, id, operator, note)
	})
}

func runBillingVoid(ctx context.Context, p *process, args []string) error {
	return runSettle(ctx, p, "void", args, func(ctx context.Context, a *app, id domain.InvoiceID, note string) (*domain.Invoice, error) {
		return a.service.VoidInvoice(ctx, id, operator, note)
	})
}

// runBillingRecount counts the used sessions anew.
func runBillingRecount(ctx context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("billing recount", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "")
	if err := parseFlags(flags, args); err != nil {
		return err
	}
	a, err := openCommand(ctx, p)
	if err != nil {
		return err
	}
	defer a.close()
	drifts, err := a.service.UsageDrifts(ctx)
	if err != nil {
		return err
	}
	if *asJSON {
		type drift struct {
			AccountID   string         `json:"account_id"`
			PeriodStart form.Timestamp `json:"period_start"`
			Counted     int            `json:"counted"`
			Sessions    int            `json:"sessions"`
		}
		out := make([]drift, len(drifts))
		for i, d := range drifts {
			out[i] = drift{d.AccountID.String(), form.At(d.PeriodStart), d.Counted, d.Sessions}
		}
		return writeJSON(p.stdout, out)
	}
	for _, d := range drifts {
		fmt.Fprintf(p.stdout, "%s: %d counted since %s, %d sessions\n", d.AccountID, d.Counted, d.PeriodStart.Format(time.RFC3339), d.Sessions)
	}
	if len(drifts) == 0 {
		fmt.Fprintln(p.stdout, "All used sessions are counted rightly.")
	}
	return nil
}
