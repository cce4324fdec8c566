package admin

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"candor/cmd/candor/cli"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// maxListedInvoices is how many of an account's invoices are listed.
const maxListedInvoices = 1000

// shownInvoice is an invoice as operators see it.
type shownInvoice struct {
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

func showInvoice(i *domain.Invoice) shownInvoice {
	seller := i.Seller
	return shownInvoice{
		Number: i.NumberText(), ID: i.ID.String(), AccountID: i.AccountID.String(), Account: i.AccountName,
		PeriodStart: form.At(i.PeriodStart), PeriodEnd: form.At(i.PeriodEnd),
		Amount: i.Total, Currency: i.Currency, Status: string(i.Status), DueAt: form.At(i.DueAt), Failures: i.Failures,
		NextAttemptAt: form.AtOptional(i.NextAttemptAt),
		GST:           i.GST, Seller: seller.Name, SellerABN: seller.ABN,
	}
}

func showInvoices(all []domain.Invoice) invoiceList {
	out := make(invoiceList, len(all))
	for i := range all {
		out[i] = showInvoice(&all[i])
	}
	return out
}

// Text names the invoice and its status.
func (i shownInvoice) Text() string {
	line := fmt.Sprintf("%s of %s, %s: %s", i.Number, cli.Printable(i.Account), i.Amount, i.Status)
	if i.NextAttemptAt != nil {
		line += ", next attempt at " + cli.Time(*i.NextAttemptAt)
	}
	return line + "\n"
}

type invoiceList []shownInvoice

// Text lists the invoices.
func (l invoiceList) Text() string {
	if len(l) == 0 {
		return "No invoices. Without --account, only unpaid invoices are listed.\n"
	}
	table := cli.NewTable("INVOICE", "ACCOUNT", "TO", "AMOUNT", "STATUS", "DUE", "FAILURES", "NEXT ATTEMPT")
	for _, i := range l {
		table.Row(i.Number, i.Account, i.PeriodEnd.Format(time.DateOnly), i.Amount, i.Status, i.DueAt.Format(time.DateOnly), i.Failures,
			i.NextAttemptAt)
	}
	return table.String()
}

// billingInvoices lists the unpaid invoices of all accounts, or all invoices of
// one.
func (c commands) billingInvoices(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("billing invoices")
	named := accountFlag(flags)
	app, err := c.open(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	var found []domain.Invoice
	if named.account == "" {
		found, err = app.DB.UnsettledInvoices(ctx)
	} else {
		var one *scopedApp
		if one, err = named.find(ctx, app); err == nil {
			found, _, err = app.Billing.Invoices(ctx, one.scope.AccountID, 0, maxListedInvoices)
		}
	}
	if err != nil {
		return err
	}
	return flags.Print(c.Out, showInvoices(found))
}

// settlement is one way to settle an invoice by hand.
type settlement func(ctx context.Context, app *App, id domain.InvoiceID, note string) (*domain.Invoice, error)

// settle settles the invoice with the number or id in args.
func (c commands) settle(ctx context.Context, command string, args []string, how settlement) error {
	flags := cli.NewJSONFlags(command)
	note := flags.Text("note")
	named, err := flags.ParseWithArgument(args, "the number of an invoice, such as CAN-000042")
	if err != nil {
		return err
	}
	app, err := c.Open(ctx)
	if err != nil {
		return err
	}
	defer app.Close()
	// An interrupt doesn't stop a change, because its outcome would be unknown.
	ctx = context.WithoutCancel(ctx)
	id, err := findInvoice(ctx, app, named)
	if err != nil {
		return err
	}
	settled, err := how(ctx, app, id, *note)
	if err != nil {
		return err
	}
	return flags.Print(c.Out, showInvoice(settled))
}

// findInvoice returns the id of the invoice with that id or number.
func findInvoice(ctx context.Context, app *App, named string) (domain.InvoiceID, error) {
	if id, err := domain.ParseInvoiceID(named); err == nil {
		return id, nil
	}
	number, err := strconv.ParseInt(strings.TrimPrefix(named, domain.InvoicePrefix), 10, 64)
	if err != nil {
		return domain.InvoiceID{}, cli.Usagef("%q is not the number of an invoice, such as CAN-000042", named)
	}
	return app.Billing.InvoiceByNumber(ctx, number)
}

func (c commands) billingPaid(ctx context.Context, args []string) error {
	return c.settle(ctx, "billing paid", args, func(ctx context.Context, app *App, id domain.InvoiceID,
		note string) (*domain.Invoice, error) {
		return app.Billing.MarkPaid(ctx, id, operator, note)
	})
}

func (c commands) billingFailed(ctx context.Context, args []string) error {
	return c.settle(ctx, "billing failed", args, func(ctx context.Context, app *App, id domain.InvoiceID,
		note string) (*domain.Invoice, error) {
		return app.Billing.MarkFailed(ctx, id, operator, note)
	})
}

func (c commands) billingVoid(ctx context.Context, args []string) error {
	return c.settle(ctx, "billing void", args, func(ctx context.Context, app *App, id domain.InvoiceID,
		note string) (*domain.Invoice, error) {
		return app.Billing.Void(ctx, id, operator, note)
	})
}
