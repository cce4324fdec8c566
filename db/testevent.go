package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

// InsertTestEvent stores the result of a test event, as JSON.
func (d *DB) InsertTestEvent(ctx context.Context, id domain.DeliveryID, account domain.AccountID, content []byte, now time.Time) error {
	_, err := d.ExecContext(ctx, `
		INSERT INTO test_event (id, account_id, content, created_at) VALUES ($1, $2, $3, $4)`, id, account, content, now)
	return wrap(err, "insert test event")
}

// TestEvent returns the result of an account's test event that was sent after
// since, or ErrNotFound.
func (d *DB) TestEvent(ctx context.Context, id domain.DeliveryID, account domain.AccountID, since time.Time) (content []byte, err error) {
	err = d.GetContext(ctx, &content, `
		SELECT content FROM test_event WHERE id = $1 AND account_id = $2 AND created_at > $3`, id, account, since)
	return content, wrap(err, "get test event")
}

// DeleteTestEvents deletes up to limit results from before the given time, and
// returns how many.
func (d *DB) DeleteTestEvents(ctx context.Context, before time.Time, limit int) (int, error) {
	result, err := d.ExecContext(ctx, `
		DELETE FROM test_event WHERE id IN (
			SELECT id FROM test_event WHERE created_at <= $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)`, before, limit)
	return affected(result, err, "delete test events")
}
