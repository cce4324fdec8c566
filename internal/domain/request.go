package domain

import (
	"time"

	"github.com/google/uuid"
)

type requestKind struct{}

func (requestKind) prefix() string { return "req" }

// RequestID is that of a request to the service, req_…: what X-Request-Id says
// (D27). It holds the moment at which the request came, in milliseconds.
type RequestID = ID[requestKind]

// NewRequestID returns the id of a request that came at that moment.
func NewRequestID(at time.Time) RequestID {
	id := NewID[requestKind]()
	setTime(&id.UUID, at)
	return id
}

// FirstRequestID returns the smallest id of requests from that moment on.
func FirstRequestID(at time.Time) (id RequestID) {
	setTime(&id.UUID, at)
	return id
}

// RequestTime returns the moment at which a request came, to the millisecond.
func RequestTime(id RequestID) time.Time {
	var milli int64
	for _, b := range id.UUID[:6] {
		milli = milli<<8 | int64(b)
	}
	return time.UnixMilli(milli).UTC()
}

// ParseRequestID reads a RequestID.
func ParseRequestID(s string) (RequestID, error) { return ParseID[requestKind](s) }

// setTime puts a moment into the first 48 bits, where a UUIDv7 has it.
func setTime(id *uuid.UUID, at time.Time) {
	milli := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(milli >> (8 * (5 - i)))
	}
}

// RequestRetention is how long the log of API requests goes back.
const RequestRetention = 7 * 24 * time.Hour

// Why the log of API requests lacks one.
const (
	UnloggedFull    = "full"    // too many waited to be written
	UnloggedFailed  = "failed"  // the database didn't take it
	UnloggedLimited = "limited" // one of very many beyond the rate limit
)

// An APIRequest is a call of the API as the log has it: nothing that a caller
// typed, but ids of ours.
type APIRequest struct {
	ID         RequestID   `db:"id"`
	AccountID  AccountID   `db:"account_id"`
	Livemode   bool        `db:"livemode"`
	KeyID      KeyID       `db:"key_id"`
	Method     string      `db:"method"`
	Route      string      `db:"route"`      // as it is registered, with :id for an id; "" for an address that isn't there
	SessionID  *SessionID  `db:"session_id"` // that the path names, or that was created
	DocumentID *DocumentID `db:"document_id"`
	Status     int         `db:"status"`
	ErrorCode  Code        `db:"error_code"` // "" for none
	Replayed   bool        `db:"replayed"`   // an idempotent answer (D31)
	DurationUS int         `db:"duration_us"`
	Address    string      `db:"address"` // the caller's
}

// At is when the request came, to the millisecond.
func (r *APIRequest) At() time.Time { return RequestTime(r.ID) }

// A RequestFilter narrows the log of API requests; zero fields don't.
type RequestFilter struct {
	ID     *RequestID
	Key    *KeyID
	Method string
	Status int // itself, or the first digit of its class
	// Codes are the error codes that Status and what else was asked for leave;
	// nil for any, and for answers without one.
	Codes []Code
	From  *time.Time // included
	To    *time.Time // excluded
}
