package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

// CompletedOn counts the scope's sessions that were completed on the UTC day of at.
func (q *Queries) CompletedOn(ctx context.Context, scope domain.Scope, at time.Time) (n int, err error) {
	err = q.get(ctx, &n, `
		SELECT coalesce(sum(completed_that_day), 0) FROM session_count
		WHERE account_id = $1 AND livemode = $2 AND day = ($3::timestamptz AT TIME ZONE 'UTC')::date`,
		scope.AccountID, scope.Livemode, at)
	return n, wrap(err, "count completed sessions")
}

// Usage counts the scope's sessions created from the first to the last date of
// the zone, both inclusive, as they stand at now, and what happened on each of
// those days up to today (D44). The zone is UTC or the account's: days of any
// other aren't counted.
func (q *Queries) Usage(ctx context.Context, scope domain.Scope, zone *time.Location, first, last,
	now time.Time) (*domain.Usage, error) {
	var rows []struct {
		Day               *time.Time `db:"day"` // nil: the overdue ones of all days
		Created           int        `db:"created"`
		Completed         int        `db:"completed"`
		Cancelled         int        `db:"cancelled"`
		Expired           int        `db:"expired"`
		InProgress        int        `db:"in_progress"`
		CompletionSeconds float64    `db:"completion_seconds"`
		CompletedThatDay  int        `db:"completed_that_day"`
	}
	first, last = day(first), day(last)
	date := sqlText("day")
	if zone != time.UTC {
		date = "(day + ahead)"
	}
	// One statement, so that a sweep between two can't count a session twice.
	// Sessions between their expiry and the sweep are moved to expired (D11).
	err := q.all(ctx, &rows, `
		SELECT `+date+` AS day, sum(created) AS created, sum(completed) AS completed, sum(cancelled) AS cancelled, sum(expired) AS expired,
			sum(in_progress) AS in_progress, sum(completion_seconds)::float8 AS completion_seconds,
				sum(completed_that_day) AS completed_that_day
		FROM session_count
		WHERE account_id = $1 AND livemode = $2
			AND day BETWEEN $3::date - 1 AND $4::date + 1 AND `+date+` BETWEEN $3::date AND $4::date
		GROUP BY 1
		UNION ALL
		SELECT NULL, 0, 0, 0, count(*), -count(*) FILTER (WHERE status = 'in_progress'), 0, 0
		FROM `+overdue("$5")+`
		WHERE created_at >= $6 AND created_at < $7`,
		scope.AccountID, scope.Livemode, first, last, now, domain.StartOfDate(first, zone), domain.StartOfDate(last.AddDate(0, 0, 1),
			zone))
	if err != nil {
		return nil, wrap(err, "sum usage")
	}
	u := domain.Usage{Daily: []domain.DailyUsage{}}
	byDay := map[string]domain.DailyUsage{}
	for _, r := range rows {
		u.Created += r.Created
		u.Completed += r.Completed
		u.Cancelled += r.Cancelled
		u.Expired += r.Expired
		u.InProgress += r.InProgress
		u.CompletionSeconds += r.CompletionSeconds
		if r.Day != nil {
			byDay[r.Day.Format(time.DateOnly)] = domain.DailyUsage{Created: r.Created, Completed: r.CompletedThatDay}
		}
	}
	for at := first; !at.After(last) && !at.After(domain.DateIn(now, zone)); at = at.AddDate(0, 0, 1) {
		row := byDay[at.Format(time.DateOnly)]
		row.Date = at
		u.Daily = append(u.Daily, row)
	}
	return &u, nil
}

// FoldSessionCounts puts up to limit writers' rows of days before the given
// one into one row for each day and zone's day, so that totals over a long history stay cheap. Rows
// that someone is writing are left for the next time. It returns how many rows
// it removed.
func (tx *Tx) FoldSessionCounts(ctx context.Context, before time.Time, limit int) (int, error) {
	var n int
	err := tx.get(ctx, &n, `
		WITH idle AS MATERIALIZED (
			SELECT account_id, livemode, day, shard FROM session_count
			WHERE day < $1::date AND shard > 0
			LIMIT $2
			FOR UPDATE SKIP LOCKED
		), folded AS (
			DELETE FROM session_count c USING idle i
			WHERE (c.account_id, c.livemode, c.day, c.shard) = (i.account_id, i.livemode, i.day, i.shard)
			RETURNING c.*
		), sums AS (
			INSERT INTO session_count AS c (account_id, livemode, day, shard, ahead, created, pending, in_progress, completed, expired,
				cancelled, completion_seconds, completed_that_day)
			SELECT account_id, livemode, day, CASE ahead WHEN 0 THEN 0 WHEN 1 THEN -1 ELSE -2 END, ahead, sum(created), sum(pending),
				sum(in_progress), sum(completed), sum(expired), sum(cancelled), sum(completion_seconds), sum(completed_that_day)
			FROM folded
			GROUP BY account_id, livemode, day, ahead
			ORDER BY account_id, livemode, day, ahead
			ON CONFLICT (account_id, livemode, day, shard) DO UPDATE SET
				created = c.created + excluded.created, pending = c.pending + excluded.pending,
					in_progress = c.in_progress + excluded.in_progress,
				completed = c.completed + excluded.completed, expired = c.expired + excluded.expired,
					cancelled = c.cancelled + excluded.cancelled,
				completion_seconds = c.completion_seconds + excluded.completion_seconds,
				completed_that_day = c.completed_that_day + excluded.completed_that_day, figured = false
		)
		SELECT count(*) FROM folded`,
		day(before), limit)
	return n, wrap(err, "fold session counts")
}
