package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

const auditColumns = `id, account_id, livemode, at, actor_kind, actor_id, actor_name, action, target_id, target_name, address, before, after, times, until`

// InsertAudit adds a line to the audit log.
func (tx *Tx) InsertAudit(ctx context.Context, e *domain.AuditEntry) error {
	_, err := tx.exec(ctx, `
		INSERT INTO audit_log (`+auditColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`, auditValues(e)...)
	return wrap(err, "insert audit entry")
}

// RepeatAudit counts an entry with those that are alike, until RecordRepeats.
func (tx *Tx) RepeatAudit(ctx context.Context, e *domain.AuditEntry, alike string) error {
	_, err := tx.exec(ctx, `
		INSERT INTO audit_repeat AS r (`+auditColumns+`, alike)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $4, $15)
		ON CONFLICT (alike) DO UPDATE SET times = r.times + 1, until = greatest(r.until, excluded.until)`,
		append(auditValues(e)[:14], alike)...)
	return wrap(err, "count audit entry")
}

// RecordRepeats adds a line to the audit log for what RepeatAudit has counted since
// before.
func (d *DB) RecordRepeats(ctx context.Context, before time.Time) error {
	_, err := d.exec(ctx, `
		WITH counted AS (DELETE FROM audit_repeat WHERE at < $1 RETURNING *)
		INSERT INTO audit_log (`+auditColumns+`) SELECT `+auditColumns+` FROM counted`, before)
	return wrap(err, "record repeated audit entries")
}

func auditValues(e *domain.AuditEntry) []any {
	var before, after *string // JSON goes as text, bytes would go as bytea
	if e.Before != nil {
		text := string(e.Before)
		before = &text
	}
	if e.After != nil {
		text := string(e.After)
		after = &text
	}
	return []any{
		e.ID, e.AccountID, e.Livemode, e.At, e.ActorKind, e.ActorID, e.ActorName, e.Action, e.TargetID, e.TargetName, e.Address,
		before, after,
		max(1, e.Times), e.Until,
	}
}

// AuditOf returns the latest lines of the account's audit log about one
// target, newest first.
func (q *Queries) AuditOf(ctx context.Context, account domain.AccountID, target string, limit int) ([]domain.AuditEntry, error) {
	var out []domain.AuditEntry
	err := q.all(ctx, &out, `
		SELECT `+auditColumns+` FROM audit_log WHERE account_id = $1 AND target_id = $2 ORDER BY at DESC, id DESC LIMIT $3`, account, target, limit)
	return out, wrap(err, "list audit entries of a target")
}

// AuditPage returns up to limit lines of the account's audit log that match
// the filter, newest first: from the newest on, or those after the given one.
func (q *Queries) AuditPage(ctx context.Context, account domain.AccountID, f domain.AuditFilter, last *domain.AuditEntry,
	limit int) ([]domain.AuditEntry, error) {
	l := list{columns: auditColumns, order: "at DESC, id DESC"}
	l.add("account_id =", account)
	filter(&l.conditions, domain.AuditFilters, &f)
	if f.ActorID != "" { // no index leads to it: asked only of a leaked key, and 500,000 lines take 0.1 s
		l.add("actor_id =", f.ActorID)
	}
	if last != nil {
		l.below("at, id", last.At, last.ID)
	}
	l.from("audit_log")
	var out []domain.AuditEntry
	err := q.all(ctx, &out, l.first(l.arg(limit)), l.args...)
	return out, wrap(err, "list audit log")
}

// AuditEntry returns a line of the account's audit log, or ErrNotFound.
func (q *Queries) AuditEntry(ctx context.Context, account domain.AccountID, id domain.AuditID) (*domain.AuditEntry, error) {
	var e domain.AuditEntry
	err := q.get(ctx, &e, `SELECT `+auditColumns+` FROM audit_log WHERE id = $1 AND account_id = $2`, id, account)
	return &e, wrap(err, "get audit entry")
}
