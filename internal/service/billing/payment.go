package billing

import (
	"context"
	"errors"
	"time"

	"candor/db"
	ledger "candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/service/audit"
)

// Cards are a payment provider's pages on which staff store a card.
type Cards interface {
	Name() string // of the provider
	CardPage(ctx context.Context, account *domain.Account, success, cancel string) (url string, err error)
}

// Card reports whether a payment provider collects by card, and the label of the
// account's card, "" if it has none.
func (s *Service) Card(ctx context.Context, account domain.AccountID) (collects bool, label string, err error) {
	if s.Cards == nil {
		return false, "", nil
	}
	customer, err := ledger.StoredCustomers{DB: s.DB}.Customer(ctx, account, s.Cards.Name())
	return true, customer.Label, err
}

// CardPage returns the address of the payment provider's page on which the
// account's staff store a card. It leads back to success or cancel. The audit log
// has who went there, because the provider doesn't say who stored a card. Error:
// not_found if no provider collects.
func (s *Service) CardPage(ctx context.Context, account domain.AccountID, by domain.Actor, success, cancel string) (page string,
	err error) {
	if s.Cards == nil {
		return "", domain.Errorf(domain.CodeNotFound, "Invoices are paid by bank transfer here.")
	}
	owner, err := s.DB.Account(ctx, account)
	if err != nil {
		return "", db.MissingAs(err, domain.ErrAccountNotFound)
	}
	if page, err = s.Cards.CardPage(ctx, owner, success, cancel); err != nil {
		return "", err
	}
	return page, s.DB.InTx(ctx, func(tx *db.Tx) error {
		return s.Audit.Record(ctx, tx, account, by, audit.Entry{Action: domain.AuditCardPage, TargetID: account.String(),
			TargetName: s.Cards.Name()})
	})
}

// ProviderEvent applies an event of a payment provider once, however often and in
// whichever order events come. An event about an unknown invoice or customer is no
// error: the provider would send it again.
func (s *Service) ProviderEvent(ctx context.Context, provider string, e ledger.ProviderEvent) error {
	if e.Kind == ledger.EventIgnored {
		return nil
	}
	now := s.Clock.Now()
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		first, err := tx.NotePaymentEvent(ctx, provider, e.ID, now)
		if err != nil || !first {
			return err
		}
		err = s.followEvent(ctx, tx, provider, e, now)
		if errors.Is(err, db.ErrNotFound) {
			s.Logger.InfoContext(ctx, "payment event about an unknown invoice or customer", "provider", provider, "event_id", e.ID)
			return nil
		}
		return err
	})
}

func (s *Service) followEvent(ctx context.Context, tx *db.Tx, provider string, e ledger.ProviderEvent, now time.Time) error {
	switch e.Kind {
	case ledger.EventPaid:
		return s.paid(ctx, tx, e, now)
	case ledger.EventPaymentFailed:
		// An attempt that is running has its next one minutes ahead. One that is due now
		// was brought forward; servers' clocks differ by less than Grace.
		next := now.Add(ledger.Grace)
		err := s.Ledger.FailAttempt(ctx, tx, &domain.Invoice{ID: e.InvoiceID, Failures: e.Failures, NextAttemptAt: &next},
			e.Reason, now)
		if errors.Is(err, ledger.ErrSettled) || errors.Is(err, ledger.ErrCounted) {
			return nil
		}
		return err
	case ledger.EventMethodAdded:
		account, err := tx.SetPaymentMethod(ctx, provider, e.CustomerID, e.MethodID, e.Label, e.MethodAt)
		if err != nil {
			return err
		}
		if err := s.noteCard(ctx, tx, account, provider, domain.AuditCardStored, e.Label); err != nil {
			return err
		}
		return tx.PayNow(ctx, account, now)
	case ledger.EventMethodRemoved:
		account, label, err := tx.DropPaymentMethod(ctx, provider, e.MethodID)
		if err != nil {
			return err
		}
		return s.noteCard(ctx, tx, account, provider, domain.AuditCardRemoved, label)
	}
	return nil
}

// noteCard writes the audit entry of a card that the payment provider reports.
func (s *Service) noteCard(ctx context.Context, tx *db.Tx, account domain.AccountID, provider string, action domain.AuditAction,
	label string) error {
	by := domain.Actor{Kind: domain.ActorSystem, ID: "payment_provider", Name: provider}
	return s.Audit.Record(ctx, tx, account, by, audit.Entry{Action: action, TargetID: account.String(), TargetName: label})
}

// paid records a payment. If the ledger can't take it, an operator must return the
// money.
func (s *Service) paid(ctx context.Context, tx *db.Tx, e ledger.ProviderEvent, now time.Time) error {
	i, err := tx.LockInvoice(ctx, e.InvoiceID)
	if err != nil {
		return err
	}
	if i.Total != e.Amount {
		s.Logger.ErrorContext(ctx, "a payment isn't of the invoice's amount: look into it at the payment provider",
			"invoice", i.NumberText(), "total_cents", int64(i.Total), "paid_cents", int64(e.Amount), "reference", e.Reference)
		return nil
	}
	_, err = s.Ledger.Pay(ctx, tx, e.InvoiceID, e.Reference, now)
	if !errors.Is(err, ledger.ErrSettled) {
		return err
	}
	ledger.ReportSettled(ctx, s.Logger, i, e.Reference)
	return nil
}
