package domain

import (
	"encoding/json"
	"fmt"
	"time"

	"candor/internal/form"
)

// ErasedEmail replaces the email address of a customer whose data were erased.
// It can't receive mail (RFC 2606).
const ErasedEmail = "erased@customer.invalid"

// An Erasure is the receipt for a customer's data that were erased on request.
// It counts what a session had, and holds no content.
type Erasure struct {
	ID           ErasureID `db:"id"`
	AccountID    AccountID `db:"account_id"`
	Livemode     bool      `db:"livemode"`
	SessionID    SessionID `db:"session_id"`
	At           time.Time `db:"at"`
	ByKind       ActorKind `db:"by_kind"`
	ByName       string    `db:"by_name"` // the name at that time
	FormerStatus Status    `db:"former_status"`
	Sections     int       `db:"sections"` // with answers
	Documents    int       `db:"documents"`
	PDFs         int       `db:"pdfs"`       // 0 or 1
	Events       int       `db:"events"`     // whose data were erased
	Deliveries   int       `db:"deliveries"` // webhooks with their attempts, also pending ones
}

// ErasedPayload replaces the data of a session's events when they are erased.
type ErasedPayload struct {
	SessionID    SessionID      `json:"session_id" doc:"The session."`
	DataErasedAt form.Timestamp `json:"data_erased_at" doc:"When the customer’s data were erased on request, UTC."`
}

func (ErasedPayload) eventType() EventType { return "" } // any session event's

// Erase erases what a session's event says about the customer. The event and
// its time stay, so the feed has no gap.
func (e *Event) Erase(at time.Time) error {
	var was struct {
		Timestamp form.Timestamp `json:"timestamp"`
	}
	if err := json.Unmarshal(e.Body, &was); err != nil {
		return fmt.Errorf("domain: body of event %s: %w", e.ID, err)
	}
	body, err := json.Marshal(Envelope{
		Event: e.Type, SessionID: e.SessionID, Livemode: e.Livemode, Sequence: e.Sequence, Timestamp: was.Timestamp,
		Data: ErasedPayload{SessionID: *e.SessionID, DataErasedAt: form.At(at)},
	})
	e.Body, e.URL, e.EndpointID = body, nil, nil
	return err
}
