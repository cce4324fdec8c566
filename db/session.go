package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

const sessionColumns = `id, account_id, livemode, status, form_type, customer_email, customer_name, reference_id,
	webhook_url, metadata, sections_completed, created_at, expires_at, accessed_at, completed_at, cancelled_at,
	last_activity_at, pdf_ready_at, erased_at, data_erased_at, customer_erased_at, created_by_kind, created_by, language, pdf_sha256, prefilled, link_version`

// InsertSession stores a new session.
func (tx *Tx) InsertSession(ctx context.Context, s *domain.Session) error {
	return tx.insertSession(ctx, s, &s.ExpiresAt)
}

// InsertSessionByDefault stores a new session whose link works for as long as
// the account has it by default, and sets ExpiresAt by that. It is one
// statement, as this is done often.
func (tx *Tx) InsertSessionByDefault(ctx context.Context, s *domain.Session) error {
	return tx.insertSession(ctx, s, nil)
}

func (tx *Tx) insertSession(ctx context.Context, s *domain.Session, expires *time.Time) error {
	err := tx.get(ctx, &s.ExpiresAt, `
		INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, customer_name, reference_id,
			webhook_url, metadata, created_at, expires_at, created_by_kind, created_by, language, prefilled)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
			coalesce($12, $11::timestamptz + (SELECT default_expires_in_days FROM account WHERE id = $2) * interval '24 hours'), $13, $14, $15, $16)
		RETURNING expires_at`,
		s.ID, s.AccountID, s.Livemode, s.Status, s.FormType, s.CustomerEmail, s.CustomerName, s.ReferenceID,
		s.WebhookURL, s.Metadata, s.CreatedAt, expires, s.CreatedByKind, s.CreatedBy, s.Language, s.Prefilled)
	tx.Announce(s.Scope(), domain.SessionChanged, &s.ID)
	return wrap(err, "insert session")
}

// Session returns a session of the scope, or ErrNotFound: another account's
// or mode's doesn't exist (D3).
func (q *Queries) Session(ctx context.Context, scope domain.Scope, id domain.SessionID) (*domain.Session, error) {
	var s domain.Session
	err := q.get(ctx, &s, `
		SELECT `+sessionColumns+` FROM session
		WHERE id = $1 AND account_id = $2 AND livemode = $3`,
		id, scope.AccountID, scope.Livemode)
	return &s, wrap(err, "get session")
}

// SessionByID returns a session of any account, for the holder of its link,
// or ErrNotFound.
func (q *Queries) SessionByID(ctx context.Context, id domain.SessionID) (*domain.Session, error) {
	var s domain.Session
	err := q.get(ctx, &s, `SELECT `+sessionColumns+` FROM session WHERE id = $1`, id)
	return &s, wrap(err, "get session")
}

// CancelSession cancels an open session of the scope and returns it. Returns
// ErrState if it isn't open.
func (tx *Tx) CancelSession(ctx context.Context, scope domain.Scope, id domain.SessionID, now time.Time) (*domain.Session, error) {
	var s domain.Session
	err := tx.get(ctx, &s, `
		UPDATE session SET status = 'cancelled', cancelled_at = $4
		WHERE id = $1 AND account_id = $2 AND livemode = $3 AND status IN ('pending', 'in_progress') AND expires_at > $4
		RETURNING `+sessionColumns,
		id, scope.AccountID, scope.Livemode, now)
	tx.Announce(scope, domain.SessionChanged, &id)
	return &s, wrapChange(err, "cancel session")
}

// ExtendSession moves the expiry of an open session of the scope to a later time
// and returns it. Returns ErrState if the session isn't open or expires later.
func (tx *Tx) ExtendSession(ctx context.Context, scope domain.Scope, id domain.SessionID, to, now time.Time) (*domain.Session, error) {
	var s domain.Session
	err := tx.get(ctx, &s, `
		UPDATE session SET expires_at = $4
		WHERE id = $1 AND account_id = $2 AND livemode = $3 AND status IN ('pending', 'in_progress') AND expires_at > $5 AND expires_at < $4
		RETURNING `+sessionColumns,
		id, scope.AccountID, scope.Livemode, to, now)
	tx.Announce(scope, domain.SessionChanged, &id)
	return &s, wrapChange(err, "extend session")
}

