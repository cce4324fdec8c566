package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"candor/internal/domain"
	"candor/internal/platform/postgres"
)

const sessionColumns = `id, account_id, livemode, status, form_type, customer_email, customer_name, reference_id,
	webhook_url, return_url, metadata, sections_completed, created_at, expires_at, accessed_at, completed_at, cancelled_at,
	last_activity_at, pdf_ready_at, erased_at, data_erased_at, customer_erased_at, created_by_kind, created_by, language,
		pdf_sha256, pdf_signer, pdf_signer_issuer, prefilled, link_version, saved_by, emailed, previous_session_id,
		chosen_language, documents`

// InsertSession stores a new session. If it has no ExpiresAt, that is set by the account's
// default.
func (tx *Tx) InsertSession(ctx context.Context, s *domain.Session) error {
	answers, err := tx.insertSessions(ctx, []newSession{newSessionOf(s)})
	if err != nil {
		return wrap(err, "insert session")
	}
	s.ExpiresAt = answers[0].ExpiresAt
	tx.Announce(s.Scope(), domain.SessionChanged, &s.ID)
	return nil
}

// InsertSession is Tx.InsertSession in a transaction of its own, or of all sessions that
// come at the same time. If the connection is lost, the session may stand or not.
func (d *DB) InsertSession(ctx context.Context, s *domain.Session) error {
	if err := d.admits(ctx); err != nil {
		return err
	}
	answer, err := share(ctx, d.batches.newSessions, newSessionOf(s))
	if errors.Is(err, errNoAnswer) {
		err = fmt.Errorf("%w (%v)", domain.ErrOutcomeUnknown, err) //nolint:errorlint // as after a lost commit
	}
	if err != nil {
		return wrap(err, "insert session")
	}
	s.ExpiresAt = answer.ExpiresAt
	d.announcers.add(s.Scope(), domain.SessionChanged, &s.ID)
	return nil
}

// newSession is the row of a new session.
type newSession struct {
	ID            uuid.UUID         `json:"id"`
	AccountID     uuid.UUID         `json:"account_id"`
	Livemode      bool              `json:"livemode"`
	Status        domain.Status     `json:"status"`
	FormType      string            `json:"form_type"`
	CustomerEmail string            `json:"customer_email"`
	CustomerName  *string           `json:"customer_name"`
	ReferenceID   *string           `json:"reference_id"`
	WebhookURL    *string           `json:"webhook_url"`
	ReturnURL     *string           `json:"return_url"`
	Metadata      metadataText      `json:"metadata"`
	CreatedAt     time.Time         `json:"created_at"`
	ExpiresAt     *time.Time        `json:"expires_at"` // nil: by the account's default
	CreatedByKind *domain.ActorKind `json:"created_by_kind"`
	CreatedBy     *string           `json:"created_by"`
	Language      *domain.Language  `json:"language"`
	Prefilled     bool              `json:"prefilled"`
	Emailed       bool              `json:"emailed"`
	Previous      *uuid.UUID        `json:"previous_session_id"`
}

func newSessionOf(s *domain.Session) newSession {
	n := newSession{
		s.ID.UUID, s.AccountID.UUID, s.Livemode, s.Status, s.FormType, s.CustomerEmail, s.CustomerName, s.ReferenceID,
		s.WebhookURL, s.ReturnURL, metadataText(s.Metadata), s.CreatedAt, &s.ExpiresAt, s.CreatedByKind, s.CreatedBy, s.Language,
		s.Prefilled, s.Emailed, nil,
	}
	if s.PreviousSessionID != nil {
		n.Previous = &s.PreviousSessionID.UUID
	}
	if s.ExpiresAt.IsZero() {
		n.ExpiresAt = nil
	}
	return n
}

// metadataText is metadata as a JSON string: PostgreSQL would refuse "\u0000" within JSON
// that it takes apart.
type metadataText domain.Metadata

func (m metadataText) MarshalText() ([]byte, error) {
	if m == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(domain.Metadata(m))
}

type insertedSession struct {
	ID        domain.SessionID `db:"id"`
	ExpiresAt time.Time        `db:"expires_at"`
}

