package db

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"candor/internal/domain"
)

// An Invariant is a rule of the stored rows that no crash, failover or restore may
// break.
type Invariant int

// The invariants.
const (
	CountersMatch     Invariant = iota // counts of sessions by day are those of the sessions
	SearchMatches                      // each session is found by what it has
	SequencesComplete                  // event numbers of an account and mode have no gap
	DeliveriesOfEvent                  // each delivery has its event
	EventsDelivered                    // each event that was to go somewhere has a delivery
	EndsRecorded                       // each finished session has its last event
	InvoicesAddUp                      // lines, GST and numbers of invoices
	PDFsStored                         // each PDF that was drawn is there until its retention ends
)

// Verified is what was found of an invariant.
type Verified struct {
	Examined int64  // rows that it is about
	Wrong    int64  // of these, those that break it
	Example  string // the id of one of them, or of its account; "" if none
}

// invariants give an id, how many rows it stands for (n), and whether they are bad. $1 is
// the time before which events may have been deleted. Each reads what it needs once and
// keeps no more than a row for each account, mode and day.
var invariants = map[Invariant]struct {
	query sqlText
	id    func(uuid.UUID) string
}{
	CountersMatch: {`
		SELECT account_id AS id, 1 AS n, sum(created) <> 0 OR sum(pending) <> 0 OR sum(in_progress) <> 0 OR sum(completed) <> 0
			OR sum(expired) <> 0 OR sum(cancelled) <> 0 OR sum(seconds) <> 0 OR sum(that_day) <> 0 AS bad
		FROM (
			SELECT account_id, livemode, (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS created,
				count(*) FILTER (WHERE status = 'pending') AS pending, count(*) FILTER (WHERE status = 'in_progress') AS in_progress,
				count(*) FILTER (WHERE status = 'completed') AS completed, count(*) FILTER (WHERE status = 'expired') AS expired,
				count(*) FILTER (WHERE status = 'cancelled') AS cancelled,
				coalesce(sum(extract(epoch FROM completed_at - created_at)), 0) AS seconds, 0 AS that_day
			FROM session GROUP BY 1, 2, 3
			UNION ALL
			SELECT account_id, livemode, (completed_at AT TIME ZONE 'UTC')::date, 0, 0, 0, 0, 0, 0, 0, count(*)
			FROM session WHERE completed_at IS NOT NULL GROUP BY 1, 2, 3
			UNION ALL
			SELECT account_id, livemode, day, -sum(created), -sum(pending), -sum(in_progress), -sum(completed), -sum(expired),
				-sum(cancelled),
				-sum(completion_seconds), -sum(completed_that_day)
			FROM session_count GROUP BY 1, 2, 3
		) both_ways
		GROUP BY account_id, livemode, day`, accountText},
	SearchMatches: {`
		SELECT coalesce(s.id, f.session_id) AS id, 1 AS n, s.id IS NULL OR f.session_id IS NULL
			OR f.text <> session_search_text(s.customer_name, s.customer_email, s.reference_id) AS bad
		FROM session s FULL JOIN session_search f ON f.session_id = s.id`, sessionText},
	SequencesComplete: {`
		SELECT e.account_id AS id, 1 AS n, e.sequence <> coalesce(lag(e.sequence) OVER w, 0) + 1
			AND coalesce(lag(e.created_at) OVER w, a.created_at) > $1 AS bad
		FROM event e JOIN account a ON a.id = e.account_id
		WINDOW w AS (PARTITION BY e.account_id, e.livemode ORDER BY e.sequence)
		UNION ALL
		SELECT s.account_id, 0, e.sequence > s.last OR coalesce(e.sequence, 0) < s.last AND coalesce(e.created_at, a.created_at) > $1
		FROM event_sequence s JOIN account a ON a.id = s.account_id
		LEFT JOIN LATERAL (
			SELECT sequence, created_at FROM event WHERE account_id = s.account_id AND livemode = s.livemode ORDER BY sequence DESC
				LIMIT 1) e ON true
		UNION ALL
		SELECT account_id, 0, true FROM (SELECT DISTINCT account_id, livemode FROM event) e
		WHERE NOT EXISTS (SELECT 1 FROM event_sequence s WHERE s.account_id = e.account_id AND s.livemode = e.livemode)`, accountText},
	DeliveriesOfEvent: {`
		SELECT d.id, 1 AS n, e.id IS NULL OR (d.account_id, d.livemode, d.sequence, d.type) <> (e.account_id, e.livemode, e.sequence,
			e.type) AS bad
		FROM delivery d LEFT JOIN event e ON e.id = d.event_id`, deliveryText},
	EventsDelivered: {`
		SELECT e.id, 1 AS n, NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = e.id) AS bad
		FROM event e WHERE e.url IS NOT NULL`, eventText},
	EndsRecorded: {`
		SELECT s.id, 1 AS n, NOT EXISTS (SELECT 1 FROM event e WHERE e.session_id = s.id AND e.type = 'session.' || s.status) AS bad
		FROM session s
		WHERE s.status IN ('completed', 'expired')
			AND CASE s.status WHEN 'completed' THEN s.completed_at ELSE s.expires_at END > $1`, sessionText},
	InvoicesAddUp: {`
		SELECT i.id, 1 AS n, l.amount <> i.total_cents OR l.sessions <> i.sessions_used OR l.wrong > 0
			OR i.gst_cents <> div(i.total_cents * i.gst_basis_points * 2 + 10000 + i.gst_basis_points, 2 * (10000 + i.gst_basis_points))
			OR i.number <> coalesce(lag(i.number) OVER (ORDER BY i.number), 0) + 1 AS bad
		FROM invoice i CROSS JOIN LATERAL (
			SELECT coalesce(sum((line->>'amount_cents')::bigint), 0) AS amount, coalesce(sum((line->>'sessions')::bigint), 0) AS sessions,
				count(*) FILTER (WHERE (line->>'amount_cents')::bigint <>
					(line->>'price_cents')::bigint * (line->>'sessions')::bigint) AS wrong
			FROM jsonb_array_elements(i.lines) line) l
		UNION ALL
		SELECT (SELECT id FROM invoice ORDER BY number DESC LIMIT 1), 0, coalesce((SELECT max(number)
			FROM invoice), 0) <> (SELECT last FROM invoice_number)`, invoiceText},
	PDFsStored: {`
		SELECT s.id, 1 AS n, NOT EXISTS (SELECT 1 FROM statement_pdf p WHERE p.session_id = s.id) AS bad
		FROM session s WHERE s.pdf_ready_at IS NOT NULL AND s.erased_at IS NULL`, sessionText},
}

