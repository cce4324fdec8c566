package domain

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
)

type requestKind struct{}

func (requestKind) prefix() string { return "req" }

// RequestID identifies a request to the service, req_…, and is sent as
// X-Request-Id (D27). It has the time of the request in milliseconds.
type RequestID = ID[requestKind]

// NewRequestID returns the id of a request at that time.
func NewRequestID(at time.Time) RequestID {
	id := NewID[requestKind]()
	setTime(&id.UUID, at)
	return id
}

// FirstRequestID returns the smallest id of requests at that time.
func FirstRequestID(at time.Time) (id RequestID) {
	setTime(&id.UUID, at)
	return id
}

// RequestTime returns the time of a request, to the millisecond.
func RequestTime(id RequestID) time.Time {
	var milli int64
	for _, b := range id.UUID[:6] {
		milli = milli<<8 | int64(b)
	}
	return time.UnixMilli(milli).UTC()
}

// ParseRequestID reads a RequestID.
func ParseRequestID(s string) (RequestID, error) { return ParseID[requestKind](s) }

// setTime writes a time to the first 48 bits, as in a UUIDv7.
func setTime(id *uuid.UUID, at time.Time) {
	milli := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(milli >> (8 * (5 - i)))
	}
}

// RequestRetention is how long API requests stay in the log.
const RequestRetention = 7 * 24 * time.Hour

// Why an API request isn't in the log.
const (
	UnloggedFull    = "full"    // the queue to the database was full
	UnloggedFailed  = "failed"  // the database failed
	UnloggedLimited = "limited" // one of very many beyond the rate limit
)

// RequestMethods are the methods that the log of API requests names. A client
// can send any word; others are stored as "other".
var RequestMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// An APIRequest is a call of the API in the log. It has ids of ours, and
// nothing else from the request.
type APIRequest struct {
	ID         RequestID   `db:"id"`
	AccountID  AccountID   `db:"account_id"`
	Livemode   bool        `db:"livemode"`
	KeyID      KeyID       `db:"key_id"`
	Method     string      `db:"method"`
	Route      string      `db:"route"`      // with :id for an id; "" for an unknown path
	SessionID  *SessionID  `db:"session_id"` // in the path, or of the created session
	DocumentID *DocumentID `db:"document_id"`
	Status     int         `db:"status"`
	ErrorCode  Code        `db:"error_code"` // "" for none
	Replayed   bool        `db:"replayed"`   // an idempotent response (D31)
	// of the response's Candor-Ignored what is near to a known name, and how many others, as *;others=2; "" for none
	Ignored    string `db:"ignored"`
	Refused    string `db:"refused"` // JSON of RefusedFields, "" for none
	DurationUS int    `db:"duration_us"`
	Address    string `db:"address"` // the client's
}

// A RefusedField says what is wrong with a refused request, as its response does.
type RefusedField struct {
	Field   string `json:"field,omitempty"` // "" if it is about the whole request
	Message string `json:"message"`
}

const (
	maxRefusedFields  = 10
	maxRefusedMessage = 300 // characters
)

// RefusedText is how the log stores what is wrong with a request: so many fields
// and so much of each message.
func RefusedText(fields []RefusedField) string {
	if len(fields) == 0 {
		return ""
	}
	kept := slices.Clone(fields[:min(len(fields), maxRefusedFields)])
	for i := range kept {
		if message := []rune(kept[i].Message); len(message) > maxRefusedMessage {
			kept[i].Message = string(message[:maxRefusedMessage]) + "…"
		}
	}
	text, err := json.Marshal(kept)
	if err != nil || len(text) > maxRefusedText {
		return ""
	}
	return string(text)
}

// maxRefusedText is what the database takes.
const maxRefusedText = 8000

// RefusedFields are what is wrong with the request.
func (r *APIRequest) RefusedFields() (fields []RefusedField) {
	_ = json.Unmarshal([]byte(r.Refused), &fields) // "" has none
	return fields
}

// At is the time of the request, to the millisecond.
func (r *APIRequest) At() time.Time { return RequestTime(r.ID) }

// A RequestFilter filters the log of API requests; zero fields match
// everything.
type RequestFilter struct {
	ID     *RequestID
	Key    *KeyID
	Method string
	Status int // a status, or the first digit of a class
	// Codes are the error codes that match the filter; nil for any, and for
	// responses without one.
	Codes []Code
	From  *time.Time // included
	To    *time.Time // excluded
}

// RequestFilters are the filters of the request log.
var RequestFilters = []Filter[RequestFilter]{
	{Name: "id", Column: "id", Index: "api_request_pkey", Value: func(f *RequestFilter) any { return given(f.ID) }},
	{Name: "key", Index: "api_request_key_idx", Value: func(f *RequestFilter) any { return given(f.Key) }},
	{Name: "method", Column: "method", Value: func(f *RequestFilter) any { return set(f.Method) }},
	{Name: "status", Value: func(f *RequestFilter) any { return set(f.Status) }},
	{Name: "code", Index: "api_request_error_idx", Value: func(f *RequestFilter) any {
		if f.Codes == nil {
			return nil
		}
		return f.Codes
	}},
	{Name: "from", Column: "id", Compare: AtLeast, Index: "api_request_pkey", Value: func(f *RequestFilter) any {
		return firstRequestID(f.From)
	}},
	{Name: "to", Column: "id", Compare: Below, Index: "api_request_pkey", Value: func(f *RequestFilter) any {
		return firstRequestID(f.To)
	}},
}

func firstRequestID(at *time.Time) any {
	if at == nil {
		return nil
	}
	return FirstRequestID(*at)
}

// RequestReach is how many lines of the request log are read for one page if no
// index leads to what is asked for.
const RequestReach = 5000

// RequestsCharted is how many requests the page's chart sums up, if an index leads to them.
const RequestsCharted = 2000
