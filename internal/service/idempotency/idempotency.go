// Package idempotency answers a request that is sent again with the first answer
// (D31). It stores answers as bytes and knows no HTTP: its caller encodes them.
package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
)

// Window is how long an answer is replayed.
const Window = 24 * time.Hour

// An Answer is the answer to a request.
type Answer struct {
	Status int // as its caller understands it
	Body   []byte
}

// A Replay is the error of a request that was answered before. It holds that
// answer.
type Replay struct{ Answer }

// Error says that the request was answered before.
func (*Replay) Error() string { return "idempotency: the request was answered before" }

// A Key makes a request idempotent. The same key means the same request in one
// scope and path.
type Key[T any] struct {
	Path string
	Text string // 1 to 255 printable characters
	Body []byte // of the request: one key is for one body

	// Encode returns the answer to the result of the request, or to the error
	// that refused it. nil: the answer isn't kept, and the key stays free.
	Encode func(result T, refusal error) (*Answer, error)

	// Keeps reports, in the transaction that keeps an answer, whether it may be kept: not
	// if it is about a session that is erased (D90). nil: it may.
	Keeps func(tx *db.Tx) (bool, error)
	// Hides keeps refusals under the hidden key: they can be about what was just erased.
	Hides bool
}

// A Store keeps answers. It is safe for concurrent use.
type Store struct {
	DB    *db.DB
	Clock domain.Clock
	Ring  *keyring.Keyring
}

// Do runs do in a transaction and returns its result. With a key, the answer to
// it commits with do's effect, and later requests with the key get a *Replay.
// If do refuses the request, its effect is undone and the refusal is kept if
// Encode says so. Errors: those of do, idempotency_in_progress,
// idempotency_key_reused.
func Do[T any](ctx context.Context, s *Store, scope domain.Scope, key *Key[T], do func(tx *db.Tx) (T, error)) (T, error) {
	var none, result T
	var refusal error
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		if key != nil {
			if err := s.claim(ctx, tx, key.request(scope)); err != nil {
				return err
			}
		}
		if result, refusal = do(tx); refusal != nil || key == nil {
			return refusal
		}
		answer, err := key.Encode(result, nil)
		if err != nil || answer == nil {
			return err
		}
		return key.keep(ctx, s, tx, scope, *answer, false)
	})
	switch {
	case err == nil:
		return result, nil
	case key == nil || refusal == nil || !errors.Is(err, refusal):
		return none, err
	}
	return none, Refuse(ctx, s, scope, key, refusal)
}

// Refuse keeps the answer to a refused request, if Encode says so, and returns
// the refusal, or a *Replay if the request was answered before. Errors as of
// Do.
func Refuse[T any](ctx context.Context, s *Store, scope domain.Scope, key *Key[T], refusal error) error {
	if key == nil {
		return refusal
	}
	var none T
	answer, err := key.Encode(none, refusal)
	if err != nil || answer == nil {
		return refusal
	}
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := s.claim(ctx, tx, key.request(scope)); err != nil {
			return err
		}
		return key.keep(ctx, s, tx, scope, *answer, key.Hides)
	})
	if err != nil {
		return err
	}
	return refusal
}

func (k *Key[T]) keep(ctx context.Context, s *Store, tx *db.Tx, scope domain.Scope, a Answer, hidden bool) error {
	if k.Keeps != nil {
		if keeps, err := k.Keeps(tx); err != nil || !keeps {
			return err
		}
	}
	r := k.request(scope)
	if hidden {
		r.IdempotencyKey = r.Hidden()
	}
	return s.keep(ctx, tx, r, a)
}

// request is what an answer is stored under.
type request struct {
	db.IdempotencyKey
	fingerprint []byte // of its body
	body        []byte
}

func (k *Key[T]) request(scope domain.Scope) request {
	sum := sha256.Sum256(k.Body)
	return request{db.IdempotencyKey{Scope: scope, Path: k.Path, Key: k.Text}, sum[:], k.Body}
}

// canonical is the form that all bodies of the same JSON have: members in order, no spaces
// (D98). What is no JSON stays as it is.
func canonical(body []byte) []byte {
	if !json.Valid(body) {
		return body
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return body
	}
	text, err := json.Marshal(value)
	if err != nil {
		return body
	}
	return text
}

// meaning is the hash of what the body means, bound to the fingerprint of a stored request:
// one that the previous release stored in its place has another.
func (r request) meaning(fingerprint []byte) []byte {
	sum := sha256.Sum256(slices.Concat(fingerprint, canonical(r.body)))
	return sum[:]
}

// repeats reports whether the body is the stored one, or means the same. One whose customer
// is erased is repeated by any.
func (r request) repeats(stored *db.StoredResponse) bool {
	return len(stored.Fingerprint) == 0 || bytes.Equal(stored.Fingerprint, r.fingerprint) ||
		bytes.Equal(stored.Meaning, r.meaning(stored.Fingerprint))
}

// claim takes the request's key until the transaction ends. If the request has
// an answer, it returns that as a *Replay.
func (s *Store) claim(ctx context.Context, tx *db.Tx, r request) error {
	locked, err := tx.LockIdempotencyKey(ctx, r.IdempotencyKey)
	if err != nil {
		return err
	}
	stored, err := tx.StoredResponse(ctx, r.IdempotencyKey, s.Clock.Now().Add(-Window))
	switch {
	case err == nil:
	case !errors.Is(err, db.ErrNotFound):
		return err
	case !locked:
		return domain.ErrInProgress
	default:
		return nil
	}
	r.Key = stored.Key
	if !r.repeats(stored) {
		return domain.Errorf(domain.CodeIdempotencyKeyReused,
			"This Idempotency-Key was used with another request body. Use a new key for a new request.")
	}
	body, err := s.Ring.Open(r.SealOwner(), stored.Response)
	if err != nil {
		return err
	}
	return &Replay{Answer{Status: stored.Status, Body: body}}
}

// keep stores an answer, sealed: it can hold a link that opens a form.
func (s *Store) keep(ctx context.Context, tx *db.Tx, r request, a Answer) error {
	return tx.StoreResponse(ctx, r.IdempotencyKey, &db.StoredResponse{
		Fingerprint: r.fingerprint, Meaning: r.meaning(r.fingerprint), Status: a.Status, Response: s.Ring.Seal(r.SealOwner(), a.Body),
	}, s.Clock.Now())
}

// Mark notes in the caller's transaction that what the key stands for was done.
func (s *Store) Mark(ctx context.Context, tx *db.Tx, key db.IdempotencyKey) error {
	none := sha256.Sum256(nil)
	return s.keep(ctx, tx, request{key, none[:], nil}, Answer{})
}

// Marked reports whether Mark was called for the key after the given time, at
// most a day ago.
func (s *Store) Marked(ctx context.Context, key db.IdempotencyKey, since time.Time) (marked bool, err error) {
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		_, err := tx.StoredResponse(ctx, key, since)
		return err
	})
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
