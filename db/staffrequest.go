package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

const requestColumns = `id, kind, subject, sealed, created_at, expires_at`

// InsertStaffRequest stores what is to be proven by an email's link. It has no
// token yet.
func (tx *Tx) InsertStaffRequest(ctx context.Context, r *domain.StaffRequest) error {
	_, err := tx.exec(ctx, `
		INSERT INTO staff_request (`+requestColumns+`) VALUES ($1, $2, $3, $4, $5, $6)`,
		r.ID, r.Kind, r.Subject, r.Sealed, r.CreatedAt, r.ExpiresAt)
	return wrap(err, "insert staff request")
}

// StaffRequest returns a request, or ErrNotFound.
func (q *Queries) StaffRequest(ctx context.Context, id domain.StaffRequestID) (*domain.StaffRequest, error) {
	var r domain.StaffRequest
	err := q.get(ctx, &r, `SELECT `+requestColumns+` FROM staff_request WHERE id = $1`, id)
	return &r, wrap(err, "get staff request")
}

// StaffRequestByToken returns the request of that kind whose email had the
// token of that SHA-256 and that hasn't expired at now, or ErrNotFound.
func (q *Queries) StaffRequestByToken(ctx context.Context, kind domain.StaffRequestKind, tokenHash []byte,
	now time.Time) (*domain.StaffRequest, error) {
	var r domain.StaffRequest
	err := q.get(ctx, &r, `
		SELECT `+requestColumns+` FROM staff_request WHERE token_hash = $1 AND kind = $2 AND expires_at > $3`, tokenHash, kind, now)
	return &r, wrap(err, "find staff request")
}

// SetStaffRequestToken makes the request be found by its email's token; of a
// email sent twice, the last one counts.
func (q *Queries) SetStaffRequestToken(ctx context.Context, id domain.StaffRequestID, tokenHash []byte) error {
	result, err := q.exec(ctx, `UPDATE staff_request SET token_hash = $2 WHERE id = $1`, id, tokenHash)
	return changedOne(result, err, "set staff request's token")
}

// DropStaffRequest deletes a request that nothing can come of.
func (q *Queries) DropStaffRequest(ctx context.Context, id domain.StaffRequestID) error {
	_, err := q.exec(ctx, `DELETE FROM staff_request WHERE id = $1`, id)
	return wrap(err, "delete staff request")
}

// UseStaffRequest deletes the request, so that its link works once, and all
// others of its kind and address with it. ErrNotFound where another use was
// first.
func (tx *Tx) UseStaffRequest(ctx context.Context, r *domain.StaffRequest) error {
	result, err := tx.exec(ctx, `DELETE FROM staff_request WHERE id = $1`, r.ID)
	if err := changedOne(result, err, "use staff request"); err != nil {
		return err
	}
	return tx.DeleteStaffRequests(ctx, r.Kind, r.Subject)
}

// DeleteStaffRequests deletes the requests of a kind and address.
func (tx *Tx) DeleteStaffRequests(ctx context.Context, kind domain.StaffRequestKind, subject []byte) error {
	_, err := tx.exec(ctx, `DELETE FROM staff_request WHERE subject = $1 AND kind = $2`, subject, kind)
	return wrap(err, "delete staff requests")
}

// DeleteExpiredRequests deletes up to limit requests and invitations that
// expired before the given time, and returns how many.
func (q *Queries) DeleteExpiredRequests(ctx context.Context, before time.Time, limit int) (int, error) {
	var n int
	err := q.get(ctx, &n, `
		WITH requests AS (
			DELETE FROM staff_request WHERE id IN (
				SELECT id FROM staff_request WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
			RETURNING 1
		), invitations AS (
			DELETE FROM invitation WHERE id IN (
				SELECT id FROM invitation WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
			RETURNING 1
		)
		SELECT greatest((SELECT count(*) FROM requests), (SELECT count(*) FROM invitations))`, before, limit)
	return n, wrap(err, "delete expired staff requests")
}
