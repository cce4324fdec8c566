package db

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

// Funnel tells how far the scope's sessions came that were created from the
// first to the last date, both inclusive, of the account's zone. A day's counts are summed as
// int, here and in figures: the sum of bigint is numeric, and takes three times as long.
func (q *Queries) Funnel(ctx context.Context, scope domain.Scope, first, last time.Time) (*domain.Funnel, error) {
	f := &domain.Funnel{Sections: map[string]*domain.FunnelSection{}}
	err := q.sumProgress(ctx, f, scope, first, last, allSections)
	if err != nil {
		return nil, err
	}
	var worst []struct {
		Section  string `db:"section"`
		Field    string `db:"field"`
		Problem  string `db:"problem"`
		Sessions int    `db:"sessions"`
	}
	err = q.all(ctx, &worst, `
		SELECT DISTINCT ON (section) section, field, problem, c.sessions
		FROM (
			SELECT rule, max(day) AS day, sum(sessions::int) AS sessions
			FROM form_problem_count
			WHERE account_id = $1 AND livemode = $2 AND day BETWEEN $3::date AND $4::date
			GROUP BY rule
		) c JOIN form_problem_count USING (rule, day)
		WHERE account_id = $1 AND livemode = $2
		ORDER BY section, c.sessions DESC, field, problem`,
		scope.AccountID, scope.Livemode, day(first), day(last))
	for _, w := range worst {
		section := f.Section(w.Section)
		section.Rule, section.Affected = &domain.FailedRule{Field: w.Field, Message: w.Problem}, w.Sessions
	}
	return f, wrap(err, "sum problems")
}

// FunnelTimes is Funnel without rules.
func (q *Queries) FunnelTimes(ctx context.Context, scope domain.Scope, first, last time.Time) (*domain.Funnel, error) {
	f := &domain.Funnel{Sections: map[string]*domain.FunnelSection{}}
	return f, q.sumProgress(ctx, f, scope, first, last, allSections)
}

// FunnelProgress is Funnel without times and rules: what an earlier period is compared by.
func (q *Queries) FunnelProgress(ctx context.Context, scope domain.Scope, first, last time.Time) (*domain.Funnel, error) {
	var rows []struct {
		Section   string `db:"section"`
		Reached   int    `db:"reached"`
		Completed int    `db:"completed"`
	}
	err := q.all(ctx, &rows, `
		SELECT section, sum(reached::int) AS reached, sum(completed::int) AS completed
		FROM form_count
		WHERE account_id = $1 AND livemode = $2 AND day BETWEEN $3::date AND $4::date
		GROUP BY section`, scope.AccountID, scope.Livemode, day(first), day(last))
	f := &domain.Funnel{Sections: map[string]*domain.FunnelSection{}}
	for _, r := range rows {
		section := f.Section(r.Section)
		section.Reached, section.Completed = r.Reached, r.Completed
	}
	return f, wrap(err, "sum earlier progress")
}

// What is read of a funnel.
const (
	allSections sqlText = "true"
	wholeForm   sqlText = "section = ''"
)

// sumProgress reads a row for each day and section.
func (q *Queries) sumProgress(ctx context.Context, f *domain.Funnel, scope domain.Scope, first, last time.Time,
	of sqlText) error {
	var rows []struct {
		Section   string `db:"section"`
		Reached   int    `db:"reached"`
		Completed int    `db:"completed"`
		Times     counts `db:"times"`
	}
	err := q.all(ctx, &rows, `
		SELECT section, reached, completed, times
		FROM form_count
		WHERE account_id = $1 AND livemode = $2 AND day BETWEEN $3::date AND $4::date AND `+of,
		scope.AccountID, scope.Livemode, day(first), day(last))
	for _, r := range rows {
		section := f.Section(r.Section)
		section.Reached += r.Reached
		section.Completed += r.Completed
		for place, n := range r.Times {
			section.Times.Add(place, int(n))
		}
	}
	if err != nil {
		return wrap(err, "sum progress")
	}
	return q.findMedians(ctx, f, scope, first, last)
}

