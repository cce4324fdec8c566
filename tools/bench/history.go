package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit/client"
)

// longHistory compares the reads of an account with 1,000 sessions and with many.
func (b *bench) longHistory(ctx context.Context, e *environment) error {
	short, err := e.historyTimes(ctx, 1000)
	if err != nil {
		return err
	}
	long, err := e.historyTimes(ctx, b.history)
	if err != nil {
		return err
	}
	for i, read := range historyReads {
		ratio := float64(long[i]) / float64(short[i])
		b.add(row{
			what:   fmt.Sprintf("%s with %d sessions", read.name, b.history),
			figure: fmt.Sprintf("%.2f ms", ms(long[i])), yardstick: fmt.Sprintf("with 1000: %.2f ms", ms(short[i])),
			ratio: fmt.Sprintf("%.1f ×", ratio), target: "≤ 2 ×", met: ratio <= 2,
		})
	}
	return nil
}

// historyReads are what is compared. ID stands for a session's.
var historyReads = []struct{ name, path string }{
	{"list, first page", "/v1/sessions"},
	{"list by status", "/v1/sessions?status=completed"},
	{"list of expired", "/v1/sessions?status=expired"},
	{"list by reference", "/v1/sessions?reference_id=REF-500"},
	{"get", "/v1/sessions/ID"},
	{"usage", "/v1/billing/usage?period=last_90_days"},
}

// historyTimes makes the account's history n sessions long and returns each
// read's median time.
func (e *environment) historyTimes(ctx context.Context, n int) (medians []time.Duration, err error) {
	if err := e.fill(ctx, n); err != nil {
		return nil, err
	}
	created, err := e.createSession(ctx, newSession)
	if err != nil {
		return nil, err
	}
	for _, read := range historyReads {
		path := strings.Replace(read.path, "ID", created.ID.String(), 1)
		get := client.Request("GET", e.Addr, path, "", "Authorization: Bearer "+e.Account.TestKey)
		times, err := latencies(ctx, e.Addr, 300, get)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", read.name, err)
		}
		medians = append(medians, quantile(times, 0.5))
	}
	return medians, nil
}

// customerName is SQL for the name of the i-th customer: one of 40 first names, and one
// of 27,000 last names, so that one first name is common and a whole name is rare.
const customerName = `(ARRAY['Craig','Jessica','Wei','Thi','Maria','James','Olivia','Noah','Aisha','Liam','Mia','Jack','Ruby','Henry','Zoe','Leo','Grace','Oscar','Ella','Hugo',
	'Priya','Omar','Chloe','Ethan','Ivy','Lucas','Nina','Samir','Tara','Victor','Yuki','Ahmed','Bella',
		'Diego','Freya','George','Hannah','Isaac','Kiri','Lachlan'])[1 + i % 40]
	|| ' ' || initcap(part[1 + i % 30] || part[1 + i / 40 % 30] || part[1 + i / 1200 % 30])`

// nameParts is what customerName is selected from.
const nameParts = `(SELECT string_to_array('wo,zni,ak,mor,gan,son,nguy,en,smi,th,kel,ly,bar,ton,chan,dra,pat,el,ros,si,hay,es,mac,don,ald,fer,rei,ra,ko,vic', ',') AS part) p`

