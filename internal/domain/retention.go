package domain

import (
	"encoding/json"
	"fmt"
	"time"

	"candor/internal/form"
)

// A RetentionKind is data that an account keeps for a number of days (24
// hours) after its sessions end. It is also the setting's name in the database
// and in forms.
type RetentionKind string

// The kinds.
const (
	FileRetention        RetentionKind = "retention_days"   // PDF and documents of completed sessions
	UnsubmittedRetention RetentionKind = "unsubmitted_days" // all that was entered in expired and cancelled sessions (D50)
	// answers of completed sessions (D50); 0: until they are erased on request
	AnswerRetention RetentionKind = "answer_days"
)

// RetentionKinds lists the kinds.
var RetentionKinds = []RetentionKind{FileRetention, UnsubmittedRetention, AnswerRetention}

const (
	// MaxRetentionDays is the most days for files, and for sessions that
	// weren't submitted.
	MaxRetentionDays = 90
	// MinAnswerDays is the fewest days for answers: no less than for files.
	MinAnswerDays = MaxRetentionDays
	// MaxAnswerDays is 7 years with two leap days.
	MaxAnswerDays = 7*365 + 2
)

// Retention is MaxRetentionDays as a duration.
const Retention = MaxRetentionDays * 24 * time.Hour

// Bounds returns the fewest and the most days of the kind.
func (k RetentionKind) Bounds() (least, most int) {
	if k == AnswerRetention {
		return MinAnswerDays, MaxAnswerDays
	}
	return 1, MaxRetentionDays
}

// Accepts reports whether the kind can be set to that many days.
func (k RetentionKind) Accepts(days int) bool {
	least, most := k.Bounds()
	return days >= least && days <= most || k == AnswerRetention && days == 0
}

// DaysOf returns the account's field for the kind.
func (k RetentionKind) DaysOf(a *Account) *int {
	switch k {
	case UnsubmittedRetention:
		return &a.UnsubmittedDays
	case AnswerRetention:
		return &a.AnswerDays
	}
	return &a.RetentionDays
}

// Retained reports whether PDF and documents are still there at now, if they
// are kept for that long after completion.
func (s *Session) Retained(now time.Time, kept time.Duration) bool {
	return s.ErasedAt == nil && s.CompletedAt != nil && now.Before(s.CompletedAt.Add(kept))
}

// DataKeptUntil returns when retention erases the answers, by the account's
// settings. It is nil while the session is open, and if answers are kept until
// they are erased on request.
func (s *Session) DataKeptUntil(a *Account, now time.Time) *time.Time {
	end, days := s.ExpiresAt, a.UnsubmittedDays
	switch s.StatusAt(now) {
	case Pending, InProgress:
		return nil
	case Completed:
		end, days = *s.CompletedAt, a.AnswerDays
	case Cancelled:
		if s.CancelledAt != nil {
			end = *s.CancelledAt
		}
	}
	if days == 0 {
		return nil
	}
	until := end.Add(time.Duration(days) * 24 * time.Hour)
	return &until
}

// DataGone reports whether the answers are erased, or due to be.
func (s *Session) DataGone(a *Account, now time.Time) bool {
	until := s.DataKeptUntil(a, now)
	return s.DataErasedAt != nil || until != nil && !now.Before(*until)
}

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
