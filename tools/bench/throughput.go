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
	"candor/internal/testkit/client"
)

// newSession is the body of the request that creates a session.
const newSession = `{"form_type":"financial_statement","customer_email":"jessica@example.com","customer_name":"Jessica Example","reference_id":"LOAN-2026-001","metadata":{"branch":"12"}}`

// throughput compares POST /sessions and GET /sessions/:id over HTTP with pgbench
// running the same statements on the same database.
func (b *bench) throughput(ctx context.Context, e *environment) error {
	auth := "Authorization: Bearer " + e.Account.TestKey
	created, err := e.createSession(ctx, newSession)
	if err != nil {
		return err
	}
	scripts := e.scripts(created.ID)
	for _, load := range []struct {
		name    string
		request []byte
		status  int
		least   float64 // of pgbench's rate
	}{
		{"POST /v1/sessions", client.Request("POST", e.Addr, "/v1/sessions", newSession, auth), http.StatusCreated, 0.60},
		{"GET /v1/sessions/:id", client.Request("GET", e.Addr, "/v1/sessions/"+created.ID.String(), "", auth), http.StatusOK, 0.30},
	} {
		for _, clients := range []int{8, 32} {
			if err := b.compare(ctx, e, load.name, scripts[load.name], clients, load.request, load.status, load.least); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare runs pgbench and the service in turn.
func (b *bench) compare(ctx context.Context, e *environment, name, script string, clients int, request []byte, status int,
	least float64) error {
	yardstick := subject{used: e.cpu, load: func() (float64, error) { return e.pgbench(ctx, script, clients, span) }}
	service := subject{used: e.cpu, load: func() (float64, error) { return rateOf(ctx, e.Addr, clients, request, status) }}
	if err := inTurn(&yardstick, &service); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.add(row{
		what: fmt.Sprintf("%s, %d clients", name, clients),
		figure: fmt.Sprintf("%.0f requests/s; CPU of candor %.0f µs, of PostgreSQL %.0f µs", service.rate,
			micros(service.cpu.candor), micros(service.cpu.postgres)),
		yardstick: fmt.Sprintf("pgbench %.0f tps; CPU of PostgreSQL %.0f µs", yardstick.rate, micros(yardstick.cpu.postgres)),
		ratio:     percent(service.rate / yardstick.rate), target: "≥ " + percent(least), met: service.rate/yardstick.rate >= least,
	})
	return nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func percent(ratio float64) string { return fmt.Sprintf("%.0f %%", ratio*100) }

// session is the part of a session that this program reads.
type session struct {
	ID  domain.SessionID `json:"id"`
	URL string           `json:"session_url"`
}

func (e *environment) createSession(ctx context.Context, body string) (*session, error) {
	var out session
	return &out, exchange(ctx, "http://"+e.Addr+"/v1/sessions", e.Account.TestKey, json.RawMessage(body), &out)
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
INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, customer_name, reference_id, webhook_url,
	metadata, created_at, expires_at, created_by_kind, created_by)
 VALUES (gen_random_uuid(), '%[1]s', false, 'pending', 'financial_statement', 'jessica@example.com', 'Jessica Example',
	'LOAN-2026-001', NULL, '{"branch":"12"}', now(),
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

func (e *environment) pgbench(ctx context.Context, script string, clients int, span time.Duration) (float64, error) {
	file := filepath.Join(e.Dir, "script.sql")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(e.Postgres.BinDir(), "pgbench"), "-n", "-M", "prepared", "-f", file,
		"-c", strconv.Itoa(clients), "-j", strconv.Itoa(min(clients, runtime.NumCPU())), "-T", strconv.Itoa(int(span.Seconds())), e.DSN)
	out, err := cmd.CombinedOutput()
	found := tps.FindSubmatch(out)
	if err != nil || found == nil {
		return 0, fmt.Errorf("pgbench: %w\n%s", err, out)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}
