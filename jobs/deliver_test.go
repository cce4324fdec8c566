package jobs_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
)

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func TestDelivery(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, "thanks\x00\xff")
	})
	b.start()
	s := b.session(hook.URL+"/hook?a=b", now())
	before := time.Now().Unix()
	b.emit(s, 1)
	delivery := b.delivery(s, domain.DeliveryDelivered)
	got := hook.requests()
	if len(got) != 1 {
		t.Fatalf("%d requests, want 1", len(got))
	}
	h, body := got[0].header, got[0].body
	if event := b.events(s, domain.SessionSectionCompleted); string(event[0].Body) != body {
		t.Errorf("sent %s, recorded %s", body, event[0].Body)
	}
	stamp := h.Get("X-Webhook-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || seconds < before || seconds > time.Now().Unix() {
		t.Errorf("timestamp %q, %v", stamp, err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	b.ok(err)
	want := map[string]string{
		"Content-Type": "application/json", "X-Webhook-Id": delivery.ID.String(),
		"X-Webhook-Signature": hex.EncodeToString(sign([]byte(secret), body)),
		"Webhook-Id":          delivery.ID.String(), "Webhook-Timestamp": stamp,
		"Webhook-Signature":     "v1," + base64.StdEncoding.EncodeToString(sign(key, delivery.ID.String()+"."+stamp+"."+body)),
		"X-Webhook-Retry-Count": "", "X-Webhook-Original-Timestamp": "", "Idempotency-Key": "",
	}
	for name, value := range want {
		if h.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, h.Get(name), value)
		}
	}
	attempts, err := b.db.Attempts(b.ctx, delivery.ID)
	b.ok(err)
	if len(attempts) != 1 || *attempts[0].StatusCode != 202 || attempts[0].ErrorClass != nil || *attempts[0].Response != "thanks\ufffd\ufffd" || delivery.Attempts != 1 {
		t.Errorf("recorded %+v of %+v", attempts, delivery)
	}
}

// Seven failing attempts end in failed; the job comes by as often as it is
// due, without using up runs of its own.
func TestRetriesUntilFailed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	b.start(schedule(t, "0s,1ms,20ms,1ms,1ms,150ms,1ms"))
	s := b.session(hook.URL, now())
	b.emit(s, 1)
	delivery := b.delivery(s, domain.DeliveryFailed)
	got := hook.requests()
	if len(got) != 7 {
		t.Fatalf("%d requests, want 7", len(got))
	}
	attempts, err := b.db.Attempts(b.ctx, delivery.ID)
	b.ok(err)
	first := got[0].header.Get("X-Webhook-Timestamp")
	for i, request := range got {
		count, original := "", ""
		if i > 0 {
			count, original = strconv.Itoa(i), first
		}
		h := request.header
		if h.Get("X-Webhook-Retry-Count") != count || h.Get("X-Webhook-Original-Timestamp") != original ||
			h.Get("X-Webhook-Id") != delivery.ID.String() || request.body != got[0].body {
			t.Errorf("attempt %d: headers %v, body %s", i+1, h, request.body)
		}
		if a := attempts[i]; a.Number != i+1 || *a.StatusCode != 500 || *a.ErrorClass != "status" {
			t.Errorf("attempt %d is recorded as %+v", i+1, a)
		}
	}
	if wait := got[5].at.Sub(got[4].at); wait < 150*time.Millisecond {
		t.Errorf("the sixth attempt came %s after the fifth, want 150ms at least", wait)
	}
	if delivery.Attempts != 7 || delivery.NextAttemptAt != nil {
		t.Errorf("delivery is %+v", delivery)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	elsewhere := newReceiver(t, nil)
	tests := map[string]domain.DeliveryState{
		"200": domain.DeliveryDelivered, "204": domain.DeliveryDelivered, "299": domain.DeliveryDelivered,
		"301": domain.DeliveryFailed, "307": domain.DeliveryFailed, "410": domain.DeliveryFailed, "429": domain.DeliveryFailed, "500": domain.DeliveryFailed,
	}
	hook := newReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Location", elsewhere.URL)
		w.WriteHeader(status)
	})
	b.start(schedule(t, "0s"))
	for path, want := range tests {
		s := b.session(hook.URL+"/"+path, now())
		b.emit(s, 1)
		b.delivery(s, want)
	}
	if n := len(elsewhere.requests()); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
	gone := b.session("http://127.0.0.1:1/", now())
	b.emit(gone, 1)
	delivery := b.delivery(gone, domain.DeliveryFailed)
	attempts, err := b.db.Attempts(b.ctx, delivery.ID)
	b.ok(err)
	if len(attempts) != 1 || attempts[0].StatusCode != nil || *attempts[0].ErrorClass != "connect" || attempts[0].Response != nil {
		t.Errorf("a refused connection is recorded as %+v", attempts)
	}
}

