package delivery_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
)

// expectAll checks that n events arrived, none with two ids or a wrong signature,
// and with at most that many duplicates.
func expectAll(t testing.TB, all []hooktest.Request, n, duplicates int) {
	t.Helper()
	got := hooktest.Count(hooktest.Secret, all)
	t.Logf("%d requests of %d events: %+v", len(all), n, got)
	if got.Events != n || got.TwoIDs != 0 || got.Unsigned != 0 || got.Duplicated > duplicates {
		t.Errorf("of %d events: %+v, want at most %d duplicates and no other fault", n, got, duplicates)
	}
}

// Two dispatchers on one database never attempt a delivery twice.
func TestTwoDispatchers(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	hooks := []*hooktest.Receiver{hooktest.NewReceiver(t, nil), hooktest.NewReceiver(t, nil), hooktest.NewReceiver(t, nil)}
	h.start()
	h.start()
	const rounds, sessions = 10, 20
	var emitting sync.WaitGroup
	for _, hook := range hooks {
		group := h.newSessions(hook.URL, sessions)
		emitting.Go(func() {
			for i := range rounds {
				h.emitAll(group, i+1)
			}
		})
	}
	emitting.Wait()
	testkit.Await(h, "every delivery", func() bool { return h.delivered() == len(hooks)*rounds*sessions })
	for _, hook := range hooks {
		expectAll(t, hook.Requests(), rounds*sessions, 0)
	}
	if n := h.Count("SELECT count(*) FROM delivery_attempt"); n != len(hooks)*rounds*sessions {
		t.Errorf("%d attempts are recorded", n)
	}
}

// The clock jumps an hour ahead while attempts run, and back: nothing is attempted
// twice, due retries are made once, and nothing is lost.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var shift atomic.Int64
	clock := domain.Clock(func() time.Time { return time.Now().Add(time.Duration(shift.Load())) })
	release := make(chan struct{})
	hook := hooktest.NewReceiver(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n <= delivery.PerNew {
			hooktest.Hang(release)(n, w, r)
		}
		if r.URL.Path == "/later" && r.Header.Get("X-Webhook-Retry-Count") == "" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	moving := func(c *delivery.Config) { c.Clock = clock }
	h.start(patient(t), moving, schedule(t, "0s,30m,30m"))
	h.start(patient(t), moving, schedule(t, "0s,30m,30m"))
	h.emitAll(h.newSessions(hook.URL, 40), 1)
	hook.Wait("", delivery.PerNew)
	shift.Store(int64(time.Hour)) // while these run and the rest is claimed
	h.emitAllAt(h.newSessions(hook.URL+"/later", 10), 2, clock.Now())
	close(release)
	testkit.Await(h, "all but the retries", func() bool {
		return h.delivered() == 40 && h.Count("SELECT count(*) FROM delivery WHERE state = 'pending' AND attempts = 1") == 10
	})
	expectAll(t, hook.Requests(), 50, 0)
	shift.Store(-int64(time.Hour))
	// The retries are due by the former clock. New events are sent at once.
	h.emitAllAt(h.newSessions(hook.URL, 5), 3, clock.Now())
	testkit.Await(h, "events after the jump back", func() bool { return h.delivered() == 45 })
	shift.Store(int64(2 * time.Hour))
	testkit.Await(h, "the retries", func() bool { return h.delivered() == 55 })
	expectAll(t, hook.Requests(), 55, 10)
	if n := h.Count("SELECT count(*) FROM delivery_attempt"); n != 65 {
		t.Errorf("%d attempts are recorded, want 65", n)
	}
}

// If all connections of a small pool are busy for a while, deliveries wait and
// then arrive.
func TestPoolExhausted(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, nil)
	small, err := db.Open(h.Ctx, h.DSN, db.Options{MaxOpenConns: 2})
	h.OK(err)
	t.Cleanup(func() { h.OK(small.Close()) }) // after the worker's stop
	h.start(func(c *delivery.Config) { c.DB = small })
	h.emitAll(h.newSessions(hook.URL, 5), 1)
	hook.Wait("", 5)
	var held []interface{ Close() error }
	for range 2 {
		conn, err := small.Raw().Conn(h.Ctx)
		h.OK(err)
		held = append(held, conn)
	}
	h.emitAll(h.newSessions(hook.URL, 50), 2)
	testkit.Await(h, "the wait for a connection", func() bool { return small.Raw().Stats().WaitCount > 2 })
	if n := len(hook.Requests()); n > 5 {
		t.Errorf("%d webhooks without a connection", n-5)
	}
	for _, conn := range held {
		h.OK(conn.Close())
	}
	testkit.Await(h, "every delivery", func() bool { return h.delivered() == 55 })
	expectAll(t, hook.Requests(), 55, 0)
}

