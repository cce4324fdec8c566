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
