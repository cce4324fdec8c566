package jobs_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/jobs"
)

// tally is what of n events arrived.
type tally struct{ lost, duplicated, twoIDs, unsigned int }

// count holds what arrived against the n events that should have, by their
// bodies, each of which has its own.
func count(t testing.TB, all []received, n int) tally {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	var out tally
	ids := map[string]map[string]bool{}
	for _, r := range all {
		id := r.header.Get("X-Webhook-Id")
		if ids[r.body] == nil {
			ids[r.body] = map[string]bool{}
		} else {
			out.duplicated++
		}
		ids[r.body][id] = true
		standard := base64.StdEncoding.EncodeToString(sign(key, id+"."+r.header.Get("Webhook-Timestamp")+"."+r.body))
		if r.header.Get("X-Webhook-Signature") != hex.EncodeToString(sign([]byte(secret), r.body)) || r.header.Get("Webhook-Signature") != "v1,"+standard {
			out.unsigned++
		}
	}
	for _, under := range ids {
		if len(under) > 1 {
			out.twoIDs++
		}
	}
	out.lost = n - len(ids)
	t.Logf("%d events: lost %d, duplicated %d, with two ids %d, wrong signatures %d of %d", n, out.lost, out.duplicated, out.twoIDs, out.unsigned, len(all))
	return out
}

// expectAll checks that n events arrived, none under two ids or signed
// wrongly, and with at most so many duplicates.
func expectAll(t testing.TB, all []received, n, duplicates int) {
	t.Helper()
	got := count(t, all, n)
	if got.lost != 0 || got.twoIDs != 0 || got.unsigned != 0 || got.duplicated > duplicates {
		t.Errorf("of %d events: %+v, want at most %d duplicates and no other fault", n, got, duplicates)
	}
}

// Two workers on one database never attempt a delivery twice.
func TestTwoDispatchers(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newBench(t)
	hooks := []*receiver{newReceiver(t, nil), newReceiver(t, nil), newReceiver(t, nil)}
	b.start()
	b.start()
	const rounds, sessions = 10, 20
	var emitting sync.WaitGroup
	for _, hook := range hooks {
		group := b.newSessions(hook.URL, sessions)
		emitting.Go(func() {
			for i := range rounds {
				b.emitAll(group, i+1)
			}
		})
	}
	emitting.Wait()
	b.eventually("every delivery", func() bool { return b.delivered() == len(hooks)*rounds*sessions })
	for _, hook := range hooks {
		expectAll(t, hook.requests(), rounds*sessions, 0)
	}
	if n := b.count("SELECT count(*) FROM delivery_attempt"); n != len(hooks)*rounds*sessions {
		t.Errorf("%d attempts are recorded", n)
	}
}

// The clock jumps an hour ahead while attempts run, and back: nothing is
// attempted twice, due retries come once, and nothing is lost.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var shift atomic.Int64
	clock := domain.Clock(func() time.Time { return time.Now().Add(time.Duration(shift.Load())) })
	release := make(chan struct{})
	hook := newReceiver(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n <= jobs.PerNew {
			hang(release)(n, w, r)
		}
		if r.URL.Path == "/later" && r.Header.Get("X-Webhook-Retry-Count") == "" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	moving := func(c *jobs.Config) { c.Clock = clock }
	b.start(patient(t), moving, schedule(t, "0s,30m,30m"))
	b.start(patient(t), moving, schedule(t, "0s,30m,30m"))
	b.emitAll(b.newSessions(hook.URL, 40), 1)
	b.received(hook, jobs.PerNew)
	shift.Store(int64(time.Hour)) // with these running, and the rest claimed
	b.emitAllAt(b.newSessions(hook.URL+"/later", 10), 2, clock.Now())
	close(release)
	b.eventually("all but the retries", func() bool {
		return b.delivered() == 40 && b.count("SELECT count(*) FROM delivery WHERE state = 'pending' AND attempts = 1") == 10
	})
	expectAll(t, hook.requests(), 50, 0)
	shift.Store(-int64(time.Hour))
	// The retries are due by the clock of then; new events go at once.
	b.emitAllAt(b.newSessions(hook.URL, 5), 3, clock.Now())
	b.eventually("events after the jump back", func() bool { return b.delivered() == 45 })
	shift.Store(int64(2 * time.Hour))
	b.eventually("the retries", func() bool { return b.delivered() == 55 })
	expectAll(t, hook.requests(), 55, 10)
	if n := b.count("SELECT count(*) FROM delivery_attempt"); n != 65 {
		t.Errorf("%d attempts are recorded, want 65", n)
	}
}

