//go:build upgrade

// Package upgrade runs the previous release and this one side by side under traffic,
// as an upgrade and a way back do, and fails if a request fails or anything that was
// acknowledged is lost. `make check-upgrade` builds the previous release and runs it.
package upgrade

import (
	"context"
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/testkit"
	"candor/internal/testkit/client"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/process"
)

var (
	previous = flag.String("previous", "", "the previous release's program")
	lasting  = flag.Duration("for", 8*time.Second, "how long each phase lasts")
)

// scenario is one installation with two web processes and two workers.
type scenario struct {
	*testing.T
	env          process.Environment
	balancer     *balancer
	hooks        *hooktest.Receiver
	db           *db.DB
	traffic      *traffic
	webs         []*process.Candor
	workers      []*process.Candor
	all          []*process.Candor // with those that have ended
	slowestLeave time.Duration
}

// The schema goes from the previous release to this one and stays there. The processes
// go there, back, and there again, one after the other.
func TestUpgradeAndBack(t *testing.T) {
	if *previous == "" {
		t.Fatal("-previous names no program: make check-upgrade builds one")
	}
	current := process.Binary(t)
	s := &scenario{T: t, balancer: newBalancer(t)}
	s.env = process.WebEnvironment(t).With(
		"DATABASE_URL", dbtest.EmptyDSN(t), "CANDOR_BASE_URL", s.balancer.URL, "CANDOR_TRUSTED_PROXIES", "127.0.0.1,::1",
		"CANDOR_SHUTDOWN_DELAY", "1s", "CANDOR_RESCUE_AFTER", "30s",
		"CANDOR_RATE_PER_MINUTE", "1000000", "CANDOR_RATE_BURST", "1000000", "CANDOR_FORM_RATE_PER_MINUTE", "1000000")
	s.hooks = hooktest.NewReceiver(t, nil)
	s.run(*previous, "migrate")
	account := s.createAccount()
	s.hooks.SetSecret(account.TestWebhookSecret)
	s.traffic = newTraffic(s.balancer.URL, account)
	for range 2 {
		s.startWeb(*previous)
		s.startWorker(*previous)
	}
	s.traffic.start(context.Background())

	s.phase("previous release")
	s.migrate(current)
	s.phase("previous release on the new schema")
	s.replace(current)
	s.phase("this release")
	s.replace(*previous)
	s.phase("previous release again")
	s.replace(current)
	s.phase("this release again")
	s.traffic.end()
	s.settle(account)
	s.report()
	for _, p := range slices.Concat(s.webs, s.workers) {
		p.Stop()
	}
}

