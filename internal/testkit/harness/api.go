package harness

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"candor/db"
	"candor/internal/domain"
)

// An Call is a request to the API as a test describes it.
type Call struct {
	Method, Path string
	Key          string // the account's test key where empty; "none" sends none
	Body         any    // a string is sent as it is, anything else as JSON
	Header       string // a further one, "Name: value"
}

// NoKey is the key of requests without one.
const NoKey = "none"

// An Answer is a response of the API.
type Answer struct {
	TB testing.TB
	*httptest.ResponseRecorder
}

// AnswerOf is a recorded response of the API.
func AnswerOf(t testing.TB, w *httptest.ResponseRecorder) Answer {
	return Answer{TB: t, ResponseRecorder: w}
}

// Get sends GET to a path below /v1 with the test key.
func (h *Harness) Get(path string) Answer {
	h.Helper()
	return h.Do(Call{Method: http.MethodGet, Path: path})
}

// Post sends a body to a path below /v1 with the test key.
func (h *Harness) Post(path string, body any) Answer {
	h.Helper()
	return h.Do(Call{Method: http.MethodPost, Path: path, Body: body})
}

// Do sends a request to the API.
func (h *Harness) Do(c Call) Answer {
	h.Helper()
	r := h.Request(c)
	w := h.Serve(r)
	h.CheckContract(r, w)
	return AnswerOf(h.TB, w)
}

// Request makes the request of a call.
func (h *Harness) Request(c Call) *http.Request {
	h.Helper()
	text, isText := c.Body.(string)
	if !isText && c.Body != nil {
		raw, err := json.Marshal(c.Body)
		h.OK(err)
		text = string(raw)
	}
	r := httptest.NewRequestWithContext(h.Context(), c.Method, "/v1"+c.Path, strings.NewReader(text))
	if c.Body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	switch c.Key {
	case "":
		r.Header.Set("Authorization", "Bearer "+h.Account.TestKey)
	case NoKey:
	default:
		r.Header.Set("Authorization", "Bearer "+c.Key)
	}
	if name, value, ok := strings.Cut(c.Header, ": "); ok {
		r.Header.Set(name, value)
	}
	return r
}

// WantStatus ends the test unless the answer has the status.
func (a Answer) WantStatus(want int) Answer {
	a.TB.Helper()
	if a.Code != want {
		a.TB.Fatalf("status %d, want %d: %s", a.Code, want, a.Body)
	}
	return a
}

// Object is the answer's body.
func (a Answer) Object() map[string]any {
	a.TB.Helper()
	var out map[string]any
	if err := json.Unmarshal(a.Body.Bytes(), &out); err != nil {
		a.TB.Fatalf("body isn't a JSON object: %v: %s", err, a.Body)
	}
	return out
}

// WantError checks that the answer is an error with that status, code and first
// offending field ("" for none).
func (a Answer) WantError(status int, code, field string) Answer {
	a.TB.Helper()
	var body struct {
		Error struct {
			Code, Message string
			Details       struct {
				Field  string
				Errors []struct{ Field, Message string }
			}
		}
	}
	if err := json.Unmarshal(a.Body.Bytes(), &body); err != nil {
		a.TB.Fatalf("body isn't JSON: %v: %s", err, a.Body)
	}
	got := body.Error
	if a.Code != status || got.Code != code || got.Details.Field != field || got.Message == "" {
		a.TB.Errorf("answer %d %s, want %d %s with field %q", a.Code, a.Body, status, code, field)
	}
	if field != "" && (len(got.Details.Errors) == 0 || got.Details.Errors[0].Field != field || got.Details.Errors[0].Message == "") {
		a.TB.Errorf("details.errors doesn't start with %s: %s", field, a.Body)
	}
	return a
}

// ValidBody creates a session.
const ValidBody = `{"form_type": "financial_statement", "customer_email": "jo@customer.example"}`

// RestrictedKey makes a test key with these permissions alone.
func (h *Harness) RestrictedKey(granted domain.Permissions) string {
	h.Helper()
	row, key := domain.NewAPIKey(h.TestScope(), "Restricted", h.Clock.Now())
	row.Permissions = granted
	h.OK(h.Service.DB.InTx(h.Context(), func(tx *db.Tx) error { return tx.InsertAPIKey(h.Context(), &row) }))
	return key
}

// FeedPage is an answer of GET /v1/events.
type FeedPage struct {
	Data []struct {
		ID        string
		Event     domain.EventType
		SessionID string `json:"session_id"`
		Sequence  int64
		Timestamp string
		Data      json.RawMessage
		Delivery  *struct{ ID, URL, State string }
	}
	HasMore        bool   `json:"has_more"`
	NextAfter      int64  `json:"next_after"`
	OldestSequence *int64 `json:"oldest_sequence"`
}

// Events reads GET /v1/events with the test key.
func (h *Harness) Events(query string) (page FeedPage) {
	h.Helper()
	h.OK(json.Unmarshal(h.Get("/events"+query).WantStatus(http.StatusOK).Body.Bytes(), &page))
	return page
}

// RecordEventIn records an event of a session in the caller's transaction.
func (h *Harness) RecordEventIn(ctx context.Context, tx *db.Tx, session *domain.Session, p domain.Payload) error {
	return h.Service.Outbox.SessionEvent(ctx, tx, session, p, h.Clock.Now())
}

// RecordEvent records an event of a session.
func (h *Harness) RecordEvent(session *domain.Session, p domain.Payload) {
	h.Helper()
	h.OK(h.Service.DB.InTx(h.Context(), func(tx *db.Tx) error { return h.RecordEventIn(h.Context(), tx, session, p) }))
}

// PostOnce sends a POST /sessions with an Idempotency-Key.
func (h *Harness) PostOnce(key, body string) Answer {
	h.Helper()
	return h.Do(Call{Method: http.MethodPost, Path: "/sessions", Body: body, Header: "Idempotency-Key: " + key})
}
