package delivery_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
)

func TestDelivery(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, "thanks\x00\xff")
	})
	h.start()
	s := h.Session(hook.URL+"/hook?a=b", hooktest.Now())
	before := time.Now().Unix()
	h.Emit(s, 1)
	delivery := h.Delivery(s, domain.DeliveryDelivered)
	got := hook.Requests()
	if len(got) != 1 {
		t.Fatalf("%d requests, want 1", len(got))
	}
	header, body := got[0].Header, got[0].Body
	if event := h.Events(s, domain.SessionSectionCompleted); !bytes.Equal(event[0].Body, body) {
		t.Errorf("sent %s, recorded %s", body, event[0].Body)
	}
	stamp := header.Get("X-Webhook-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || seconds < before || seconds > time.Now().Unix() {
		t.Errorf("timestamp %q, %v", stamp, err)
	}
	if !got[0].SignedBy(hooktest.Secret) {
		t.Errorf("the secret didn't sign %v", header)
	}
	want := map[string]string{
		"Content-Type": "application/json", "X-Webhook-Id": delivery.ID.String(), "Webhook-Timestamp": stamp,
		"X-Webhook-Retry-Count": "", "X-Webhook-Original-Timestamp": "", "Idempotency-Key": "",
	}
	for name, value := range want {
		if header.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, header.Get(name), value)
		}
	}
	attempts, err := h.DB.Attempts(h.Ctx, delivery.ID)
	h.OK(err)
	if len(attempts) != 1 || *attempts[0].StatusCode != 202 || attempts[0].ErrorClass != nil ||
		*attempts[0].Response != "thanks\ufffd\ufffd" || delivery.Attempts != 1 {
		t.Errorf("recorded %+v of %+v", attempts, delivery)
	}
}

// Seven failing attempts end in failed.
func TestRetriesUntilFailed(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	})
	h.start(schedule(t, "0s,1ms,20ms,1ms,1ms,150ms,1ms"))
	s := h.Session(hook.URL, hooktest.Now())
	h.Emit(s, 1)
	delivery := h.Delivery(s, domain.DeliveryFailed)
	got := hook.Requests()
	if len(got) != 7 {
		t.Fatalf("%d requests, want 7", len(got))
	}
	attempts, err := h.DB.Attempts(h.Ctx, delivery.ID)
	h.OK(err)
	first := got[0].Header.Get("X-Webhook-Timestamp")
	for i, request := range got {
		count, original := "", ""
		if i > 0 {
			count, original = strconv.Itoa(i), first
		}
		header := request.Header
		if header.Get("X-Webhook-Retry-Count") != count || header.Get("X-Webhook-Original-Timestamp") != original ||
			header.Get("X-Webhook-Id") != delivery.ID.String() || !bytes.Equal(request.Body, got[0].Body) {
			t.Errorf("attempt %d: headers %v, body %s", i+1, header, request.Body)
		}
		if a := attempts[i]; a.Number != i+1 || *a.StatusCode != 500 || *a.ErrorClass != "status" {
			t.Errorf("attempt %d is recorded as %+v", i+1, a)
		}
	}
	if wait := got[5].At.Sub(got[4].At); wait < 150*time.Millisecond {
		t.Errorf("the sixth attempt came %s after the fifth, want 150ms at least", wait)
	}
	if delivery.Attempts != 7 || delivery.NextAttemptAt != nil {
		t.Errorf("delivery is %+v", delivery)
	}
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	elsewhere := hooktest.NewReceiver(t, nil)
	tests := map[string]domain.DeliveryState{
		"200": domain.DeliveryDelivered, "204": domain.DeliveryDelivered, "299": domain.DeliveryDelivered,
		"301": domain.DeliveryFailed, "307": domain.DeliveryFailed, "410": domain.DeliveryFailed, "429": domain.DeliveryFailed,
		"500": domain.DeliveryFailed,
	}
	hook := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Location", elsewhere.URL)
		w.WriteHeader(status)
	})
	h.start(schedule(t, "0s"))
	for path, want := range tests {
		s := h.Session(hook.URL+"/"+path, hooktest.Now())
		h.Emit(s, 1)
		h.Delivery(s, want)
	}
	if n := len(elsewhere.Requests()); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
	gone := h.Session("http://127.0.0.1:1/", hooktest.Now())
	h.Emit(gone, 1)
	delivery := h.Delivery(gone, domain.DeliveryFailed)
	attempts, err := h.DB.Attempts(h.Ctx, delivery.ID)
	h.OK(err)
	if len(attempts) != 1 || attempts[0].StatusCode != nil || *attempts[0].ErrorClass != "connect" || attempts[0].Response != nil {
		t.Errorf("a refused connection is recorded as %+v", attempts)
	}
}

