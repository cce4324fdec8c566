package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"candor/cmd/candor/cli"
	"candor/internal/billing"
	"candor/internal/domain"
)

// invoicing is billing for a change that can issue an invoice. The invoice is made
// with the terms of this command's environment, so invoicing refuses terms that
// differ from the newest invoice's. It shows what was issued.
func (c commands) invoicing(ctx context.Context, flags *cli.Flags, args []string, change func(context.Context,
	*scopedApp) error) error {
	changed := flags.Bool("terms-changed", false, "")
	return c.billing(ctx, flags, args, func(ctx context.Context, app *scopedApp) ([]domain.Invoice, error) {
		if !*changed {
			if err := checkTerms(ctx, app.App); err != nil {
				return nil, err
			}
		}
		before, _, err := app.Billing.Invoices(ctx, app.scope.AccountID, 0, 1)
		if err != nil {
			return nil, err
		}
		if err := change(ctx, app); err != nil {
			return nil, err
		}
		return issuedSince(ctx, app, before)
	})
}

// issuedSince returns the account's invoices after the newest one, oldest first;
// not nil, even if there are none.
func issuedSince(ctx context.Context, app *scopedApp, newest []domain.Invoice) ([]domain.Invoice, error) {
	all, _, err := app.Billing.Invoices(ctx, app.scope.AccountID, 0, maxListedInvoices)
	if len(newest) > 0 {
		all = slices.DeleteFunc(all, func(i domain.Invoice) bool { return i.Number <= newest[0].Number })
	}
	slices.Reverse(all)
	return append([]domain.Invoice{}, all...), err
}

// checkTerms refuses terms that the newest invoice wasn't made with. A shell can
// easily lack the environment of the processes, and an issued invoice can't be
// changed.
func checkTerms(ctx context.Context, app *App) error {
	newest, err := app.Billing.NewestInvoice(ctx)
	if errors.Is(err, &domain.Error{Code: domain.CodeNotFound}) {
		return nil
	}
	if err != nil {
		return err
	}
	if names := differences(app.Terms, newest); len(names) > 0 {
		return fmt.Errorf(
			"%s: not the same as in the newest invoice, %s: set what all processes have, or add --terms-changed if you changed it for all of them",
			strings.Join(names, ", "), newest.NumberText())
	}
	return nil
}

// differences names the variables in which terms differ from an invoice's.
func differences(terms billing.Terms, newest *domain.Invoice) (names []string) {
	then := billing.TermsOf(newest)
	here, there := &terms.Seller, &then.Seller
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
