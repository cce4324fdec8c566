package db

import (
	"context"
	"errors"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

const (
	// figureMembers is how many members of metadata a day is counted by: the most frequent.
	figureMembers = 8
	// figureValues is how many values of each are counted by their own.
	figureValues = 50
	// figureTime bounds each statement of a day's count, for which erasures of its sessions wait.
	// PostgreSQL ends it, since a context's end leaves it running (D95).
	figureTime = "5s"
	// figureRest is how long a day isn't tried again whose count failed.
	figureRest = time.Hour
)

// figureDay is a date of an account's zone whose figures aren't what session_count is.
type figureDay struct {
	AccountID domain.AccountID `db:"account_id"`
	Livemode  bool             `db:"livemode"`
	Date      time.Time        `db:"date"`
	Seen      pq.StringArray   `db:"seen"` // the versions of its counters
}

// CountFigures counts the figures of days whose sessions changed, the newest first, each in
// a transaction of its own. It returns of how many counters they were: up to limit. A day
// that fails or takes too long doesn't keep the others, and rests.
func (d *DB) CountFigures(ctx context.Context, now time.Time, limit int) (n int, err error) {
	var due []figureDay
	err = d.all(ctx, &due, `
		SELECT account_id, livemode, day + ahead AS date, array_agg(version) AS seen
		FROM (
			SELECT account_id, livemode, day, ahead, `+counterVersion+` AS version FROM session_count c
			WHERE NOT figured AND NOT EXISTS (
				SELECT FROM session_count o
				WHERE o.account_id = c.account_id AND o.livemode = c.livemode AND o.day BETWEEN c.day - 1 AND c.day + 1
					AND o.day + o.ahead = c.day + c.ahead AND o.refigure_after > $1)
			ORDER BY day DESC, account_id DESC, livemode DESC LIMIT $2
		) c GROUP BY 1, 2, 3`, now, limit)
	if err != nil {
		return 0, wrap(err, "list days without figures")
	}
	began := time.Now()
	for _, one := range due {
		if ctx.Err() != nil {
			break
		}
		now := now.Add(time.Since(began))
		n += len(one.Seen)
		failed := d.InTx(ctx, func(tx *Tx) error { return tx.countFigures(ctx, one, now) })
		if failed != nil && ctx.Err() == nil {
			rest := func(tx *Tx) error { return tx.restFigures(ctx, one, now.Add(figureRest), false) }
			err = errors.Join(err, failed, d.InTx(ctx, rest))
		}
	}
	return n, err
}

// counterVersion is another one after each change of the row c (PostgreSQL, System Columns).
const counterVersion = "c.day::text || ' ' || c.shard || ' ' || c.xmin::text"

// countFigures counts a day from its sessions. What changes during that is counted the next
// time: then its counter isn't the one that was seen. Counters are locked at the end alone,
// since others write them. A day of many sessions isn't counted again for a millisecond
// each, so that no account takes a notable part of the database's time.
func (tx *Tx) countFigures(ctx context.Context, d figureDay, now time.Time) error {
	if _, err := tx.exec(ctx, "SET LOCAL statement_timeout = '"+figureTime+"'"); err != nil {
		return wrap(err, "bound count of day")
	}
	var mine bool // else another worker counts it, or an erasure takes values out of it
	err := tx.get(ctx, &mine,
		`SELECT pg_try_advisory_xact_lock(hashtextextended(concat_ws(' ', 'figures', $1::text, $2::bool, $3::date), 0))`,
		d.AccountID, d.Livemode, day(d.Date))
	if err != nil || !mine {
		return wrap(err, "lock figures of day")
	}
	_, err = tx.exec(ctx, `DELETE FROM figure_count WHERE account_id = $1 AND livemode = $2 AND day = $3::date`,
		d.AccountID, d.Livemode, day(d.Date))
	if err != nil {
		return wrap(err, "delete figures of day")
	}
	var sessions int
	err = tx.get(ctx, &sessions, `
		WITH zone AS (SELECT time_zone AS name FROM account WHERE id = $1),
		found AS MATERIALIZED (
			SELECT `+figureWay+` AS way, `+figureDocuments+` AS documents, completed_at IS NOT NULL AS completed
			FROM session WHERE `+createdOnDay+`
		), figures AS (
			SELECT $4 AS name, way AS value, count(*) AS created, count(*) FILTER (WHERE completed) AS completed FROM found GROUP BY way
			UNION ALL
			SELECT $5, documents, count(*), count(*) FILTER (WHERE completed) FROM found WHERE documents IS NOT NULL GROUP BY documents
			UNION ALL
			SELECT $6 || m.key, m.value, count(*), count(*) FILTER (WHERE completed)
			FROM (SELECT metadata, completed_at IS NOT NULL AS completed FROM session WHERE `+createdOnDay+`) s
				CROSS JOIN json_each_text(readable(metadata)) m
			WHERE m.value <> '' AND length(m.value) <= $9 GROUP BY m.key, m.value
		), members AS (
			SELECT name FROM figures WHERE starts_with(name, $6) GROUP BY name ORDER BY sum(created) DESC, name LIMIT $7
		), ranked AS (
			SELECT *, row_number() OVER (PARTITION BY name ORDER BY created DESC, value) AS rank FROM figures
			WHERE name IN ($4, $5) OR name IN (SELECT name FROM members)
		), counted AS (
			INSERT INTO figure_count (account_id, livemode, name, day, value, created, completed)
			SELECT $1, $2, name, $3::date, CASE WHEN rank <= $8 THEN value ELSE '' END AS value, sum(created), sum(completed)
			FROM ranked GROUP BY name, 5
		)
		SELECT count(*) FROM found`,
		d.AccountID, d.Livemode, day(d.Date), domain.FigureWay, domain.FigureDocuments, domain.FigureMember, figureMembers,
		figureValues, domain.FigureValueLength)
	if err != nil {
		return wrap(err, "count figures of day")
	}
	return tx.restFigures(ctx, d, now.Add(time.Duration(sessions)*time.Millisecond), true)
}

// restFigures keeps a day from being counted until a time. If it was counted, its counters
// that haven't changed since they were seen are marked.
func (tx *Tx) restFigures(ctx context.Context, d figureDay, until time.Time, counted bool) error {
	_, err := tx.exec(ctx, `
		UPDATE session_count c SET figured = $6 AND `+counterVersion+` = ANY ($4), refigure_after = $5
		FROM (
			SELECT shard, day FROM session_count
			WHERE account_id = $1 AND livemode = $2 AND day BETWEEN $3::date - 1 AND $3::date + 1 AND day + ahead = $3::date
				AND NOT figured
			FOR UPDATE SKIP LOCKED -- one that changes is counted the next time
		) free
		WHERE c.account_id = $1 AND c.livemode = $2 AND c.day = free.day AND c.shard = free.shard`,
		d.AccountID, d.Livemode, day(d.Date), d.Seen, until, counted)
	return wrap(err, "mark counted day")
}

// createdOnDay is the condition of a session of date $3 in the time zone of account $1. The
// first line is for the index, and the second for midnights that come twice.
const createdOnDay = `account_id = $1 AND livemode = $2 AND created_at >= $3::date::timestamp AT TIME ZONE (SELECT name FROM zone)
	- interval '2 hours' AND created_at < ($3::date + 1)::timestamp AT TIME ZONE (SELECT name FROM zone)
	AND (created_at AT TIME ZONE (SELECT name FROM zone))::date = $3::date`

// What a session is counted by.
const (
	figureWay       = "CASE WHEN emailed THEN 'email' WHEN created_by_kind = 'staff' THEN 'dashboard' ELSE 'api' END"
	figureDocuments = "CASE WHEN documents = 0 THEN 'none' WHEN documents > 0 THEN 'some' END"
)

// FigureNames returns the members of metadata that the scope's sessions are counted by, up
// to limit, without those that a domain.Figure can't name.
func (q *Queries) FigureNames(ctx context.Context, scope domain.Scope, limit int) (out []string, err error) {
	err = q.all(ctx, &out, `
		WITH RECURSIVE names AS (
			(SELECT name FROM figure_count WHERE account_id = $1 AND livemode = $2 AND name > $3 ORDER BY name LIMIT 1)
			UNION ALL
			SELECT (SELECT name FROM figure_count WHERE account_id = $1 AND livemode = $2 AND name > n.name ORDER BY name LIMIT 1)
			FROM names n WHERE n.name IS NOT NULL
		)
		SELECT name FROM names WHERE starts_with(name, $3) AND strpos(name, '=') = 0 LIMIT $4`,
		scope.AccountID, scope.Livemode, domain.FigureMember, limit)
	return out, wrap(err, "list names of figures")
}

// Figures counts the scope's sessions that were created from the first to the last date,
// both inclusive, of the account's zone, by the values of a name: the most frequent ones.
// The value "" stands for those that aren't counted by their own.
func (q *Queries) Figures(ctx context.Context, scope domain.Scope, name string, first, last time.Time) (
	out []domain.FigureCount, err error) {
	err = q.all(ctx, &out, `
		WITH sums AS MATERIALIZED (
			SELECT value, sum(created::int) AS created, sum(completed::int) AS completed FROM figure_count
			WHERE account_id = $1 AND livemode = $2 AND name = $3 AND day BETWEEN $4::date AND $5::date
			GROUP BY value
		), most AS (
			SELECT * FROM sums WHERE value <> '' ORDER BY created DESC, value LIMIT $6
		)
		SELECT $3 AS name, * FROM (
			SELECT * FROM most
			UNION ALL
			SELECT '', sum(created)::bigint, sum(completed)::bigint FROM sums WHERE value NOT IN (SELECT value FROM most)
			HAVING count(*) > 0
		) u ORDER BY value = '', created DESC, value`,
		scope.AccountID, scope.Livemode, name, day(first), day(last), figureValues)
	return out, wrap(err, "sum figures")
}

// RefusedMost counts the sessions, created in that time, in which the form refused an
// answer: the rules that most sessions failed, up to limit, with how many failed them from
// the date before to the first.
func (q *Queries) RefusedMost(ctx context.Context, scope domain.Scope, before, first, last time.Time, limit int) (
	out []domain.RefusedMost, err error) {
	err = q.all(ctx, &out, `
		SELECT section, field, problem AS message, c.sessions, before
		FROM (
			SELECT rule, max(day) AS day, coalesce(sum(sessions::int) FILTER (WHERE day >= $4::date), 0) AS sessions,
				coalesce(sum(sessions::int) FILTER (WHERE day < $4::date), 0) AS before
			FROM form_problem_count
			WHERE account_id = $1 AND livemode = $2 AND day BETWEEN $3::date AND $5::date
			GROUP BY rule
		) c JOIN form_problem_count USING (rule, day)
		WHERE account_id = $1 AND livemode = $2
		ORDER BY c.sessions DESC, before DESC, section, field, problem LIMIT $6`,
		scope.AccountID, scope.Livemode, day(before), day(first), day(last), limit)
	return out, wrap(err, "sum refused rules")
}