// A dispatcher with one connection is slow, not stuck: claiming, recording and
// polling never hold one connection while they wait for another.
func TestPoolOfOne(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	one, err := db.Open(h.Ctx, h.DSN, db.Options{MaxOpenConns: 1})
	h.OK(err)
	t.Cleanup(func() { h.OK(one.Close()) }) // after the worker's stop
	h.start(func(c *delivery.Config) { c.DB = one })
	var hooks []*hooktest.Receiver
	var sessions []*domain.Session
	for range 10 {
		hook := hooktest.NewReceiver(t, nil)
		hooks = append(hooks, hook)
		sessions = append(sessions, h.newSessions(hook.URL, 10)...)
	}
	h.emitAll(sessions, 1)
	testkit.Await(h, "every delivery", func() bool { return h.delivered() == 100 })
	var all []hooktest.Request
	for _, hook := range hooks {
		all = append(all, hook.Requests()...)
	}
	expectAll(t, all, 100, 0)
}

// Two dispatchers whose clocks are two hours apart don't disturb each other: claims
// end by the database's clock. Only when an attempt is due depends on their own.
func TestClocksDisagree(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		<-time.After(2 * time.Millisecond)
		if r.URL.Path == "/later" && r.Header.Get("X-Webhook-Retry-Count") == "" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	for _, shift := range []time.Duration{time.Hour, -time.Hour} {
		clock := domain.Clock(func() time.Time { return time.Now().Add(shift) })
		h.start(func(c *delivery.Config) { c.Clock = clock }, schedule(t, "0s,3h"))
	}
	// Due by both clocks, and only by the one ahead.
	h.emitAllAt(h.newSessions(hook.URL, 100), 1, hooktest.Now().Add(-2*time.Hour))
	h.emitAllAt(h.newSessions(hook.URL, 100), 2, hooktest.Now())
	h.emitAllAt(h.newSessions(hook.URL+"/later", 20), 3, hooktest.Now().Add(-2*time.Hour))
	testkit.Await(h, "all but the retries", func() bool {
		return h.delivered() == 200 && h.Count("SELECT count(*) FROM delivery WHERE state = 'pending' AND attempts = 1") == 20
	})
	expectAll(t, hook.Requests(), 220, 0)
	// The other dispatcher's clock is at most two hours ahead.
	if n := h.Count(
		"SELECT count(*) FROM delivery WHERE next_attempt_at < now() + interval '119 minutes' AND state = 'pending'"); n != 0 {
		t.Errorf("%d retries are due earlier than their schedule less the clock's error", n)
	}
}

// All of a dispatcher's connections to the database are cut repeatedly during
// deliveries.
func TestConnectionsCut(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, nil)
	pool, err := db.Open(h.Ctx, h.DSN+"&application_name=dispatcher", db.Options{})
	h.OK(err)
	t.Cleanup(func() { _ = pool.Close() }) // it reports that its connections were cut
	h.start(func(c *delivery.Config) { c.DB, c.RescueAfter = pool, time.Second })
	const rounds, sessions = 6, 40
	group := h.newSessions(hook.URL, sessions)
	cut := 0
	for i := range rounds {
		h.emitAll(group, i+1)
		hook.Wait("", (i+1)*sessions/2)
		cut += h.Count(
			"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'dispatcher'")
	}
	if cut < rounds {
		t.Errorf("%d connections were cut, want %d or more", cut, rounds)
	}
	// The recorder's connections were cut, too: without this pause its attempts would be made again.
	testkit.Await(h, "what was received is recorded", func() bool {
		return h.delivered() == hooktest.Count(hooktest.Secret, hook.Requests()).Events
	})
	// If the response to a claim was cut off, its deliveries are held until it ends.
	_, err = h.DB.Raw().ExecContext(h.Ctx,
		"UPDATE delivery SET lease_until = now() WHERE lease_until IS NOT NULL AND state = 'pending'")
	h.OK(err)
	testkit.Await(h, "every delivery", func() bool { return h.delivered() == rounds*sessions })
	expectAll(t, hook.Requests(), rounds*sessions, rounds*sessions/10)
}

// A receiver that takes the event and cuts the connection gets it again with the
// same id.
func TestReceiverCutsTheConnection(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Webhook-Retry-Count") == "" {
			panic(http.ErrAbortHandler)
		}
	})
	h.start(schedule(t, "0s,20ms,20ms,1s,1s"))
	h.emitAll(h.newSessions(hook.URL, 30), 1)
	testkit.Await(h, "every delivery", func() bool { return h.delivered() == 30 })
	expectAll(t, hook.Requests(), 30, len(hook.Requests()))
	if n := h.Count("SELECT count(*) FROM delivery_attempt WHERE number = 1 AND error_class = 'protocol'"); n != 30 {
		t.Errorf("%d attempts are recorded as cut off, want 30", n)
	}
}

// Stop with a hundred attempts running: all of them end and are recorded once, and
// nothing is lost.
func TestStopWaitsForAHundred(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	w, hooks, release := h.hundredRunning()
	time.AfterFunc(200*time.Millisecond, func() { close(release) })
	stopWithin(h, w, 10*time.Second)
	if n := h.Count("SELECT count(*) FROM delivery_attempt"); n != 100 || h.delivered() != 100 {
		t.Errorf("%d attempts recorded and %d delivered after the stop, want 100", n, h.delivered())
	}
	h.expectRest(hooks, 0)
}

