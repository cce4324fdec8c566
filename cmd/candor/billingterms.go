package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"candor/internal/billing"
	"candor/internal/domain"
)

// changeBilling is runBilling for what may issue an invoice, by the terms of
// this command's environment: it refuses other ones than the newest invoice's,
// and shows what it issued.
func changeBilling(ctx context.Context, p *process, flags *flag.FlagSet, args []string, do func(ctx context.Context, a *app, account domain.AccountID) error) error {
	changed := flags.Bool("terms-changed", false, "")
	return runBilling(ctx, p, flags, args, func(ctx context.Context, a *app, account domain.AccountID) ([]domain.Invoice, error) {
		if !*changed {
			if err := checkTerms(ctx, a); err != nil {
				return nil, err
			}
		}
		before, _, err := a.service.Invoices(ctx, account, 0, 1)
		if err != nil {
			return nil, err
		}
		if err := do(ctx, a, account); err != nil {
			return nil, err
		}
		return issuedSince(ctx, a, account, before)
	})
}

// issuedSince are the account's invoices that came after the newest one, the
// oldest first.
func issuedSince(ctx context.Context, a *app, account domain.AccountID, newest []domain.Invoice) ([]domain.Invoice, error) {
	all, _, err := a.service.Invoices(ctx, account, 0, maxListedInvoices)
	if len(newest) > 0 {
		all = slices.DeleteFunc(all, func(i domain.Invoice) bool { return i.Number <= newest[0].Number })
	}
	slices.Reverse(all)
	return all, err
}

// checkTerms refuses terms that the newest invoice wasn't issued by: what a
// shell has in its environment is easily not what the processes have, and an
// issued invoice can't be changed.
func checkTerms(ctx context.Context, a *app) error {
	newest, err := a.service.NewestInvoice(ctx)
	if errors.Is(err, &domain.Error{Code: domain.CodeNotFound}) {
		return nil
	}
	if err != nil {
		return err
	}
	if names := differences(a.service.Terms, newest); len(names) > 0 {
		return fmt.Errorf("%s isn't here what the newest invoice, %s, was issued by: set what all processes have, or, where it was changed for all of them, give --terms-changed",
			strings.Join(names, ", "), newest.NumberText())
	}
	return nil
}

// differences names the variables by which terms differ from those of an
// invoice.
func differences(terms billing.Terms, newest *domain.Invoice) (names []string) {
	then := billing.TermsOf(newest)
	here, there := &terms.Seller, &then.Seller
	if newest.Seller == nil {
		there = here // nobody kept it
	}
	for _, v := range []struct {
		name    string
		differs bool
	}{
		{"CANDOR_GST_PERCENT", terms.GSTBasisPoints != then.GSTBasisPoints},
		{"CANDOR_INVOICE_DUE_DAYS", terms.DueDays != then.DueDays},
		{"CANDOR_SELLER_NAME", here.Name != there.Name},
		{"CANDOR_SELLER_ABN", here.ABN != there.ABN},
		{"CANDOR_SELLER_ADDRESS", !slices.Equal(here.Address, there.Address)},
		{"CANDOR_BANK_DETAILS", !slices.Equal(here.Transfer, there.Transfer)},
		{"CANDOR_STRIPE_SECRET_KEY", here.Cards != there.Cards},
	} {
		if v.differs {
			names = append(names, v.name)
		}
	}
	return names
}

// endedBilling is what is shown of a subscription that has just ended.
type endedBilling struct {
	AccountID string          `json:"account_id"`
	Account   string          `json:"account"`
	Status    string          `json:"status"`
	Issued    []listedInvoice `json:"issued_invoices"`
}

func (e endedBilling) write(w io.Writer) error {
	if _, err := fmt.Fprintln(w, "The subscription has ended. Its last invoice is made."); err != nil {
		return err
	}
	return writeIssued(w, e.Issued)
}

// writeIssued says what stands on invoices, for eyes that know what should.
func writeIssued(w io.Writer, issued []listedInvoice) error {
	for _, i := range issued {
		from := "nobody: CANDOR_SELLER_NAME and CANDOR_SELLER_ABN aren't set"
		if i.Seller != "" || i.SellerABN != "" {
			from = strings.TrimSpace(i.Seller + " (ABN " + i.SellerABN + ")")
		}
		if _, err := fmt.Fprintf(w, "Issued        %s: %s with %s GST, %s, due %s, from %s\n", i.Number, i.Amount, i.GST, i.Status,
			i.DueAt.Format(time.DateOnly), printable(from)); err != nil {
			return err
		}
	}
	return nil
}