// findMedians reads how long the sessions in the middle took: each time counts as the
// mean of its step. Reading the seconds of all steps would take as long as all else.
func (q *Queries) findMedians(ctx context.Context, f *domain.Funnel, scope domain.Scope, first, last time.Time) error {
	var names []string
	var steps []int64
	note := func(name string, s *domain.FunnelSection) {
		if low, high, ok := s.Times.Middle(); ok {
			names, steps = append(names, name, name), append(steps, int64(low), int64(high))
		}
	}
	note("", &f.Whole)
	for name, s := range f.Sections {
		note(name, s)
	}
	if len(names) == 0 {
		return nil
	}
	var middles []struct {
		Section string  `db:"section"`
		Seconds float64 `db:"seconds"`
	}
	err := q.all(ctx, &middles, `
		SELECT section, (sum(mean) / 2)::float8 AS seconds
		FROM (
			SELECT section, place, sum(seconds[step + 1]::float8) / nullif(sum(times[step + 1]::int), 0) AS mean
			FROM form_count JOIN unnest($5::text[], $6::int[]) WITH ORDINALITY AS middle (section, step, place) USING (section)
			WHERE account_id = $1 AND livemode = $2 AND day BETWEEN $3::date AND $4::date
			GROUP BY section, place
		) m
		GROUP BY section HAVING count(mean) = 2`,
		scope.AccountID, scope.Livemode, day(first), day(last), pq.StringArray(names), pq.Int64Array(steps))
	for _, m := range middles {
		median := time.Duration(m.Seconds * float64(time.Second))
		f.Section(m.Section).Median = &median
	}
	return wrap(err, "find medians")
}

// CountedCompletionMedian is CompletionMedian by counters, of the dates from the first to
// the last, both inclusive, of the account's zone: less than 10 % off above a minute.
func (q *Queries) CountedCompletionMedian(ctx context.Context, scope domain.Scope, first, last time.Time) (
	*time.Duration, error) {
	var f domain.Funnel
	err := q.sumProgress(ctx, &f, scope, first, last, wholeForm)
	return f.Whole.Median, err
}

// CompletionMedian returns the median time from creation to completion of the
// scope's sessions that were created from one moment to before another, nil if
// none is completed. It reads each of them.
func (q *Queries) CompletionMedian(ctx context.Context, scope domain.Scope, from, before time.Time) (*time.Duration, error) {
	var seconds *float64
	err := q.get(ctx, &seconds, `
		SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY greatest(0, extract(epoch FROM completed_at - created_at)))
		FROM session
		WHERE account_id = $1 AND livemode = $2 AND created_at >= $3 AND created_at < $4 AND completed_at IS NOT NULL`,
		scope.AccountID, scope.Livemode, from, before)
	if err != nil || seconds == nil {
		return nil, wrap(err, "compute median")
	}
	median := time.Duration(*seconds * float64(time.Second))
	return &median, nil
}

// counts are an array of whole numbers from 0. The home page reads some 50,000
// of them, for which lib/pq's own type would make a copy each.
type counts []int64

// Scan reads what PostgreSQL writes, "{1,20,300}".
func (c *counts) Scan(from any) error {
	text, ok := from.([]byte)
	if !ok || len(text) < 2 {
		return fmt.Errorf("db: counts are %T", from)
	}
	*c = make(counts, 0, len(text)/4)
	n, digits := int64(0), false
	for _, b := range text[1:] {
		switch {
		case b >= '0' && b <= '9':
			n, digits = n*10+int64(b-'0'), true
		case b != ',' && b != '}':
			return fmt.Errorf("db: counts have a %q", b)
		case digits:
			*c = append(*c, n)
			n, digits = 0, false
		}
	}
	return nil
}

// String is how PostgreSQL reads them.
func (c counts) String() string {
	out := []byte{'{'}
	for i, n := range c {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, n, 10)
	}
	return string(append(out, '}'))
}

// HoldFormCounts locks the counts of sections and then of the whole form, of sessions
// created at that time. A transaction that passes several sections holds them before
// its first event. Otherwise it would hold the numbers of events and wait for a count,
// while a customer's save holds that count and waits for a number.
func (tx *Tx) HoldFormCounts(ctx context.Context, scope domain.Scope, created time.Time, sections []string) error {
	_, err := tx.exec(ctx, `
		INSERT INTO form_count AS c (account_id, livemode, day, section)
		SELECT a.id, $2, ($3::timestamptz AT TIME ZONE a.time_zone)::date, s.name
		FROM account a, unnest(array_append($4::text[], '')) WITH ORDINALITY AS s (name, place)
		WHERE a.id = $1
		ORDER BY s.place
		ON CONFLICT (account_id, livemode, day, section) DO UPDATE SET reached = c.reached`,
		scope.AccountID, scope.Livemode, created, pq.StringArray(sections))
	return wrap(err, "hold form counts")
}