// insertNewSessions is a batch.Flush. A statement whose connection was lost may have been
// committed: it is sent again, and finds its rows then. If no connection can be opened
// for that, the outcome isn't known.
func (d *DB) insertNewSessions(ctx context.Context, sessions []newSession) ([]*insertedSession, error) {
	var answers []*insertedSession
	lost := false
	for retry := 0; ; retry++ {
		// A connection of its own: on the pool database/sql would send it again by itself.
		conn, err := d.pool.Connx(ctx)
		if err == nil {
			answers, err = (&Queries{on: conn}).insertSessions(ctx, sessions)
			_ = conn.Close() // back into the pool
			lost = lost || postgres.Lost(err) && !postgres.IsReadOnly(err)
		}
		switch {
		case err == nil || !isUnavailable(err):
			return answers, err
		case postgres.Lost(err) && retry < maxTxRetries && ctx.Err() == nil:
			continue
		case lost:
			return nil, fmt.Errorf("%w (%v)", domain.ErrOutcomeUnknown, err) //nolint:errorlint // as after a lost commit
		}
		return nil, err
	}
}

// insertSessions stores new sessions. The rows are JSON so that one plan is for any number.
func (q *Queries) insertSessions(ctx context.Context, sessions []newSession) ([]*insertedSession, error) {
	text, err := json.Marshal(sessions)
	if err != nil {
		return nil, err
	}
	var rows []insertedSession
	err = q.all(ctx, &rows, `
		INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, customer_name, reference_id,
			webhook_url, return_url, metadata, created_at, expires_at, created_by_kind, created_by, language, prefilled, emailed,
				previous_session_id)
		SELECT id, account_id, livemode, status, form_type, customer_email, customer_name, reference_id,
			webhook_url, return_url, metadata::json, created_at,
			coalesce(expires_at, created_at + (SELECT default_expires_in_days FROM account a
				WHERE a.id = n.account_id) * interval '24 hours'),
			created_by_kind, created_by, language, prefilled, emailed, previous_session_id
		FROM json_to_recordset($1) AS n (id uuid, account_id uuid, livemode boolean, status text, form_type text,
			customer_email text, customer_name text, reference_id text, webhook_url text, return_url text, metadata text,
			created_at timestamptz, expires_at timestamptz, created_by_kind text, created_by text, language text, prefilled boolean,
				emailed boolean,
			previous_session_id uuid)
		ON CONFLICT (id) DO UPDATE SET form_type = session.form_type -- sent again: ids are random
		RETURNING id, expires_at`, text)
	byID := make(map[uuid.UUID]*insertedSession, len(rows))
	for i := range rows {
		byID[rows[i].ID.UUID] = &rows[i]
	}
	answers := make([]*insertedSession, len(sessions))
	for i := range sessions {
		answers[i] = byID[sessions[i].ID]
	}
	return answers, err
}

// Session returns a session of the scope, or ErrNotFound: another account's
// or mode's doesn't exist (D3).
func (q *Queries) Session(ctx context.Context, scope domain.Scope, id domain.SessionID) (*domain.Session, error) {
	return q.session(ctx, scope, id, "", "get session")
}

func (q *Queries) session(ctx context.Context, scope domain.Scope, id domain.SessionID, lock sqlText, doing string) (
	*domain.Session, error) {
	var s domain.Session
	err := q.get(ctx, &s, `
		SELECT `+sessionColumns+` FROM session
		WHERE id = $1 AND account_id = $2 AND livemode = $3 `+lock,
		id, scope.AccountID, scope.Livemode)
	return &s, wrap(err, doing)
}

// SessionByID returns a session of any account, for the holder of its link,
// or ErrNotFound.
func (q *Queries) SessionByID(ctx context.Context, id domain.SessionID) (*domain.Session, error) {
	var s domain.Session
	err := q.get(ctx, &s, `SELECT `+sessionColumns+` FROM session WHERE id = $1`, id)
	return &s, wrap(err, "get session")
}

// SessionsContinuing returns the ids of the scope's sessions that offer the answers of that
// one, the newest first, at most limit.
func (q *Queries) SessionsContinuing(
	ctx context.Context, scope domain.Scope, id domain.SessionID, limit int,
) (out []domain.SessionID, err error) {
	err = q.all(ctx, &out, `
		SELECT id FROM session
		WHERE previous_session_id = $1 AND account_id = $2 AND livemode = $3
		ORDER BY id DESC
		LIMIT $4`,
		id, scope.AccountID, scope.Livemode, limit)
	return out, wrap(err, "get continuing sessions")
}

