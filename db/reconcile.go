package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"candor/internal/domain"
)

// FinishedSession is a session that is completed or expired, and what is
// missing of its end. FinishedAt is when it completed or was to expire.
type FinishedSession struct {
	ID              domain.SessionID `db:"id"`
	FinishedAt      time.Time        `db:"finished_at"`
	MissingEvent    bool             `db:"missing_event"`    // it has no terminal event
	MissingDelivery bool             `db:"missing_delivery"` // its terminal event was to go somewhere and has no delivery
}

const terminalTypes = `('session.completed', 'session.expired')`

// terminalState says what is missing of session s's end.
const terminalState = `
	e.id IS NULL AS missing_event,
	e.url IS NOT NULL AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = e.id) AS missing_delivery`

// FinishedSessions returns up to limit sessions that finished in that status
// after the given session's place, until to, in the order of their finish. It
// reads no more than it returns.
func (q *Queries) FinishedSessions(ctx context.Context, status domain.Status, after FinishedSession, to time.Time,
	limit int) ([]FinishedSession, error) {
	column, own, err := finishColumn(status)
	if err != nil {
		return nil, err
	}
	var out []FinishedSession
	err = q.all(ctx, &out, `
		WITH finished AS MATERIALIZED (
			SELECT id, `+column+` AS finished_at FROM session
			WHERE `+own+` AND `+column+` >= $1 AND `+column+` <= $3 AND (`+column+`, id) > ($1, $2)
			ORDER BY `+column+`, id
			LIMIT $4
		)
		SELECT s.id, s.finished_at, t.missing_event, t.missing_delivery
		FROM finished s CROSS JOIN LATERAL (
			SELECT `+terminalState+`
			FROM (VALUES (1)) one LEFT JOIN event e ON e.session_id = s.id AND e.type IN `+terminalTypes+`
			LIMIT 1
		) t
		ORDER BY s.finished_at, s.id`,
		after.FinishedAt, after.ID, to, limit)
	return out, wrap(err, "list finished sessions")
}

// finishColumn is when sessions of the status finished, and the predicate of
// the index that leads there.
func finishColumn(status domain.Status) (column, predicate sqlText, err error) {
	switch status {
	case domain.Completed:
		return "completed_at", "status = 'completed' AND erased_at IS NULL", nil
	case domain.Expired:
		return "expires_at", "status = 'expired'", nil
	}
	return "", "", fmt.Errorf("db: no session finishes as %s", status)
}

// LockFinishedSession locks a completed or expired session for this
// transaction and returns it with what is still missing, or ErrNotFound. Of
// two that repair, the second one sees what the first has done.
func (tx *Tx) LockFinishedSession(ctx context.Context, id domain.SessionID) (*domain.Session, FinishedSession, error) {
	var s domain.Session
	err := tx.get(ctx, &s, `
		SELECT `+sessionColumns+` FROM session
		WHERE id = $1 AND status IN ('completed', 'expired')
		FOR NO KEY UPDATE`, id)
	if err != nil {
		return nil, FinishedSession{}, wrap(err, "lock finished session")
	}
	// A statement of its own, to see what was committed while this one waited.
	missing := FinishedSession{ID: id}
	err = tx.get(ctx, &missing, `
		SELECT `+terminalState+`
		FROM (VALUES (1)) one LEFT JOIN event e ON e.session_id = $1 AND e.type IN `+terminalTypes+`
		LIMIT 1`, id)
	return &s, missing, wrap(err, "look for terminal event")
}

// TerminalEvent returns the event that ended a session, or ErrNotFound.
func (tx *Tx) TerminalEvent(ctx context.Context, session domain.SessionID) (*domain.Event, error) {
	var e domain.Event
	err := tx.get(ctx, &e, `SELECT `+eventColumns+` FROM event WHERE session_id = $1 AND type IN `+terminalTypes, session)
	return &e, wrap(err, "get terminal event")
}

// OldestOverdue returns when the oldest session expired that no sweep has come
// to, or the zero time where none is overdue at now.
func (q *Queries) OldestOverdue(ctx context.Context, now time.Time) (time.Time, error) {
	var oldest time.Time
	err := q.get(ctx, &oldest, `
		SELECT expires_at FROM session
		WHERE status IN ('pending', 'in_progress') AND expires_at <= $1
		ORDER BY expires_at
		LIMIT 1`, now)
	if err = wrap(err, "find overdue session"); errors.Is(err, ErrNotFound) {
		return time.Time{}, nil
	}
	return oldest, err
}

// CheckedTo returns how far reconciliation has come with sessions of the
// status, the zero time before its first run.
func (q *Queries) CheckedTo(ctx context.Context, status domain.Status) (time.Time, error) {
	var to time.Time
	err := q.get(ctx, &to, `SELECT checked_to FROM reconciliation WHERE status = $1`, status)
	if err = wrap(err, "get reconciliation"); errors.Is(err, ErrNotFound) {
		return time.Time{}, nil
	}
	return to, err
}

// SetCheckedTo stores how far reconciliation has come; it never goes back.
func (q *Queries) SetCheckedTo(ctx context.Context, status domain.Status, to time.Time) error {
	_, err := q.exec(ctx, `
		INSERT INTO reconciliation AS r (status, checked_to) VALUES ($1, $2)
		ON CONFLICT (status) DO UPDATE SET checked_to = greatest(r.checked_to, excluded.checked_to)`, status, to)
	return wrap(err, "store reconciliation")
}