// All connections of a small pool are busy for a while: deliveries wait, and
// come.
func TestPoolExhausted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, nil)
	small, err := db.Open(b.ctx, b.dsn, db.Options{MaxOpenConns: 2})
	b.ok(err)
	t.Cleanup(func() { b.ok(small.Close()) }) // after the worker's stop
	b.start(func(c *jobs.Config) { c.DB = small })
	b.emitAll(b.newSessions(hook.URL, 5), 1)
	b.received(hook, 5)
	var held []interface{ Close() error }
	for range 2 {
		conn, err := small.Raw().Conn(b.ctx)
		b.ok(err)
		held = append(held, conn)
	}
	b.emitAll(b.newSessions(hook.URL, 50), 2)
	b.eventually("the wait for a connection", func() bool { return small.Stats().WaitCount > 2 })
	if n := len(hook.requests()); n > 5 {
		t.Errorf("%d webhooks without a connection", n-5)
	}
	for _, conn := range held {
		b.ok(conn.Close())
	}
	b.eventually("every delivery", func() bool { return b.delivered() == 55 })
	expectAll(t, hook.requests(), 55, 0)
}

// A worker that has one connection is slow, not stuck: a claim, a record and a
// look-out never hold one while they wait for another.
func TestPoolOfOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one, err := db.Open(b.ctx, b.dsn, db.Options{MaxOpenConns: 1})
	b.ok(err)
	t.Cleanup(func() { b.ok(one.Close()) }) // after the worker's stop
	b.start(func(c *jobs.Config) { c.DB = one })
	var hooks []*receiver
	var sessions []*domain.Session
	for range 10 {
		hook := newReceiver(t, nil)
		hooks = append(hooks, hook)
		sessions = append(sessions, b.newSessions(hook.URL, 10)...)
	}
	b.emitAll(sessions, 1)
	b.eventually("every delivery", func() bool { return b.delivered() == 100 })
	var all []received
	for _, hook := range hooks {
		all = append(all, hook.requests()...)
	}
	expectAll(t, all, 100, 0)
}

// Two workers whose clocks are two hours apart: claims are counted by the
// database's clock, so they don't come into each other's way. Only when an
// attempt is due is by each one's own clock.
func TestClocksDisagree(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newBench(t)
	hook := newReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		<-time.After(2 * time.Millisecond)
		if r.URL.Path == "/later" && r.Header.Get("X-Webhook-Retry-Count") == "" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	for _, shift := range []time.Duration{time.Hour, -time.Hour} {
		clock := domain.Clock(func() time.Time { return time.Now().Add(shift) })
		b.start(func(c *jobs.Config) { c.Clock = clock }, schedule(t, "0s,3h"))
	}
	// Due by both clocks, and by the one that is ahead alone.
	b.emitAllAt(b.newSessions(hook.URL, 100), 1, now().Add(-2*time.Hour))
	b.emitAllAt(b.newSessions(hook.URL, 100), 2, now())
	b.emitAllAt(b.newSessions(hook.URL+"/later", 20), 3, now().Add(-2*time.Hour))
	b.eventually("all but the retries", func() bool {
		return b.delivered() == 200 && b.count("SELECT count(*) FROM delivery WHERE state = 'pending' AND attempts = 1") == 20
	})
	expectAll(t, hook.requests(), 220, 0)
	// Whoever failed, the other's clock is at most two hours ahead of its own.
	if n := b.count("SELECT count(*) FROM delivery WHERE next_attempt_at < now() + interval '119 minutes' AND state = 'pending'"); n != 0 {
		t.Errorf("%d retries are due earlier than their schedule less the clock's error", n)
	}
}

