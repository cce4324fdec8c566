package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"candor/db"
	"candor/internal/domain"
)

// IdempotentRequest is a POST with an Idempotency-Key (D31).
type IdempotentRequest struct {
	domain.Scope
	Path string
	Key  string
	Body []byte
}

// Answer is a POST's status and body.
type Answer struct {
	Status   int
	Body     []byte
	Replayed bool
}

// idempotencyWindow is how long an answer is replayed.
const idempotencyWindow = 24 * time.Hour

// Idempotently answers the request with what do returns, once: the answer
// commits with do's effect and is replayed to every later request with the
// key. refused makes the answer to do's error, and says whether it is kept;
// do's effect is undone then. Errors: idempotency_in_progress,
// idempotency_key_reused.
func (s *Service) Idempotently(ctx context.Context, r IdempotentRequest, do func(tx *db.Tx) (Answer, error), refused func(error) (Answer, bool)) (Answer, error) {
	var answer Answer
	var refusal error
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		stored, err := s.replay(ctx, tx, r)
		if err != nil || stored != nil {
			if stored != nil {
				answer = *stored
			}
			return err
		}
		answer, refusal = do(tx)
		if refusal != nil {
			return refusal
		}
		return s.remember(ctx, tx, r, answer)
	})
	if refusal == nil || !errors.Is(err, refusal) {
		return answer, err
	}
	kept, keep := refused(refusal)
	if !keep {
		return Answer{}, refusal
	}
	return s.rememberRefusal(ctx, r, kept)
}

// replay returns the stored answer, or nil where the request is the first
// and now holds the key until its transaction ends.
func (s *Service) replay(ctx context.Context, tx *db.Tx, r IdempotentRequest) (*Answer, error) {
	locked, err := tx.LockIdempotencyKey(ctx, r.storageKey())
	if err != nil {
		return nil, err
	}
	stored, err := tx.StoredResponse(ctx, r.storageKey(), s.Clock.Now().Add(-idempotencyWindow))
	switch {
	case err == nil:
	case !errors.Is(err, db.ErrNotFound):
		return nil, err
	case !locked:
		return nil, domain.Errorf(domain.CodeIdempotencyInProgress, "A request with this Idempotency-Key is still running. Try again in a moment.")
	default:
		return nil, nil
	}
	if !bytes.Equal(stored.Fingerprint, r.fingerprint()) {
		return nil, domain.Errorf(domain.CodeIdempotencyKeyReused, "This Idempotency-Key was used with another request body. Use a new key for a new request.")
	}
	body, err := s.Ring.Open(r.storageKey().SealOwner(), stored.Response)
	if err != nil {
		return nil, err
	}
	return &Answer{Status: stored.Status, Body: body, Replayed: true}, nil
}

// remember stores the answer, sealed: it can hold a link that opens a form.
func (s *Service) remember(ctx context.Context, tx *db.Tx, r IdempotentRequest, a Answer) error {
	return tx.StoreResponse(ctx, r.storageKey(), &db.StoredResponse{
		Fingerprint: r.fingerprint(), Status: a.Status, Response: s.Ring.Seal(r.storageKey().SealOwner(), a.Body),
	}, s.Clock.Now())
}

func (s *Service) rememberRefusal(ctx context.Context, r IdempotentRequest, a Answer) (Answer, error) {
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		stored, err := s.replay(ctx, tx, r)
		if err != nil {
			return err
		}
		if stored != nil {
			a = *stored
			return nil
		}
		return s.remember(ctx, tx, r, a)
	})
	return a, err
}

func (r IdempotentRequest) storageKey() db.IdempotencyKey {
	return db.IdempotencyKey{Scope: r.Scope, Path: r.Path, Key: r.Key}
}

func (r IdempotentRequest) fingerprint() []byte {
	sum := sha256.Sum256(r.Body)
	return sum[:]
}
