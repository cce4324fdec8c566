package process

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/internal/testkit"
)

// WebhookCall is one request to a receiver.
type WebhookCall struct {
	Event     string          `json:"event"`
	SessionID string          `json:"session_id"`
	Timestamp time.Time       `json:"timestamp"`
	Livemode  bool            `json:"livemode"`
	Data      json.RawMessage `json:"data"`

	Header http.Header
	Body   []byte
	at     time.Time
}

// DeliveryID is the X-Webhook-ID.
func (c WebhookCall) DeliveryID() string { return c.Header.Get("X-Webhook-ID") }

// Receiver is a partner's webhook endpoint. It checks every call against the
// contract.
type Receiver struct {
	t      *testing.T
	URL    string
	answer func(call WebhookCall, earlier int) int // status; earlier counts the calls with the same id

	mu     sync.Mutex
	secret string
	calls  []WebhookCall
}

// NewReceiver starts a receiver that returns 204, or the status of answer.
func NewReceiver(t *testing.T, answer func(WebhookCall, int) int) *Receiver {
	t.Helper()
	r := &Receiver{t: t, answer: answer}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL = server.URL + "/hook"
	return r
}

// ServeHTTP receives one call.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		r.t.Errorf("webhook body: %v", err)
	}
	call := WebhookCall{Header: request.Header.Clone(), Body: body, at: time.Now()}
	if err := json.Unmarshal(body, &call); err != nil {
		r.t.Errorf("webhook body %s: %v", body, err)
	}
	r.check(request, call)
	r.mu.Lock()
	earlier := 0
	for _, c := range r.calls {
		if c.DeliveryID() == call.DeliveryID() {
			earlier++
		}
	}
	r.calls = append(r.calls, call)
	r.mu.Unlock()
	status := http.StatusNoContent
	if r.answer != nil {
		status = r.answer(call, earlier)
	}
	w.WriteHeader(status)
}

// check verifies the signature with its own code, and the headers of every call.
func (r *Receiver) check(request *http.Request, call WebhookCall) {
	r.mu.Lock()
	mac := hmac.New(sha256.New, []byte(r.secret))
	r.mu.Unlock()
	mac.Write(call.Body)
	if want := hex.EncodeToString(mac.Sum(nil)); call.Header.Get("X-Webhook-Signature") != want {
		r.t.Errorf("%s: X-Webhook-Signature = %q, want %q", call.Event, call.Header.Get("X-Webhook-Signature"), want)
	}
	if got := call.Header.Get("Content-Type"); request.Method != http.MethodPost || got != "application/json" {
		r.t.Errorf("%s: %s with Content-Type %q, want POST with application/json", call.Event, request.Method, got)
	}
	if !strings.HasPrefix(call.DeliveryID(), "whd_") {
		r.t.Errorf("%s: X-Webhook-ID = %q, want whd_…", call.Event, call.DeliveryID())
	}
	sent, err := strconv.ParseInt(call.Header.Get("X-Webhook-Timestamp"), 10, 64)
	if age := call.at.Sub(time.Unix(sent, 0)); err != nil || age < -2*time.Second || age > time.Minute {
		r.t.Errorf("%s: X-Webhook-Timestamp = %q at %d", call.Event, call.Header.Get("X-Webhook-Timestamp"), call.at.Unix())
	}
}

// SetSecret sets the secret that signs the calls.
func (r *Receiver) SetSecret(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secret = secret
}

// Of returns the calls so far with that event; "" for all.
func (r *Receiver) Of(event string) []WebhookCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []WebhookCall
	for _, c := range r.calls {
		if event == "" || c.Event == event {
			out = append(out, c)
		}
	}
	return out
}

// Wait waits for that many calls with the event.
func (r *Receiver) Wait(event string, n int) []WebhookCall {
	r.t.Helper()
	testkit.Await(r.t, strconv.Itoa(n)+" × "+event, func() bool { return len(r.Of(event)) >= n })
	return r.Of(event)
}