// Every connection to the database is cut again and again during deliveries.
func TestConnectionsCut(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newBench(t)
	hook := newReceiver(t, nil)
	b.start(func(c *jobs.Config) { c.RescueAfter = time.Second })
	const rounds, sessions = 6, 40
	group := b.newSessions(hook.URL, sessions)
	for i := range rounds {
		b.emitAll(group, i+1)
		b.received(hook, (i+1)*sessions/2)
		_, err := b.db.Raw().ExecContext(b.ctx, `
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		b.ok(err)
	}
	// A claim whose answer was cut off holds its deliveries until it ends.
	_, err := b.db.Raw().ExecContext(b.ctx, "UPDATE delivery SET lease_until = now() WHERE lease_until IS NOT NULL AND state = 'pending'")
	b.ok(err)
	b.eventually("every delivery", func() bool { return b.delivered() == rounds*sessions })
	expectAll(t, hook.requests(), rounds*sessions, rounds*sessions/10)
	b.db.Raw().SetMaxIdleConns(0) // closing the pool would stumble over those that were cut
}

// A receiver that takes the event and cuts the connection gets it again under
// the same id.
func TestReceiverCutsTheConnection(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Webhook-Retry-Count") == "" {
			panic(http.ErrAbortHandler)
		}
	})
	b.start(schedule(t, "0s,20ms,20ms"))
	b.emitAll(b.newSessions(hook.URL, 30), 1)
	b.eventually("every delivery", func() bool { return b.delivered() == 30 })
	expectAll(t, hook.requests(), 30, len(hook.requests()))
	if n := b.count("SELECT count(*) FROM delivery_attempt WHERE number = 1 AND error_class = 'protocol'"); n != 30 {
		t.Errorf("%d attempts are recorded as cut off, want 30", n)
	}
}

// Stop with a hundred attempts running: all of them end, are recorded once,
// and nothing is lost.
func TestStopDrainsAHundred(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w, hooks, release := b.hundredRunning()
	time.AfterFunc(200*time.Millisecond, func() { close(release) })
	stopWithin(b, w, 10*time.Second)
	if n := b.count("SELECT count(*) FROM delivery_attempt"); n != 100 || b.delivered() != 100 {
		t.Errorf("%d attempts recorded and %d delivered after the drain, want 100", n, b.delivered())
	}
	b.expectRest(hooks, 0)
}

// Stop with too little time: what was cut off is attempted again by the next
// process, at once and under the same id.
func TestStopCutsAHundred(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w, hooks, release := b.hundredRunning()
	stopWithin(b, w, 50*time.Millisecond)
	if n := b.count("SELECT count(*) FROM delivery_attempt"); n != 0 {
		t.Errorf("%d attempts recorded, want none", n)
	}
	if n := b.count("SELECT count(*) FROM delivery WHERE lease_until IS NOT NULL"); n != 0 {
		t.Errorf("%d deliveries are still claimed", n)
	}
	close(release)
	b.expectRest(hooks, 100)
}

// hundredRunning starts a worker with a hundred attempts at 25 endpoints that
// wait for release, and as many deliveries claimed behind them.
func (b *bench) hundredRunning() (*jobs.Worker, []*receiver, chan struct{}) {
	b.Helper()
	release := make(chan struct{})
	hooks := make([]*receiver, 25)
	var sessions []*domain.Session
	for i := range hooks {
		hooks[i] = newReceiver(b.TB, hang(release))
		sessions = append(sessions, b.newSessions(hooks[i].URL, 2*jobs.PerNew)...)
	}
	b.emitAll(sessions, 1)
	w := b.worker(patient(b.TB))
	b.ok(w.Start(b.ctx))
	for _, hook := range hooks {
		b.received(hook, jobs.PerNew)
	}
	return w, hooks, release
}

// expectRest has the next process deliver the rest.
func (b *bench) expectRest(hooks []*receiver, duplicates int) {
	b.Helper()
	b.start()
	b.eventually("every delivery", func() bool { return b.delivered() == 200 })
	var all []received
	for _, hook := range hooks {
		all = append(all, hook.requests()...)
	}
	expectAll(b, all, 200, duplicates)
	if n := b.count("SELECT count(*) FROM delivery_attempt"); n != 200 {
		b.Errorf("%d attempts are recorded, want 200", n)
	}
}

// lines is a log that a test can look into.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds a line.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

// What was answered is recorded once the database is back, however often that
// failed, and isn't sent again meanwhile, though its claim has ended.
func TestRecordsOnceTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, nil)
	log := &lines{}
	b.start(func(c *jobs.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	_, err := b.db.Raw().ExecContext(b.ctx, "ALTER TABLE delivery_attempt RENAME TO away")
	b.ok(err)
	b.emitAll(b.newSessions(hook.URL, 20), 1)
	b.received(hook, 20)
	_, err = b.db.Raw().ExecContext(b.ctx, "UPDATE delivery SET lease_until = now()")
	b.ok(err)
	b.eventually("several tries", func() bool { return log.count("record webhook attempts") >= 5 })
	_, err = b.db.Raw().ExecContext(b.ctx, "ALTER TABLE away RENAME TO delivery_attempt")
	b.ok(err)
	b.eventually("every record", func() bool { return b.delivered() == 20 })
	expectAll(t, hook.requests(), 20, 0)
}

// An attempt that the database refuses doesn't hold up the others' records.
func TestRefusedRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/odd" {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	_, err := b.db.Raw().ExecContext(b.ctx, "ALTER TABLE delivery_attempt ADD CHECK (status_code <> 418)")
	b.ok(err)
	b.start(schedule(t, "0s"))
	b.emitAll(append(b.newSessions(hook.URL+"/odd", 1), b.newSessions(hook.URL, 30)...), 1)
	b.eventually("the others' records", func() bool { return b.delivered() == 30 })
	if n := len(hook.requests()); n != 31 {
		t.Errorf("%d requests, want 31: the refused one's claim hasn't ended", n)
	}
}

// Stop comes to an end though the database doesn't answer.
func TestStopWithoutDatabase(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, nil)
	w := b.worker()
	b.ok(w.Start(b.ctx))
	_, err := b.db.Raw().ExecContext(b.ctx, "ALTER TABLE delivery_attempt RENAME TO away")
	b.ok(err)
	b.emitAll(b.newSessions(hook.URL, 400), 1) // more than the recorder takes
	b.received(hook, 260)
	ctx, cancel := context.WithTimeout(b.ctx, 100*time.Millisecond)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- w.Stop(ctx) }()
	select {
	case err := <-stopped:
		b.ok(err)
	case <-time.After(patience):
		t.Fatal("Stop doesn't end")
	}
	_, err = b.db.Raw().ExecContext(b.ctx, "ALTER TABLE away RENAME TO delivery_attempt")
	b.ok(err)
	_, err = b.db.Raw().ExecContext(b.ctx, "UPDATE delivery SET lease_until = NULL") // as in two minutes
	b.ok(err)
	b.start()
	b.eventually("every delivery", func() bool { return b.delivered() == 400 })
	expectAll(t, hook.requests(), 400, 400)
}
