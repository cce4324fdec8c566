package main_test

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/platform/devpg"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/process"
	"candor/jobs"
)

// faultHarness is workers to be killed, and a database that gets events.
type faultHarness struct {
	*testing.T
	env     process.Environment
	db      *db.DB
	outbox  *outbox.Outbox
	account domain.AccountID
	secret  string
	hooks   []*hooktest.Receiver
	workers []*process.Candor
}

// newFaultHarness has as many receivers, which call hold before they answer.
func newFaultHarness(t *testing.T, dsn string, receivers int, hold func(int, http.ResponseWriter, *http.Request)) *faultHarness {
	t.Helper()
	// A claim lasts 20 s at least; what a worker was at when it was killed is
	// free once these tests end the claims (abandon).
	b := &faultHarness{T: t, env: process.NewEnvironment(t).With("CANDOR_RESCUE_AFTER", "1s", "CANDOR_SWEEP_INTERVAL", "1s",
		"DATABASE_URL", dsn)}
	for range receivers {
		b.hooks = append(b.hooks, hooktest.NewReceiver(t, hold))
	}
	a := process.CreateAccount(t, b.env)
	b.secret = a.TestWebhookSecret
	var err error
	if b.account, err = domain.ParseAccountID(a.AccountID); err != nil {
		t.Fatal(err)
	}
	if b.db, err = db.Open(t.Context(), dsn, db.Options{MaxOpenConns: 4}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.db.Close() }) // its server may be gone
	inserter, err := jobs.NewInserter(b.db, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	b.outbox = outbox.New(inserter, nil)
	return b
}

// start starts n workers.
func (b *faultHarness) start(n int) {
	b.Helper()
	for range n {
		b.workers = append(b.workers, process.Launch(b.T, b.env, "worker"))
	}
	for _, p := range b.workers {
		p.WaitFor(process.ReadyLine)
	}
}

// abandon kills all workers at once, and passes the time after which their
// claims end.
func (b *faultHarness) abandon() {
	b.Helper()
	for _, p := range b.workers {
		p.Signal(syscall.SIGKILL)
	}
	for _, p := range b.workers {
		p.Wait()
	}
	b.workers = nil
	b.persist(func(ctx context.Context) error {
		_, err := b.db.Raw().ExecContext(ctx,
			`UPDATE delivery SET lease_until = now() WHERE lease_until IS NOT NULL AND state = 'pending'`)
		return err
	})
}

// persist tries until the database takes it.
func (b *faultHarness) persist(work func(context.Context) error) {
	b.Helper()
	var last error
	testkit.Await(b.T, "PostgreSQL takes a change", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		last = work(ctx)
		if last != nil && db.IsRefused(last) {
			b.Error(last)
			return true
		}
		return last == nil
	})
}

// arrived is what the receivers got.
func (b *faultHarness) arrived() (all []hooktest.Request) {
	for _, hook := range b.hooks {
		all = append(all, hook.Requests()...)
	}
	return all
}