// Stop with too little time: the next process makes the attempts again, at once
// and with the same id.
func TestStopCutsAHundred(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	w, hooks, release := h.hundredRunning()
	stopWithin(h, w, 50*time.Millisecond)
	if n := h.Count("SELECT count(*) FROM delivery_attempt"); n != 0 {
		t.Errorf("%d attempts recorded, want none", n)
	}
	if n := h.Count("SELECT count(*) FROM delivery WHERE lease_until IS NOT NULL"); n != 0 {
		t.Errorf("%d deliveries are still claimed", n)
	}
	close(release)
	h.expectRest(hooks, 100)
}

// hundredRunning starts a dispatcher with a hundred attempts at 25 endpoints that
// wait for release, and as many claimed deliveries behind them.
func (h *harness) hundredRunning() (*delivery.Dispatcher, []*hooktest.Receiver, chan struct{}) {
	h.Helper()
	release := make(chan struct{})
	hooks := make([]*hooktest.Receiver, 25)
	var sessions []*domain.Session
	for i := range hooks {
		hooks[i] = hooktest.NewReceiver(h.TB, hooktest.Hang(release))
		sessions = append(sessions, h.newSessions(hooks[i].URL, 2*delivery.PerNew)...)
	}
	h.emitAll(sessions, 1)
	w := h.dispatcher(patient(h.TB))
	w.Start()
	for _, hook := range hooks {
		hook.Wait("", delivery.PerNew)
	}
	return w, hooks, release
}

// expectRest has the next process deliver the rest.
func (h *harness) expectRest(hooks []*hooktest.Receiver, duplicates int) {
	h.Helper()
	h.start()
	testkit.Await(h, "every delivery", func() bool { return h.delivered() == 200 })
	var all []hooktest.Request
	for _, hook := range hooks {
		all = append(all, hook.Requests()...)
	}
	expectAll(h, all, 200, duplicates)
	if n := h.Count("SELECT count(*) FROM delivery_attempt"); n != 200 {
		h.Errorf("%d attempts are recorded, want 200", n)
	}
}

// Attempts are recorded when the database is back, however often that has failed.
// Until then they aren't repeated, although their claims have ended.
func TestRecordsOnceTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, nil)
	log := &testkit.LogBuffer{}
	h.start(func(c *delivery.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	_, err := h.DB.Raw().ExecContext(h.Ctx, "ALTER TABLE delivery_attempt RENAME TO away")
	h.OK(err)
	h.emitAll(h.newSessions(hook.URL, 20), 1)
	hook.Wait("", 20)
	_, err = h.DB.Raw().ExecContext(h.Ctx, "UPDATE delivery SET lease_until = now()")
	h.OK(err)
	testkit.Await(h, "several tries", func() bool { return strings.Count(log.String(), "record webhook attempts") >= 5 })
	_, err = h.DB.Raw().ExecContext(h.Ctx, "ALTER TABLE away RENAME TO delivery_attempt")
	h.OK(err)
	testkit.Await(h, "every record", func() bool { return h.delivered() == 20 })
	expectAll(t, hook.Requests(), 20, 0)
}

// An attempt that the database refuses doesn't hold up other records.
func TestRefusedRecord(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/odd" {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	_, err := h.DB.Raw().ExecContext(h.Ctx, "ALTER TABLE delivery_attempt ADD CHECK (status_code <> 418)")
	h.OK(err)
	h.start(schedule(t, "0s"))
	h.emitAll(append(h.newSessions(hook.URL+"/odd", 1), h.newSessions(hook.URL, 30)...), 1)
	testkit.Await(h, "the others' records", func() bool { return h.delivered() == 30 })
	if n := len(hook.Requests()); n != 31 {
		t.Errorf("%d requests, want 31: the refused one's claim hasn't ended", n)
	}
}

// Stop ends even if the database doesn't answer.
func TestStopWithoutDatabase(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, nil)
	w := h.dispatcher()
	w.Start()
	_, err := h.DB.Raw().ExecContext(h.Ctx, "ALTER TABLE delivery_attempt RENAME TO away")
	h.OK(err)
	h.emitAll(h.newSessions(hook.URL, 400), 1) // more than the recorder buffers
	hook.Wait("", 260)
	ctx, cancel := context.WithTimeout(h.Ctx, 100*time.Millisecond)
	defer cancel()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		w.Stop(ctx)
	}()
	select {
	case <-stopped:
	case <-time.After(testkit.Patience):
		t.Fatal("Stop doesn't end")
	}
	_, err = h.DB.Raw().ExecContext(h.Ctx, "ALTER TABLE away RENAME TO delivery_attempt")
	h.OK(err)
	_, err = h.DB.Raw().ExecContext(h.Ctx, "UPDATE delivery SET lease_until = NULL") // as in two minutes
	h.OK(err)
	h.start()
	testkit.Await(h, "every delivery", func() bool { return h.delivered() == 400 })
	expectAll(t, hook.Requests(), 400, 400)
}