// OpenSession records the customer's first opening of a pending session.
// Returns ErrState if it isn't pending.
func (tx *Tx) OpenSession(ctx context.Context, id domain.SessionID, now time.Time) (*domain.Session, error) {
	var s domain.Session
	err := tx.get(ctx, &s, `
		UPDATE session SET status = 'in_progress', accessed_at = $2, last_activity_at = $2
		WHERE id = $1 AND status = 'pending' AND expires_at > $2
		RETURNING `+sessionColumns,
		id, now)
	return &s, wrapChange(err, "open session")
}

// ActivityStep is how exact last_activity_at is for openings: looking at a page
// writes no row if the last activity is more recent than this.
const ActivityStep = time.Minute

// TouchSession records that the customer opened an open session's form again.
func (q *Queries) TouchSession(ctx context.Context, id domain.SessionID, now time.Time) error {
	_, err := q.exec(ctx, `
		UPDATE session SET last_activity_at = $2
		WHERE id = $1 AND status = 'in_progress' AND expires_at > $2 AND last_activity_at < $3`,
		id, now, now.Add(-ActivityStep))
	return wrap(err, "touch session")
}

// LockOpenSession locks a session that the customer can work on for this
// transaction and stores the time of this activity. Returns ErrState if it isn't
// in progress. The lock orders the saves of two tabs, and a submit against a
// cancel or an expiry.
func (tx *Tx) LockOpenSession(ctx context.Context, id domain.SessionID, now time.Time) (*domain.Session, error) {
	var s domain.Session
	err := tx.get(ctx, &s, `
		UPDATE session SET last_activity_at = $2
		WHERE id = $1 AND status = 'in_progress' AND expires_at > $2
		RETURNING `+sessionColumns,
		id, now)
	return &s, wrapChange(err, "lock session")
}

// CompleteSession completes a session that LockOpenSession locked, with all its
// sections. Returns ErrState if it isn't in progress.
func (tx *Tx) CompleteSession(ctx context.Context, s *domain.Session) error {
	result, err := tx.exec(ctx, `
		UPDATE session SET status = 'completed', completed_at = $2, sections_completed = $3
		WHERE id = $1 AND status = 'in_progress'`,
		s.ID, s.CompletedAt, s.SectionsCompleted)
	return changedState(result, err, "complete session")
}

// SetSectionsCompleted stores how many sections of a locked session are
// completed.
func (tx *Tx) SetSectionsCompleted(ctx context.Context, id domain.SessionID, n int) error {
	_, err := tx.exec(ctx, `UPDATE session SET sections_completed = $2 WHERE id = $1`, id, n)
	return wrap(err, "set sections completed")
}

// ExpireSessions makes up to limit overdue sessions expired and returns
// them. Sessions that another transaction is working on are left for the
// next sweep, so any number of workers can sweep at once.
func (tx *Tx) ExpireSessions(ctx context.Context, now time.Time, limit int) ([]domain.Session, error) {
	var out []domain.Session
	err := tx.all(ctx, &out, `
		WITH due AS MATERIALIZED (
			SELECT id AS due_id FROM session
			WHERE status IN ('pending', 'in_progress') AND expires_at <= $1
			ORDER BY expires_at
			LIMIT $2
			FOR UPDATE SKIP LOCKED)
		UPDATE session SET status = 'expired'
		FROM due WHERE id = due_id
		RETURNING `+sessionColumns,
		now, limit)
	return out, wrap(err, "expire sessions")
}

// ExpireSession makes one session expired; ExpireSessions takes all that are
// overdue.
func (tx *Tx) ExpireSession(ctx context.Context, id domain.SessionID) error {
	_, err := tx.exec(ctx, `UPDATE session SET status = 'expired' WHERE id = $1`, id)
	return wrap(err, "expire session")
}

// EndLink makes the link of a locked session end at now. The session must be open.
func (tx *Tx) EndLink(ctx context.Context, id domain.SessionID, now time.Time) error {
	_, err := tx.exec(ctx, `UPDATE session SET expires_at = $2 WHERE id = $1`, id, now)
	return wrap(err, "end link")
}
