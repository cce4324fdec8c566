package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"time"

	"candor/internal/domain"
	"candor/tools/harness"
)

// newSession is the body of the request that creates a session.
const newSession = `{"form_type":"financial_statement","customer_email":"jessica@example.com","customer_name":"Jessica Example","reference_id":"LOAN-2026-001","metadata":{"branch":"12"}}`

// throughput compares POST /sessions and GET /sessions/:id over HTTP with pgbench
// running the same statements on the same database.
func (b *bench) throughput(ctx context.Context, e *environment) error {
	auth := "Authorization: Bearer " + e.Account.TestKey
	id, err := e.createSession(ctx, newSession)
	if err != nil {
		return err
	}
	scripts := e.scripts(id)
	for _, load := range []struct {
		name    string
		request []byte
		status  int
		least   float64 // of pgbench's rate
	}{
		{"POST /v1/sessions", harness.Request("POST", e.Addr, "/v1/sessions", newSession, auth), http.StatusCreated, 0.60},
		{"GET /v1/sessions/:id", harness.Request("GET", e.Addr, "/v1/sessions/"+id.String(), "", auth), http.StatusOK, 0.30},
	} {
		for _, clients := range []int{8, 32} {
			if err := b.compare(ctx, e, load.name, scripts[load.name], clients, load.request, load.status, load.least); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare runs pgbench and the service in turn, twice each, so that a slow spell of
// the machine hits both.
func (b *bench) compare(ctx context.Context, e *environment, name, script string, clients int, request []byte, status int, least float64) error {
	var service, yardstick float64
	var reference, used cpu
	const turns = 2
	for range turns {
		tps, err := e.spend(&reference, b.span, func() (float64, error) { return e.pgbench(ctx, script, clients, b.span.Seconds()) })
		if err != nil {
			return err
		}
		rate, err := e.spend(&used, b.span, func() (float64, error) { return load(ctx, e.Addr, clients, b.span, request, status) })
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		yardstick += tps / turns
		service += rate / turns
	}
	b.add(row{
		what:      fmt.Sprintf("%s, %d clients", name, clients),
		figure:    fmt.Sprintf("%.0f requests/s; CPU of candor %.0f µs, of PostgreSQL %.0f µs", service, micros(used.candor/turns), micros(used.postgres/turns)),
		yardstick: fmt.Sprintf("pgbench %.0f tps; CPU of PostgreSQL %.0f µs", yardstick, micros(reference.postgres/turns)),
		ratio:     percent(service / yardstick), target: "≥ " + percent(least), met: service/yardstick >= least,
	})
	return nil
}

// cpu is processor time.
type cpu struct{ candor, postgres time.Duration }

// spend adds the processor time of each request of a load that lasts for span to
// used, and returns the load's rate.
func (e *environment) spend(used *cpu, span time.Duration, load func() (float64, error)) (float64, error) {
	before, err := e.cpu()
	if err != nil {
		return 0, err
	}
	rate, err := load()
	if err != nil {
		return 0, err
	}
	after, err := e.cpu()
	requests := rate * span.Seconds()
	used.candor += time.Duration(float64(after.candor-before.candor) / requests)
	used.postgres += time.Duration(float64(after.postgres-before.postgres) / requests)
	return rate, err
}

// cpu is what candor and PostgreSQL have used so far.
func (e *environment) cpu() (cpu, error) {
	both, err := e.cpuTime()
	if err != nil {
		return cpu{}, err
	}
	candor, err := cpuTime(e.Server.Process.Pid)
	return cpu{candor, both - candor}, err
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func percent(ratio float64) string { return fmt.Sprintf("%.0f %%", ratio*100) }

func (e *environment) createSession(ctx context.Context, body string) (domain.SessionID, error) {
	answer, err := e.call(ctx, http.MethodPost, "/v1/sessions", body)
	if err != nil {
		return domain.SessionID{}, err
	}
	return answer.ID, nil
}

// session is the part of a session that this program reads.
type session struct {
	ID  domain.SessionID `json:"id"`
	URL string           `json:"session_url"`
}

func (e *environment) call(ctx context.Context, method, path, body string) (*session, error) {
	var out session
	return &out, exchange(ctx, method, "http://"+e.Addr+path, e.Account.TestKey, json.RawMessage(body), &out)
}

// scripts are the statements of each request, for pgbench: the look-up of the key,
// then the work.
func (e *environment) scripts(id domain.SessionID) map[string]string {
	hash := domain.HashAPIKey(e.Account.TestKey)
	account, err := domain.ParseAccountID(e.Account.AccountID)
	if err != nil {
		panic(err) // the service printed it
	}
	lookUp := fmt.Sprintf(`SELECT id, name, account_id, livemode, permissions, networks, expires_at <= now() IS TRUE OR deleted_at IS NOT NULL
 FROM api_key WHERE hash = '\x%x';
`, hash)
	return map[string]string{
		"POST /v1/sessions": lookUp + fmt.Sprintf(`BEGIN;
INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, customer_name, reference_id, webhook_url, metadata, created_at, expires_at, created_by_kind, created_by)
 VALUES (gen_random_uuid(), '%[1]s', false, 'pending', 'financial_statement', 'jessica@example.com', 'Jessica Example', 'LOAN-2026-001', NULL, '{"branch":"12"}', now(),
  now() + (SELECT default_expires_in_days FROM account WHERE id = '%[1]s') * interval '24 hours', 'key', 'key_06awx1')
 RETURNING expires_at;
COMMIT;
`, account.UUID),
		"GET /v1/sessions/:id": lookUp + fmt.Sprintf(`SELECT id, account_id, livemode, status, form_type, customer_email, customer_name, reference_id, webhook_url, metadata, sections_completed, created_at, expires_at, accessed_at, completed_at, cancelled_at, last_activity_at, pdf_ready_at, erased_at, data_erased_at, customer_erased_at, created_by_kind, created_by
 FROM session WHERE id = '%s' AND account_id = '%s' AND livemode = false;
`, id.UUID, account.UUID),
	}
}

var tps = regexp.MustCompile(`tps = ([0-9.]+) \(without initial connection time\)`)

func (e *environment) pgbench(ctx context.Context, script string, clients int, seconds float64) (float64, error) {
	file := filepath.Join(e.Dir, "script.sql")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(e.Postgres.BinDir(), "pgbench"), "-n", "-M", "prepared", "-f", file,
		"-c", strconv.Itoa(clients), "-j", strconv.Itoa(min(clients, runtime.NumCPU())), "-T", strconv.Itoa(int(seconds)), e.DSN)
	out, err := cmd.CombinedOutput()
	found := tps.FindSubmatch(out)
	if err != nil || found == nil {
		return 0, fmt.Errorf("pgbench: %w\n%s", err, out)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}
