package service

import (
	"context"
	"encoding/json"
	"fmt"

	"candor/db"
	"candor/internal/domain"
)

// deed is what the audit log says of an action. Before and After are made into
// JSON, nil for nothing; they must hold no secret and no customer's answer.
type deed struct {
	Action     domain.AuditAction
	Livemode   *bool // nil for what both modes share
	TargetID   string
	TargetName string
	Before     any
	After      any
}

// audit adds a line to the account's audit log in the transaction of what it
// tells of, so that there is none without the other.
func (s *Service) audit(ctx context.Context, tx *db.Tx, account domain.AccountID, by domain.Actor, d deed) error {
	entry := &domain.AuditEntry{
		ID: domain.NewAuditID(), AccountID: account, Livemode: d.Livemode, At: s.Clock.Now(),
		ActorKind: by.Kind, ActorID: by.ID, ActorName: by.Name, Address: by.Address,
		Action: d.Action, TargetID: d.TargetID, TargetName: d.TargetName,
	}
	var err error
	if entry.Before, err = auditJSON(d.Before); err != nil {
		return err
	}
	if entry.After, err = auditJSON(d.After); err != nil {
		return err
	}
	return tx.InsertAudit(ctx, entry)
}

func auditJSON(v any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("service: audit entry: %w", err)
	}
	return b, nil
}

// AuditPage returns limit lines of the account's audit log that match the
// filter, newest first, from the one after before on, nil for the newest, and
// whether older ones follow. Error: not_found for an unknown before.
func (s *Service) AuditPage(ctx context.Context, account domain.AccountID, f domain.AuditFilter, before *domain.AuditID, limit int) (page []domain.AuditEntry, more bool, err error) {
	var last *domain.AuditEntry
	if before != nil {
		if last, err = s.DB.AuditEntry(ctx, account, *before); err != nil {
			return nil, false, orCode(err, domain.Errorf(domain.CodeNotFound, "There is no such line in the audit log."))
		}
	}
	page, err = s.DB.AuditPage(ctx, account, f, last, limit+1)
	return page[:min(limit, len(page))], len(page) > limit, err
}

// ExportAudit calls row for each line that matches the filter, newest first.
func (s *Service) ExportAudit(ctx context.Context, account domain.AccountID, f domain.AuditFilter, by domain.Actor, row func(*domain.AuditEntry) error) error {
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		return s.audit(ctx, tx, account, by, deed{Action: domain.AuditLogExported, TargetID: account.String(), TargetName: "audit log"})
	})
	for last := (*domain.AuditEntry)(nil); err == nil; {
		var page []domain.AuditEntry
		page, err = s.DB.AuditPage(ctx, account, f, last, exportPage)
		for i := 0; i < len(page) && err == nil; i++ {
			err = row(&page[i])
		}
		if len(page) < exportPage {
			return err
		}
		last = &page[len(page)-1]
	}
	return err
}
