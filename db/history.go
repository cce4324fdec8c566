package db

import (
	"context"
	"errors"

	"candor/internal/domain"
)

// The methods of this file store what happened in the past, for the
// demonstration account. The product writes the same rows step by step.

// copyRows stores n rows by a COPY statement.
func (tx *Tx) copyRows(ctx context.Context, query sqlText, n int, row func(i int) []any) (err error) {
	stmt, err := tx.prepare(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	for i := range n {
		if _, err := stmt.ExecContext(ctx, row(i)...); err != nil {
			return err
		}
	}
	_, err = stmt.ExecContext(ctx)
	return err
}

// InsertDeliveries stores deliveries with what has become of them.
func (tx *Tx) InsertDeliveries(ctx context.Context, deliveries []*domain.Delivery) error {
	err := tx.copyRows(ctx, "COPY delivery ("+deliveryColumns+") FROM STDIN", len(deliveries), func(i int) []any {
		d := deliveries[i]
		return []any{d.ID, d.AccountID, d.Livemode, d.EventID, d.EventType, d.EndpointID, d.SessionID, d.Sequence, d.URL, d.State,
			d.Cycle, d.Attempts, d.AttemptsTotal, d.FirstAttemptAt, d.NextAttemptAt, d.FinishedAt, d.LastStatusCode, d.LastErrorClass,
			d.CreatedAt}
	})
	return wrap(err, "insert deliveries")
}

// InsertAttempts stores attempts of deliveries that are stored.
func (tx *Tx) InsertAttempts(ctx context.Context, attempts []domain.DeliveryAttempt) error {
	err := tx.copyRows(ctx, "COPY delivery_attempt ("+attemptListColumns+") FROM STDIN", len(attempts), func(i int) []any {
		a := &attempts[i]
		return []any{a.DeliveryID, a.Number, a.StartedAt, a.DurationMS, a.StatusCode, a.ErrorClass, a.Error, string(a.RequestHeaders),
			a.Response}
	})
	return wrap(err, "insert attempts")
}

// InsertSequence stores the last event number of a scope that has none. One
// transaction that takes many numbers gets slower with each.
func (tx *Tx) InsertSequence(ctx context.Context, scope domain.Scope, last int64) error {
	_, err := tx.exec(ctx, `
		INSERT INTO event_sequence (account_id, livemode, last) VALUES ($1, $2, $3)`, scope.AccountID, scope.Livemode, last)
	return wrap(err, "insert event sequence")
}