// CancelSession cancels an open session of the scope and returns it. Returns
// ErrState if it isn't open.
func (tx *Tx) CancelSession(ctx context.Context, scope domain.Scope, id domain.SessionID, now time.Time) (*domain.Session,
	error) {
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
// and returns it, and has a worker look which reminder is due now. Returns ErrState if the
// session isn't open or expires later.
func (tx *Tx) ExtendSession(ctx context.Context, scope domain.Scope, id domain.SessionID, to,
	now time.Time) (*domain.Session, error) {
	var s domain.Session
	err := tx.get(ctx, &s, `
		WITH extended AS (
			UPDATE session SET expires_at = $4
			WHERE id = $1 AND account_id = $2 AND livemode = $3 AND status IN ('pending', 'in_progress') AND expires_at > $5
				AND expires_at < $4
			RETURNING `+sessionColumns+`
		), looked AS (UPDATE link_delivery SET look_at = $5 FROM extended WHERE session_id = extended.id AND look_at IS NULL)
		SELECT * FROM extended`,
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
		UPDATE session SET status = 'completed', completed_at = $2, sections_completed = $3,
			documents = (SELECT count(*) FROM document WHERE session_id = $1)
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
// them, sorted by scope: the counters of their events are locked one after the other, and
// in one order no transaction deadlocks with another. Sessions that another transaction is
// working on are left for the next sweep, so any number of workers can sweep at once.
func (tx *Tx) ExpireSessions(ctx context.Context, now time.Time, limit int) ([]domain.Session, error) {
	var out []domain.Session
	err := tx.all(ctx, &out, `
		WITH due AS MATERIALIZED (
			SELECT id AS due_id FROM session
			WHERE status IN ('pending', 'in_progress') AND expires_at <= $1
			ORDER BY expires_at
			LIMIT $2
			FOR UPDATE SKIP LOCKED
		), expired AS (
			UPDATE session SET status = 'expired'
			FROM due WHERE id = due_id
			RETURNING `+sessionColumns+`
		)
		SELECT `+sessionColumns+` FROM expired ORDER BY account_id, livemode, expires_at, id`,
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

// InsertCustomerReceipt stores that the email about a submission is sent (D83). first
// is false if that is stored already, or the session is erased.
func (q *Queries) InsertCustomerReceipt(ctx context.Context, id domain.SessionID, at time.Time) (first bool, err error) {
	result, err := q.exec(ctx, `
		INSERT INTO customer_receipt (session_id, sent_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, id, at)
	n, err := affected(result, err, "insert customer receipt")
	return n == 1, err
}

// DeleteCustomerReceipt takes back what was inserted at that time, if the mail server didn't
// take the email.
func (q *Queries) DeleteCustomerReceipt(ctx context.Context, id domain.SessionID, at time.Time) error {
	_, err := q.exec(ctx, `DELETE FROM customer_receipt WHERE session_id = $1 AND sent_at = $2`, id, at)
	return wrap(err, "delete customer receipt")
}

// SessionKey returns a session's sealed data key, or ErrNotFound.
func (q *Queries) SessionKey(ctx context.Context, session domain.SessionID) ([]byte, error) {
	var sealed []byte
	err := q.get(ctx, &sealed, `SELECT sealed FROM session_key WHERE session_id = $1`, session)
	return sealed, wrap(err, "get data key")
}

// InsertSessionKey stores a session's sealed data key, unless it has one or its
// data are erased.
func (q *Queries) InsertSessionKey(ctx context.Context, session domain.SessionID, sealed []byte) error {
	_, err := q.exec(ctx, `
		INSERT INTO session_key (session_id, sealed) VALUES ($1, $2) ON CONFLICT (session_id) DO NOTHING`, session, sealed)
	return wrap(err, "insert data key")
}

// DestroySessionKey deletes a session's data key. Whatever was sealed by it can
// never be opened again, in this database, in the blob store and in copies of
// either that lack the key. Call it in each transaction that erases a session's
// answers and documents and sets data_erased_at. The session must be locked.
func (tx *Tx) DestroySessionKey(ctx context.Context, session domain.SessionID) error {
	_, err := tx.exec(ctx, `DELETE FROM session_key WHERE session_id = $1`, session)
	return wrap(err, "destroy data key")
}
