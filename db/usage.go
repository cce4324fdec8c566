package db

import (
	"context"
	"time"

	"candor/intake"
)

// Usage counts the scope's sessions created from the first to the last UTC
// day, both inclusive, as they stand at now, and what happened on each of
// those days up to today (D44).
func (d *DB) Usage(ctx context.Context, scope intake.Scope, first, last, now time.Time) (*intake.Usage, error) {
	var rows []struct {
		Day               time.Time `db:"day"`
		Created           int       `db:"created"`
		Completed         int       `db:"completed"`
		Cancelled         int       `db:"cancelled"`
		Expired           int       `db:"expired"`
		InProgress        int       `db:"in_progress"`
		CompletionSeconds float64   `db:"completion_seconds"`
		CompletedThatDay  int       `db:"completed_that_day"`
	}
	err := d.SelectContext(ctx, &rows, `
		SELECT day, sum(created) AS created, sum(completed) AS completed, sum(cancelled) AS cancelled, sum(expired) AS expired,
			sum(in_progress) AS in_progress, sum(completion_seconds)::float8 AS completion_seconds, sum(completed_that_day) AS completed_that_day
		FROM session_count
		WHERE account_id = $1 AND livemode = $2 AND day BETWEEN $3::date AND $4::date
		GROUP BY day`,
		scope.AccountID, scope.Livemode, first.Format(time.DateOnly), last.Format(time.DateOnly))
	if err != nil {
		return nil, wrap(err, "sum usage")
	}
	var u intake.Usage
	byDay := map[string]intake.DailyUsage{}
	for _, r := range rows {
		u.Created += r.Created
		u.Completed += r.Completed
		u.Cancelled += r.Cancelled
		u.Expired += r.Expired
		u.InProgress += r.InProgress
		u.CompletionSeconds += r.CompletionSeconds
		byDay[r.Day.Format(time.DateOnly)] = intake.DailyUsage{Created: r.Created, Completed: r.CompletedThatDay}
	}
	for at := day(first); !at.After(day(last)) && !at.After(day(now)); at = at.AddDate(0, 0, 1) {
		row := byDay[at.Format(time.DateOnly)]
		row.Date = at
		u.Daily = append(u.Daily, row)
	}
	return &u, d.moveOverdue(ctx, scope, first, last, now, &u)
}

// moveOverdue counts sessions between their expiry and the sweep as expired
// (D11).
func (d *DB) moveOverdue(ctx context.Context, scope intake.Scope, first, last, now time.Time, u *intake.Usage) error {
	var overdue struct {
		All        int `db:"all_open"`
		InProgress int `db:"in_progress"`
	}
	err := d.GetContext(ctx, &overdue, `
		SELECT count(*) AS all_open, count(*) FILTER (WHERE status = 'in_progress') AS in_progress
		FROM session
		WHERE account_id = $1 AND livemode = $2 AND status IN ('pending', 'in_progress') AND expires_at <= $3
			AND created_at >= $4 AND created_at < $5`,
		scope.AccountID, scope.Livemode, now, day(first), day(last).AddDate(0, 0, 1))
	u.Expired += overdue.All
	u.InProgress -= overdue.InProgress
	return wrap(err, "count overdue sessions")
}

// FoldSessionCounts puts the shards of each day before the given one into
// one row, so that totals over a long history stay cheap. It returns how many
// rows it removed.
func (tx *Tx) FoldSessionCounts(ctx context.Context, before time.Time) (int, error) {
	var n int
	err := tx.GetContext(ctx, &n, `
		WITH folded AS (
			DELETE FROM session_count WHERE day < $1::date AND shard <> 0 RETURNING *
		), sums AS (
			INSERT INTO session_count AS c (account_id, livemode, day, shard, created, pending, in_progress, completed, expired, cancelled, completion_seconds, completed_that_day)
			SELECT account_id, livemode, day, 0, sum(created), sum(pending), sum(in_progress), sum(completed), sum(expired), sum(cancelled), sum(completion_seconds), sum(completed_that_day)
			FROM folded
			GROUP BY account_id, livemode, day
			ORDER BY account_id, livemode, day
			ON CONFLICT (account_id, livemode, day, shard) DO UPDATE SET
				created = c.created + excluded.created, pending = c.pending + excluded.pending, in_progress = c.in_progress + excluded.in_progress,
				completed = c.completed + excluded.completed, expired = c.expired + excluded.expired, cancelled = c.cancelled + excluded.cancelled,
				completion_seconds = c.completion_seconds + excluded.completion_seconds,
				completed_that_day = c.completed_that_day + excluded.completed_that_day
		)
		SELECT count(*) FROM folded`,
		before.Format(time.DateOnly))
	return n, wrap(err, "fold session counts")
}
