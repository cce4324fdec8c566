package billing

import (
	"context"
	"errors"
	"time"

	"candor/db"
	ledger "candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
)

var (
	errInvoiceNotFound = domain.Errorf(domain.CodeNotFound, "There is no such invoice.")
	errInvoiceSettled  = domain.Errorf(domain.CodeValidation, "The invoice is paid or void already.")
)

// Invoices returns at most limit of the account's invoices, newest first, below the
// number before (0: from the newest), and whether older ones follow.
func (s *Service) Invoices(ctx context.Context, account domain.AccountID, before int64, limit int) (page []domain.Invoice,
	more bool, err error) {
	page, err = s.DB.Invoices(ctx, account, before, limit+1)
	return page[:min(limit, len(page))], len(page) > limit, err
}

// Invoice returns an invoice of the account, or not_found.
func (s *Service) Invoice(ctx context.Context, account domain.AccountID, id domain.InvoiceID) (*domain.Invoice, error) {
	i, err := s.DB.Invoice(ctx, account, id)
	return i, db.MissingAs(err, errInvoiceNotFound)
}

// NewestInvoice returns the newest invoice of all accounts, or not_found.
func (s *Service) NewestInvoice(ctx context.Context) (*domain.Invoice, error) {
	i, err := s.DB.NewestInvoice(ctx)
	return i, db.MissingAs(err, errInvoiceNotFound)
}

// InvoiceByNumber returns the id of an invoice by its number, or not_found.
func (s *Service) InvoiceByNumber(ctx context.Context, number int64) (domain.InvoiceID, error) {
	id, err := s.DB.InvoiceByNumber(ctx, number)
	return id, db.MissingAs(err, errInvoiceNotFound)
}

// MarkPaid records that an invoice was paid outside; note says how. Errors:
// not_found, validation_error if it is settled or on note.
func (s *Service) MarkPaid(ctx context.Context, id domain.InvoiceID, by domain.Actor, note string) (*domain.Invoice, error) {
	return s.settle(ctx, id, by, domain.AuditInvoicePaid, note, s.Ledger.Pay)
}

// MarkFailed records that a payment of an invoice failed outside. The partner sees
// note, which says why. Errors as of MarkPaid.
func (s *Service) MarkFailed(ctx context.Context, id domain.InvoiceID, by domain.Actor, note string) (*domain.Invoice, error) {
	return s.settle(ctx, id, by, domain.AuditInvoiceFailed, note, s.Ledger.Fail)
}

// Void cancels an invoice; note says why. Errors as of MarkPaid.
func (s *Service) Void(ctx context.Context, id domain.InvoiceID, by domain.Actor, note string) (*domain.Invoice, error) {
	return s.settle(ctx, id, by, domain.AuditInvoiceVoid, note, s.Ledger.Void)
}

type settling func(ctx context.Context, tx *db.Tx, id domain.InvoiceID, note string, now time.Time) (*domain.Invoice, error)

func (s *Service) settle(ctx context.Context, id domain.InvoiceID, by domain.Actor, action domain.AuditAction, note string,
	how settling) (out *domain.Invoice, err error) {
	if note, err = cleanReason("note", note, form.Rule{Code: "note"}); err != nil {
		return nil, err
	}
	live := true
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if out, err = how(ctx, tx, id, note, s.Clock.Now()); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, out.AccountID, by, audit.Entry{
			Action: action, Livemode: &live, TargetID: id.String(), TargetName: out.NumberText(), After: map[string]string{"note": note},
		})
	})
	if errors.Is(err, ledger.ErrSettled) {
		return nil, errInvoiceSettled
	}
	return out, db.MissingAs(err, errInvoiceNotFound)
}