// emit records n events for each receiver, each of a new session. One whose commit wasn't
// acknowledged is recorded again, under the next number: the database says in
// the end which events there are.
func (b *faultHarness) emit(n int) {
	b.Helper()
	b.persist(func(ctx context.Context) error {
		return b.db.InTx(ctx, func(tx *db.Tx) error {
			for _, hook := range slices.Repeat(b.hooks, n) {
				s, err := domain.NewSession{FormType: domain.FinancialStatement, CustomerEmail: "zoe@example.com", WebhookURL: hook.URL}.
					Session(domain.Scope{AccountID: b.account}, domain.SystemClock.Now(), func(string) error { return nil }, nil)
				if err != nil {
					return err
				}
				if err := tx.InsertSession(ctx, s); err != nil {
					return err
				}
				payload := domain.SectionCompletedPayload{SessionID: s.ID, Section: "income", SectionNumber: 1, SectionsTotal: 7}
				if err := b.outbox.SessionEvent(ctx, tx, s, payload, domain.SystemClock.Now()); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// deliveries counts the deliveries that match the condition.
func (b *faultHarness) deliveries(condition string) (n int) {
	b.Helper()
	if err := b.db.Raw().GetContext(b.Context(), &n, `SELECT count(*) FROM delivery WHERE `+condition); err != nil {
		b.Fatal(err)
	}
	return n
}

// settle waits until nothing is pending, and holds what arrived against the
// events that were committed.
func (b *faultHarness) settle(duplicates int) {
	b.Helper()
	testkit.Await(b.T, "no delivery is pending", func() bool {
		var pending int
		err := b.db.Raw().GetContext(context.Background(), &pending, `SELECT count(*) FROM delivery WHERE state <> 'delivered'`)
		return err == nil && pending == 0
	})
	var sequences []int64
	if err := b.db.Raw().SelectContext(b.Context(), &sequences,
		`SELECT sequence FROM event WHERE type = 'session.section_completed' ORDER BY sequence`); err != nil {
		b.Fatal(err)
	}
	for i, sequence := range sequences {
		if sequence != int64(i+1) {
			b.Errorf("event %d has the sequence %d", i+1, sequence)
		}
	}
	got := hooktest.Count(b.secret, b.arrived())
	b.Logf("%d events, of which arrived: %+v", len(sequences), got)
	if got.Events != len(sequences) || got.TwoIDs+got.Unsigned != 0 || got.Duplicated > duplicates {
		b.Errorf("%+v of %d events, with at most %d duplicates expected", got, len(sequences), duplicates)
	}
}

// kill -9 of both workers, four times during deliveries, and PostgreSQL ended
// without ceremony in between. make soak does the same for longer, with more kinds of faults.
func TestDrillKilledWorkersAndPostgres(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := filepath.Join(openDir(t), "pg")
	postgres := startPostgres(t, dir)
	// Answers take a moment, so that there is always something to cut off.
	b := newFaultHarness(t, postgres.DSN("candor"), 8, func(int, http.ResponseWriter, *http.Request) {
		<-time.After(5 * time.Millisecond)
	})
	b.start(2)
	const rounds, batches = 5, 10
	total := 0
	for round := range rounds {
		var emitting sync.WaitGroup
		emitting.Go(func() {
			for range batches {
				b.emit(1)
			}
		})
		total += batches * len(b.hooks)
		testkit.Await(t, "deliveries go on", func() bool {
			return hooktest.Count(b.secret, b.arrived()).Events >= total-batches*len(b.hooks)/2
		})
		if round == rounds/2 {
			quit(t, postgres)
			postgres = startPostgres(t, dir)
		} else {
			b.abandon()
			b.start(2)
		}
		emitting.Wait()
	}
	b.settle(total) // duplicates are what a kill costs
	for _, p := range b.workers {
		p.Stop()
	}
}

// quit is pg_ctl stop -m immediate.
func quit(t *testing.T, postgres *devpg.Server) {
	t.Helper()
	if err := syscall.Kill(postgres.PID(), syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if err := postgres.Stop(); err != nil {
		t.Fatal(err)
	}
}

// SIGTERM with a hundred attempts running: each ends, is recorded and isn't
// made again; what waits behind them is the next worker's.
func TestShutdownWithAHundredAttempts(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	const receivers, running = 25, 100 // 4 at each: as many as a new endpoint gets
	release := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	t.Cleanup(letGo)
	b := newFaultHarness(t, process.NewEnvironment(t)["DATABASE_URL"], receivers, hooktest.Hang(release))
	b.emit(2 * running / receivers)
	b.start(1)
	testkit.Await(t, "a hundred attempts run", func() bool { return len(b.arrived()) == running })
	b.workers[0].Signal(syscall.SIGTERM)
	// An attempt that ended before the claims did would make room for another.
	testkit.Await(t, "what isn't begun is given back", func() bool {
		return b.deliveries(`lease_until IS NOT NULL`) == running
	})
	letGo()
	if state := b.workers[0].Wait(); state.ExitCode() != 0 {
		t.Errorf("the worker ended with %s", state)
	}
	if delivered, claimed := b.deliveries(`state = 'delivered'`), b.deliveries(`lease_until IS NOT NULL`); delivered != running ||
		claimed != 0 {
		t.Errorf("after the shutdown %d are delivered and %d claimed, want %d and 0", delivered, claimed, running)
	}
	b.workers = nil
	b.start(1)
	b.settle(0)
	b.workers[0].Stop()
}
