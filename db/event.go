package db

import (
	"context"
	"encoding/json"
	"time"

	"candor/intake"
)

// InsertEvent stores an event.
func (tx *Tx) InsertEvent(ctx context.Context, e *intake.Event) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO event (id, account_id, livemode, session_id, type, body, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		e.ID, e.AccountID, e.Livemode, e.SessionID, e.Type, e.Body, e.CreatedAt)
	return wrap(err, "insert event")
}

// Events returns a session's events, oldest first.
func (d *DB) Events(ctx context.Context, session intake.SessionID) ([]intake.Event, error) {
	var out []intake.Event
	err := d.SelectContext(ctx, &out, `
		SELECT id, account_id, livemode, session_id, type, body, created_at
		FROM event WHERE session_id = $1 ORDER BY id`, session)
	return out, wrap(err, "list events")
}

const deliveryColumns = `id, event_id, url, state, attempts, first_attempt_at, next_attempt_at, finished_at, created_at`

// InsertDelivery stores a delivery that the River job jobID will make.
func (tx *Tx) InsertDelivery(ctx context.Context, d *intake.Delivery, jobID int64) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO delivery (id, event_id, url, state, next_attempt_at, job_id, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		d.ID, d.EventID, d.URL, d.State, d.NextAttemptAt, jobID, d.CreatedAt)
	return wrap(err, "insert delivery")
}

// DeliveryWork is all that an attempt needs to know.
type DeliveryWork struct {
	intake.Delivery
	AccountID intake.AccountID `db:"account_id"`
	Livemode  bool             `db:"livemode"`
	Body      []byte           `db:"body"`
	Secret    []byte           `db:"secret"`      // sealed
	Next      []byte           `db:"next_secret"` // sealed, nil for none
}

// DeliveryWork returns what the next attempt of a delivery needs, or
// ErrNotFound.
func (d *DB) DeliveryWork(ctx context.Context, id intake.DeliveryID) (*DeliveryWork, error) {
	var w DeliveryWork
	err := d.GetContext(ctx, &w, `
		SELECT d.id, d.event_id, d.url, d.state, d.attempts, d.first_attempt_at, d.next_attempt_at, d.finished_at, d.created_at,
			e.account_id, e.livemode, e.body, w.secret, w.next_secret
		FROM delivery d
		JOIN event e ON e.id = d.event_id
		JOIN webhook_setting w ON w.account_id = e.account_id AND w.livemode = e.livemode
		WHERE d.id = $1`, id)
	return &w, wrap(err, "get delivery")
}

// DeliveryOvertakes reports whether an earlier event of the same session,
// created since the given time, still waits for its first attempt at the same
// URL.
func (d *DB) DeliveryOvertakes(ctx context.Context, id intake.DeliveryID, since time.Time) (bool, error) {
	var overtakes bool
	err := d.GetContext(ctx, &overtakes, `
		SELECT EXISTS (
			SELECT 1
			FROM delivery own
			JOIN event e ON e.id = own.event_id
			JOIN event earlier ON earlier.session_id = e.session_id AND earlier.id < e.id
			JOIN delivery d ON d.event_id = earlier.id
			WHERE own.id = $1 AND d.url = own.url AND d.state = 'pending' AND d.attempts = 0 AND d.created_at > $2)`,
		id, since)
	return overtakes, wrap(err, "look for earlier deliveries")
}

// Attempt is one recorded try of a delivery.
type Attempt struct {
	DeliveryID     intake.DeliveryID `db:"delivery_id"`
	Number         int               `db:"number"` // 1 to 7
	StartedAt      time.Time         `db:"started_at"`
	DurationMS     int64             `db:"duration_ms"`
	StatusCode     *int              `db:"status_code"` // nil without a response
	ErrorClass     *string           `db:"error_class"`
	Error          *string           `db:"error"`
	RequestHeaders json.RawMessage   `db:"request_headers"`
	Response       *string           `db:"response"`
}

// RecordAttempt stores an attempt and what the delivery has come to by it:
// its state and, while it is pending, when the next attempt is due. Where
// another worker has recorded that attempt already, nothing changes.
func (d *DB) RecordAttempt(ctx context.Context, a *Attempt, state intake.DeliveryState, next *time.Time) error {
	_, err := d.ExecContext(ctx, `
		WITH advanced AS (
			UPDATE delivery SET attempts = $2, state = $3, next_attempt_at = $4, first_attempt_at = coalesce(first_attempt_at, $5),
				finished_at = CASE WHEN $3 <> 'pending' THEN $5::timestamptz + $6::integer * interval '1 millisecond' END
			WHERE id = $1 AND state = 'pending' AND attempts = $2 - 1
			RETURNING id)
		INSERT INTO delivery_attempt (delivery_id, number, started_at, duration_ms, status_code, error_class, error, request_headers, response)
		SELECT id, $2, $5, $6, $7, $8, $9, $10, $11 FROM advanced`,
		a.DeliveryID, a.Number, string(state), next, a.StartedAt, a.DurationMS, a.StatusCode, a.ErrorClass, a.Error,
		string(a.RequestHeaders), a.Response)
	return wrap(err, "record attempt")
}

// Deliveries returns the deliveries of a session's events, oldest first.
func (d *DB) Deliveries(ctx context.Context, session intake.SessionID) ([]intake.Delivery, error) {
	var out []intake.Delivery
	err := d.SelectContext(ctx, &out, `
		SELECT `+deliveryColumns+` FROM delivery
		WHERE event_id IN (SELECT id FROM event WHERE session_id = $1)
		ORDER BY id`, session)
	return out, wrap(err, "list deliveries")
}

// Attempts returns a delivery's attempts, first one first.
func (d *DB) Attempts(ctx context.Context, id intake.DeliveryID) ([]Attempt, error) {
	var out []Attempt
	err := d.SelectContext(ctx, &out, `
		SELECT delivery_id, number, started_at, duration_ms, status_code, error_class, error, request_headers, response
		FROM delivery_attempt WHERE delivery_id = $1 ORDER BY number`, id)
	return out, wrap(err, "list attempts")
}

// StrandedDeliveries locks up to limit pending deliveries that were due
// before the given time and whose River job is gone: the job can be discarded
// without a word, the row is the truth.
func (tx *Tx) StrandedDeliveries(ctx context.Context, dueBefore time.Time, limit int) ([]intake.DeliveryID, error) {
	var out []intake.DeliveryID
	err := tx.SelectContext(ctx, &out, `
		SELECT d.id FROM delivery d
		WHERE d.state = 'pending' AND d.next_attempt_at <= $1
			AND NOT EXISTS (SELECT 1 FROM river_job j WHERE j.id = d.job_id AND j.finalized_at IS NULL)
		ORDER BY d.next_attempt_at
		LIMIT $2
		FOR UPDATE OF d SKIP LOCKED`, dueBefore, limit)
	return out, wrap(err, "find stranded deliveries")
}

// SetDeliveryJob gives a delivery another River job.
func (tx *Tx) SetDeliveryJob(ctx context.Context, id intake.DeliveryID, jobID int64) error {
	_, err := tx.ExecContext(ctx, `UPDATE delivery SET job_id = $2 WHERE id = $1`, id, jobID)
	return wrap(err, "set delivery job")
}
