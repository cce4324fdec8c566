package domain

import (
	"encoding/json"
	"time"

	"candor/internal/form"
)

// An Event is something that happened. Its Body is built once, so that each
// attempt at a webhook sends the same bytes (D34).
type Event struct {
	ID         EventID     `db:"id"`
	AccountID  AccountID   `db:"account_id"`
	Livemode   bool        `db:"livemode"`
	SessionID  *SessionID  `db:"session_id"` // nil for billing events
	Sequence   int64       `db:"sequence"`   // 1, 2, 3 … within account and mode, without a gap
	Type       EventType   `db:"type"`
	Body       []byte      `db:"body"`
	URL        *string     `db:"url"`         // its first destination when it happened; nil for none
	EndpointID *EndpointID `db:"endpoint_id"` // of the URL
	CreatedAt  time.Time   `db:"created_at"`
}

// EventRetention is how long events, their deliveries and attempts are kept.
const EventRetention = 90 * 24 * time.Hour

// TestEventRetention is how long the result of a test event is kept.
const TestEventRetention = time.Hour

// EventFilter narrows the feed of events; zero fields don't.
type EventFilter struct {
	After   int64 // only higher sequence numbers
	Type    EventType
	Session *SessionID
}

// EventFilters are the filters of the event feed.
var EventFilters = []Filter[EventFilter]{
	{Name: "after", Column: "sequence", Compare: Above, Index: "event_sequence_key", Value: func(f *EventFilter) any {
		return f.After
	}},
	{Name: "type", Column: "type", Index: "event_type_idx", Value: func(f *EventFilter) any { return set(f.Type) }},
	{Name: "session_id", Index: "event_session_idx", Value: func(f *EventFilter) any { return given(f.Session) }},
}

// EventSearch narrows a list of events; zero fields don't.
type EventSearch struct {
	Type     EventType
	Event    *EventID
	Session  *SessionID
	Delivery *DeliveryID
	Sequence int64
	Before   int64 // only lower sequence numbers
}

// Envelope is the body of a webhook.
type Envelope struct {
	Event     EventType      `json:"event" doc:"The event’s name."`
	SessionID *SessionID     `json:"session_id,omitempty" doc:"The session; absent from billing events."`
	Livemode  bool           `json:"livemode" doc:"false for what test keys made."`
	Sequence  int64          `json:"sequence" doc:"Counts the events of an account and mode, 1, 2, 3 … without a gap. GET /v1/events returns what was missed. 0 in a test event, which is not among them."`
	Timestamp form.Timestamp `json:"timestamp" doc:"When it happened, UTC."`
	Data      Payload        `json:"data" doc:"What happened."`
}

// TypeOf returns the type of the event with that payload.
func TypeOf(p Payload) EventType { return p.eventType() }

// NewEvent returns the event of a payload at now. Sequence is its number in the
// scope; session is nil for billing events.
func NewEvent(scope Scope, session *SessionID, sequence int64, p Payload, now time.Time) (*Event, error) {
	body, err := json.Marshal(newEnvelope(scope.Livemode, session, sequence, now, p))
	if err != nil {
		return nil, err
	}
	return &Event{
		ID: NewID[eventKind](), AccountID: scope.AccountID, Livemode: scope.Livemode, SessionID: session,
		Sequence: sequence, Type: p.eventType(), Body: body, CreatedAt: now,
	}, nil
}

func newEnvelope(livemode bool, session *SessionID, sequence int64, at time.Time, p Payload) Envelope {
	return Envelope{Event: p.eventType(), SessionID: session, Livemode: livemode, Sequence: sequence,
		Timestamp: form.At(at), Data: p}
}

// FeedEvent is an event with the progress of its deliveries.
type FeedEvent struct {
	Event
	EventDelivery
	More      []EventDelivery // to further endpoints (D109)
	PDFSHA256 []byte          `db:"pdf_sha256"` // of session.pdf_ready
	Erased    bool            `db:"erased"`     // the session's webhooks were deleted with the customer's data
}

// EventDelivery is the progress of an event's delivery. DeliveryID is nil if there was
// no URL to send it to, and once the delivery is erased.
type EventDelivery struct {
	DeliveryID     *DeliveryID    `db:"delivery_id"`
	DeliveryURL    *string        `db:"delivery_url"`
	Endpoint       *EndpointID    `db:"delivery_endpoint_id"`
	Further        *int           `db:"further"` // 0 for the one whose endpoint the event names, 1 for others
	State          *DeliveryState `db:"state"`
	Attempts       *int           `db:"attempts_total"`
	LastStatusCode *int           `db:"last_status_code"`
	LastErrorClass *string        `db:"last_error_class"`
	NextAttemptAt  *time.Time     `db:"next_attempt_at"`
	FinishedAt     *time.Time     `db:"finished_at"`
}
