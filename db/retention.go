package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

// retained are the sessions whose account, a, still keeps something of a kind,
// with the time from which its days count. Each has an index of the account and that
// time, of which the first is spelled differently (ADR 23): else that of all accounts'
// ends is chosen, which leads through what others keep for longer.
var retained = map[domain.RetentionKind]struct{ sessions, end, days sqlText }{
	domain.FileRetention: {`status COLLATE "C" = 'completed' AND erased_at IS NULL`, "completed_at", "a.retention_days"},
	domain.UnsubmittedRetention: {"status IN ('expired', 'cancelled') AND data_erased_at IS NULL",
		"coalesce(cancelled_at, expires_at)", "a.unsubmitted_days"},
	domain.AnswerRetention: {"status = 'completed' AND data_erased_at IS NULL", "completed_at", "nullif(a.answer_days, 0)"},
}

// due is a statement's part that finds and locks the sessions for which a
// retention is over, by each account's own days. The accounts stand in a random order:
// else those of one with more than can be deleted in a run would be in each batch alone.
// The arguments are the time and the limit.
func due(kind domain.RetentionKind) sqlText {
	of := retained[kind]
	return `due AS MATERIALIZED (
		SELECT s.id AS due_id
		FROM (SELECT id, retention_days, unsubmitted_days, answer_days FROM account ORDER BY random()) a CROSS JOIN LATERAL (
			SELECT id FROM session
			WHERE account_id = a.id AND ` + of.sessions + `
				AND ` + of.end + ` <= $1::timestamptz - make_interval(hours => 24 * ` + of.days + `)
			ORDER BY ` + of.end + `
			LIMIT $2
			FOR UPDATE SKIP LOCKED) s
		LIMIT $2)`
}

// deleteFiles are a statement's parts that delete PDFs and documents of the
// sessions in retired. The documents' blobs become garbage. With IN (SELECT …) PostgreSQL
// would rather read the whole table of documents than look for those of 200 sessions.
const deleteFiles sqlText = `pdfs AS (
		DELETE FROM statement_pdf WHERE session_id = ANY (ARRAY(SELECT id FROM retired))
	), documents AS (
		DELETE FROM document WHERE session_id = ANY (ARRAY(SELECT id FROM retired)) RETURNING id
	), garbage AS (
		INSERT INTO blob_garbage (document_id, created_at) SELECT id, $1 FROM documents
	)`

// retire is the rest of a statement that marks the sessions in due as erased and
// deletes their files.
const retire sqlText = `, retired AS (
		UPDATE session SET erased_at = $1
		FROM due WHERE id = due_id
		RETURNING id
	), ` + deleteFiles + `
	SELECT count(*) FROM retired`

// RetireSessions marks up to limit sessions whose account's retention is over
// as erased and deletes their PDFs and documents; the documents' blobs become
// garbage. It returns how many sessions it erased.
func (tx *Tx) RetireSessions(ctx context.Context, now time.Time, limit int) (int, error) {
	var n int
	err := tx.get(ctx, &n, `WITH `+due(domain.FileRetention)+retire, now, limit)
	return n, wrap(err, "retire sessions")
}

// RetireSession is RetireSessions for one completed session, whose retention
// need not be over. It does nothing if the session is erased already.
func (tx *Tx) RetireSession(ctx context.Context, id domain.SessionID, now time.Time) error {
	var n int
	err := tx.get(ctx, &n, `
		WITH due AS MATERIALIZED (
			SELECT id AS due_id FROM session WHERE id = $2 AND `+retained[domain.FileRetention].sessions+` FOR UPDATE)`+retire, now, id)
	return wrap(err, "retire session")
}

// RetireData erases what was entered in up to limit sessions for which the
// retention of the kind is over: answers and drafts with their data key, PDFs
// and documents, whose blobs become garbage. The sessions stay. It returns how
// many they are.
func (tx *Tx) RetireData(ctx context.Context, kind domain.RetentionKind, now time.Time, limit int) (int, error) {
	var n int
	err := tx.get(ctx, &n, `
		WITH `+due(kind)+`, retired AS (
			UPDATE session SET data_erased_at = $1, erased_at = coalesce(erased_at, $1)
			FROM due WHERE id = due_id
			RETURNING id
		), keys AS (
			DELETE FROM session_key WHERE session_id = ANY (ARRAY(SELECT id FROM retired))
		), sections AS (
			DELETE FROM section WHERE session_id = ANY (ARRAY(SELECT id FROM retired))
		), `+deleteFiles+`
		SELECT count(*) FROM retired`,
		now, limit)
	return n, wrap(err, "retire data")
}

// CountRetained counts an account's sessions of both modes that ended then or
// before and of which something of the kind is still kept, at most limit.
func (q *Queries) CountRetained(ctx context.Context, account domain.AccountID, kind domain.RetentionKind, endedBy time.Time,
	limit int) (n int, err error) {
	of := retained[kind]
	err = q.get(ctx, &n, `
		SELECT count(*) FROM (
			SELECT 1 FROM session
			WHERE account_id = $1 AND `+of.sessions+` AND `+of.end+` <= $2
			ORDER BY `+of.end+`
			LIMIT $3) kept`,
		account, endedBy, limit)
	return n, wrap(err, "count retained sessions")
}
