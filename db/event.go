package db

import (
	"context"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

// NextSequence takes the next event number of a scope. It holds the scope's
// counter until the transaction ends, so that numbers have no gap and no
// number becomes visible before a smaller one; take it as late as possible.
func (tx *Tx) NextSequence(ctx context.Context, scope domain.Scope) (int64, error) {
	var n int64
	err := tx.get(ctx, &n, `
		INSERT INTO event_sequence AS s (account_id, livemode, last) VALUES ($1, $2, 1)
		ON CONFLICT (account_id, livemode) DO UPDATE SET last = s.last + 1
		RETURNING last`,
		scope.AccountID, scope.Livemode)
	return n, wrap(err, "take event sequence")
}

// LastSequence returns the largest event number that was taken in a scope, 0 for none. Its
// event can be gone.
func (q *Queries) LastSequence(ctx context.Context, scope domain.Scope) (last int64, err error) {
	err = q.get(ctx, &last, `
		SELECT coalesce((SELECT last FROM event_sequence WHERE account_id = $1 AND livemode = $2), 0)`, scope.AccountID, scope.Livemode)
	return last, wrap(err, "get last event sequence")
}

const eventColumns = `id, account_id, livemode, session_id, sequence, type, body, url, endpoint_id, created_at`

// InsertEvent stores an event.
func (tx *Tx) InsertEvent(ctx context.Context, e *domain.Event) error {
	_, err := tx.exec(ctx, `
		INSERT INTO event (id, account_id, livemode, session_id, sequence, type, body, url, endpoint_id, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		e.ID, e.AccountID, e.Livemode, e.SessionID, e.Sequence, e.Type, e.Body, e.URL, e.EndpointID, e.CreatedAt)
	return wrap(err, "insert event")
}

// Events returns a session's events, oldest first.
func (q *Queries) Events(ctx context.Context, session domain.SessionID) ([]domain.Event, error) {
	var out []domain.Event
	err := q.all(ctx, &out, `SELECT `+eventColumns+` FROM event WHERE session_id = $1 ORDER BY sequence`, session)
	return out, wrap(err, "list events")
}

// FindEvent returns one of the scope's events, or ErrNotFound.
func (q *Queries) FindEvent(ctx context.Context, scope domain.Scope, id domain.EventID) (*domain.Event, error) {
	var e domain.Event
	err := q.get(ctx, &e, `SELECT `+eventColumns+` FROM event WHERE id = $1 AND account_id = $2 AND livemode = $3`, id,
		scope.AccountID, scope.Livemode)
	return &e, wrap(err, "find event")
}

// DeleteEvents deletes up to limit events that happened before the given
// time, with their deliveries and attempts, and returns how many it deleted.
// Events that are still on their way stay.
func (d *DB) DeleteEvents(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = d.InTx(ctx, func(tx *Tx) error {
		var ids []string
		err := tx.all(ctx, &ids, `
			SELECT e.id FROM event e
			WHERE e.created_at <= $1 AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = e.id AND d.state = 'pending')
			ORDER BY e.created_at
			LIMIT $2
			FOR UPDATE SKIP LOCKED`, before, limit)
		if err != nil {
			return wrap(err, "find old events")
		}
		// Checked again after the lock: a redelivery locks its event, and may
		// have made it pending just before.
		result, err := tx.exec(ctx, `
			DELETE FROM event e WHERE e.id = ANY($1::uuid[])
				AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = e.id AND d.state = 'pending')`, pq.Array(ids))
		n, err = affected(result, err, "delete events")
		return err
	})
	return n, err
}

// InsertTestEvent stores the result of a test event, as JSON.
func (q *Queries) InsertTestEvent(ctx context.Context, id domain.DeliveryID, account domain.AccountID, content []byte,
	now time.Time) error {
	_, err := q.exec(ctx, `
		INSERT INTO test_event (id, account_id, content, created_at) VALUES ($1, $2, $3, $4)`, id, account, string(content), now)
	return wrap(err, "insert test event")
}

// AnsweredTest stores that the endpoint, nil for the default one, answered a test event to
// that URL with 2xx, if it never answered before. From then on only deliveries tell how it does.
func (d *DB) AnsweredTest(ctx context.Context, scope domain.Scope, id *domain.EndpointID, url string, now time.Time) error {
	return d.InTx(ctx, func(tx *Tx) error {
		tx.Announce(scope, domain.DeliveryChanged, nil)
		_, err := tx.exec(ctx, `
			UPDATE webhook_endpoint SET last_success_at = $5 WHERE last_success_at IS NULL AND url = $4 AND `+withSecrets,
			scope.AccountID, scope.Livemode, id, url, now)
		return wrap(err, "store answer to test event")
	})
}

// TestEvent returns the result of an account's test event that was sent after
// since, or ErrNotFound.
func (q *Queries) TestEvent(ctx context.Context, id domain.DeliveryID, account domain.AccountID, since time.Time) (content []byte,
	err error) {
	err = q.get(ctx, &content, `
		SELECT content FROM test_event WHERE id = $1 AND account_id = $2 AND created_at > $3`, id, account, since)
	return content, wrap(err, "get test event")
}

// DeleteTestEvents deletes up to limit results from before the given time, and
// returns how many.
func (q *Queries) DeleteTestEvents(ctx context.Context, before time.Time, limit int) (int, error) {
	return q.deleteOld(ctx, "test_event", "id", "created_at", before, limit, "delete test events")
}
