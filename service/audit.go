package service

import (
	"context"
	"encoding/json"
	"fmt"

	"candor/db"
	"candor/intake"
)

// deed is what the audit log says of an action. Before and After are made into
// JSON, nil for nothing; they must hold no secret and no customer's answer.
type deed struct {
	Action     intake.AuditAction
	Livemode   *bool // nil for what both modes share
	TargetID   string
	TargetName string
	Before     any
	After      any
}

// audit adds a line to the account's audit log in the transaction of what it
// tells of, so that there is none without the other.
func (s *Service) audit(ctx context.Context, tx *db.Tx, account intake.AccountID, by intake.Actor, d deed) error {
	entry := &intake.AuditEntry{
		ID: intake.NewAuditID(), AccountID: account, Livemode: d.Livemode, At: s.Clock.Now(),
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
