package db

import (
	"context"
	"errors"

	"candor/internal/domain"
)

// Buyer returns what an account sets about itself for its invoices, the zero
// value for nothing.
func (q *Queries) Buyer(ctx context.Context, account domain.AccountID) (domain.Buyer, error) {
	var b domain.Buyer
	err := q.get(ctx, &b, `SELECT buyer FROM billing_setting WHERE account_id = $1`, account)
	if err = wrap(err, "get buyer"); errors.Is(err, ErrNotFound) {
		return domain.Buyer{}, nil
	}
	return b, err
}

// SetBuyer stores what an account sets about itself for its invoices.
func (tx *Tx) SetBuyer(ctx context.Context, account domain.AccountID, b domain.Buyer) error {
	_, err := tx.exec(ctx, `
		INSERT INTO billing_setting (account_id, buyer) VALUES ($1, $2)
		ON CONFLICT (account_id) DO UPDATE SET buyer = excluded.buyer`, account, b)
	return wrap(err, "set buyer")
}
