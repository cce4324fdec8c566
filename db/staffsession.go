package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

const staffSessionQuery = `
	SELECT u.id, u.account_id, u.email, u.name, u.role, u.may_download, u.created_at, u.must_change_password,
		a.name AS account_name, a.time_zone, a.approved_at IS NOT NULL AS account_approved,
		s.id AS session_id, s.stage, s.created_at AS started_at, s.seen_at, s.confirmed_at, s.expires_at, s.address, s.user_agent,
			s.passkey_id, s.sso_account_id, s.sso_sid,
		a.two_step_required, u.totp_secret IS NOT NULL AS two_step, EXISTS (SELECT FROM staff_passkey p
			WHERE p.staff_id = u.id) AS has_passkey
	FROM staff_session s JOIN staff_user u ON u.id = s.staff_id JOIN account a ON a.id = u.account_id`

// InsertStaffSession stores a signed-in browser, to be found by the SHA-256 of
// its token.
func (tx *Tx) InsertStaffSession(ctx context.Context, s *domain.StaffSession, tokenHash []byte) error {
	_, err := tx.exec(ctx, `
		INSERT INTO staff_session (id, token_hash, staff_id, stage, created_at, seen_at, confirmed_at, expires_at, address, user_agent,
			passkey_id, sso_account_id, sso_sid)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		s.SessionID, tokenHash, s.ID, s.Stage, s.StartedAt, s.SeenAt, s.ConfirmedAt, s.ExpiresAt, s.Address, s.UserAgent, s.PasskeyID,
		s.SSOAccountID, s.SSOSID)
	return wrap(err, "insert staff session")
}

// StaffSession returns the live session of a token, or ErrNotFound. What it
// says of the user is as it is now: one who was removed has none.
func (q *Queries) StaffSession(ctx context.Context, tokenHash []byte, now time.Time) (*domain.StaffSession, error) {
	var s domain.StaffSession
	err := q.get(ctx, &s, staffSessionQuery+`
		WHERE s.token_hash = $1 AND s.expires_at > $2 AND s.seen_at > $3`,
		tokenHash, now, now.Add(-domain.StaffIdle))
	return &s, wrap(err, "find staff session")
}

// StaffSessionByID returns a live session by its id, or ErrNotFound, for work that
// outlasts its request: the token can change during it.
func (q *Queries) StaffSessionByID(ctx context.Context, id domain.StaffSessionID, now time.Time) (*domain.StaffSession, error) {
	var s domain.StaffSession
	err := q.get(ctx, &s, staffSessionQuery+`
		WHERE s.id = $1 AND s.stage = 'full' AND s.expires_at > $2 AND s.seen_at > $3`,
		id, now, now.Add(-domain.StaffIdle))
	return &s, wrap(err, "find staff session by id")
}

// StaffSessions returns a staff user's live sessions, the latest first.
func (q *Queries) StaffSessions(ctx context.Context, staff domain.StaffID, now time.Time) ([]domain.StaffSession, error) {
	var out []domain.StaffSession
	err := q.all(ctx, &out, staffSessionQuery+`
		WHERE s.staff_id = $1 AND s.expires_at > $2 AND s.seen_at > $3 AND s.stage = 'full'
		ORDER BY s.seen_at DESC, s.id DESC`,
		staff, now, now.Add(-domain.StaffIdle))
	return out, wrap(err, "list staff sessions")
}

// TouchStaffSession notes that the session is in use.
func (q *Queries) TouchStaffSession(ctx context.Context, id domain.StaffSessionID, now time.Time) error {
	_, err := q.exec(ctx, `UPDATE staff_session SET seen_at = $2 WHERE id = $1 AND seen_at < $2`, id, now)
	return wrap(err, "touch staff session")
}

// ConfirmStaffSession notes that it was proven at now that the user is there,
// and gives the session a new token.
func (tx *Tx) ConfirmStaffSession(ctx context.Context, id domain.StaffSessionID, tokenHash []byte, now time.Time) error {
	result, err := tx.exec(ctx, `
		UPDATE staff_session SET confirmed_at = $3, token_hash = $2 WHERE id = $1`, id, tokenHash, now)
	return changedOne(result, err, "confirm staff session")
}

// CompleteStaffSession makes a session of stage 'password' a full one, with a new
// token. Returns ErrState if the session is already full or has expired.
func (tx *Tx) CompleteStaffSession(ctx context.Context, id domain.StaffSessionID, tokenHash []byte, now time.Time) error {
	result, err := tx.exec(ctx, `
		UPDATE staff_session SET stage = 'full', token_hash = $2, created_at = $3, seen_at = $3, confirmed_at = $3, expires_at = $4
		WHERE id = $1 AND stage = 'password' AND expires_at > $3`, id, tokenHash, now, now.Add(domain.StaffLifetime))
	return changedState(result, err, "complete staff session")
}

// DeleteStaffSession ends one of a staff user's sessions; ErrNotFound where
// there is none.
func (tx *Tx) DeleteStaffSession(ctx context.Context, staff domain.StaffID, id domain.StaffSessionID) error {
	result, err := tx.exec(ctx, `DELETE FROM staff_session WHERE id = $1 AND staff_id = $2`, id, staff)
	return changedOne(result, err, "delete staff session")
}

// ReplaceStaffSession ends the session of a token, if there is one: the browser
// that held it gets another.
func (tx *Tx) ReplaceStaffSession(ctx context.Context, tokenHash []byte) error {
	_, err := tx.exec(ctx, `DELETE FROM staff_session WHERE token_hash = $1`, tokenHash)
	return wrap(err, "replace staff session")
}

// DeleteOtherStaffSessions ends all of a staff user's sessions but one, and
// returns how many. The zero id keeps none.
func (tx *Tx) DeleteOtherStaffSessions(ctx context.Context, staff domain.StaffID, keep domain.StaffSessionID) (int, error) {
	result, err := tx.exec(ctx, `DELETE FROM staff_session WHERE staff_id = $1 AND id <> $2`, staff, keep)
	return affected(result, err, "delete other staff sessions")
}

// DeleteEndedStaffSessions deletes up to limit sessions that have ended by
// themselves, and returns how many: each has been idle for long by then, since
// a session's end in all stops its use, too.
func (q *Queries) DeleteEndedStaffSessions(ctx context.Context, now time.Time, limit int) (int, error) {
	return q.deleteOld(ctx, "staff_session", "id", "seen_at", now.Add(-domain.StaffIdle), limit, "delete ended staff sessions")
}