func TestWhereEventsGo(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	own, standard := hooktest.NewReceiver(t, nil), hooktest.NewReceiver(t, nil)
	h.start()
	silent := h.Session("", hooktest.Now())
	h.Emit(silent, 1)
	if n := h.Count("SELECT count(*) FROM delivery") + int(h.wakes.asked.Load()); n != 0 ||
		len(h.Events(silent, domain.SessionSectionCompleted)) != 1 {
		t.Errorf("an event without a URL: %d deliveries and wakes, %v", n, h.Events(silent, domain.SessionSectionCompleted))
	}
	h.SetDefaultURL(standard.URL)
	h.Emit(h.Session("", hooktest.Now()), 2)
	h.Emit(h.Session(own.URL, hooktest.Now()), 3)
	h.Tx(func(tx *db.Tx) error {
		return h.Outbox.BillingEvent(h.Ctx, tx, h.Scope.AccountID, domain.InvoicePaidPayload{InvoiceID: "inv_1"}, hooktest.Now())
	})
	undone := errors.New("undone")
	err := h.DB.InTx(h.Ctx, func(tx *db.Tx) error {
		h.OK(h.Outbox.SessionEvent(h.Ctx, tx, silent, hooktest.SectionCompleted(silent, 4), hooktest.Now()))
		return undone
	})
	if !errors.Is(err, undone) {
		t.Error(err)
	}
	own.Wait("", 1)
	standard.Wait("", 2)
	testkit.Await(h, "all deliveries", func() bool { return h.delivered() == 3 })
	for name, n := range map[string][2]int{"own": {len(own.Requests()), 1}, "default": {len(standard.Requests()), 2}} {
		if n[0] != n[1] {
			t.Errorf("%s URL got %d webhooks, want %d", name, n[0], n[1])
		}
	}
}

// A session's events arrive in order, also those of one transaction and if the
// receiver is slow.
func TestEventsComeInOrder(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	pause := make(chan struct{})
	hook := hooktest.NewReceiver(t, func(n int, _ http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			<-pause
		}
	})
	h.start()
	s := h.Session(hook.URL, hooktest.Now())
	h.Tx(func(tx *db.Tx) error {
		for i := range 6 {
			h.OK(h.Outbox.SessionEvent(h.Ctx, tx, s, hooktest.SectionCompleted(s, i+1), hooktest.Now()))
		}
		return nil
	})
	hook.Wait("", 1)
	time.AfterFunc(300*time.Millisecond, func() { close(pause) })
	for i, request := range hook.Wait("", 6) {
		if got := hooktest.Data[domain.SectionCompletedPayload](t, request.Body).SectionNumber; got != i+1 {
			t.Errorf("webhook %d is event %d", i+1, got)
		}
	}
}

// A receiver that hangs delays no other endpoint's deliveries (D39), and gets only
// a few at once.
func TestHangingReceiverDelaysNoOther(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	release := make(chan struct{})
	dead, healthy := hooktest.NewReceiver(t, hooktest.Hang(release)), hooktest.NewReceiver(t, nil)
	h.start()
	for range 60 {
		h.Emit(h.Session(dead.URL, hooktest.Now()), 1)
	}
	dead.Wait("", 4)
	began := time.Now()
	for range 20 {
		s := h.Session(healthy.URL, hooktest.Now())
		h.Emit(s, 1)
		h.Delivery(s, domain.DeliveryDelivered)
	}
	if each := time.Since(began) / 20; each > 2*time.Second {
		t.Errorf("a healthy delivery took %s beside a dead receiver", each)
	}
	if dead.Most() > 16 {
		t.Errorf("%d attempts at once at one receiver, want at most 16", dead.Most())
	}
	close(release)
}

// A burst at one receiver waits without using up attempts.
func TestBurstAtOneReceiver(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, func(int, http.ResponseWriter, *http.Request) { <-time.After(20 * time.Millisecond) })
	h.start()
	for range 25 {
		h.Emit(h.Session(hook.URL, hooktest.Now()), 1)
	}
	testkit.Await(h, "all deliveries", func() bool { return h.delivered() == 25 })
	if n := h.Count("SELECT count(*) FROM delivery_attempt"); n != 25 || len(hook.Requests()) != 25 || hook.Most() > 16 {
		t.Errorf("%d attempts, %d requests, %d at once; want 25, 25, at most 16", n, len(hook.Requests()), hook.Most())
	}
}

// What is cancelled or erased while it waits for a slow receiver isn't sent, and
// what was retried since is sent once.
func TestCancelledWhileItWaits(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	release := make(chan struct{})
	hook := hooktest.NewReceiver(t, hooktest.Hang(release))
	sessions := h.newSessions(hook.URL, 10)
	h.emitAll(sessions, 1)
	h.start(patient(t))
	hook.Wait("", delivery.PerNew)
	cancelled, erased, retried := sessions[4], sessions[5], sessions[6] // the next in the queue
	h.Tx(func(tx *db.Tx) error {
		for _, s := range []*domain.Session{cancelled, retried} {
			_, err := tx.CancelDelivery(h.Ctx, h.Scope, h.Delivery(s, domain.DeliveryPending).ID, hooktest.Now())
			h.OK(err)
		}
		_, err := tx.EraseSession(h.Ctx, erased, &domain.Erasure{At: hooktest.Now()})
		return err
	})
	again := h.Delivery(retried, domain.DeliveryCancelled).ID
	h.Tx(func(tx *db.Tx) error {
		_, err := tx.Redeliver(h.Ctx, h.Scope, again, hooktest.Now())
		return err
	})
	time.AfterFunc(delivery.SecretsLease, func() { close(release) })
	testkit.Await(h, "the others", func() bool { return h.delivered() == len(sessions)-2 })
	arrived := map[string]int{}
	for _, request := range hook.Requests() {
		arrived[hooktest.Data[domain.SectionCompletedPayload](t, request.Body).SessionID.String()]++
	}
	for i, s := range sessions {
		want := 1
		if s == cancelled || s == erased {
			want = 0
		}
		if n := arrived[s.ID.String()]; n != want {
			t.Errorf("webhook %d came %d times, want %d", i+1, n, want)
		}
	}
}

