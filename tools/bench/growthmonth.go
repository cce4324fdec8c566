package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
)

const (
	monthDays = 30
	dayParts  = 10 // of a day's sessions, each in transactions of its own
	// monthShare of the sessions are created on each day of the month after the year.
	monthShare = 130
)

// month simulates the month after the year in the large database, by SQL with all
// triggers: what is created, changed and deleted, while PostgreSQL vacuums. The month
// takes minutes, so autovacuum looks every five seconds and never pauses.
func (b *bench) month(ctx context.Context) error {
	g, err := b.openGrown(ctx)
	if err != nil {
		return err
	}
	defer g.stop()
	e := g.large
	for name, value := range map[string]string{"autovacuum_naptime": "5s", "autovacuum_vacuum_cost_delay": "0",
		"synchronous_commit": "off"} {
		if err := e.set(ctx, name, value); err != nil {
			return err
		}
	}
	conn, err := e.DB.Raw().Connx(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, `CREATE EXTENSION IF NOT EXISTS pgstattuple`); err != nil {
		return err
	}
	before, err := density(ctx, conn)
	if err != nil {
		return err
	}
	if err := b.simulate(ctx, e, conn, g.n/monthShare/dayParts); err != nil {
		return err
	}
	if err := b.vacuumed(ctx, conn); err != nil {
		return err
	}
	after, err := density(ctx, conn)
	if err != nil {
		return err
	}
	for _, index := range after {
		i := slices.IndexFunc(before, func(x indexDensity) bool { return x.Name == index.Name })
		if i < 0 {
			continue // it was too small to say
		}
		b.add(row{
			what: "Index " + index.Name, figure: fmt.Sprintf("%.0f MB, leaves %.0f %% full", index.MB, index.Density),
			yardstick: fmt.Sprintf("before the month: %.0f MB, %.0f %%", before[i].MB, before[i].Density),
			ratio:     fmt.Sprintf("%.2f ×", index.MB/before[i].MB), target: "stated", met: true,
		})
	}
	return nil
}

// indexDensity is how full an index is.
type indexDensity struct {
	Name    string  `db:"name"`
	MB      float64 `db:"mb"`
	Density float64 `db:"density"` // of leaf pages, in percent
}

// density is that of all trees, the largest first.
func density(ctx context.Context, conn *sqlx.Conn) (out []indexDensity, err error) {
	err = conn.SelectContext(ctx, &out, `
		SELECT c.relname AS name, pg_relation_size(c.oid) / 1e6 AS mb, (pgstatindex(c.oid)).avg_leaf_density AS density
		FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE c.relkind = 'i' AND a.amname = 'btree'
			AND c.relnamespace = 'public'::regnamespace AND pg_relation_size(c.oid) > 1000000
		ORDER BY 2 DESC`)
	return out, err
}

// vacuumed prints dead rows, then vacuums each table and prints how long that takes.
func (b *bench) vacuumed(ctx context.Context, conn *sqlx.Conn) error {
	var tables []struct {
		Name string  `db:"relname"`
		Live float64 `db:"n_live_tup"`
		Dead float64 `db:"n_dead_tup"`
		Runs int     `db:"autovacuum_count"`
		MB   float64 `db:"mb"`
	}
	err := conn.SelectContext(ctx, &tables, `
		SELECT relname, n_live_tup, n_dead_tup, autovacuum_count, pg_total_relation_size(relid) / 1e6 AS mb FROM pg_stat_user_tables
			WHERE pg_total_relation_size(relid) > 10000000 ORDER BY mb DESC`)
	if err != nil {
		return err
	}
	for _, t := range tables {
		began := time.Now()
		if _, err := conn.ExecContext(ctx, "VACUUM "+t.Name); err != nil {
			return err
		}
		b.add(row{
			what: "Table " + t.Name + " after a month", figure: fmt.Sprintf("%.0f dead of %.0f rows (%.1f %%)", t.Dead, t.Live,
				100*t.Dead/max(1, t.Live)), yardstick: fmt.Sprintf("vacuumed %d times by itself", t.Runs),
			ratio:  fmt.Sprintf("a vacuum of %.0f MB takes %s", t.MB, time.Since(began).Round(100*time.Millisecond)),
			target: "stated", met: true,
		})
	}
	return nil
}