// run runs a command, which must succeed, and returns its output.
func (s *scenario) run(program string, args ...string) string {
	s.Helper()
	r := process.RunBinary(s.T, program, s.env, args...)
	if r.Code != 0 {
		s.Fatalf("candor %s: exit code %d\n%s%s", strings.Join(args, " "), r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// createAccount creates an account by the previous release. Its owner keeps the printed
// password.
func (s *scenario) createAccount() (a client.Account) {
	s.Helper()
	out := s.run(*previous, "account", "create", "--name", "Acme Loans", "--email", "staff@acme.example", "--plan", "enterprise",
		"--webhook-url", s.hooks.URL, "--json")
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		s.Fatal(err)
	}
	s.db = dbtest.Open(s.T, s.env["DATABASE_URL"])
	if _, err := s.db.Raw().ExecContext(s.Context(), `UPDATE staff_user SET must_change_password = false`); err != nil {
		s.Fatal(err)
	}
	return a
}

// phase lets the traffic run for a while.
func (s *scenario) phase(name string) {
	s.Helper()
	s.traffic.enter(name)
	<-time.After(*lasting)
	if failures := s.traffic.failed(); len(failures) > 20 {
		s.Fatalf("%s: too much fails:\n%s", name, strings.Join(failures[:20], "\n"))
	}
}

// migrate runs this release's migrations beside the previous release's processes, while
// a long transaction has read a table, as a backup does.
func (s *scenario) migrate(program string) {
	s.Helper()
	s.traffic.enter("migration")
	backup, err := s.db.Raw().BeginTxx(s.Context(), nil)
	if err != nil {
		s.Fatal(err)
	}
	if _, err := backup.ExecContext(s.Context(),
		`LOCK TABLE session, account, staff_user, webhook_endpoint IN ACCESS SHARE MODE`); err != nil {
		s.Fatal(err)
	}
	go func() {
		<-time.After(*lasting / 2)
		_ = backup.Rollback() // it changed nothing
	}()
	began := time.Now()
	s.run(program, "migrate")
	s.Logf("the migration took %s, of which a backup held it up for %s", time.Since(began).Round(time.Millisecond), *lasting/2)
}

func (s *scenario) startWeb(program string) {
	s.Helper()
	p := process.ServeBinary(s.T, program, s.env, "web")
	s.balancer.add(s.T, p)
	s.webs, s.all = append(s.webs, p), append(s.all, p)
}

func (s *scenario) startWorker(program string) {
	s.Helper()
	p := process.ServeBinary(s.T, program, s.env, "worker")
	s.workers, s.all = append(s.workers, p), append(s.all, p)
}

// replace starts processes of a program and stops the others, one after the other, by
// the steps of doc/operations.md.
func (s *scenario) replace(program string) {
	s.Helper()
	s.traffic.enter("to " + program)
	leaving, working := s.webs, s.workers
	s.webs, s.workers = nil, nil
	for _, former := range working {
		s.startWorker(program)
		former.Stop()
	}
	for _, former := range leaving {
		s.startWeb(program)
		began := time.Now()
		former.Stop()
		s.balancer.remove(s.T, former)
		s.slowestLeave = max(s.slowestLeave, time.Since(began))
	}
}

// settle waits until everything is delivered, and compares what is stored and what
// arrived with what was acknowledged.
func (s *scenario) settle(account client.Account) {
	s.Helper()
	testkit.Await(s.T, "everything is delivered", func() bool {
		var open int
		err := s.db.Raw().GetContext(context.Background(), &open, `
			SELECT (SELECT count(*) FROM delivery WHERE state <> 'delivered')
				+ (SELECT count(*) FROM river_job WHERE state NOT IN ('completed', 'discarded', 'cancelled') AND queue IN ('pdf', 'mail',
					'webhooks'))`)
		return err == nil && open == 0
	})
	s.checkEvents()
	s.checkSessions(account)
	s.Log(s.run(process.Binary(s.T), "verify"))
}

// checkEvents compares the events with the webhooks, whose signatures the receiver has
// checked.
func (s *scenario) checkEvents() {
	s.Helper()
	var events []struct {
		Sequence  int64
		Type      string
		SessionID string `db:"session_id"`
	}
	err := s.db.Raw().SelectContext(s.Context(), &events,
		`SELECT sequence, type, coalesce(session_id::text, '') AS session_id FROM event ORDER BY sequence`)
	if err != nil {
		s.Fatal(err)
	}
	type arrival struct{ ids, calls int }
	arrived, ids := map[int64]*arrival{}, map[string]bool{}
	calls := s.hooks.Requests()
	for _, call := range calls {
		if arrived[call.Sequence] == nil {
			arrived[call.Sequence] = &arrival{}
		}
		one := arrived[call.Sequence]
		one.calls++
		if !ids[call.DeliveryID()] {
			ids[call.DeliveryID()] = true
			one.ids++
		}
	}
	terminal := map[string]int{}
	twice := 0
	for i, e := range events {
		if e.Sequence != int64(i+1) {
			s.Fatalf("event %d has the sequence %d", i+1, e.Sequence)
		}
		switch one := arrived[e.Sequence]; {
		case one == nil:
			s.Errorf("event %d, %s, never arrived", e.Sequence, e.Type)
		case one.ids != 1:
			s.Errorf("event %d, %s, arrived with %d ids", e.Sequence, e.Type, one.ids)
		case one.calls > 1:
			twice++
		}
		switch e.Type {
		case "session.completed", "session.cancelled", "session.expired":
			terminal[e.SessionID]++
		}
	}
	for id, n := range terminal {
		if n != 1 {
			s.Errorf("session %s has %d last events", id, n)
		}
	}
	if len(arrived) != len(events) {
		s.Errorf("%d events arrived of %d", len(arrived), len(events))
	}
	if twice > 0 {
		s.Errorf("%d webhooks were sent twice, although no process was killed", twice)
	}
	s.Logf("%d events, all delivered, %d sent twice, %d sessions with one last event each", len(events), twice, len(terminal))
}

// checkSessions compares sessions with what was acknowledged.
func (s *scenario) checkSessions(account client.Account) {
	s.Helper()
	api := process.NewPartner(s.T, s.balancer.URL, account.TestKey)
	documents, submitted := 0, 0
	for id, known := range s.traffic.sessions {
		status := api.Status(id)
		if status == "" || known.submitted && status != "completed" {
			s.Errorf("session %s is %q, submitted: %t", id, status, known.submitted)
		}
		if !known.submitted {
			continue
		}
		submitted++
		_, _, content := api.Do(http.MethodGet, "/sessions/"+id+"/data", "")
		var data struct {
			Data struct {
				Documents []struct{} `json:"documents"`
			} `json:"data"`
		}
		if err := json.Unmarshal(content, &data); err != nil || known.documents > 0 && len(data.Data.Documents) != known.documents {
			s.Errorf("session %s has %d documents, %d were uploaded: %v", id, len(data.Data.Documents), known.documents, err)
		}
		documents += known.documents
	}
	s.Logf("%d sessions, %d submitted, %d documents: all there", len(s.traffic.sessions), submitted, documents)
}

// report prints the figures, and fails the test if a request failed.
func (s *scenario) report() {
	s.Helper()
	f := s.traffic
	total := 0
	for _, kind := range slices.Sorted(maps.Keys(f.requests)) {
		total += f.requests[kind]
		s.Logf("%8d  %-16s longest %s", f.requests[kind], kind, f.longest[kind].Round(time.Millisecond))
	}
	failures := f.failed()
	s.Logf(
		"%d requests, %d failed, %d connections refused; longest pause between two responses %s; longest end of a web process %s",
		total, len(failures), s.balancer.refused.Load(), f.pause.Round(time.Millisecond), s.slowestLeave.Round(time.Millisecond))
	for i, one := range failures {
		if i == 30 {
			break
		}
		s.Error(one)
	}
	for _, p := range s.all {
		logged := slices.DeleteFunc(strings.Split(p.Stdout.String()+p.Stderr.String(), "\n"), func(line string) bool {
			return !strings.Contains(line, "level=ERROR")
		})
		switch {
		case len(logged) == 0:
		case p.Program() == *previous: // such as a job that only this release knows
			s.Logf("a process of the previous release logged %d errors, the first: %s", len(logged), logged[0])
		default:
			s.Errorf("a process of this release logged %d errors, the first: %s", len(logged), logged[0])
		}
	}
	if n := s.balancer.refused.Load(); n > 0 {
		s.Errorf("%d connections were refused: a process left before the balancer knew", n)
	}
}
