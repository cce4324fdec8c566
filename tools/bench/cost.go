package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the kernel's unit of CPU time on Linux, for every program.
const clockTick = time.Second / 100

// cpuTime is the CPU time that candor and PostgreSQL have used so far.
func (e *environment) cpuTime() (time.Duration, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	var ticks int64
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // has ended
		}
		s, err := parseStat(string(text))
		if err != nil {
			return 0, err
		}
		switch {
		case s.pid == e.Server.Process.Pid || s.parent == e.Postgres.PID():
			ticks += s.own
		case s.pid == e.Postgres.PID():
			ticks += s.own + s.children
		}
	}
	return time.Duration(ticks) * clockTick, nil
}

// stat is a process's /proc/PID/stat, times in ticks.
type stat struct {
	pid, parent   int
	own, children int64 // children that have ended
}

func parseStat(text string) (s stat, err error) {
	name, rest := strings.Index(text, " ("), strings.LastIndex(text, ") ")
	if name < 0 || rest < 0 {
		return s, fmt.Errorf("process status %q", text)
	}
	fields := strings.Fields(text[rest+len(") "):])
	if len(fields) < 15 {
		return s, fmt.Errorf("process status %q", text)
	}
	var numbers [5]int64
	for i, field := range []string{fields[1], fields[11], fields[12], fields[13], fields[14]} {
		if numbers[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return s, err
		}
	}
	s.pid, err = strconv.Atoi(text[:name])
	s.parent, s.own, s.children = int(numbers[0]), numbers[1]+numbers[2], numbers[3]+numbers[4]
	return s, err
}

// fillDeliveries adds n events of the account, spread over 90 days, each delivered
// at the first attempt.
func (e *environment) fillDeliveries(ctx context.Context, n int) error {
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