// simulate makes what happens on each day, and prints what each kind of change cost.
func (b *bench) simulate(ctx context.Context, e *environment, conn *sqlx.Conn, sessions int) error {
	scope, err := e.scope()
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx,
		`CREATE TEMPORARY TABLE part (id uuid, n int, account_id uuid, livemode boolean, created_at timestamptz, endpoint_id uuid)`); err != nil {
		return err
	}
	type cost struct {
		took time.Duration
		rows int64
	}
	costs := map[string]*cost{}
	start := time.Now().UTC()
	for day := range monthDays {
		for part := range dayParts {
			at := start.Add(time.Duration(day)*24*time.Hour + time.Duration(part)*2*time.Hour)
			names := strings.NewReplacer("NOW", "'"+at.Format(time.RFC3339)+"'::timestamptz", "SESSIONS", strconv.Itoa(sessions), "PART",
				strconv.Itoa((day*dayParts+part)*sessions+2_000_000_000),
				"ACCOUNT", "'"+scope.AccountID.UUID.String()+"'::uuid")
			for _, step := range monthSteps() {
				began := time.Now()
				result, err := conn.ExecContext(ctx, names.Replace(step.statement))
				if err != nil {
					return fmt.Errorf("%s: %w", step.what, err)
				}
				c := costs[step.what]
				if c == nil {
					c = &cost{}
					costs[step.what] = c
				}
				n, _ := result.RowsAffected() // for the table of figures only
				c.took, c.rows = c.took+time.Since(began), c.rows+n
			}
		}
		fmt.Fprintf(os.Stderr, "  day %d\n", day+1)
	}
	for _, step := range monthSteps() {
		if c := costs[step.what]; c != nil && step.what != "" && c.rows > 0 {
			b.add(row{what: "In a month: " + step.what, figure: fmt.Sprintf("%d rows in %s", c.rows, c.took.Round(time.Second)),
				yardstick: "–", ratio: fmt.Sprintf("%.0f µs a row", micros(c.took)/float64(c.rows)), target: "stated", met: true})
			delete(costs, step.what)
		}
	}
	return nil
}

// A monthStep is one kind of change.
type monthStep struct{ what, statement string }