// Stop waits for a running attempt and records it (SIGTERM).
func TestStopWaits(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	release := make(chan struct{})
	hook := hooktest.NewReceiver(t, hangOnce(release))
	w := h.dispatcher()
	w.Start()
	s := h.Session(hook.URL, hooktest.Now())
	h.Emit(s, 1)
	hook.Wait("", 1)
	time.AfterFunc(200*time.Millisecond, func() { close(release) })
	ctx, cancel := context.WithTimeout(h.Ctx, 10*time.Second)
	defer cancel()
	w.Stop(ctx)
	if got := h.Delivery(s, domain.DeliveryDelivered); got.Attempts != 1 || len(hook.Requests()) != 1 {
		t.Errorf("after the stop: %+v, %d requests", got, len(hook.Requests()))
	}
}

func hangOnce(release <-chan struct{}) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			hooktest.Hang(release)(n, w, r)
		}
	}
}

// If Stop runs out of time, the attempt is cut off and not counted, and the next
// process makes it again.
func TestStopCutsOffAndNothingIsLost(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, hangOnce(make(chan struct{})))
	w := h.dispatcher()
	w.Start()
	s := h.Session(hook.URL, hooktest.Now())
	h.Emit(s, 1)
	hook.Wait("", 1)
	ctx, cancel := context.WithTimeout(h.Ctx, 50*time.Millisecond)
	defer cancel()
	w.Stop(ctx)
	if got := h.Delivery(s, domain.DeliveryPending); got.Attempts != 0 {
		t.Errorf("after the cut: %+v", got)
	}
	h.start()
	if got := h.Delivery(s, domain.DeliveryDelivered); got.Attempts != 1 {
		t.Errorf("after the next start: %+v", got)
	}
	if got := hook.Wait("", 2); got[0].Header.Get("X-Webhook-Id") != got[1].Header.Get("X-Webhook-Id") ||
		got[1].Header.Get("X-Webhook-Retry-Count") != "" {
		t.Errorf("the attempt made again has headers %v", got[1].Header)
	}
}

// A process that is killed during an attempt leaves a claim. Another process takes
// the delivery over when the claim ends.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, nil)
	s := h.Session(hook.URL, hooktest.Now())
	h.Emit(s, 1)
	claimed, err := h.DB.ClaimDeliveries(h.Ctx, h.Endpoint(hook.URL), hooktest.Now(), time.Second, 10)
	h.OK(err)
	if len(claimed) != 1 {
		t.Fatalf("%d deliveries claimed, want 1", len(claimed))
	}
	h.start()
	h.Delivery(s, domain.DeliveryDelivered)
	if got := hook.Requests(); len(got) != 1 || got[0].At.Before(claimed[0].CreatedAt.Add(time.Second)) {
		t.Errorf("%d webhooks, want 1 after the claim's end", len(got))
	}
}

// A response is recorded even if the process is cut off at that moment.
func TestStopRecordsWhatWasAnswered(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, nil)
	w := h.dispatcher()
	w.Start()
	s := h.Session(hook.URL, hooktest.Now())
	stopped := make(chan struct{})
	h.Tx(func(tx *db.Tx) error {
		// Recording waits for this lock during the stop.
		if _, err := tx.Raw().ExecContext(h.Ctx, "LOCK TABLE delivery_attempt IN EXCLUSIVE MODE"); err != nil {
			return err
		}
		h.Emit(s, 1)
		hook.Wait("", 1)
		testkit.Await(h, "the record to wait", func() bool {
			return h.Count(
				"SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database WHERE NOT granted AND datname = current_database()") > 0
		})
		ctx, cancel := context.WithTimeout(h.Ctx, time.Millisecond)
		defer cancel()
		<-ctx.Done()
		go func() {
			defer close(stopped)
			w.Stop(ctx)
		}()
		select { // the hard stop waits for the record
		case <-stopped:
			t.Error("stopped without the record")
		case <-time.After(200 * time.Millisecond):
		}
		return nil
	})
	<-stopped
	if got := h.Delivery(s, domain.DeliveryDelivered); got.Attempts != 1 || len(hook.Requests()) != 1 {
		t.Errorf("after the stop: %+v, %d requests", got, len(hook.Requests()))
	}
}
