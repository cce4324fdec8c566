package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

// RenewLink gives an open session of the scope a new link and returns it. Returns
// ErrState if the session isn't open.
func (tx *Tx) RenewLink(ctx context.Context, scope domain.Scope, id domain.SessionID, now time.Time) (*domain.Session, error) {
	var s domain.Session
	err := tx.get(ctx, &s, `
		UPDATE session SET link_version = link_version + 1
		WHERE id = $1 AND account_id = $2 AND livemode = $3 AND status IN ('pending', 'in_progress') AND expires_at > $4
		RETURNING `+sessionColumns,
		id, scope.AccountID, scope.Livemode, now)
	tx.Announce(scope, domain.SessionChanged, &id)
	return &s, wrapChange(err, "renew link")
}

// SetSavedBy notes the browser that saved last in a session that the caller has locked.
func (tx *Tx) SetSavedBy(ctx context.Context, id domain.SessionID, mark string) error {
	result, err := tx.exec(ctx, `UPDATE session SET saved_by = $2 WHERE id = $1`, id, mark)
	return changedOne(result, err, "note who saved")
}

// NoteLinkUse notes a use of a session's link. It writes nothing if the session doesn't
// exist or is erased, within LinkUseStep of the use before by the same browser, and beyond
// LinkUseMost and LinkUseBrowsers: neither a flood of openings nor one of wrong links
// grows the table.
func (q *Queries) NoteLinkUse(ctx context.Context, id domain.SessionID, u domain.LinkUse) error {
	_, err := q.exec(ctx, `
		INSERT INTO link_use AS u (session_id, kind, user_agent, address, first_at, last_at)
		SELECT id, $2, $3, $4, $5::timestamptz, $5::timestamptz FROM session
		WHERE id = $1
			AND NOT EXISTS (SELECT 1 FROM link_use WHERE session_id = $1 AND kind = $2 AND user_agent = $3 AND address = $4
				AND (last_at > $7 OR times >= $8))
			AND (EXISTS (SELECT 1 FROM link_use WHERE session_id = $1 AND kind = $2 AND user_agent = $3 AND address = $4)
				OR (SELECT count(*) FROM link_use WHERE session_id = $1) < $6 + 2)
		ON CONFLICT (session_id, kind, user_agent, address) DO UPDATE SET times = u.times + 1, last_at = excluded.last_at
			WHERE u.last_at <= $7 AND u.times < $8`,
		id, u.Kind, u.UserAgent, u.Address, u.LastAt, domain.LinkUseBrowsers, u.LastAt.Add(-domain.LinkUseStep), domain.LinkUseMost)
	return wrap(err, "note link use")
}

// LinkUses returns the uses of a session's link, the latest first.
func (q *Queries) LinkUses(ctx context.Context, id domain.SessionID) ([]domain.LinkUse, error) {
	var out []domain.LinkUse
	err := q.all(ctx, &out, `
		SELECT kind, user_agent, address, times, first_at, last_at FROM link_use WHERE session_id = $1 ORDER BY last_at DESC`, id)
	return out, wrap(err, "list link uses")
}

// RefusedRules returns what the form refused in a session, and how often: first what it refused at
// the last try, then the latest. Of a section that keeps no more repeats each is there once.
func (q *Queries) RefusedRules(ctx context.Context, id domain.SessionID) ([]domain.RefusedOften, error) {
	var out []domain.RefusedOften
	err := q.all(ctx, &out, `
		SELECT name AS section, split_part(problem, ' ', 1) AS field, substr(problem, strpos(problem, ' ') + 1) AS message,
			CASE WHEN cardinality(problems) < $2 THEN count(*) ELSE 1 END AS times, at,
			at IS NOT DISTINCT FROM refused_at AND NOT (`+finished+`) AS still
		FROM section n, unnest(problems) WITH ORDINALITY p (problem, place),
			LATERAL (SELECT (refused ->> problem)::timestamptz AS at) r
		WHERE session_id = $1 GROUP BY session_id, name, problem, at
		ORDER BY still DESC, coalesce(at, updated_at) DESC, name, max(place) DESC LIMIT 100`, id, problemsKept)
	return out, wrap(err, "list refused rules")
}

// DeleteLinkUses deletes up to limit uses of links that were last before then, and
// returns how many.
func (q *Queries) DeleteLinkUses(ctx context.Context, before time.Time, limit int) (int, error) {
	result, err := q.exec(ctx, `
		DELETE FROM link_use WHERE ctid = ANY (ARRAY(SELECT ctid FROM link_use WHERE last_at < $1 ORDER BY last_at
			LIMIT $2))`, before, limit)
	return affected(result, err, "delete link uses")
}
