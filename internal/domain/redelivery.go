package domain

import "time"

// A Redelivery sends many failed deliveries again, each under its own id, at a
// rate that the partner chooses. It fixes the deliveries when it starts: one
// that fails again isn't sent once more.
type Redelivery struct {
	ID         RedeliveryID    `db:"id"`
	AccountID  AccountID       `db:"account_id"`
	Livemode   bool            `db:"livemode"`
	Since      *time.Time      `db:"since"` // the filter, as in DeliveryFilter
	Until      *time.Time      `db:"until"`
	EndpointID *EndpointID     `db:"endpoint_id"`
	EventType  *EventType      `db:"type"`
	Status     *string         `db:"status"`
	Rate       int             `db:"rate"` // deliveries a second, MinRedeliveryRate to MaxRedeliveryRate
	State      RedeliveryState `db:"state"`
	Matched    int64           `db:"matched"`
	Requeued   int64           `db:"requeued"`
	Skipped    int64           `db:"skipped"` // no longer failed when it was their turn
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

// NewRedelivery returns a running redelivery of the failed deliveries in the
// scope that match the filter, started at now by the person named in by.
func NewRedelivery(scope Scope, f DeliveryFilter, rate int, by string, now time.Time) *Redelivery {
	r := &Redelivery{
		ID: NewRedeliveryID(), AccountID: scope.AccountID, Livemode: scope.Livemode, Since: f.Since, Until: f.Until, EndpointID: f.Endpoint,
		Rate: rate, State: RedeliveryRunning, CreatedBy: by, CreatedAt: now,
	}
	if f.Type != "" {
		r.EventType = &f.Type
	}
	if f.Status != "" {
		r.Status = &f.Status
	}
	return r
}
