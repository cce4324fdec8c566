package domain

import "time"

// A Redelivery makes many failed deliveries again, each under its own id, at
// a rate that the partner chooses. Which ones is fixed when it starts: one
// that fails again within it isn't made a third time.
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
	Skipped    int64           `db:"skipped"` // no longer failed when their turn came
	CreatedBy  string          `db:"created_by"`
	CreatedAt  time.Time       `db:"created_at"`
	FinishedAt *time.Time      `db:"finished_at"` // nil while it runs
}

// The bounds of a redelivery's rate, a second.
const (
	MinRedeliveryRate = 1
	MaxRedeliveryRate = 100
)

// A RedeliveryState says how far a redelivery has come.
type RedeliveryState string

// The states of a redelivery.
const (
	RedeliveryRunning RedeliveryState = "running"
	RedeliveryDone    RedeliveryState = "done"
	RedeliveryStopped RedeliveryState = "stopped"
)

// NewRedelivery returns a running redelivery of the scope's failed deliveries
// that match the filter, started by whom at now.
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
