package domain

import "time"

// An Outage is the time in which an endpoint didn't answer with 2xx, and the events that
// it kept from arriving: all from the first to the last that failed at least once (D137).
type Outage struct {
	ID            OutageID         `db:"id"`
	AccountID     AccountID        `db:"account_id"`
	Livemode      bool             `db:"livemode"`
	EndpointID    EndpointID       `db:"endpoint_id"`
	StartedAt     time.Time        `db:"started_at"` // the first failed attempt
	LastFailureAt time.Time        `db:"last_failure_at"`
	AnsweredAt    *time.Time       `db:"answered_at"`  // the first success since; nil until then
	ConfirmedAt   *time.Time       `db:"confirmed_at"` // the last of its events that arrived so far
	First         int64            `db:"first_sequence"`
	Last          int64            `db:"last_sequence"`
	Answers       map[string]int64 `db:"-"` // failed attempts by status, or by error class without one
}

// OutageCounts are an outage's deliveries by what became of them.
type OutageCounts struct {
	Deliveries int64 `db:"deliveries"` // to the endpoint, of events from the first to the last
	Waiting    int64 `db:"waiting"`
	GivenUp    int64 `db:"failed"`
	Cancelled  int64 `db:"cancelled"`
	Behind     int64 `db:"behind"` // newer ones that wait, too
	Oldest     int64 `db:"oldest"` // the number of the scope's oldest event that is still kept
}

// Confirmed are those that arrived.
func (c OutageCounts) Confirmed() int64 { return c.Deliveries - c.Waiting - c.GivenUp - c.Cancelled }

// Undelivered can still be sent.
func (c OutageCounts) Undelivered() int64 { return c.Waiting + c.GivenUp }