// fill replaces the account's test sessions by n, spread evenly over 90 days and
// all states, each with its own reference.
func (e *environment) fill(ctx context.Context, n int) error {
	account, err := domain.ParseAccountID(e.Account.AccountID)
	if err != nil {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM link_use`,
		`DELETE FROM session`,
		`DELETE FROM session_count`,
		fmt.Sprintf(`
			INSERT INTO session (id, account_id, livemode, status, form_type, customer_name, customer_email, reference_id, metadata,
				created_at, expires_at, accessed_at, completed_at, pdf_ready_at, cancelled_at)
			SELECT gen_random_uuid(), '%s', false, status, 'financial_statement', %s, 'customer' || i || '@example.com', 'REF-' || i,
				json_build_object('product', 'p' || i %% 7, 'broker', 'b' || i %% 60, 'file', i),
				at, CASE WHEN status IN ('expired') THEN at + interval '1 hour' ELSE now() + interval '30 days' END, at,
				CASE WHEN status = 'completed' THEN at + interval '1 hour' END, CASE
					WHEN status = 'completed' THEN at + interval '1 hour' END,
				CASE WHEN status = 'cancelled' THEN at + interval '1 hour' END
			FROM (SELECT i, now() - interval '89 days' * i / %d - interval '2 hours' AS at,
				(ARRAY['completed', 'expired', 'cancelled', 'in_progress', 'pending'])[1 + i %% 5] AS status
				FROM generate_series(1, %d) i) n,
				`+nameParts, account.UUID, customerName, n, n),
		`VACUUM ANALYZE session`,
		`VACUUM ANALYZE session_search`,
		`VACUUM ANALYZE session_count`,
	} {
		if _, err := e.DB.Raw().ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("fill the history: %w", err)
		}
	}
	return nil
}

// fillDeliveries adds oldDeliveries events of the account, spread over 90 days, each delivered
// at the first attempt.
func (e *environment) fillDeliveries(ctx context.Context) error {
	const n = oldDeliveries
	scope, err := e.scope()
	if err != nil {
		return err
	}
	conn, err := e.DB.Raw().Connx(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	old := fmt.Sprintf(`(SELECT i, sequence, at, %s AS event, %s AS delivery
		FROM (SELECT i, s.last + i AS sequence, now() - interval '89 days' * (%d - i) / %d - interval '1 hour' AS at
			FROM event_sequence s, generate_series(1, %d) i WHERE s.account_id = '%s' AND NOT s.livemode ORDER BY i) n) o`,
		timeID("event"), timeID("delivery"), n, n, n, scope.AccountID.UUID)
	endpoint := fmt.Sprintf(`(SELECT id FROM webhook_endpoint WHERE account_id = '%s' ORDER BY created_at LIMIT 1)`,
		scope.AccountID.UUID)
	session := `(SELECT array_agg(id) AS ids FROM session) x`
	for _, statement := range []string{
		`SET session_replication_role = replica`, // the rows that foreign keys name exist
		fmt.Sprintf(`INSERT INTO event (id, account_id, livemode, session_id, sequence, type, body, url, endpoint_id, created_at)
			SELECT event, '%s', false, x.ids[1 + i %% cardinality(x.ids)], sequence, 'session.section_completed',
				convert_to(repeat('{"a":1},', 50), 'UTF8'), 'http://127.0.0.1:1/hook', %s, at
			FROM %s, %s`, scope.AccountID.UUID, endpoint, old, session),
		fmt.Sprintf(`INSERT INTO delivery (id, account_id, livemode, type, event_id, endpoint_id, session_id, sequence, url, state, attempts, attempts_total,
				first_attempt_at, finished_at, last_status_code, created_at)
			SELECT delivery, '%s', false, 'session.section_completed', event, %s, x.ids[1 + i %% cardinality(x.ids)], sequence,
				'http://127.0.0.1:1/hook', 'delivered', 1, 1, at, at, 200, at
			FROM %s, %s`, scope.AccountID.UUID, endpoint, old, session),
		fmt.Sprintf(`INSERT INTO delivery_attempt (delivery_id, number, started_at, duration_ms, status_code, request_headers, response)
			SELECT delivery, 1, at, 12, 200, '{"Content-Type": ["application/json"], "User-Agent": ["Candor-Webhooks/1"], "X-Webhook-Id": ["dlv_00000000000000000000000000"]}', 'ok'
			FROM %s`, old),
		fmt.Sprintf(`UPDATE event_sequence SET last = last + %d WHERE account_id = '%s' AND NOT livemode`, n, scope.AccountID.UUID),
		`SET session_replication_role = DEFAULT`,
		`VACUUM ANALYZE event`, `VACUUM ANALYZE delivery`, `VACUUM ANALYZE delivery_attempt`, `CHECKPOINT`,
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("fill the deliveries: %w", err)
		}
	}
	return nil
}
