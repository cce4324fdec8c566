package domain

import (
	"time"
)

// FinancialStatement is the only form type.
const FinancialStatement = "financial_statement"

// A Status is a session's state.
type Status string

// The states of a session (interface.md States and transitions).
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Expired    Status = "expired"
	Cancelled  Status = "cancelled"
)

// Statuses lists the states.
var Statuses = []Status{Pending, InProgress, Completed, Expired, Cancelled}

// Open reports whether the customer can still work on the form.
func (s Status) Open() bool { return s == Pending || s == InProgress }

// A Session is one customer's form. Times are UTC.
type Session struct {
	ID                SessionID  `db:"id"`
	AccountID         AccountID  `db:"account_id"`
	Livemode          bool       `db:"livemode"`
	Status            Status     `db:"status"`
	FormType          string     `db:"form_type"`
	CustomerEmail     string     `db:"customer_email"`
	CustomerName      *string    `db:"customer_name"`
	ReferenceID       *string    `db:"reference_id"`
	WebhookURL        *string    `db:"webhook_url"`
	Metadata          Metadata   `db:"metadata"`
	SectionsCompleted int        `db:"sections_completed"`
	CreatedAt         time.Time  `db:"created_at"`
	ExpiresAt         time.Time  `db:"expires_at"`
	AccessedAt        *time.Time `db:"accessed_at"`
	CompletedAt       *time.Time `db:"completed_at"`
	CancelledAt       *time.Time `db:"cancelled_at"`
	LastActivityAt    *time.Time `db:"last_activity_at"`
	PDFReadyAt        *time.Time `db:"pdf_ready_at"`
	ErasedAt          *time.Time `db:"erased_at"`          // when retention deleted PDF and documents
	DataErasedAt      *time.Time `db:"data_erased_at"`     // when what was entered was erased, by retention or on request
	CustomerErasedAt  *time.Time `db:"customer_erased_at"` // when who the customer is was erased, on request
	CreatedByKind     *ActorKind `db:"created_by_kind"`    // nil where it wasn't noted
	CreatedBy         *string    `db:"created_by"`         // as the actor was called then
}

// Scope returns the account and mode that own the session.
func (s *Session) Scope() Scope { return Scope{AccountID: s.AccountID, Livemode: s.Livemode} }

// SessionKeyOwner names a session as the owner of its sealed data key.
func SessionKeyOwner(id SessionID) string { return "session key " + id.String() }

// StatusAt returns the session's state as every reader sees it at now: an
// open session past its expiry is expired, swept or not (D11).
func (s *Session) StatusAt(now time.Time) Status {
	if s.Status.Open() && !now.Before(s.ExpiresAt) {
		return Expired
	}
	return s.Status
}

// Conflict returns why the session can't be worked on or cancelled in its
// state, nil where it can (D12).
func (s *Session) Conflict(now time.Time) error {
	switch s.StatusAt(now) {
	case Completed:
		return Errorf(CodeSessionCompleted, "This session is already completed.")
	case Cancelled:
		return Errorf(CodeSessionCancelled, "This session is already cancelled.")
	case Expired:
		return Errorf(CodeSessionExpired, "This session has expired.")
	}
	return nil
}

// DurationMinutes is the time from the first opening to completion in whole
// minutes, rounded (D48); 0 where either is missing.
func (s *Session) DurationMinutes() int {
	if s.AccessedAt == nil || s.CompletedAt == nil {
		return 0
	}
	return int((s.CompletedAt.Sub(*s.AccessedAt) + 30*time.Second) / time.Minute)
}

// SessionFilter narrows a list of sessions; zero fields don't (D10).
type SessionFilter struct {
	Status        Status
	ReferenceID   string
	CustomerEmail string     // the whole address, any case
	Search        string     // ReferenceID or CustomerEmail
	CreatedAfter  *time.Time // exclusive
	CreatedBefore *time.Time // exclusive
}

// Counted reports whether the counters know all that the filter asks for: they
// are kept by status and day. A field that isn't cleared here isn't counted.
func (f SessionFilter) Counted() bool {
	f.Status, f.CreatedAfter, f.CreatedBefore = "", nil, nil
	return f == SessionFilter{}
}

// ByCustomer reports whether the filter narrows the list to a customer or a
// reference.
func (f SessionFilter) ByCustomer() bool {
	return f.ReferenceID != "" || f.CustomerEmail != "" || f.Search != ""
}

// A Page is a slice of a list: Number from 1, Size items.
type Page struct{ Number, Size int }
