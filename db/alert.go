package db

import (
	"context"
	"encoding/json"
	"time"

	"candor/internal/domain"
)

// A DueAlert is a kind of alert that an account has something to be told by.
type DueAlert struct {
	AccountID domain.AccountID `db:"account_id"`
	Livemode  bool             `db:"livemode"`
	Kind      domain.AlertKind `db:"kind"`
}

// Scope is what the alert is about.
func (d DueAlert) Scope() domain.Scope {
	return domain.Scope{AccountID: d.AccountID, Livemode: d.Livemode}
}

// An endpointAlert is a kind of alert about endpoints.
type endpointAlert struct {
	kind domain.AlertKind
	// due is the condition under which an endpoint is to be reported at $1, led by a
	// partial index.
	due   sqlText
	stage int // what the endpoint's alerted becomes
}

// endpointAlerts report an endpoint that flaps once a day, and as recovered only when
// it hasn't failed for ten minutes.
var endpointAlerts = []endpointAlert{
	{domain.AlertEndpointFailing, `alerted = 0 AND failing_since <= $1::timestamptz - interval '1 hour' AND failing_since > $1::timestamptz - interval '3 days'
		AND (alerted_at IS NULL OR alerted_at <= $1::timestamptz - interval '1 day') AND NOT ` + heldEndpoint, 1},
	{domain.AlertEndpointFailingLong, `alerted IN (0, 1) AND failing_since <= $1::timestamptz - interval '3 days' AND NOT ` +
		heldEndpoint, 2},
	{domain.AlertEndpointRecovered,
		`alerted > 0 AND failing_since IS NULL AND last_failure_at <= $1::timestamptz - interval '10 minutes'`, 0},
}

// DueAlerts returns up to limit scopes that have something to report and have had
// no alert of that kind within domain.AlertEvery.
func (q *Queries) DueAlerts(ctx context.Context, now time.Time, limit int) ([]DueAlert, error) {
	var out []DueAlert
	for _, a := range endpointAlerts {
		var due []DueAlert
		err := q.all(ctx, &due, `
			SELECT DISTINCT account_id, livemode, $2::text AS kind FROM webhook_endpoint e
			WHERE `+a.due+` AND NOT EXISTS (
				SELECT 1 FROM alert a WHERE a.account_id = e.account_id AND a.livemode = e.livemode AND a.kind = $2 AND a.created_at > $3)
			LIMIT $4`, now, a.kind, now.Add(-domain.AlertEvery), limit)
		if err != nil {
			return nil, wrap(err, "find due alerts")
		}
		out = append(out, due...)
	}
	due, err := q.dueKeyAlerts(ctx, now, limit)
	return append(out, due...), err
}

// TakeAlerted marks what the scope is to be told by the kind of alert as
// reported, and returns it. Of two transactions that take the same, the second
// gets none.
func (tx *Tx) TakeAlerted(ctx context.Context, scope domain.Scope, kind domain.AlertKind, now time.Time) ([]domain.AlertSubject,
	error) {
	for _, a := range endpointAlerts {
		if a.kind == kind {
			return tx.takeAlertedEndpoints(ctx, scope, a, now)
		}
	}
	return tx.takeNewNetworks(ctx, scope)
}

