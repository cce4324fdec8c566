// Package stripetest is a Stripe for tests: the few calls that Candor makes,
// with state, idempotency keys and cards that fail. Stripe's own mock server
// lacks these. Its objects have the shape of Stripe's published examples.
package stripetest

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stripe/stripe-mock/embedded"
)

// Keys that clients use, and that webhooks are signed with.
const (
	SecretKey     = "sk_test_stripetest" //nolint:gosec // opens only this server
	WebhookSecret = "whsec_stripetest"
)

// An Object is a Stripe object, as JSON.
type Object = map[string]any

// A Call is a received request.
type Call struct {
	Method, Path   string
	Form           map[string]string // of the body, or of the query
	IdempotencyKey string
}

// Server is a fake Stripe.
type Server struct {
	*httptest.Server
	mu      sync.Mutex
	state   State
	calls   []Call
	intents []Object          // payments, the newest first
	setups  map[string]Object // setup intents by their ids

	customers int
	answers   map[string]answer // by idempotency key
}

// State is what a test sets.
type State struct {
	Now     time.Time
	Decline Object // payments fail with these fields of Stripe's error; nil: they succeed
	Status  string // of successful payments; "" for succeeded
	Down    int    // HTTP status of every response; 0: the server works
	Lose    bool   // POSTs are carried out, but their responses are lost
	Forget  bool   // forget idempotency keys, as after a day
	Gone    string // a deleted customer
	Page    int    // payments in a page of a list; 0: as many as are asked for
}

type answer struct {
	status int
	body   any
	form   string
}

// New starts a server that stops when t ends.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{state: State{Now: time.Unix(1_800_000_000, 0).UTC()}, setups: map[string]Object{}, answers: map[string]answer{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// Example returns an object as Stripe publishes it, changed.
func Example(kind string, change Object) Object {
	var examples struct {
		Resources map[string]Object `json:"resources"`
	}
	if err := json.Unmarshal(embedded.OpenAPIFixtures, &examples); err != nil {
		panic(err)
	}
	out := examples.Resources[kind]
	if out == nil {
		panic("stripetest: there is no example of " + kind)
	}
	maps.Copy(out, change)
	return out
}

// Event returns a webhook's body.
func Event(id, kind string, object Object) []byte {
	event := Example("event", Object{
		"id": id, "type": kind, "api_version": "2024-06-20", "pending_webhooks": 1,
		"data": Object{"object": object},
	})
	body, err := json.MarshalIndent(event, "", "  ")
	if err != nil {
		panic(err)
	}
	return body
}

// Sign returns the Stripe-Signature of a webhook that is sent at that time.
func Sign(body []byte, secret string, at time.Time) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(strconv.FormatInt(at.Unix(), 10) + "." + string(body)))
	return fmt.Sprintf("t=%d,v1=%s,v0=%064d", at.Unix(), hex.EncodeToString(mac.Sum(nil)), 0)
}

// Set changes the server's state.
func (s *Server) Set(change func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
}

// Setup stores a setup intent.
func (s *Server) Setup(id string, intent Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setups[id] = intent
}

// Calls returns the calls with a method and a path; "" for any.
func (s *Server) Calls(method, path string) (out []Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range s.calls {
		if (method == "" || call.Method == method) && (path == "" || call.Path == path) {
			out = append(out, call)
		}
	}
	return out
}

// Payments returns the attempted payments, newest first.
func (s *Server) Payments() (out []Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, intent := range s.intents {
		out = append(out, maps.Clone(intent))
	}
	return out
}

