package hooktest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/internal/testkit"
	"candor/internal/testkit/client"
)

// A Receiver is a partner's server that keeps the webhooks it gets.
type Receiver struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	secret   string
	requests []Request
	running  int
	most     int
}

// A Request is a webhook as it arrived.
type Request struct {
	Event     string          `json:"event"`
	SessionID string          `json:"session_id"`
	Sequence  int64           `json:"sequence"`
	Timestamp time.Time       `json:"timestamp"`
	Livemode  bool            `json:"livemode"`
	Data      json.RawMessage `json:"data"`

	Header http.Header
	Body   []byte
	At     time.Time
}

// DeliveryID is the X-Webhook-ID.
func (r Request) DeliveryID() string { return r.Header.Get("X-Webhook-ID") }

// SignedBy reports whether the secret, and no other, made both signatures.
func (r Request) SignedBy(secret string) bool { return client.Signed(secret, r.Header, r.Body) }

// NewReceiver starts a receiver until the test ends. It answers its nth request,
// from 1, with what answer writes, or with 200 if answer is nil. What was cut off is
// no request.
func NewReceiver(t testing.TB, answer func(n int, w http.ResponseWriter, r *http.Request)) *Receiver {
	t.Helper()
	rec := &Receiver{t: t}
	rec.Server = testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := time.Now()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		n := rec.keep(r, body, at)
		if answer != nil {
			answer(n, w, r)
		}
		rec.mu.Lock()
		rec.running--
		rec.mu.Unlock()
	}))
	t.Cleanup(rec.CloseClientConnections)
	return rec
}

// keep keeps a request and returns its number.
func (r *Receiver) keep(request *http.Request, body []byte, at time.Time) (n int) {
	kept := Request{Header: request.Header.Clone(), Body: body, At: at}
	if err := json.Unmarshal(body, &kept); err != nil {
		r.t.Errorf("webhook body %s: %v", body, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.secret != "" {
		r.check(request.Method, kept)
	}
	r.requests = append(r.requests, kept)
	r.running++
	r.most = max(r.most, r.running)
	return len(r.requests)
}

// check holds a request against the contract.
func (r *Receiver) check(method string, got Request) {
	if !got.SignedBy(r.secret) {
		r.t.Errorf("%s: the secret didn't sign %v", got.Event, got.Header)
	}
	if kind := got.Header.Get("Content-Type"); method != http.MethodPost || kind != "application/json" {
		r.t.Errorf("%s: %s with Content-Type %q, want POST with application/json", got.Event, method, kind)
	}
	if !strings.HasPrefix(got.DeliveryID(), "whd_") {
		r.t.Errorf("%s: X-Webhook-ID = %q, want whd_…", got.Event, got.DeliveryID())
	}
	sent, err := strconv.ParseInt(got.Header.Get("X-Webhook-Timestamp"), 10, 64)
	if age := got.At.Sub(time.Unix(sent, 0)); err != nil || age < -2*time.Second || age > time.Minute {
		r.t.Errorf("%s: X-Webhook-Timestamp = %q at %d", got.Event, got.Header.Get("X-Webhook-Timestamp"), got.At.Unix())
	}
}

// SetSecret sets the secret that signs the requests. From now on each is held against
// the contract.
func (r *Receiver) SetSecret(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secret = secret
}

// Requests returns the requests so far.
func (r *Receiver) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// Of returns the requests so far with that event; "" for all.
func (r *Receiver) Of(event string) []Request {
	return slices.DeleteFunc(r.Requests(), func(one Request) bool { return event != "" && one.Event != event })
}

// Wait waits for n requests with the event; "" for any.
func (r *Receiver) Wait(event string, n int) []Request {
	r.t.Helper()
	testkit.Await(r.t, strconv.Itoa(n)+" webhooks "+event, func() bool { return len(r.Of(event)) >= n })
	return r.Of(event)
}

// Running is how many requests it hasn't answered yet.
func (r *Receiver) Running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

// Most is how many requests it had at once at most.
func (r *Receiver) Most() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most
}

// Hang answers when release is closed or the client has gone.
func Hang(release <-chan struct{}) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
}

// A Tally is what arrived of events.
type Tally struct {
	Events     int // that arrived
	Duplicated int // requests of an event that had arrived
	TwoIDs     int // events that arrived with more than one id
	Unsigned   int // requests that the secret didn't sign
}

// Count counts requests by their events.
func Count(secret string, all []Request) (n Tally) {
	ids := map[int64]map[string]bool{}
	for _, r := range all {
		if ids[r.Sequence] == nil {
			ids[r.Sequence] = map[string]bool{}
		}
		ids[r.Sequence][r.DeliveryID()] = true
		if !r.SignedBy(secret) {
			n.Unsigned++
		}
	}
	n.Events, n.Duplicated = len(ids), len(all)-len(ids)
	for _, under := range ids {
		if len(under) > 1 {
			n.TwoIDs++
		}
	}
	return n
}
