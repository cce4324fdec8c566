package db

import (
	"context"
	"time"

	"github.com/lib/pq"
)

// A Counter counts the attempts of one subject within a window that starts with
// the first of them.
type Counter struct {
	Subject []byte        // SHA-256 of what is counted
	Free    int           // attempts that nothing delays
	Window  time.Duration // after which the count starts over
	// Paced admits further attempts one at a time, after a delay that grows
	// from 5 seconds to a minute. Without it none is admitted until the window
	// is over.
	Paced bool
	// Shared is a counter of many people. One success gives back one attempt
	// and leaves the others' counted.
	Shared bool
}

// A RefusedAttempt is the error of an attempt that a counter doesn't admit.
type RefusedAttempt struct {
	Next time.Time // when an attempt is admitted again
	By   [][]byte  // the subjects of the counters that refuse it
}

// Error says when an attempt is admitted again.
func (e *RefusedAttempt) Error() string {
	return "db: no attempt is admitted before " + e.Next.Format(time.RFC3339)
}

// CountAttempt counts an attempt in all counters if each of them admits it. If
// one doesn't, nothing is written and the error is a *RefusedAttempt.
//
// It upserts the rows in the order of their subjects, so that two attempts that
// share some don't wait for each other. If another attempt changes a counter
// after this one read next_at, this one is refused, too.
func (q *Queries) CountAttempt(ctx context.Context, now time.Time, counters ...Counter) error {
	var subjects pq.ByteaArray
	var free []int32
	var paced []bool
	var untils []time.Time
	for _, c := range counters {
		subjects, free, paced = append(subjects, c.Subject), append(free, int32(c.Free)), append(paced, c.Paced)
		untils = append(untils, now.Add(c.Window))
	}
	var result struct {
		Counted int           `db:"counted"`
		Next    *time.Time    `db:"next"`
		By      pq.ByteaArray `db:"refused_by"`
	}
	err := q.get(ctx, &result, `
		WITH wanted AS (
			SELECT * FROM unnest($1::bytea[], $2::int[], $3::bool[], $4::timestamptz[]) AS w (subject, free, paced, until)
		), refused AS (
			SELECT max(a.next_at) AS next, array_agg(a.subject) AS refused_by FROM attempt_count a JOIN wanted w ON w.subject = a.subject
				WHERE a.next_at > $5
		), counted AS (
			INSERT INTO attempt_count AS a (subject, n, until, next_at)
			SELECT subject, 1, until, CASE WHEN free <= 1 THEN CASE WHEN paced THEN $5::timestamptz + interval '5 s' ELSE until END END
			FROM wanted WHERE (SELECT next FROM refused) IS NULL
			ORDER BY subject
			ON CONFLICT (subject) DO UPDATE SET (n, until, next_at) = (
				SELECT c.n, c.until, CASE
					WHEN c.n < w.free THEN NULL
					WHEN w.paced THEN $5::timestamptz + least(60, 5 * 2 ^ least(10, (c.n - w.free) / 10)) * interval '1 s'
					ELSE c.until END
				FROM (SELECT
					CASE WHEN a.until <= $5 THEN 1 ELSE a.n + 1 END AS n,
					CASE WHEN a.until <= $5 THEN excluded.until ELSE a.until END AS until) c,
					wanted w
				WHERE w.subject = a.subject)
			WHERE a.next_at IS NULL OR a.next_at <= $5
			RETURNING 1
		)
		SELECT (SELECT count(*) FROM counted) AS counted, next, refused_by FROM refused`,
		subjects, pq.Array(free), pq.Array(paced), pq.Array(untils), now)
	switch {
	case err != nil:
		return wrap(err, "count attempt")
	case result.Next != nil:
		return &RefusedAttempt{Next: *result.Next, By: result.By}
	case result.Counted < len(counters):
		return &RefusedAttempt{Next: now.Add(time.Second)}
	}
	return nil
}

// Admits reports whether the counter admits an attempt, and counts none.
func (q *Queries) Admits(ctx context.Context, now time.Time, c Counter) (bool, error) {
	var admits bool
	err := q.get(ctx, &admits, `
		SELECT NOT EXISTS (SELECT 1 FROM attempt_count WHERE subject = $1 AND next_at > $2)`, c.Subject, now)
	return admits, wrap(err, "look at attempts")
}

// ForgetAttempts takes an attempt that succeeded out of its counters. A
// counter of one person forgets all attempts; a shared one gives one back.
func (tx *Tx) ForgetAttempts(ctx context.Context, counters ...Counter) error {
	var own, shared pq.ByteaArray
	for _, c := range counters {
		if c.Shared {
			shared = append(shared, c.Subject)
		} else {
			own = append(own, c.Subject)
		}
	}
	// Locked in the order in which CountAttempt takes them.
	_, err := tx.exec(ctx, `
		WITH held AS MATERIALIZED (
			SELECT subject FROM attempt_count WHERE subject = ANY($1) OR subject = ANY($2) ORDER BY subject FOR UPDATE
		), given_back AS (
			UPDATE attempt_count a SET n = greatest(n - 1, 0), next_at = NULL
			FROM held h WHERE a.subject = h.subject AND a.subject = ANY($2)
		)
		DELETE FROM attempt_count a USING held h WHERE a.subject = h.subject AND a.subject = ANY($1)`, own, shared)
	return wrap(err, "forget attempts")
}

// DeleteAttempts deletes up to limit counters whose window was over at the given
// time, and returns how many.
func (q *Queries) DeleteAttempts(ctx context.Context, before time.Time, limit int) (int, error) {
	return q.deleteOld(ctx, "attempt_count", "subject", "until", before, limit, "delete attempt counters")
}
