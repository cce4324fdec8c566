package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
)

const (
	// growthFactor is by how many times more sessions are created a day at the end of
	// the year than at its beginning, as its logarithm: half of all are of the last 90 days.
	growthFactor = "2.6"
	// growthSlack is the time during which nothing of what was filled in becomes due: no
	// session expires, no row is past its retention.
	growthSlack = "interval '3 hours'"
	// withContent picks one session in ten. Only these have answers, a PDF and
	// documents: their rows, short ones, would take most of the disk.
	withContent = "uuid_hash(s.id) % 10 = 0"
)

// growthTables are what fillGrowth fills, each after those that its foreign keys name.
var growthTables = []string{
	"session", "session_search", "event", "delivery", "delivery_attempt", "section", "statement_pdf", "document", "link_use",
	"api_request", "audit_log",
}

// fillGrowth gives the database n sessions of a year: the account's own, six in ten, of
// test mode, and those of 19 others, of live mode. What is past its retention is gone.
func (e *environment) fillGrowth(ctx context.Context, n int) error {
	conn, err := e.DB.Raw().Connx(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	scope, err := e.scope()
	if err != nil {
		return err
	}
	names := strings.NewReplacer("ACCOUNT", "'"+scope.AccountID.UUID.String()+"'::uuid", "NOW",
		"'"+time.Now().UTC().Format(time.RFC3339)+"'::timestamptz",
		"SESSIONS", strconv.Itoa(n), "GROWTH", growthFactor, "SLACK", growthSlack)
	run := func(statements ...string) error {
		for _, one := range statements {
			began := time.Now()
			if _, err := conn.ExecContext(ctx, names.Replace(one)); err != nil {
				return fmt.Errorf("fill in %d sessions: %w in %.120s", n, err, strings.Join(strings.Fields(one), " "))
			}
			if took := time.Since(began); took > 5*time.Second {
				fmt.Fprintf(os.Stderr, "  %s: %.70s\n", took.Round(time.Second), strings.Join(strings.Fields(one), " "))
			}
		}
		return nil
	}
	var indexes []struct {
		Name       string `db:"indexname"`
		Definition string `db:"indexdef"`
	}
	err = conn.SelectContext(ctx, &indexes, `
		SELECT indexname, indexdef FROM pg_indexes i
		WHERE schemaname = 'public' AND tablename = ANY (string_to_array($1, ',')) AND NOT EXISTS (SELECT 1 FROM pg_constraint c
			WHERE c.conname = i.indexname)`,
		strings.Join(growthTables, ","))
	if err != nil {
		return err
	}
	before, after := []string{`SET session_replication_role = replica`, `SET maintenance_work_mem = '1GB'`,
		`SET work_mem = '128MB'`}, []string{}
	for _, index := range indexes {
		before = append(before, "DROP INDEX "+index.Name)
		after = append(after, index.Definition)
	}
	after = append(after, `SET session_replication_role = DEFAULT`, `VACUUM ANALYZE`, `CHECKPOINT`)
	for _, statements := range [][]string{before, growthAccounts(), growthSessions(), growthEvents(), growthDeliveries(),
		contentRows(), growthLogs(), growthCounters(), partnerCounters(), after} {
		if err := run(statements...); err != nil {
			return err
		}
	}
	return nil
}

// growthAccounts makes the other accounts and, for all, a table of the connection with
// what a row of theirs names.
func growthAccounts() []string {
	return []string{
		`CREATE TEMPORARY TABLE owner AS SELECT place, CASE place WHEN 0 THEN ACCOUNT ELSE gen_random_uuid() END AS id, place > 0 AS livemode, gen_random_uuid() AS endpoint, gen_random_uuid() AS key
			FROM generate_series(0, 19) place`,
		`ANALYZE owner`,
		`INSERT INTO account (id, name, billing_email, created_at, approved_at) SELECT id, 'Lender ' || place, 'lender' || place || '@example.com', NOW, NOW FROM owner WHERE place > 0`,
		`INSERT INTO subscription (id, account_id, plan_id, status, started_at, billed_to, closes_at)
			SELECT gen_random_uuid(), id, 'enterprise', 'active', NOW - interval '12 months 15 days', NOW - interval '15 days',
				NOW - interval '15 days' + interval '1 month' FROM owner WHERE place > 0`,
		`INSERT INTO webhook_endpoint (id, account_id, livemode, origin, last_success_at, created_at) SELECT endpoint, id, livemode, 'https://hook.lender.example', NOW, NOW - interval '1 year' FROM owner`,
		`INSERT INTO api_key (id, account_id, livemode, name, hash, last4, created_at) SELECT key, id, livemode, 'Key', decode(md5(key::text) || md5('b' || key), 'hex'), 'abcd', NOW - interval '1 year' FROM owner`,
		// Reconciliation must not look at these sessions: their ends are made up.
		`INSERT INTO reconciliation (status, checked_to) VALUES ('completed', NOW + interval '1 day'), ('expired', NOW + interval '1 day') ON CONFLICT (status) DO UPDATE SET checked_to = excluded.checked_to`,
	}
}

// hashed is SQL for a number below most that looks random, made of a number.
func hashed(number string, most int) string {
	return fmt.Sprintf("((hashint4(%s) & 2147483647) %% %d)", number, most)
}

// inOneTransaction empties a table before it is filled, so that PostgreSQL writes no log
// of it at wal_level minimal.
func inOneTransaction(table string, statements ...string) []string {
	return slices.Concat([]string{"BEGIN", "TRUNCATE " + table + " CASCADE"}, statements, []string{"COMMIT"})
}

func growthSessions() []string {
	return slices.Concat(inOneTransaction("session", `
		INSERT INTO session (id, account_id, livemode, status, form_type, customer_name, customer_email, reference_id, metadata,
			sections_completed, created_at, expires_at,
			accessed_at, last_activity_at, completed_at, pdf_ready_at, cancelled_at, erased_at, data_erased_at, created_by_kind,
				created_by)
		SELECT `+timeID("session")+`, ids[1 + place], place > 0, status, 'financial_statement', `+customerName+`, 'customer' || i || '@example.com', 'REF-' || i, '{"branch":"12"}', sections, at,
			at + interval '30 days' + CASE WHEN status IN ('pending', 'in_progress') THEN SLACK ELSE interval '0' END, accessed,
				accessed, completed, completed + interval '1 second', cancelled,
			CASE WHEN completed <= NOW - interval '90 days' + SLACK THEN completed + interval '90 days'
				WHEN ended <= NOW - interval '30 days' + SLACK THEN ended + interval '30 days' END,
			CASE WHEN ended <= NOW - interval '30 days' + SLACK THEN ended + interval '30 days' END, 'key', 'key_06awx1'
		FROM (
			SELECT n.*, CASE WHEN status IN ('completed', 'in_progress', 'cancelled') OR status = 'expired' AND h % 2 = 0
				THEN least(at + interval '10 minutes', NOW) END AS accessed,
				CASE status WHEN 'completed' THEN 7 WHEN 'in_progress' THEN i % 7 WHEN 'expired' THEN CASE h % 2 WHEN 0 THEN i % 4
					ELSE 0 END ELSE 0 END AS sections,
				CASE status WHEN 'completed' THEN at + took END AS completed, CASE status WHEN 'cancelled' THEN at + took END AS cancelled,
				CASE status WHEN 'cancelled' THEN at + took WHEN 'expired' THEN at + interval '30 days' END AS ended
			FROM (
				SELECT n.*, CASE WHEN h < 60 AND at + took < NOW THEN 'completed' WHEN h BETWEEN 80 AND 84 AND at + took < NOW
					THEN 'cancelled' WHEN at + interval '30 days' <= NOW THEN 'expired'
					WHEN h >= 95 THEN 'pending' ELSE 'in_progress' END AS status
				FROM (
					SELECT i, `+hashed("i", 100)+` AS h, `+hashed("-i", 100)+` AS whose, (1 + i % 20) * interval '1 hour' AS took,
						NOW + interval '365 days' / GROWTH * ln(1 - (SESSIONS - i) / SESSIONS.0::float8 * (1 - exp(-GROWTH::float8))) AS at
					FROM generate_series(1, SESSIONS) i) n) n) n
			CROSS JOIN LATERAL (SELECT CASE WHEN whose < 60 THEN 0 ELSE 1 + floor(19 * ((whose - 60) / 40.0) ^ 2)::int END AS place) w,
			(SELECT array_agg(id ORDER BY place) AS ids FROM owner) o, -- no join, which would change the order of the rows
			`+nameParts),
		[]string{`CREATE INDEX growth_created ON session USING brin (created_at)`, `ANALYZE session`},
		inOneTransaction("session_search", `
			INSERT INTO session_search (session_id, account_id, livemode, created_at, text)
			SELECT id, account_id, livemode, created_at, session_search_text(customer_name, customer_email, reference_id) FROM session`),
	)
}

// growthEvents makes the events of the last 90 days, day by day in the order of time.
func growthEvents() []string {
	statements := []string{`CREATE TEMPORARY SEQUENCE growth CACHE 1000`}
	for day := range int(domain.EventRetention / (24 * time.Hour)) {
		window := func(shift string) string {
			return fmt.Sprintf(
				"s.created_at >= NOW - interval '%d days' + SLACK - %s AND s.created_at < NOW - interval '%d days' + SLACK - %s", 90-day,
				shift, 89-day, shift)
		}
		statements = append(statements, `
			INSERT INTO event (id, account_id, livemode, session_id, sequence, type, body, url, endpoint_id, created_at)
			SELECT `+timeID("event")+`, account_id, livemode, session_id, i, type, convert_to('{"type":"' || type || '"}', 'UTF8'), 'https://hook.lender.example/candor', endpoint, at
			FROM (
				SELECT nextval('growth') AS i, o.* FROM (
					SELECT o.id AS account_id, o.livemode, o.endpoint, e.session_id, e.type, e.at FROM (
						SELECT s.account_id, s.id AS session_id, e.type, least(e.at, NOW) AS at
						FROM session s CROSS JOIN LATERAL (
							SELECT 'session.accessed' AS type, s.accessed_at AS at
							UNION ALL SELECT 'session.section_completed', s.accessed_at + k * (coalesce(s.completed_at,
								s.accessed_at + interval '1 hour') - s.accessed_at) / 8 FROM generate_series(1, s.sections_completed) k
							UNION ALL SELECT 'session.completed', s.completed_at
							UNION ALL SELECT 'session.pdf_ready', s.pdf_ready_at) e
						WHERE e.at IS NOT NULL AND `+window("interval '0'")+`
						UNION ALL SELECT s.account_id, s.id, 'session.expired', s.expires_at FROM session s WHERE status = 'expired'
							AND `+window("interval '30 days'")+`) e
						JOIN owner o ON o.id = e.account_id
					ORDER BY at) o) e`)
	}
	return append(inOneTransaction("event", statements...),
		`INSERT INTO event_sequence AS s (account_id, livemode, last) SELECT id, livemode, (SELECT max(sequence) FROM event) FROM owner
			ON CONFLICT (account_id, livemode) DO UPDATE SET last = excluded.last`)
}

func growthDeliveries() []string {
	headers := `'{"Content-Type": ["application/json"]}'`
	return slices.Concat(inOneTransaction("delivery", `
		INSERT INTO delivery (id, account_id, livemode, type, event_id, endpoint_id, session_id, sequence, url, state, attempts,
			attempts_total,
			first_attempt_at, finished_at, last_status_code, last_error_class, created_at)
		SELECT `+timeID("delivery")+`, account_id, livemode, type, id, endpoint_id, session_id, i, url, state, tries, tries, at, at + interval '1 second',
			CASE state WHEN 'delivered' THEN 200 WHEN 'failed' THEN 503 END, CASE state WHEN 'failed' THEN 'status' END, at
		FROM (
			SELECT e.*, CASE state WHEN 'delivered' THEN 1 WHEN 'failed' THEN 7 ELSE 0 END AS tries
			FROM (
				SELECT e.*, sequence AS i, created_at AS at, CASE WHEN place < 15 THEN 'failed' WHEN place = 15 THEN 'cancelled'
					ELSE 'delivered' END AS state
				FROM (SELECT e.*, `+hashed("sequence::int", 1000)+` AS place FROM event e) e) e) e`),
		inOneTransaction("delivery_attempt", `
			INSERT INTO delivery_attempt (delivery_id, number, started_at, duration_ms, status_code, error_class, request_headers,
				response)
			SELECT id, number, created_at, 12, last_status_code, last_error_class,
				`+headers+`, 'ok' FROM delivery, generate_series(1, attempts_total) number`))
}

// contentRows are the rows of one session in ten, while they are kept.
func contentRows() []string {
	return []string{
		fmt.Sprintf(`INSERT INTO section (session_id, name, answers, completed_at, updated_at, reached_at)
			SELECT s.id, name, '\x01', s.accessed_at + interval '1 hour', s.accessed_at + interval '1 hour', s.accessed_at
				FROM session s, unnest('{%s}'::text[]) WITH ORDINALITY AS n (name, place)
			WHERE s.data_erased_at IS NULL AND place <= sections_completed
				AND %s`, strings.Join(statement.SectionNames[:], ","), withContent),
		`INSERT INTO statement_pdf (session_id, content, size_bytes, page_count, created_at) SELECT s.id, '\x01', 60000, 4, s.completed_at FROM session s WHERE s.completed_at IS NOT NULL AND s.erased_at IS NULL AND ` + withContent,
		`INSERT INTO document (id, session_id, category, file_name, content_type, size_bytes, sha256, uploaded_at)
			SELECT ` + timeID("document") + `, session_id, 'tax_return', '\x01', 'application/pdf', 500000, decode(md5(i) || md5(i), 'hex'), at
			FROM (SELECT s.id AS session_id, s.id::text || k AS i, s.completed_at AS at FROM session s, generate_series(1, 2) k
				WHERE s.completed_at IS NOT NULL AND s.erased_at IS NULL AND ` + withContent + `) d`,
		`INSERT INTO link_use (session_id, kind, user_agent, address, first_at, last_at)
			SELECT s.id, 'opened', 'Safari on iPhone', '203.0.113.0/24', s.accessed_at, s.accessed_at FROM session s
				WHERE s.accessed_at > NOW - interval '90 days' + SLACK AND ` + withContent,
	}
}

// growthLogs are a week's API requests, ten for a session, and the year's audit entries,
// one for twenty sessions.
func growthLogs() []string {
	var actions []string
	for _, action := range domain.AuditActions {
		actions = append(actions, string(action))
	}
	return append(inOneTransaction("api_request", `
		INSERT INTO api_request (id, account_id, livemode, key_id, session_id, duration_us, status, replayed, method, route,
			error_code, address)
		SELECT `+timeID("request")+`, account_id, livemode, key, session_id, 1000 + k, CASE WHEN k = 1 THEN 201 WHEN odd < 2 THEN 404 ELSE 200 END, false,
			CASE k WHEN 1 THEN 'POST' ELSE 'GET' END, CASE k WHEN 1 THEN '/v1/sessions' ELSE '/v1/sessions/:id' END, CASE WHEN k > 1
				AND odd < 2 THEN 'session_not_found' ELSE '' END, '203.0.113.' || odd
		FROM (
			SELECT s.account_id, s.livemode, s.id AS session_id, o.key, k, s.id::text || k AS i, (uuid_hash(s.id) & 255) % 200 AS odd,
				least(s.created_at + k * interval '1 hour', NOW) AS at
			FROM session s JOIN owner o ON o.id = s.account_id, generate_series(1, 10) k
			WHERE s.created_at > NOW - interval '7 days' + SLACK
			ORDER BY at) r`),
		fmt.Sprintf(`INSERT INTO audit_log (id, account_id, livemode, at, actor_kind, actor_id, actor_name, action, target_id, target_name, address, after)
			SELECT %s, o.id, o.livemode, at, 'staff', 'stf_' || i %% 20, 'staff' || i %% 20 || '@lender.example',
				actions[1 + i %% cardinality(actions)], 'ses_' || i %% 5000, 'session', '203.0.113.9', '{"a": 1}'
			FROM (SELECT i, NOW - interval '365 days' * (1 - i / (SESSIONS / 20)::float8) AS at, '{%s}'::text[] AS actions
				FROM generate_series(1, SESSIONS / 20) i) a
				JOIN owner o ON o.place = CASE WHEN %s < 60 THEN 0
					ELSE 1 + i %% 19 END`, timeID("audit"), strings.Join(actions, ","), hashed("i", 100)))
}

func growthCounters() []string {
	return []string{
		`DROP INDEX growth_created`,
		`INSERT INTO session_count (account_id, livemode, day, shard, created, pending, in_progress, completed, expired, cancelled, completion_seconds, completed_that_day)
			SELECT account_id, livemode, day, 0, sum(created), sum(pending), sum(in_progress), sum(completed), sum(expired),
				sum(cancelled), sum(seconds), sum(that_day)
			FROM (
				SELECT account_id, livemode, (created_at AT TIME ZONE 'UTC')::date AS day, 1 AS created,
					(status = 'pending')::int AS pending, (status = 'in_progress')::int AS in_progress, (status = 'completed')::int AS completed,
					(status = 'expired')::int AS expired, (status = 'cancelled')::int AS cancelled, coalesce(extract(epoch
						FROM completed_at - created_at), 0) AS seconds, 0 AS that_day FROM session
				UNION ALL SELECT account_id, livemode, (completed_at AT TIME ZONE 'UTC')::date, 0, 0, 0, 0, 0, 0, 0, 1 FROM session
					WHERE completed_at IS NOT NULL) s
			GROUP BY 1, 2, 3`,
		`INSERT INTO subscription_usage (account_id, period_start, shard, sessions)
			SELECT b.account_id, b.billed_to, 0, count(*) FROM subscription b JOIN session s ON s.account_id = b.account_id AND s.livemode
				AND s.created_at >= b.billed_to JOIN owner o ON o.id = b.account_id AND o.livemode GROUP BY 1, 2`,
	}
}

// sampled are sessions of the account that a measurement asks for, from all its years.
type sampled struct {
	ID        domain.SessionID `db:"id"`
	Email     string           `db:"customer_email"`
	Reference string           `db:"reference_id"`
	Name      string           `db:"customer_name"`
}

// sample returns sessions of the account, the same for each run, from everywhere in its
// history.
func (e *environment) sample(ctx context.Context, sessions int) (out []sampled, err error) {
	scope, err := e.scope()
	if err != nil {
		return nil, err
	}
	err = e.DB.Raw().SelectContext(ctx, &out, `
		SELECT s.id, s.customer_email, s.reference_id, s.customer_name
		FROM generate_series(1, 400) k CROSS JOIN LATERAL (
			SELECT * FROM session s WHERE s.account_id = $1 AND NOT s.livemode
				AND s.reference_id = 'REF-' || (1 + `+hashed("k", 1<<30)+` % $2::int) LIMIT 1) s`, scope.AccountID, sessions)
	if err == nil && len(out) < 100 {
		err = sql.ErrNoRows
	}
	return out, err
}