// takeAlertedEndpoints marks the scope's endpoints that are due for the alert as
// reported, and returns them, longest first.
func (tx *Tx) takeAlertedEndpoints(ctx context.Context, scope domain.Scope, a endpointAlert,
	now time.Time) ([]domain.AlertSubject, error) {
	var rows []struct {
		ID     domain.EndpointID `db:"id"`
		Origin string            `db:"origin"`
		Since  time.Time         `db:"since"`
		Detail string            `db:"detail"`
		Outage *domain.OutageID  `db:"outage"`
	}
	// Locked in the order in which recorders lock them.
	err := tx.all(ctx, &rows, `
		WITH due AS MATERIALIZED (
			SELECT id FROM webhook_endpoint e WHERE account_id = $2 AND livemode = $3 AND `+a.due+` ORDER BY id FOR UPDATE
		), taken AS (
			UPDATE webhook_endpoint e SET alerted = $4::smallint, alerted_at = CASE WHEN $4::smallint = 0 THEN alerted_at ELSE $1 END
			FROM due WHERE e.id = due.id
			RETURNING e.*
		)
		SELECT id, concat_ws(', ', site, nullif(description, '')) AS origin, coalesce(failing_since, last_success_at, $1) AS since,
			coalesce(last_status_code::text, last_error_class, '') AS detail,
			(SELECT o.id FROM outage o WHERE o.endpoint_id = taken.id ORDER BY o.started_at DESC LIMIT 1) AS outage
		FROM taken ORDER BY since, site`, now, scope.AccountID, scope.Livemode, a.stage)
	out := make([]domain.AlertSubject, len(rows))
	for i, r := range rows {
		out[i] = domain.AlertSubject{ID: r.ID.String(), Name: r.Origin, Since: r.Since.UTC(), Detail: r.Detail}
		if r.Outage != nil {
			out[i].Outage = r.Outage.String()
		}
	}
	return out, wrap(err, "take endpoints to report")
}

// InsertAlert stores an alert.
func (tx *Tx) InsertAlert(ctx context.Context, a *domain.Alert) error {
	subjects, err := json.Marshal(a.Subjects)
	if err != nil {
		return wrap(err, "insert alert")
	}
	_, err = tx.exec(ctx, `
		INSERT INTO alert (id, account_id, livemode, kind, subjects, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		a.ID, a.AccountID, a.Livemode, a.Kind, string(subjects), a.CreatedAt) // JSON goes as text, bytes would go as bytea
	return wrap(err, "insert alert")
}

// Alert returns an alert, or ErrNotFound.
func (q *Queries) Alert(ctx context.Context, id domain.AlertID) (*domain.Alert, error) {
	var r struct {
		AccountID domain.AccountID `db:"account_id"`
		Livemode  bool             `db:"livemode"`
		Kind      domain.AlertKind `db:"kind"`
		Subjects  []byte           `db:"subjects"`
		CreatedAt time.Time        `db:"created_at"`
	}
	err := q.get(ctx, &r, `SELECT account_id, livemode, kind, subjects, created_at FROM alert WHERE id = $1`, id)
	a := &domain.Alert{ID: id, AccountID: r.AccountID, Livemode: r.Livemode, Kind: r.Kind, CreatedAt: r.CreatedAt}
	if err == nil {
		err = json.Unmarshal(r.Subjects, &a.Subjects)
	}
	return a, wrap(err, "get alert")
}

// An AlertReader is a person whom alerts can be sent to.
type AlertReader struct {
	domain.Staff
	domain.AlertEmails
}

const alertReaderColumns = staffColumns + `, webhook_emails, key_emails`

// AlertReaders returns the people of an account.
func (q *Queries) AlertReaders(ctx context.Context, account domain.AccountID) ([]AlertReader, error) {
	var out []AlertReader
	err := q.all(ctx, &out, `SELECT `+alertReaderColumns+` FROM staff_user WHERE account_id = $1 ORDER BY id`, account)
	return out, wrap(err, "list readers of alerts")
}

// AlertReader returns a person, or ErrNotFound.
func (q *Queries) AlertReader(ctx context.Context, id domain.StaffID) (*AlertReader, error) {
	var out AlertReader
	err := q.get(ctx, &out, `SELECT `+alertReaderColumns+` FROM staff_user WHERE id = $1`, id)
	return &out, wrap(err, "get reader of alerts")
}

// SetAlertEmails stores which alerts a person gets by email.
func (tx *Tx) SetAlertEmails(ctx context.Context, id domain.StaffID, e domain.AlertEmails) error {
	result, err := tx.exec(ctx, `UPDATE staff_user SET webhook_emails = $2, key_emails = $3 WHERE id = $1`, id, e.Webhooks, e.Keys)
	return changedOne(result, err, "set emails of alerts")
}

// DeleteAlerts deletes up to limit alerts from before the given time, and returns
// how many.
func (q *Queries) DeleteAlerts(ctx context.Context, before time.Time, limit int) (int, error) {
	return q.deleteOld(ctx, "alert", "id", "created_at", before, limit, "delete alerts")
}
