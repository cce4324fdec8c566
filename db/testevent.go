package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

// InsertTestEvent stores the result of a test event, as JSON.
func (q *Queries) InsertTestEvent(ctx context.Context, id domain.DeliveryID, account domain.AccountID, content []byte, now time.Time) error {
	_, err := q.exec(ctx, `
		INSERT INTO test_event (id, account_id, content, created_at) VALUES ($1, $2, $3, $4)`, id, account, string(content), now)
	return wrap(err, "insert test event")
}

// TestEvent returns the result of an account's test event that was sent after
// since, or ErrNotFound.
func (q *Queries) TestEvent(ctx context.Context, id domain.DeliveryID, account domain.AccountID, since time.Time) (content []byte, err error) {
	err = q.get(ctx, &content, `
		SELECT content FROM test_event WHERE id = $1 AND account_id = $2 AND created_at > $3`, id, account, since)
	return content, wrap(err, "get test event")
}

// DeleteTestEvents deletes up to limit results from before the given time, and
// returns how many.
func (q *Queries) DeleteTestEvents(ctx context.Context, before time.Time, limit int) (int, error) {
	result, err := q.exec(ctx, `
		DELETE FROM test_event WHERE id IN (
			SELECT id FROM test_event WHERE created_at <= $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)`, before, limit)
	return affected(result, err, "delete test events")
}