func monthSteps() []monthStep {
	steps := []monthStep{
		{"", `TRUNCATE part`},
		{"", `INSERT INTO part SELECT (lpad(to_hex((extract(epoch FROM NOW) * 1000)::bigint + i), 12, '0') || '7' || substr(md5('s' || (PART + i)::bigint), 1, 3) || '8' || substr(md5('s' || (PART + i)::bigint), 4, 15))::uuid,
			i, a.id, a.id <> ACCOUNT, NOW + i * interval '1 millisecond', a.endpoint
			FROM generate_series(1, SESSIONS) i JOIN LATERAL (SELECT account_id AS id, id AS endpoint FROM webhook_endpoint
				WHERE origin = 'https://hook.lender.example' AND (i % 10 < 6) = (account_id = ACCOUNT) ORDER BY account_id OFFSET CASE
					WHEN i % 10 < 6 THEN 0 ELSE i % 19 END LIMIT 1) a ON true`},
		{"", `ANALYZE part`},
		{"sessions created", `INSERT INTO session (id, account_id, livemode, status, form_type, customer_name, customer_email, reference_id, metadata, created_at, expires_at)
			SELECT id, account_id, livemode, 'pending', 'financial_statement', 'Craig ' || n, 'customer' || n || '@example.com',
				'REF-' || n, '{}', created_at, created_at + interval '30 days' FROM part`},
		{"sessions opened",
			`UPDATE session s SET status = 'in_progress', accessed_at = NOW, last_activity_at = NOW FROM part p WHERE s.id = p.id AND n % 100 < 80`},
	}
	for range 7 {
		steps = append(steps, monthStep{"sections saved",
			`UPDATE session s SET last_activity_at = NOW, sections_completed = sections_completed + 1 FROM part p WHERE s.id = p.id AND n % 100 < 60`})
	}
	return append(steps,
		monthStep{"sessions completed",
			`UPDATE session s SET status = 'completed', completed_at = NOW + interval '1 hour' FROM part p WHERE s.id = p.id AND n % 100 < 60`},
		monthStep{"PDFs ready",
			`UPDATE session s SET pdf_ready_at = NOW + interval '1 hour' FROM part p WHERE s.id = p.id AND n % 100 < 60`},
		monthStep{"events", `INSERT INTO event (id, account_id, livemode, session_id, sequence, type, body, url, endpoint_id, created_at)
			SELECT (substr(id::text, 1, 18) || '-9' || substr(md5(id::text || k), 1, 3) || '-' || substr(md5(id::text || k), 4,
				12))::uuid, account_id, livemode, id, (PART + n)::bigint * 20 + 1000000000000 + k,
				CASE k WHEN 1 THEN 'session.accessed' WHEN 9 THEN 'session.completed' WHEN 10 THEN 'session.pdf_ready'
					ELSE 'session.section_completed' END, '\x01', 'https://hook.lender.example/candor', endpoint_id, NOW
			FROM part, generate_series(1, 10) k WHERE n % 100 < 60 OR n % 100 < 80 AND k < 3`},
		monthStep{"deliveries", `INSERT INTO delivery (id, account_id, livemode, type, event_id, endpoint_id, session_id, sequence, url, state, next_attempt_at, created_at)
			SELECT e.id, e.account_id, e.livemode, type, e.id, e.endpoint_id, session_id, sequence, url, 'pending', NOW, e.created_at
				FROM event e JOIN part p ON p.id = e.session_id`},
		monthStep{"deliveries claimed",
			`UPDATE delivery d SET lease_until = NOW FROM event e JOIN part p ON p.id = e.session_id WHERE d.event_id = e.id`},
		monthStep{"deliveries recorded", `UPDATE delivery d SET lease_until = NULL, state = 'delivered', next_attempt_at = NULL, finished_at = NOW, attempts = 1, attempts_total = 1, first_attempt_at = NOW, last_status_code = 200
			FROM event e JOIN part p ON p.id = e.session_id WHERE d.event_id = e.id`},
		monthStep{"attempts",
			`INSERT INTO delivery_attempt (delivery_id, number, started_at, duration_ms, status_code, request_headers) SELECT e.id, 1, NOW, 12, 200, '{}' FROM event e JOIN part p ON p.id = e.session_id`},
		monthStep{"requests logged", `INSERT INTO api_request (id, account_id, livemode, key_id, duration_us, status, replayed, method, route, error_code, address)
			SELECT (substr(id::text, 1, 18) || '-9' || substr(md5(id::text || k), 1, 3) || '-' || substr(md5(id::text || k), 4,
				12))::uuid, account_id, livemode, endpoint_id, 1000, 200, false, 'GET', '/v1/sessions/:id', '', '203.0.113.9'
			FROM part, generate_series(1, 10) k`},
		monthStep{"sessions expired",
			`UPDATE session SET status = 'expired' WHERE status IN ('pending', 'in_progress') AND expires_at <= NOW`},
		monthStep{"events deleted, with deliveries and attempts", `DELETE FROM event WHERE created_at <= NOW - interval '90 days'`},
		monthStep{"sessions erased",
			`UPDATE session SET erased_at = NOW WHERE status = 'completed' AND erased_at IS NULL AND completed_at <= NOW - interval '90 days'`},
		monthStep{"sessions' answers erased",
			`UPDATE session SET data_erased_at = NOW, erased_at = NOW WHERE status IN ('expired', 'cancelled') AND data_erased_at IS NULL AND coalesce(cancelled_at, expires_at) <= NOW - interval '30 days'`},
		monthStep{"requests deleted",
			`DELETE FROM api_request WHERE id < (lpad(to_hex((extract(epoch FROM NOW - interval '7 days') * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid AND account_id IN (SELECT id FROM account)`},
	)
}