func TestWhereEventsGo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	own, standard := newReceiver(t, nil), newReceiver(t, nil)
	b.start()
	silent := b.session("", now())
	b.emit(silent, 1)
	if n := b.count("SELECT (SELECT count(*) FROM delivery) + (SELECT count(*) FROM river_job WHERE kind = 'webhook_wake')"); n != 0 || len(b.events(silent, domain.SessionSectionCompleted)) != 1 {
		t.Errorf("an event without a URL: %d deliveries and jobs, %v", n, b.events(silent, domain.SessionSectionCompleted))
	}
	b.ok(b.db.InTx(b.ctx, func(tx *db.Tx) error { return tx.SetDefaultURL(b.ctx, b.scope, &standard.URL) }))
	b.emit(b.session("", now()), 2)
	b.emit(b.session(own.URL, now()), 3)
	b.tx(func(tx *db.Tx) error {
		return b.enqueuer.BillingEvent(b.ctx, tx, b.scope.AccountID, domain.InvoicePaidPayload{InvoiceID: "inv_1"}, now())
	})
	undone := errors.New("undone")
	err := b.db.InTx(b.ctx, func(tx *db.Tx) error {
		b.ok(b.enqueuer.SessionEvent(b.ctx, tx, silent, section(silent, 4), now()))
		return undone
	})
	if !errors.Is(err, undone) {
		t.Error(err)
	}
	b.received(own, 1)
	b.received(standard, 2)
	b.eventually("all deliveries", func() bool { return b.count("SELECT count(*) FROM delivery WHERE state = 'delivered'") == 3 })
	for name, n := range map[string][2]int{"own": {len(own.requests()), 1}, "default": {len(standard.requests()), 2}} {
		if n[0] != n[1] {
			t.Errorf("%s URL got %d webhooks, want %d", name, n[0], n[1])
		}
	}
}

// A session's events come in order though the receiver is slow to answer,
// also those of one transaction.
func TestEventsComeInOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pause := make(chan struct{})
	hook := newReceiver(t, func(n int, _ http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			<-pause
		}
	})
	b.start()
	s := b.session(hook.URL, now())
	b.tx(func(tx *db.Tx) error {
		for i := range 6 {
			b.ok(b.enqueuer.SessionEvent(b.ctx, tx, s, section(s, i+1), now()))
		}
		return nil
	})
	b.received(hook, 1)
	time.AfterFunc(300*time.Millisecond, func() { close(pause) })
	for i, request := range b.received(hook, 6) {
		if got := data[domain.SectionCompletedPayload](t, []byte(request.body)).SectionNumber; got != i+1 {
			t.Errorf("webhook %d is event %d", i+1, got)
		}
	}
}

// A receiver that hangs delays nobody else's deliveries (D39), and gets only
// a few at once.
func TestHangingReceiverDelaysNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	release := make(chan struct{})
	dead, healthy := newReceiver(t, hang(release)), newReceiver(t, nil)
	b.start()
	for range 60 {
		b.emit(b.session(dead.URL, now()), 1)
	}
	b.received(dead, 4)
	for range 20 {
		emitted := time.Now()
		s := b.session(healthy.URL, now())
		b.emit(s, 1)
		b.delivery(s, domain.DeliveryDelivered)
		if took := time.Since(emitted); took > 2*time.Second {
			t.Errorf("a healthy delivery took %s beside a dead receiver", took)
		}
	}
	if dead.most() > 16 {
		t.Errorf("%d attempts at once at one receiver, want at most 16", dead.most())
	}
	close(release)
}

