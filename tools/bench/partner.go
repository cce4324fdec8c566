package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
)

const (
	loggedRequests = 1_000_000
	auditLines     = 100_000
	// problemsPerSection is how many different errors customers make in a section
	// in a day.
	problemsPerSection = 30
)

// fillPartner gives the account what a partner has after 90 days with n sessions:
// events with deliveries, ten to a session, one in ten of them failed for good,
// the counters of the form, the log of API requests and the audit log. It makes
// sessions if the account has fewer.
func (e *environment) fillPartner(ctx context.Context, n int) error {
	scope, err := e.scope()
	if err != nil {
		return err
	}
	// Reconciliation must not repair these sessions: their ends are made up.
	_, err = e.DB.Raw().ExecContext(ctx, `INSERT INTO reconciliation (status, checked_to) VALUES ('completed', now() + interval '1 day'), ('expired', now() + interval '1 day')
		ON CONFLICT (status) DO UPDATE SET checked_to = excluded.checked_to`)
	if err != nil {
		return err
	}
	var there int
	if err := e.DB.Raw().GetContext(ctx, &there, `SELECT count(*) FROM session WHERE account_id = $1 AND NOT livemode`,
		scope.AccountID); err != nil {
		return err
	}
	if there < n || there > n+n/10 {
		if err := e.fill(ctx, n); err != nil {
			return err
		}
	}
	conn, err := e.DB.Raw().Connx(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	// The rows that foreign keys name exist, and counters are made below.
	before, after := []string{`SET session_replication_role = replica`}, []string{`SET session_replication_role = DEFAULT`,
		`VACUUM ANALYZE`, `CHECKPOINT`}
	for _, one := range slices.Concat(before, partnerSessions(), partnerDeliveries(), partnerCounters(), partnerLogs(), after) {
		one = strings.ReplaceAll(one, "ACCOUNT", "'"+scope.AccountID.UUID.String()+"'::uuid")
		if _, err := conn.ExecContext(ctx, one); err != nil {
			return fmt.Errorf("fill the partner's account: %w in %.80s", err, strings.Join(strings.Fields(one), " "))
		}
	}
	for n := figureCounters; n == figureCounters; {
		if n, err = e.DB.CountFigures(ctx, time.Now(), figureCounters); err != nil {
			return err
		}
	}
	return nil
}

// figureCounters is of how many counters figures are counted at once.
const figureCounters = 200

// timeID is SQL for an id that ascends with the row's time, like UUIDv7, made of
// its number i and time at.
func timeID(kind string) string {
	return `(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(md5('` + kind +
		`' || i), 1, 3) || '8' || substr(md5('` + kind + `' || i), 4, 15))::uuid`
}

// partnerSessions gives one in ten sessions the same customer, as a partner's own
// tests do, and numbers them all by their time.
func partnerSessions() []string {
	return []string{
		`UPDATE session SET customer_email = 'qa@lender.example', reference_id = 'QA' WHERE account_id = ACCOUNT AND NOT livemode AND customer_email LIKE 'customer%0@example.com'`,
		`CREATE TEMPORARY TABLE numbered AS SELECT row_number() OVER (ORDER BY created_at) AS i, id, created_at AS at FROM session WHERE account_id = ACCOUNT AND NOT livemode`,
		`CREATE UNIQUE INDEX ON numbered (i)`,
		`ANALYZE numbered`,
		fmt.Sprintf(`INSERT INTO section (session_id, name, completed_at, updated_at, reached_at)
			SELECT id, name, at + interval '1 hour', at + interval '1 hour', at FROM numbered, unnest('{%s}'::text[]) AS name
				WHERE i %% 10 = 1 AND i <= 200000`,
			strings.Join(statement.SectionNames[:], ",")),
	}
}

func partnerDeliveries() []string {
	const old = `(SELECT n.i, n.at, s.id AS session_id, last + n.i AS sequence, e.id AS endpoint_id, e.origin || '/hook' AS url,
			(ARRAY['session.pdf_ready', 'session.accessed', 'session.section_completed', 'session.section_completed',
				'session.section_completed', 'session.section_completed',
				'session.section_completed', 'session.section_completed', 'session.section_completed', CASE WHEN n.i / 10 % 5 = 0
					THEN 'session.expired' ELSE 'session.completed' END])[1 + n.i % 10] AS type,
			CASE WHEN n.i % 10 = 3 THEN 'failed' WHEN n.i % 1000 = 7 THEN 'cancelled' WHEN n.i % 1000 = 17 THEN 'pending'
				ELSE 'delivered' END AS state
		FROM numbered n JOIN numbered s ON s.i = (n.i - 1) / 10 * 10 + 1
			JOIN (SELECT id, origin, row_number() OVER (ORDER BY created_at) - 1 AS place FROM webhook_endpoint
				WHERE account_id = ACCOUNT AND origin LIKE '%lender.example') e ON e.place = s.i / 10 % 5,
			(SELECT coalesce(max(last), 0) AS last FROM event_sequence WHERE account_id = ACCOUNT AND NOT livemode) l) o`
	event, delivery := timeID("event"), timeID("delivery")
	return []string{
		`INSERT INTO webhook_endpoint (id, account_id, livemode, origin, last_success_at, created_at)
			SELECT gen_random_uuid(), ACCOUNT, false, 'https://hook' || i || '.lender.example', now(), now() - interval '90 days'
				FROM generate_series(1, 5) i`,
		`INSERT INTO delivery (id, account_id, livemode, type, event_id, endpoint_id, session_id, sequence, url, state, attempts, attempts_total,
				first_attempt_at, next_attempt_at, finished_at, last_status_code, last_error_class, created_at)
			SELECT ` + delivery + `, ACCOUNT, false, type, ` + event + `, endpoint_id, session_id, sequence, url, state, 3, 3, at,
				CASE WHEN state = 'pending' THEN now() + interval '1 day' END, CASE WHEN state <> 'pending' THEN at END,
				CASE WHEN state = 'delivered' THEN 200 WHEN i % 20 < 10 THEN 503 END, CASE WHEN state <> 'delivered' THEN CASE
					WHEN i % 20 < 10 THEN 'status' ELSE 'timeout' END END, at
			FROM ` + old + ` ORDER BY i`,
		`INSERT INTO event (id, account_id, livemode, session_id, sequence, type, body, url, endpoint_id, created_at)
			SELECT ` + event + `, ACCOUNT, false, session_id, sequence, type, convert_to(repeat('{"a":1},', 50), 'UTF8'), url, endpoint_id, at
			FROM ` + old + ` ORDER BY i`,
		`INSERT INTO delivery_attempt (delivery_id, number, started_at, duration_ms, status_code, error_class, request_headers, response)
			SELECT d.id, number, d.created_at, 12, d.last_status_code, d.last_error_class,
				'{"Content-Type": ["application/json"], "User-Agent": ["Candor-Webhooks/1"], "X-Webhook-Id": ["dlv_00000000000000000000000000"]}', 'ok'
			FROM delivery d, generate_series(1, 3) number WHERE d.account_id = ACCOUNT AND (d.sequence % 100 = 3 OR d.sequence % 100 = 4)`,
		`INSERT INTO event_sequence AS s (account_id, livemode, last) VALUES (ACCOUNT, false, (SELECT max(sequence) FROM event WHERE account_id = ACCOUNT AND NOT livemode))
			ON CONFLICT (account_id, livemode) DO UPDATE SET last = excluded.last`,
		`INSERT INTO redelivery (id, account_id, livemode, since, rate, state, matched, requeued, paced_until, created_by, created_at, finished_at)
			SELECT gen_random_uuid(), ACCOUNT, false, now() - i * interval '1 day', 100, 'done', 20000, 20000, now(), 'bench@example.com',
				now() - i * interval '1 hour', now() - i * interval '1 hour'
			FROM generate_series(1, 100) i`,
		`UPDATE delivery SET redelivery_id = (SELECT id FROM redelivery WHERE account_id = ACCOUNT ORDER BY created_at LIMIT 1)
			WHERE account_id = ACCOUNT AND state IN ('failed', 'delivered') AND sequence % 20 = 3`,
	}
}

// partnerCounters count all sessions, also those without stored sections.
func partnerCounters() []string {
	sections := "{" + strings.Join(statement.SectionNames[:], ",") + "}"
	return []string{
		`DELETE FROM form_count WHERE account_id = ACCOUNT`,
		`DELETE FROM form_problem_count WHERE account_id = ACCOUNT`,
		fmt.Sprintf(`INSERT INTO form_count (account_id, livemode, day, section, reached, completed, times, seconds)
			SELECT ACCOUNT, false, day, section, reached, completed, array_agg(1 + (step * 37) %% 90
				ORDER BY step), array_agg((1 + (step * 37) %% 90) * (60 * 1.09 ^ step)::bigint ORDER BY step)
			FROM (SELECT (created_at AT TIME ZONE 'UTC')::date AS day, count(accessed_at) AS reached, count(completed_at) AS completed
				FROM session WHERE account_id = ACCOUNT AND NOT livemode GROUP BY 1) d, unnest('%s'::text[] || ''::text) AS section,
					generate_series(0, CASE section WHEN '' THEN 122 ELSE 83 END) step
			GROUP BY day, section, reached, completed`, sections),
		fmt.Sprintf(`INSERT INTO form_problem_count (account_id, livemode, day, section, field, problem, sessions)
			SELECT ACCOUNT, false, day, section, 'field_' || i,
				'Field ' || i || ' of the section ' || section || ' must be an amount such as 1,250.50', 1 + i * 17
			FROM (SELECT DISTINCT (created_at AT TIME ZONE 'UTC')::date AS day FROM session WHERE account_id = ACCOUNT
				AND NOT livemode) d, unnest('%s'::text[]) AS section, generate_series(1, %d) i`,
			sections, problemsPerSection),
	}
}

func partnerLogs() []string {
	var actions []string
	for _, action := range domain.AuditActions {
		actions = append(actions, string(action))
	}
	return []string{
		`INSERT INTO api_key (id, account_id, livemode, name, hash, last4, created_at)
			SELECT gen_random_uuid(), ACCOUNT, false, 'Key ' || i, decode(md5('a' || i) || md5('b' || i), 'hex'), 'abcd',
				now() - interval '90 days' FROM generate_series(1, 5) i`,
		fmt.Sprintf(`INSERT INTO api_request (id, account_id, livemode, key_id, session_id, duration_us, status, replayed, method, route, error_code, address)
			SELECT %s, ACCOUNT, false, k.ids[1 + i %% 5], NULL, 1000 + i %% 5000,
				CASE WHEN error <> '' THEN status WHEN method = 'POST' THEN 201 ELSE 200 END, false, method,
				CASE method WHEN 'POST' THEN '/v1/sessions' ELSE '/v1/sessions/:id' END, error, '203.0.113.' || i %% 200
			FROM (SELECT i, now() - interval '6.9 days' * (%d - i) / %d AS at, CASE WHEN i %% 100 = 0 THEN 'DELETE'
				WHEN i %% 10 < 3 THEN 'POST' ELSE 'GET' END AS method,
					CASE WHEN i %% 50 = 1 THEN 'session_not_found' WHEN i %% 200 = 2 THEN 'validation_error'
						WHEN i %% 100000 = 3 THEN 'internal_error' ELSE '' END AS error,
					CASE WHEN i %% 50 = 1 THEN 404 WHEN i %% 200 = 2 THEN 422 ELSE 500 END AS status
				FROM generate_series(1, %d) i) r, (SELECT array_agg(id) AS ids FROM api_key WHERE account_id = ACCOUNT AND NOT livemode
					AND name LIKE 'Key %%') k
			ORDER BY i`, timeID("request"), loggedRequests, loggedRequests, loggedRequests),
		fmt.Sprintf(`INSERT INTO audit_log (id, account_id, livemode, at, actor_kind, actor_id, actor_name, action, target_id, target_name, address, after)
			SELECT %s, ACCOUNT, false, at, 'staff', 'stf_' || i %% 20, 'staff' || i %% 20 || '@lender.example',
				actions[1 + i %% cardinality(actions)], 'ses_' || i %% 5000, 'session', '203.0.113.9', '{"a": 1}'
			FROM (SELECT i, now() - interval '90 days' * (%d - i) / %d - interval '1 hour' AS at, '{%s}'::text[] AS actions
				FROM generate_series(1, %d) i) a`,
			timeID("audit"), auditLines, auditLines, strings.Join(actions, ","), auditLines),
	}
}
