package domain

import (
	"encoding/json"
	"time"
)

// A Delivery is one event on its way to one URL. It follows the schedule once,
// and once more for each redelivery, always under the same id.
type Delivery struct {
	ID             DeliveryID    `db:"id"`
	AccountID      AccountID     `db:"account_id"`
	Livemode       bool          `db:"livemode"`
	EventID        EventID       `db:"event_id"`
	EventType      EventType     `db:"type"`
	EndpointID     EndpointID    `db:"endpoint_id"`
	SessionID      *SessionID    `db:"session_id"` // nil for billing events
	Sequence       int64         `db:"sequence"`   // the event's
	URL            string        `db:"url"`
	State          DeliveryState `db:"state"`
	Cycle          int           `db:"cycle"`          // 1, and 1 more for each redelivery
	Attempts       int           `db:"attempts"`       // recorded in this cycle
	AttemptsTotal  int           `db:"attempts_total"` // in all cycles
	FirstAttemptAt *time.Time    `db:"first_attempt_at"`
	NextAttemptAt  *time.Time    `db:"next_attempt_at"` // nil if none is due
	FinishedAt     *time.Time    `db:"finished_at"`
	LastStatusCode *int          `db:"last_status_code"` // of the last attempt; nil without a response
	LastErrorClass *string       `db:"last_error_class"` // of the last attempt; nil after a success
	CreatedAt      time.Time     `db:"created_at"`
}

// DueAt reports whether an attempt is to be made at now.
func (d *Delivery) DueAt(now time.Time) bool {
	return d.NextAttemptAt != nil && !d.NextAttemptAt.After(now)
}

// A DeliveryState is the state of a delivery.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = "pending"
	DeliveryDelivered DeliveryState = "delivered"
	DeliveryFailed    DeliveryState = "failed"
	DeliveryCancelled DeliveryState = "cancelled"
)

// DeliveryStates lists the states.
var DeliveryStates = []DeliveryState{DeliveryPending, DeliveryDelivered, DeliveryFailed, DeliveryCancelled}

// Enum lists the states.
func (DeliveryState) Enum() []string { return texts(DeliveryStates) }

// DeliveryFilter filters a list of deliveries; zero fields match everything.
type DeliveryFilter struct {
	State    DeliveryState
	Endpoint *EndpointID
	Type     EventType
	Status   string // of the last attempt: "2xx" to "5xx", or an error class
	Session  *SessionID
	Since    *time.Time // created then or later
	Until    *time.Time // created before
	Failing  bool       // its last attempt failed, and it waits for the next, or its endpoint hasn't answered with 2xx since

	Undelivered *Outage // it waits for its next attempt or was given up, and its event is one of the outage's
}

// DeliveryFilters are the filters of lists of deliveries.
var DeliveryFilters = []Filter[DeliveryFilter]{
	{Name: "state", Index: "delivery_ended_badly_idx", Value: func(f *DeliveryFilter) any { return set(f.State) }},
	{Name: "status", Index: "delivery_ended_badly_idx", Value: func(f *DeliveryFilter) any { return set(f.Status) }},
	{Name: "endpoint", Column: "endpoint_id", Index: "event_endpoint_idx", Value: func(f *DeliveryFilter) any {
		return given(f.Endpoint)
	}},
	{Name: "type", Column: "type", Index: "event_type_idx", Value: func(f *DeliveryFilter) any { return set(f.Type) }},
	{Name: "session", Column: "session_id", Index: "event_session_idx", Value: func(f *DeliveryFilter) any {
		return given(f.Session)
	}},
	{Name: "since", Column: "created_at", Compare: AtLeast, Index: "event_sequence_key", Value: func(f *DeliveryFilter) any {
		return given(f.Since)
	}},
	{Name: "until", Column: "created_at", Compare: Below, Index: "event_sequence_key", Value: func(f *DeliveryFilter) any {
		return given(f.Until)
	}},
	{Name: "failing", Index: "delivery_ended_badly_idx", Value: func(f *DeliveryFilter) any { return set(f.Failing) }},
}

