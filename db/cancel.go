package db

import (
	"context"
	"errors"
	"time"

	"candor/internal/domain"
)

// RequestCancel notes that an open session of the scope is to be cancelled at due; a request that
// is there already stays. Returns ErrState if the session isn't open.
func (tx *Tx) RequestCancel(ctx context.Context, scope domain.Scope, id domain.SessionID, by domain.Actor, due,
	now time.Time) error {
	result, err := tx.exec(ctx, `
		INSERT INTO session_cancel AS c (session_id, due_at, actor_kind, actor_id, actor_name, address)
		SELECT id, $4, $6, $7, $8, $9 FROM session
		WHERE id = $1 AND account_id = $2 AND livemode = $3 AND status IN ('pending', 'in_progress') AND expires_at > $5
		ON CONFLICT (session_id) DO UPDATE SET due_at = c.due_at`,
		id, scope.AccountID, scope.Livemode, due, now, by.Kind, by.ID, by.Name, by.Address)
	tx.Announce(scope, domain.SessionChanged, &id)
	return changedState(result, err, "request cancel")
}

// CancelsAt returns when an open session is to be cancelled, nil for never.
func (q *Queries) CancelsAt(ctx context.Context, id domain.SessionID) (due *time.Time, err error) {
	err = q.get(ctx, &due, `
		SELECT (SELECT due_at FROM session_cancel c JOIN session s ON s.id = c.session_id
			WHERE c.session_id = $1 AND s.status IN ('pending', 'in_progress'))`, id)
	return due, wrap(err, "get request to cancel")
}

// DropCancel drops the request to cancel a session of the scope. Returns ErrState if there is
// none, or it was carried out.
func (tx *Tx) DropCancel(ctx context.Context, scope domain.Scope, id domain.SessionID) error {
	result, err := tx.exec(ctx, `
		DELETE FROM session_cancel USING session s
		WHERE session_id = $1 AND s.id = $1 AND s.account_id = $2 AND s.livemode = $3 AND s.status IN ('pending', 'in_progress')`,
		id, scope.AccountID, scope.Livemode)
	tx.Announce(scope, domain.SessionChanged, &id)
	return changedState(result, err, "drop cancel")
}

// CarryOutCancels cancels the sessions whose time has come, with their audit entries, and
// returns how many requests it took, at most limit. Those that have ended since stay as they
// are.
func (tx *Tx) CarryOutCancels(ctx context.Context, now time.Time, limit int) (taken int, err error) {
	var due []struct {
		domain.Session
		ActorKind domain.ActorKind `db:"actor_kind"`
		ActorID   string           `db:"actor_id"`
		ActorName string           `db:"actor_name"`
		Address   string           `db:"address"`
	}
	err = tx.all(ctx, &due, `
		WITH due AS MATERIALIZED (
			SELECT session_id AS due_id FROM session_cancel WHERE due_at <= $1 ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
		), taken AS (
			DELETE FROM session_cancel USING due WHERE session_id = due_id RETURNING *
		)
		SELECT s.id, s.account_id, s.livemode, t.actor_kind, t.actor_id, t.actor_name, t.address
		FROM taken t JOIN session s ON s.id = t.session_id ORDER BY s.account_id, s.livemode, s.id`, now, limit)
	if err != nil {
		return 0, wrap(err, "take cancels")
	}
	for _, d := range due {
		cancelled, err := tx.CancelSession(ctx, d.Scope(), d.ID, now)
		if errors.Is(err, ErrState) {
			continue
		}
		if err == nil {
			err = tx.InsertAudit(ctx, &domain.AuditEntry{
				ID: domain.NewAuditID(), AccountID: d.AccountID, Livemode: &cancelled.Livemode, At: now, ActorKind: d.ActorKind,
				ActorID: d.ActorID, ActorName: d.ActorName, Address: d.Address, Action: domain.AuditSessionCancelled,
				TargetID: d.ID.String(), TargetName: d.ID.String(),
			})
		}
		if err != nil {
			return 0, err
		}
	}
	return len(due), nil
}
