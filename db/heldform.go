package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

// HoldForm stores a sealed form until expires. The session keeps the newest
// most forms. Returns ErrNotFound if the session has ended.
func (tx *Tx) HoldForm(ctx context.Context, id domain.HeldFormID, session domain.StaffSessionID, sealed []byte, expires time.Time,
	most int) error {
	// The lock makes forms of one session count each other.
	result, err := tx.exec(ctx, `SELECT FROM staff_session WHERE id = $1 FOR NO KEY UPDATE`, session)
	if err := changedOne(result, err, "lock staff session"); err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `
		INSERT INTO held_form (id, staff_session_id, sealed, expires_at)
			VALUES ($1, $2, $3, $4)`, id, session, sealed, expires); err != nil {
		return wrap(err, "hold form")
	}
	_, err = tx.exec(ctx, `
		DELETE FROM held_form WHERE id IN (
			SELECT id FROM held_form WHERE staff_session_id = $1 ORDER BY expires_at DESC, id DESC OFFSET $2)`, session, most)
	return wrap(err, "limit held forms")
}

// HeldForm returns a form that the session holds at now, nil if it was carried
// out, and when it expires. Returns ErrNotFound if there is none.
func (q *Queries) HeldForm(ctx context.Context, id domain.HeldFormID, session domain.StaffSessionID,
	now time.Time) (sealed []byte, expires time.Time, err error) {
	var row struct {
		Sealed    []byte    `db:"sealed"`
		ExpiresAt time.Time `db:"expires_at"`
	}
	err = q.get(ctx, &row, `
		SELECT sealed, expires_at FROM held_form WHERE id = $1 AND staff_session_id = $2 AND expires_at > $3`, id, session, now)
	return row.Sealed, row.ExpiresAt, wrap(err, "get held form")
}

// TakeHeldForm returns the form and marks it as carried out. Returns
// ErrNotFound if HeldForm has none, or if it was taken before.
func (q *Queries) TakeHeldForm(ctx context.Context, id domain.HeldFormID, session domain.StaffSessionID,
	now time.Time) (sealed []byte, err error) {
	err = q.get(ctx, &sealed, `
		UPDATE held_form SET sealed = NULL
		FROM (SELECT id, sealed FROM held_form
			WHERE id = $1 AND staff_session_id = $2 AND expires_at > $3 AND sealed IS NOT NULL FOR UPDATE) before
		WHERE held_form.id = before.id RETURNING before.sealed`, id, session, now)
	return sealed, wrap(err, "take held form")
}

// DropHeldForm deletes a form that the session holds.
func (q *Queries) DropHeldForm(ctx context.Context, id domain.HeldFormID, session domain.StaffSessionID) error {
	_, err := q.exec(ctx, `DELETE FROM held_form WHERE id = $1 AND staff_session_id = $2`, id, session)
	return wrap(err, "drop held form")
}

// DeleteHeldForms deletes up to limit forms that expired by now, and returns how
// many.
func (q *Queries) DeleteHeldForms(ctx context.Context, now time.Time, limit int) (int, error) {
	return q.deleteOld(ctx, "held_form", "id", "expires_at", now, limit, "delete held forms")
}