// NewDelivery returns the delivery of an event to a URL of an endpoint, due at
// now.
func NewDelivery(e *Event, endpoint EndpointID, url string, now time.Time) *Delivery {
	return &Delivery{
		ID: NewDeliveryID(), AccountID: e.AccountID, Livemode: e.Livemode, EventID: e.ID, EventType: e.Type,
		EndpointID: endpoint, SessionID: e.SessionID, Sequence: e.Sequence,
		URL: url, State: DeliveryPending, Cycle: 1, NextAttemptAt: &now, CreatedAt: now,
	}
}

// ListedDelivery is a delivery with what its endpoint is known by.
type ListedDelivery struct {
	Delivery
	Origin      string     `db:"origin"`
	Description string     `db:"description"`
	PausedAt    *time.Time `db:"paused_at"` // nil unless the endpoint is paused
}

// DeliveryAttempt is one recorded try of a delivery.
type DeliveryAttempt struct {
	DeliveryID     DeliveryID      `db:"delivery_id"`
	Number         int             `db:"number"` // over all cycles, from 1
	StartedAt      time.Time       `db:"started_at"`
	DurationMS     int64           `db:"duration_ms"`
	StatusCode     *int            `db:"status_code"` // nil without a response
	ErrorClass     *string         `db:"error_class"`
	Error          *string         `db:"error"`
	RequestHeaders json.RawMessage `db:"request_headers"`
	Response       *string         `db:"response"`
}

// EndpointLoad is an endpoint with the number of its deliveries that have not
// arrived.
type EndpointLoad struct {
	Endpoint
	Pending int64 `db:"pending"`
	Failed  int64 `db:"failed"`
}

// FailedAt is the number of failed deliveries to an endpoint.
type FailedAt struct {
	EndpointID EndpointID `db:"endpoint_id"`
	Origin     string     `db:"origin"`
	Count      int64      `db:"count"`
}

// A Redelivery sends many deliveries again that failed or wait for their next attempt
// (D107), each under its own id, at a rate that the partner chooses. It fixes the deliveries when it starts: one
// that fails again isn't sent once more.
type Redelivery struct {
	ID         RedeliveryID    `db:"id"`
	AccountID  AccountID       `db:"account_id"`
	Livemode   bool            `db:"livemode"`
	Since      *time.Time      `db:"since"` // the filter, as in DeliveryFilter
	Until      *time.Time      `db:"until"`
	EndpointID *EndpointID     `db:"endpoint_id"`
	Origin     string          `db:"origin"` // of that endpoint; "" for all
	EventType  *EventType      `db:"type"`
	Status     *string         `db:"status"`
	Rate       int             `db:"rate"` // deliveries a second, MinRedeliveryRate to MaxRedeliveryRate
	State      RedeliveryState `db:"state"`
	Matched    int64           `db:"matched"`
	Requeued   int64           `db:"requeued"`
	Skipped    int64           `db:"skipped"` // delivered, cancelled or being sent when it was their turn
	CreatedBy  string          `db:"created_by"`
	CreatedAt  time.Time       `db:"created_at"`
	FinishedAt *time.Time      `db:"finished_at"` // nil if it is running
}

// The bounds of a redelivery's rate, in deliveries a second.
const (
	MinRedeliveryRate = 1
	MaxRedeliveryRate = 100
)

// A RedeliveryState is the state of a redelivery.
type RedeliveryState string

// The states of a redelivery.
const (
	RedeliveryRunning RedeliveryState = "running"
	RedeliveryDone    RedeliveryState = "done"
	RedeliveryStopped RedeliveryState = "stopped"
)

// NewRedelivery returns a running redelivery of the deliveries in the
// scope that match the filter, started at now by the person named in by.
func NewRedelivery(scope Scope, f DeliveryFilter, rate int, by string, now time.Time) *Redelivery {
	r := &Redelivery{
		ID: NewRedeliveryID(), AccountID: scope.AccountID, Livemode: scope.Livemode, Since: f.Since, Until: f.Until,
		EndpointID: f.Endpoint,
		Rate:       rate, State: RedeliveryRunning, CreatedBy: by, CreatedAt: now,
	}
	if f.Type != "" {
		r.EventType = &f.Type
	}
	if f.Status != "" {
		r.Status = &f.Status
	}
	return r
}
