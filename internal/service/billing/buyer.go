package billing

import (
	"context"
	"strings"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
)

// Lengths of what an account sets for its invoices, in characters and lines.
const (
	maxAddressLines  = 5
	maxAddressLine   = 100
	maxPurchaseOrder = 50
)

// BuyerParams is what an account sets for its invoices, as it was typed; "" for
// nothing.
type BuyerParams struct{ Name, ABN, Address, PurchaseOrder string }

// Buyer returns what the account has set for its invoices.
func (s *Service) Buyer(ctx context.Context, account domain.AccountID) (domain.Buyer, error) {
	return s.DB.Buyer(ctx, account)
}

// SetBuyer stores what the account's next invoices say about it. Issued invoices
// don't change. Error: validation_error on buyer_name, abn, address and
// purchase_order.
func (s *Service) SetBuyer(ctx context.Context, account domain.AccountID, by domain.Actor, params BuyerParams) error {
	buyer, err := params.buyer()
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		of, err := tx.LockAccount(ctx, account)
		if err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		before, err := tx.Buyer(ctx, account)
		if err != nil {
			return err
		}
		if err := tx.SetBuyer(ctx, account, buyer); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, account, by, audit.Entry{
			Action: domain.AuditBuyer, TargetID: account.String(), TargetName: of.Name, Before: before, After: buyer,
		})
	})
}

// buyer checks the params and returns them as they are kept.
func (p BuyerParams) buyer() (domain.Buyer, error) {
	var b domain.Buyer
	var errs form.Errors
	check := func(field string, broken form.Rule) {
		if broken != (form.Rule{}) {
			broken.Of = field
			errs = append(errs, form.Error{Field: field, Rule: broken})
		}
	}
	var broken form.Rule
	b.Name, broken = form.CleanLine(p.Name, domain.MaxName)
	check("buyer_name", broken)
	if strings.TrimSpace(p.ABN) != "" {
		var ok bool
		if b.ABN, ok = domain.ParseABN(p.ABN); !ok {
			check("abn", form.Rule{Code: "abn"})
		}
	}
	b.Address, broken = cleanAddress(p.Address)
	check("address", broken)
	b.PurchaseOrder, broken = form.CleanLine(p.PurchaseOrder, maxPurchaseOrder)
	check("purchase_order", broken)
	return b, domain.Invalid(errs...)
}

// cleanAddress returns an address's lines as they are kept, without empty ones,
// and the first rule that it breaks.
func cleanAddress(text string) (lines []string, broken form.Rule) {
	for line := range strings.Lines(text) {
		clean, rule := form.CleanLine(line, maxAddressLine)
		if broken == (form.Rule{}) {
			broken = rule
		}
		if clean != "" {
			lines = append(lines, clean)
		}
	}
	if len(lines) > maxAddressLines {
		broken = form.Rule{Code: "address_lines", Max: maxAddressLines}
	}
	return lines, broken
}
