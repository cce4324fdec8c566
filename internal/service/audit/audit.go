// Package audit writes an account's audit log, in the transaction of what was
// done, and lists and exports it. It knows no other area.
package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
)

// Config is what the audit log needs.
type Config struct {
	DB    *db.DB
	Clock domain.Clock
}

// Service writes and reads audit logs. It is safe for concurrent use.
type Service struct {
	Config
	alike *ratelimit.Memory // entries of staff that differ in their time alone
}

// single is how often the same entry is written by itself: more often than a person
// does the same thing to the same thing on purpose (D89).
var single = ratelimit.Config{PerMinute: 6, Burst: 20, Keys: 10_000}

// New returns a Service.
func New(c Config) *Service {
	alike, err := ratelimit.New(single)
	if err != nil {
		panic(err) // its size is a constant
	}
	return &Service{c, alike}
}

// An Entry is what the audit log says of an action. Before and After become JSON,
// nil for nothing. They must hold no secret and no customer's answer.
type Entry struct {
	Action     domain.AuditAction
	Livemode   *bool // nil for what both modes share
	TargetID   string
	TargetName string
	Before     any
	After      any
}

// Record adds an entry to the account's audit log in the transaction of the action,
// so that neither exists without the other. What a staff user does to the same thing again
// and again is counted at first, in the transaction, too (D89).
func (s *Service) Record(ctx context.Context, tx *db.Tx, account domain.AccountID, by domain.Actor, e Entry) error {
	entry := &domain.AuditEntry{
		ID: domain.NewAuditID(), AccountID: account, Livemode: e.Livemode, At: s.Clock.Now(),
		ActorKind: by.Kind, ActorID: by.ID, ActorName: by.Name, Address: by.Address,
		Action: e.Action, TargetID: e.TargetID, TargetName: e.TargetName,
	}
	var err error
	if entry.Before, err = encode(e.Before); err != nil {
		return err
	}
	if entry.After, err = encode(e.After); err != nil {
		return err
	}
	if by.Kind != domain.ActorStaff {
		return tx.InsertAudit(ctx, entry)
	}
	key, err := alike(*entry)
	if err != nil || s.alike.Take(key, entry.At).Allowed {
		return errors.Join(err, tx.InsertAudit(ctx, entry))
	}
	return tx.RepeatAudit(ctx, entry, key)
}

// alike names entries that differ in their id and time alone.
func alike(e domain.AuditEntry) (string, error) {
	e.ID, e.At = domain.AuditID{}, time.Time{}
	text, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("audit: audit entry: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

func encode(v any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("audit: audit entry: %w", err)
	}
	return b, nil
}

// Rights are what the audit log says of a team member's or an invitation's
// role.
type Rights struct {
	Role        domain.Role `json:"role"`
	MayDownload bool        `json:"may_download,omitempty"`
}

// exportPage is how many entries an export reads at once.
const exportPage = 1000

// Page returns at most limit entries of the account's audit log that match the
// filter, newest first, after before (nil: from the newest), and whether older ones
// follow. Error: not_found for an unknown before.
func (s *Service) Page(ctx context.Context, account domain.AccountID, f domain.AuditFilter, before *domain.AuditID,
	limit int) (page []domain.AuditEntry, more bool, err error) {
	var last *domain.AuditEntry
	if before != nil {
		if last, err = s.DB.AuditEntry(ctx, account, *before); err != nil {
			return nil, false, db.MissingAs(err, domain.Errorf(domain.CodeNotFound, "There is no such line in the audit log."))
		}
	}
	page, err = s.DB.AuditPage(ctx, account, f, last, limit+1)
	return page[:min(limit, len(page))], len(page) > limit, err
}

// Export calls row for each entry that matches the filter, newest first.
func (s *Service) Export(ctx context.Context, account domain.AccountID, f domain.AuditFilter, by domain.Actor,
	row func(*domain.AuditEntry) error) error {
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		return s.Record(ctx, tx, account, by, Entry{Action: domain.AuditLogExported, TargetID: account.String(),
			TargetName: "audit log"})
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
