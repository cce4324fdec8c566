package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

// InsertLinkDelivery stores how a new session's link is emailed, with the first email. A
// worker looks at it at lookAt, if its job is lost.
func (tx *Tx) InsertLinkDelivery(ctx context.Context, d *domain.LinkDelivery, lookAt time.Time) error {
	_, err := tx.exec(ctx, `
		WITH delivery AS (INSERT INTO link_delivery (session_id, remind, one_browser, look_at) VALUES ($1, $2, $3, $4))
		INSERT INTO link_email (session_id, kind, state) VALUES ($1, $5, $6)`,
		d.SessionID, d.Remind, d.OneBrowser, lookAt, domain.LinkItself, domain.LinkQueued)
	return wrap(err, "insert link delivery")
}

// SendLink has the link of a session that the transaction has locked emailed, for the first
// time or again, as InsertLinkDelivery does.
func (tx *Tx) SendLink(ctx context.Context, session *domain.Session, lookAt time.Time) error {
	tx.Announce(session.Scope(), domain.SessionChanged, &session.ID)
	if session.Delivery.Emails == nil {
		if _, err := tx.exec(ctx, `UPDATE session SET emailed = true WHERE id = $1`, session.ID); err != nil {
			return wrap(err, "email session's link")
		}
		return tx.InsertLinkDelivery(ctx, session.Delivery, lookAt)
	}
	_, err := tx.exec(ctx, `
		WITH looked AS (UPDATE link_delivery SET look_at = $3 WHERE session_id = $1)
		UPDATE link_email SET state = 'queued', tries = 0, first_tried_at = NULL, ended_at = NULL, problem = '', again = again + 1
		WHERE session_id = $1 AND kind = $2`, session.ID, domain.LinkItself, lookAt)
	return wrap(err, "email session's link again")
}

// CountEmailedLink counts a link that is to be emailed on a UTC day, and reports whether
// the scope may have it: most a day.
func (tx *Tx) CountEmailedLink(ctx context.Context, scope domain.Scope, at time.Time, most int) (counted bool, err error) {
	result, err := tx.exec(ctx, `
		INSERT INTO link_email_count AS c (account_id, livemode, day, links) VALUES ($1, $2, $3, 1)
		ON CONFLICT (account_id, livemode) DO UPDATE
		SET day = greatest(c.day, excluded.day), links = CASE WHEN c.day < excluded.day THEN 1 ELSE c.links + 1 END
		WHERE c.day < excluded.day OR c.links < $4`,
		scope.AccountID, scope.Livemode, at.UTC().Format(time.DateOnly), most)
	n, err := affected(result, err, "count emailed link")
	return n == 1, err
}

// LinkDelivery returns how a session's link is emailed, with the emails so far, of which the
// link's is the first, or ErrNotFound.
func (q *Queries) LinkDelivery(ctx context.Context, id domain.SessionID) (*domain.LinkDelivery, error) {
	var d domain.LinkDelivery
	err := q.get(ctx, &d, `SELECT session_id, remind, one_browser, stopped_at FROM link_delivery WHERE session_id = $1`, id)
	if err != nil {
		return nil, wrap(err, "get link delivery")
	}
	err = q.all(ctx, &d.Emails, `
		SELECT kind, state, tries, first_tried_at, ended_at, problem, again FROM link_email
		WHERE session_id = $1 ORDER BY kind <> 'link', first_tried_at`, id)
	if err == nil && len(d.Emails) == 0 { // erased in between
		return nil, ErrNotFound
	}
	return &d, wrap(err, "get link's emails")
}

// TakeLinkDeliveries returns up to limit sessions whose emails are to be looked at by now.
// Others find them again at next, if the job that the caller inserts is lost.
func (tx *Tx) TakeLinkDeliveries(ctx context.Context, now, next time.Time, limit int) ([]domain.SessionID, error) {
	var out []domain.SessionID
	err := tx.all(ctx, &out, `
		WITH due AS MATERIALIZED (
			SELECT session_id AS id FROM link_delivery WHERE look_at <= $1 ORDER BY look_at LIMIT $3 FOR UPDATE SKIP LOCKED)
		UPDATE link_delivery SET look_at = $2 FROM due WHERE session_id = id RETURNING session_id`, now, next, limit)
	return out, wrap(err, "take link deliveries")
}

