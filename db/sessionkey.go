package db

import (
	"context"

	"candor/internal/domain"
)

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

// UnsealedSessions returns up to limit sessions after the given one, by id, that
// may hold clear values of an earlier release.
func (q *Queries) UnsealedSessions(ctx context.Context, after domain.SessionID, limit int) ([]domain.SessionID, error) {
	var out []domain.SessionID
	err := q.all(ctx, &out, `
		SELECT session_id FROM unsealed_session WHERE session_id > $1 ORDER BY session_id LIMIT $2`, after, limit)
	return out, wrap(err, "list unsealed sessions")
}

// LockUnsealed keeps others from changing a session until the transaction ends.
func (tx *Tx) LockUnsealed(ctx context.Context, session domain.SessionID) error {
	_, err := tx.exec(ctx, `SELECT FROM session WHERE id = $1 FOR NO KEY UPDATE`, session)
	return wrap(err, "lock unsealed session")
}

// ReplaceAnswers stores a section's answers and draft in another form.
func (tx *Tx) ReplaceAnswers(ctx context.Context, session domain.SessionID, s *Section) error {
	_, err := tx.exec(ctx, `UPDATE section SET answers = $3, draft = $4 WHERE session_id = $1 AND name = $2`,
		session, s.Name, s.Answers, s.Draft)
	return wrap(err, "replace answers")
}

// ReplacePDF stores a session's PDF in another form.
func (tx *Tx) ReplacePDF(ctx context.Context, session domain.SessionID, content []byte) error {
	_, err := tx.exec(ctx, `UPDATE statement_pdf SET content = $2 WHERE session_id = $1`, session, content)
	return wrap(err, "replace PDF")
}

// ForgetUnsealed notes that a session holds no clear values any more.
func (tx *Tx) ForgetUnsealed(ctx context.Context, session domain.SessionID) error {
	_, err := tx.exec(ctx, `DELETE FROM unsealed_session WHERE session_id = $1`, session)
	return wrap(err, "forget unsealed session")
}