func accountText(id uuid.UUID) string  { return domain.AccountID{UUID: id}.String() }
func sessionText(id uuid.UUID) string  { return domain.SessionID{UUID: id}.String() }
func eventText(id uuid.UUID) string    { return domain.EventID{UUID: id}.String() }
func deliveryText(id uuid.UUID) string { return domain.DeliveryID{UUID: id}.String() }
func invoiceText(id uuid.UUID) string  { return domain.InvoiceID{UUID: id}.String() }

// Verify checks an invariant. Events that happened by the given time may have been
// deleted with their deliveries.
func (s *Snapshot) Verify(ctx context.Context, i Invariant, eventsSince time.Time) (Verified, error) {
	var row struct {
		Examined int64         `db:"examined"`
		Wrong    int64         `db:"wrong"`
		Example  uuid.NullUUID `db:"example"`
	}
	err := s.get(ctx, &row, `
		SELECT coalesce(sum(n), 0) AS examined, count(*) FILTER (WHERE bad) AS wrong, min(id::text) FILTER (WHERE bad) AS example
		FROM (`+invariants[i].query+`) found WHERE $1::timestamptz IS NOT NULL`, eventsSince)
	if err != nil {
		return Verified{}, wrap(err, "verify")
	}
	v := Verified{Examined: row.Examined, Wrong: row.Wrong}
	if row.Example.Valid {
		v.Example = invariants[i].id(row.Example.UUID)
	}
	return v, nil
}

// A Snapshot reads the database as it was at one moment, and writes nothing.
type Snapshot struct{ Queries }

// InSnapshot runs fn on a snapshot.
func (d *DB) InSnapshot(ctx context.Context, fn func(s *Snapshot) error) error {
	tx, err := d.pool.BeginTxx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("db: begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // it only reads
	return fn(&Snapshot{Queries{on: tx}})
}

// DocumentsAfter returns up to limit documents of all sessions, in the order of their
// ids, which follow the given one.
func (q *Queries) DocumentsAfter(ctx context.Context, after domain.DocumentID, limit int) ([]domain.Document, error) {
	var out []domain.Document
	err := q.all(ctx, &out, `SELECT `+documentColumns+` FROM document WHERE id > $1 ORDER BY id LIMIT $2`, after, limit)
	return out, wrap(err, "list documents")
}

// PDFsAfter returns up to limit sessions with a stored PDF, in the order of their ids,
// which follow the given one, with the SHA-256 of what was issued.
func (q *Queries) PDFsAfter(ctx context.Context, after domain.SessionID, limit int) (out []IssuedPDF, err error) {
	err = q.all(ctx, &out, `
		SELECT p.session_id, p.size_bytes, s.pdf_sha256 FROM statement_pdf p JOIN session s ON s.id = p.session_id
		WHERE p.session_id > $1 ORDER BY p.session_id LIMIT $2`, after, limit)
	return out, wrap(err, "list PDFs")
}

// IssuedPDF is what is known of a PDF without opening it.
type IssuedPDF struct {
	SessionID domain.SessionID `db:"session_id"`
	SizeBytes int64            `db:"size_bytes"`
	SHA256    []byte           `db:"pdf_sha256"`
}

// CountOpenPeriods counts the billing periods that UsageDrifts recounts.
func (q *Queries) CountOpenPeriods(ctx context.Context) (n int64, err error) {
	err = q.get(ctx, &n, `SELECT count(*) FROM subscription WHERE closes_at IS NOT NULL`)
	return n, wrap(err, "count open periods")
}