// ClaimLinkEmail notes that the mail server gets the email's text. Returns ErrState if the
// email isn't wanted any more, or was claimed before (D104, D105). What is changing the
// session, such as its completion, it waits for.
func (q *Queries) ClaimLinkEmail(ctx context.Context, id domain.SessionID, e *domain.LinkEmail, now time.Time) error {
	result, err := q.exec(ctx, `
		INSERT INTO link_email AS e (session_id, kind, state, tries, first_tried_at)
		SELECT s.id, $2::text, 'sending', 1, $3::timestamptz FROM session s JOIN link_delivery d ON d.session_id = s.id
		WHERE s.id = $1 AND s.status IN ('pending', 'in_progress') AND s.expires_at > $3 AND s.link_version = 0
			AND ($2 = 'link' OR d.remind AND d.stopped_at IS NULL)
			AND NOT EXISTS (SELECT FROM link_email o WHERE o.session_id = s.id AND o.state = 'sending')
		FOR SHARE OF s, d
		ON CONFLICT (session_id, kind) DO UPDATE
		SET state = 'sending', again = $4, ended_at = NULL, tries = $5::smallint + 1,
			first_tried_at = coalesce($6, excluded.first_tried_at)
		WHERE e.again < $4 OR (e.state = 'queued' OR e.problem = 'not_wanted') AND e.again = $4`,
		id, e.Kind, now, e.Again, e.Tries, e.FirstTriedAt)
	return changedState(result, err, "claim link email")
}

// SaveLinkEmail stores what became of an email of a delivery, and when a worker looks again;
// nil: never. Of a session that was erased nothing is stored.
func (tx *Tx) SaveLinkEmail(ctx context.Context, session *domain.Session, d *domain.LinkDelivery, e *domain.LinkEmail,
	lookAt *time.Time) error {
	_, err := tx.exec(ctx, `
		INSERT INTO link_email AS e (session_id, kind, state, tries, first_tried_at, ended_at, problem) VALUES ($1, $2, $3, $4, $5, $6,
			$7)
		ON CONFLICT (session_id, kind) DO UPDATE
		SET state = $3, tries = $4, first_tried_at = $5, ended_at = $6, problem = $7, again = $8
		WHERE e.again < $8 OR (e.state IN ('queued', 'sending', 'unknown') OR e.problem = 'not_wanted') AND e.again = $8`,
		session.ID, e.Kind, e.State, e.Tries, e.FirstTriedAt, e.EndedAt, e.Problem, e.Again)
	if err != nil {
		return wrap(err, "save link email")
	}
	tx.Announce(session.Scope(), domain.SessionChanged, &session.ID)
	return tx.LookAtLinkDelivery(ctx, session, d, lookAt)
}

// LookAtLinkDelivery stores when a worker looks what is due of a session's emails; nil:
// never again. If the link was sent again or has another end since the delivery was read, the
// time that belongs to that stays (D124).
func (q *Queries) LookAtLinkDelivery(ctx context.Context, session *domain.Session, d *domain.LinkDelivery, at *time.Time) error {
	_, err := q.exec(ctx, `
		UPDATE link_delivery SET look_at = $2 WHERE session_id = $1 AND NOT EXISTS (
			SELECT FROM link_email WHERE session_id = $1 AND kind = $3 AND again >= $4)
			AND NOT EXISTS (SELECT FROM session WHERE id = $1 AND expires_at <> $5)`,
		d.SessionID, at, domain.LinkItself, max(1, d.LinkSends()), session.ExpiresAt)
	return wrap(err, "look at link delivery")
}

// SetSessionBack sets the times by which reminders are due back by d. The sweep looks, too,
// because the job of the email before may not have ended yet.
func (tx *Tx) SetSessionBack(ctx context.Context, id domain.SessionID, d time.Duration, now time.Time) error {
	_, err := tx.exec(ctx, `
		WITH emails AS (
			UPDATE link_email SET first_tried_at = first_tried_at - $2 * interval '1 microsecond',
				ended_at = ended_at - $2 * interval '1 microsecond'
			WHERE session_id = $1), looked AS (UPDATE link_delivery SET look_at = $3 WHERE session_id = $1)
		UPDATE session SET expires_at = expires_at - $2 * interval '1 microsecond',
			last_activity_at = last_activity_at - $2 * interval '1 microsecond'
		WHERE id = $1`, id, d.Microseconds(), now)
	return wrap(err, "set session back")
}

// StopReminders notes that the customer wants no more reminders.
func (tx *Tx) StopReminders(ctx context.Context, session *domain.Session, now time.Time) error {
	_, err := tx.exec(ctx, `UPDATE link_delivery SET stopped_at = $2 WHERE session_id = $1 AND stopped_at IS NULL`, session.ID, now)
	tx.Announce(session.Scope(), domain.SessionChanged, &session.ID)
	return wrap(err, "stop reminders")
}

// ChooseLanguage notes the language that the customer chose, for emails.
func (q *Queries) ChooseLanguage(ctx context.Context, id domain.SessionID, l domain.Language) error {
	_, err := q.exec(ctx, `UPDATE session SET chosen_language = $2 WHERE id = $1 AND chosen_language IS DISTINCT FROM $2`, id, l)
	return wrap(err, "choose language")
}
