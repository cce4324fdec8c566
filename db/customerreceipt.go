package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

// InsertCustomerReceipt stores that the email about a submission was sent (D83). first
// is false if that is stored already, or the session is erased. An erasure waits until the
// transaction ends.
func (tx *Tx) InsertCustomerReceipt(ctx context.Context, id domain.SessionID, at time.Time) (first bool, err error) {
	result, err := tx.exec(ctx, `
		INSERT INTO customer_receipt (session_id, sent_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, id, at)
	if err != nil {
		return false, wrap(err, "insert customer receipt")
	}
	n, err := result.RowsAffected()
	return n == 1, wrap(err, "insert customer receipt")
}
