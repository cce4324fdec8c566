package db

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

// IdempotencyKey names one remembered POST (D31).
type IdempotencyKey struct {
	domain.Scope
	Path string
	Key  string
}

// SealOwner names the key as the owner of its sealed answer.
func (k IdempotencyKey) SealOwner() string {
	return fmt.Sprintf("idempotent answer %s %t %q %q", k.AccountID, k.Livemode, k.Path, k.Key)
}

// Hidden is the key under which the answer is kept once its customer is erased: the text
// can be the partner's reference.
func (k IdempotencyKey) Hidden() IdempotencyKey {
	k.Key = fmt.Sprintf("erased %x", sha256.Sum256([]byte(k.Key)))
	return k
}

// StoredResponse is a remembered POST's request and answer.
type StoredResponse struct {
	Key         string `db:"key"`         // under which it is stored: the request's, or that one hidden
	Fingerprint []byte `db:"fingerprint"` // SHA-256 of the request body; empty once its customer is erased
	// a hash of what the body means; nil of requests to the previous release, and once its customer is erased
	Meaning  []byte `db:"meaning"`
	Status   int    `db:"status"`
	Response []byte `db:"response"` // sealed
}

// LockIdempotencyKey reports whether this transaction is the only one that
// works under the key; it is until the transaction ends. It never waits.
func (tx *Tx) LockIdempotencyKey(ctx context.Context, k IdempotencyKey) (bool, error) {
	var locked bool
	err := tx.get(ctx, &locked, `SELECT pg_try_advisory_xact_lock($1)`, k.lockNumber())
	return locked, wrap(err, "lock idempotency key")
}

func (k IdempotencyKey) lockNumber() int64 {
	h := fnv.New64a()
	_, _ = h.Write(k.AccountID.UUID[:]) // a hash never fails
	for _, part := range []string{k.Path, k.Key} {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	n := int64(h.Sum64() &^ 1)
	if k.Livemode {
		n |= 1
	}
	return n
}

// StoredResponse returns what was answered under the key since the given
// time, or ErrNotFound.
func (tx *Tx) StoredResponse(ctx context.Context, k IdempotencyKey, since time.Time) (*StoredResponse, error) {
	var r StoredResponse
	err := tx.get(ctx, &r, `
		SELECT key, fingerprint, meaning, status, response FROM idempotency_key
		WHERE account_id = $1 AND livemode = $2 AND path = $3 AND key IN ($4, $5) AND created_at > $6`,
		k.AccountID, k.Livemode, k.Path, k.Key, k.Hidden().Key, since)
	return &r, wrap(err, "get stored response")
}

// StoreResponse remembers an answer under the key, in place of one that is
// past its time.
func (tx *Tx) StoreResponse(ctx context.Context, k IdempotencyKey, r *StoredResponse, now time.Time) error {
	_, err := tx.exec(ctx, `
		INSERT INTO idempotency_key (account_id, livemode, path, key, fingerprint, meaning, status, response, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (account_id, livemode, path, key) DO UPDATE SET
			fingerprint = excluded.fingerprint, meaning = excluded.meaning, status = excluded.status, response = excluded.response,
				created_at = excluded.created_at`,
		k.AccountID, k.Livemode, k.Path, k.Key, r.Fingerprint, r.Meaning, r.Status, r.Response, now)
	return wrap(err, "store response")
}

// DeleteStoredResponses deletes up to limit answers given before the time.
func (q *Queries) DeleteStoredResponses(ctx context.Context, before time.Time, limit int) (int, error) {
	result, err := q.exec(ctx, `
		DELETE FROM idempotency_key WHERE ctid IN (
			SELECT ctid FROM idempotency_key WHERE created_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`, before, limit)
	return affected(result, err, "delete stored responses")
}

// DeleteStoredResponsesTo deletes the scope's answers to requests with one of the paths.
func (tx *Tx) DeleteStoredResponsesTo(ctx context.Context, scope domain.Scope, paths []string) error {
	_, err := tx.exec(ctx, `
		DELETE FROM idempotency_key WHERE account_id = $1 AND livemode = $2 AND path = ANY($3)`,
		scope.AccountID, scope.Livemode, pq.Array(paths))
	return wrap(err, "delete stored responses")
}

// DeleteStoredResponse deletes the answer that is kept under the key.
func (tx *Tx) DeleteStoredResponse(ctx context.Context, k IdempotencyKey) error {
	_, err := tx.exec(ctx, `
		DELETE FROM idempotency_key WHERE account_id = $1 AND livemode = $2 AND path = $3 AND key = $4`,
		k.AccountID, k.Livemode, k.Path, k.Key)
	return wrap(err, "delete stored response")
}

// KeptResponse is a remembered answer with what it is kept under.
type KeptResponse struct {
	Path     string `db:"path"`
	Key      string `db:"key"`
	Response []byte `db:"response"` // sealed
}

// StoredResponsesOf returns the answers that can be about a session: those in its scope
// from the one time to before the other, and to requests with its id in their path.
func (tx *Tx) StoredResponsesOf(ctx context.Context, session *domain.Session, from, to time.Time) ([]KeptResponse, error) {
	var out []KeptResponse
	err := tx.all(ctx, &out, `
		SELECT path, key, response FROM idempotency_key
		WHERE account_id = $1 AND livemode = $2 AND (created_at >= $3 AND created_at < $4 OR path LIKE '%/' || $5::text || '/%')`,
		session.AccountID, session.Livemode, from, to, session.ID.String())
	return out, wrap(err, "list stored responses")
}

// HideStoredResponse replaces a stored response by one that tells nothing of the customer,
// under the hidden key and without the fingerprint of the request.
func (tx *Tx) HideStoredResponse(ctx context.Context, k IdempotencyKey, response []byte) error {
	if err := tx.DeleteStoredResponse(ctx, k.Hidden()); err != nil { // of another day
		return err
	}
	_, err := tx.exec(ctx, `
		UPDATE idempotency_key SET key = $5, fingerprint = '', meaning = NULL, response = $6 WHERE account_id = $1 AND livemode = $2
			AND path = $3 AND key = $4`,
		k.AccountID, k.Livemode, k.Path, k.Key, k.Hidden().Key, response)
	return wrap(err, "hide stored response")
}
