package billing

import (
	"context"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/audit"
)

// exportPage is how many sessions an export reads at once.
const exportPage = 1000

// ExportInvoice calls row for each session that an invoice is for, oldest first,
// with the line that prices it.
func (s *Service) ExportInvoice(ctx context.Context, i *domain.Invoice, by domain.Actor,
	row func(*domain.BilledSession, domain.InvoiceLine) error) error {
	return s.export(ctx, i.AccountID, domain.Period{Start: i.PeriodStart, End: i.PeriodEnd}, i.Lines, i.NumberText(), by, row)
}

// ExportPeriod is ExportInvoice for the running period. Error:
// subscription_not_found.
func (s *Service) ExportPeriod(ctx context.Context, of *CurrentSubscription, by domain.Actor,
	row func(*domain.BilledSession, domain.InvoiceLine) error) error {
	return s.export(ctx, of.AccountID, of.Period, of.Lines, "the running period", by, row)
}

func (s *Service) export(ctx context.Context, account domain.AccountID, p domain.Period, lines domain.InvoiceLines, name string,
	by domain.Actor, row func(*domain.BilledSession, domain.InvoiceLine) error) error {
	live := true
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		return s.Audit.Record(ctx, tx, account, by, audit.Entry{
			Action: domain.AuditSessionsExported, Livemode: &live, TargetID: account.String(), TargetName: "billed sessions of " + name,
		})
	})
	if err != nil {
		return err
	}
	priced := lines.ByCreation()
	var last *domain.BilledSession
	for {
		page, err := s.DB.BilledSessions(ctx, account, p, last, exportPage)
		if err != nil {
			return err
		}
		for i := range page {
			line, ok := priced()
			if !ok {
				return nil // created after the lines were read
			}
			if err := row(&page[i], line); err != nil {
				return err
			}
		}
		if len(page) < exportPage {
			return nil
		}
		last = &page[len(page)-1]
	}
}