// Settle ends the newest payment with a status.
func (s *Server) Settle(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intents[0]["status"] = status
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = r.ParseForm()
	call := Call{Method: r.Method, Path: r.URL.Path, Form: map[string]string{}, IdempotencyKey: r.Header.Get("Idempotency-Key")}
	for name := range r.Form {
		call.Form[name] = r.Form.Get(name)
	}
	s.calls = append(s.calls, call)
	if s.state.Down != 0 {
		write(w, s.state.Down, Object{"error": Object{"type": "api_error", "message": "down"}})
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+SecretKey {
		write(w, http.StatusUnauthorized, Object{"error": Object{"type": "invalid_request_error",
			"message": "Invalid API Key provided: " + r.Header.Get("Authorization")}})
		return
	}
	got := s.once(call, r.PostForm.Encode())
	if s.state.Lose && call.Method == http.MethodPost {
		panic(http.ErrAbortHandler)
	}
	write(w, got.status, got.body)
}

// once carries out a call, or repeats its response.
func (s *Server) once(call Call, form string) answer {
	known, ok := s.answers[call.IdempotencyKey]
	if ok && call.Method == http.MethodPost && call.IdempotencyKey != "" && !s.state.Forget {
		if known.form != form {
			return answer{status: http.StatusBadRequest, body: Object{"error": Object{
				"type":    "idempotency_error",
				"message": "Keys for idempotent requests can only be used with the same parameters they were first used with."}}}
		}
		return known
	}
	got := s.do(call)
	got.form = form
	s.answers[call.IdempotencyKey] = got
	return got
}

func (s *Server) do(call Call) answer {
	switch {
	case s.state.Gone != "" && call.Form["customer"] == s.state.Gone:
		return answer{status: http.StatusBadRequest, body: Object{"error": Object{
			"type": "invalid_request_error", "code": "resource_missing", "param": "customer", "message": "No such customer: '" +
				s.state.Gone + "'"}}}
	case call.Method == http.MethodPost && call.Path == "/v1/customers":
		s.customers++
		id := fmt.Sprintf("cus_%d", s.customers)
		if id == s.state.Gone {
			id += "_new"
		}
		return answer{status: http.StatusOK, body: Example("customer", Object{"id": id})}
	case call.Method == http.MethodPost && call.Path == "/v1/checkout/sessions":
		return answer{status: http.StatusOK, body: Example("checkout.session", Object{"mode": "setup",
			"url": "https://checkout.stripe.example/c/pay/cs_1"})}
	case call.Method == http.MethodPost && call.Path == "/v1/payment_intents":
		return s.pay(call)
	case call.Path == "/v1/payment_intents":
		return answer{status: http.StatusOK, body: s.list(call)}
	case strings.HasPrefix(call.Path, "/v1/setup_intents/"):
		if setup := s.setups[strings.TrimPrefix(call.Path, "/v1/setup_intents/")]; setup != nil {
			return answer{status: http.StatusOK, body: setup}
		}
	}
	return answer{status: http.StatusNotFound, body: Object{"error": Object{"type": "invalid_request_error",
		"code": "resource_missing", "message": "No such thing"}}}
}

// pay makes a payment with the outcome that State sets.
func (s *Server) pay(call Call) answer {
	metadata := Object{}
	for name, value := range call.Form {
		if key, ok := strings.CutPrefix(name, "metadata["); ok {
			metadata[strings.TrimSuffix(key, "]")] = value
		}
	}
	amount, _ := strconv.Atoi(call.Form["amount"])
	status := s.state.Status
	if status == "" {
		status = "succeeded"
	}
	intent := Example("payment_intent", Object{
		"id": fmt.Sprintf("pi_%d", len(s.intents)+1), "created": s.state.Now.Unix(), "amount": amount, "amount_received": 0,
		"currency": call.Form["currency"],
		"customer": call.Form["customer"], "payment_method": call.Form["payment_method"], "description": call.Form["description"],
		"metadata": metadata, "status": status, "last_payment_error": nil, "next_action": nil,
	})
	s.intents = append([]Object{intent}, s.intents...)
	switch {
	case s.state.Decline != nil:
		intent["status"], intent["last_payment_error"] = "requires_payment_method", s.state.Decline
		failure := maps.Clone(s.state.Decline)
		failure["payment_intent"] = intent
		return answer{status: http.StatusPaymentRequired, body: Object{"error": failure}}
	case status == "succeeded":
		intent["amount_received"] = amount
	}
	return answer{status: http.StatusOK, body: intent}
}

func (s *Server) list(call Call) Object {
	from, _ := strconv.ParseInt(call.Form["created[gte]"], 10, 64)
	found := []Object{}
	for _, intent := range s.intents {
		if intent["customer"] == call.Form["customer"] && intent["created"].(int64) >= from {
			found = append(found, intent)
		}
	}
	after := slices.IndexFunc(found, func(intent Object) bool { return intent["id"] == call.Form["starting_after"] }) + 1
	limit, _ := strconv.Atoi(call.Form["limit"])
	end := min(len(found), after+min(limit, cmp.Or(s.state.Page, limit)))
	return Object{"object": "list", "url": "/v1/payment_intents", "has_more": end < len(found), "data": found[after:end]}
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_stripetest")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