// A burst at one receiver waits its turn without using up attempts or runs.
func TestBurstAtOneReceiver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, func(int, http.ResponseWriter, *http.Request) { <-time.After(20 * time.Millisecond) })
	b.start()
	for range 25 {
		b.emit(b.session(hook.URL, now()), 1)
	}
	b.eventually("all deliveries", func() bool { return b.count("SELECT count(*) FROM delivery WHERE state = 'delivered'") == 25 })
	if n := b.count("SELECT count(*) FROM river_job WHERE attempt > 1 OR errors IS NOT NULL"); n != 0 {
		t.Errorf("%d jobs used up more than one run", n)
	}
	if n := b.count("SELECT count(*) FROM delivery_attempt"); n != 25 || len(hook.requests()) != 25 || hook.most() > 16 {
		t.Errorf("%d attempts, %d requests, %d at once; want 25, 25, at most 16", n, len(hook.requests()), hook.most())
	}
}

// Stop lets a running attempt finish and records it (SIGTERM).
func TestStopDrains(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	release := make(chan struct{})
	hook := newReceiver(t, hangOnce(release))
	w := b.worker()
	b.ok(w.Start(b.ctx))
	s := b.session(hook.URL, now())
	b.emit(s, 1)
	b.received(hook, 1)
	time.AfterFunc(200*time.Millisecond, func() { close(release) })
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	b.ok(w.Stop(ctx))
	if got := b.delivery(s, domain.DeliveryDelivered); got.Attempts != 1 || len(hook.requests()) != 1 {
		t.Errorf("after the drain: %+v, %d requests", got, len(hook.requests()))
	}
}

func hangOnce(release <-chan struct{}) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			hang(release)(n, w, r)
		}
	}
}

// Where time is up the attempt is cut off, not counted, and made again by
// the next process.
func TestStopCutsOffAndNothingIsLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, hangOnce(make(chan struct{})))
	w := b.worker()
	b.ok(w.Start(b.ctx))
	s := b.session(hook.URL, now())
	b.emit(s, 1)
	b.received(hook, 1)
	ctx, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
	defer cancel()
	b.ok(w.Stop(ctx))
	if got := b.delivery(s, domain.DeliveryPending); got.Attempts != 0 {
		t.Errorf("after the cut: %+v", got)
	}
	b.start()
	if got := b.delivery(s, domain.DeliveryDelivered); got.Attempts != 1 {
		t.Errorf("after the next start: %+v", got)
	}
	if got := b.received(hook, 2); got[0].header.Get("X-Webhook-Id") != got[1].header.Get("X-Webhook-Id") || got[1].header.Get("X-Webhook-Retry-Count") != "" {
		t.Errorf("the attempt made again has headers %v", got[1].header)
	}
}

// A process killed in the middle of an attempt leaves a claim; another one
// takes the delivery over when the claim ends.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, nil)
	s := b.session(hook.URL, now())
	b.emit(s, 1)
	claimed, err := b.db.ClaimDeliveries(b.ctx, b.endpoint(hook.URL), now(), time.Second, 10)
	b.ok(err)
	if len(claimed) != 1 {
		t.Fatalf("%d deliveries claimed, want 1", len(claimed))
	}
	b.start()
	b.delivery(s, domain.DeliveryDelivered)
	if got := hook.requests(); len(got) != 1 || got[0].at.Before(claimed[0].CreatedAt.Add(time.Second)) {
		t.Errorf("%d webhooks, want 1 after the claim's end", len(got))
	}
}

// An answer that came is recorded though the process is stopped hard in that
// moment.
func TestStopRecordsWhatWasAnswered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, nil)
	w := b.worker()
	b.ok(w.Start(b.ctx))
	s := b.session(hook.URL, now())
	var stopped chan error
	b.tx(func(tx *db.Tx) error {
		b.emit(s, 1)
		// Recording waits for this lock while the stop comes.
		if _, err := tx.Raw().ExecContext(b.ctx, "LOCK TABLE delivery_attempt IN EXCLUSIVE MODE"); err != nil {
			return err
		}
		b.received(hook, 1)
		b.eventually("the record to wait", func() bool { return b.count("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0 })
		ctx, cancel := context.WithTimeout(b.ctx, time.Millisecond)
		defer cancel()
		<-ctx.Done()
		stopped = make(chan error, 1)
		go func() { stopped <- w.Stop(ctx) }()
		select { // the hard stop waits for the record
		case err := <-stopped:
			t.Errorf("stopped without the record: %v", err)
			stopped <- err
		case <-time.After(200 * time.Millisecond):
		}
		return nil
	})
	b.ok(<-stopped)
	if got := b.delivery(s, domain.DeliveryDelivered); got.Attempts != 1 || len(hook.requests()) != 1 {
		t.Errorf("after the stop: %+v, %d requests", got, len(hook.requests()))
	}
}
