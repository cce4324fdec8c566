package domain

import (
	"encoding/json"
	"time"

	"candor/internal/form"
	"candor/internal/statement"
)

// An EventType is the name of an event, "session.completed".
type EventType string

// The events (interface.md Events).
const (
	SessionAccessed         EventType = "session.accessed"
	SessionSectionCompleted EventType = "session.section_completed"
	SessionCompleted        EventType = "session.completed"
	SessionPDFReady         EventType = "session.pdf_ready"
	SessionExpired          EventType = "session.expired"

	BillingInvoicePaid           EventType = "billing.invoice_paid"
	BillingInvoicePaymentFailed  EventType = "billing.invoice_payment_failed"
	BillingSubscriptionCancelled EventType = "billing.subscription_cancelled"
)

// EventTypes lists the events.
var EventTypes = []EventType{
	SessionAccessed, SessionSectionCompleted, SessionCompleted, SessionPDFReady, SessionExpired,
	BillingInvoicePaid, BillingInvoicePaymentFailed, BillingSubscriptionCancelled,
}

// An Event is something that happened, with the body of the webhooks that
// say so: built once, the same bytes at every attempt (D34).
type Event struct {
	ID         EventID     `db:"id"`
	AccountID  AccountID   `db:"account_id"`
	Livemode   bool        `db:"livemode"`
	SessionID  *SessionID  `db:"session_id"` // nil for billing events
	Sequence   int64       `db:"sequence"`   // 1, 2, 3 … within account and mode, without a gap
	Type       EventType   `db:"type"`
	Body       []byte      `db:"body"`
	URL        *string     `db:"url"`         // where it was to go when it happened; nil for nowhere
	EndpointID *EndpointID `db:"endpoint_id"` // of the URL
	CreatedAt  time.Time   `db:"created_at"`
}

// EventRetention is how long events, their deliveries and attempts are kept.
const EventRetention = 90 * 24 * time.Hour

// TestEventRetention is how long the result of a test event is kept.
const TestEventRetention = time.Hour

// EventFilter says which events of a feed are asked for.
type EventFilter struct {
	After   int64      // the number of the last one that is known, 0 for none
	Type    EventType  // "" for any
	Session *SessionID // nil for any
}

// Payload is the data of an event.
type Payload interface{ eventType() EventType }

// Envelope is the body of a webhook.
type Envelope struct {
	Event     EventType      `json:"event" doc:"The event's name."`
	SessionID *SessionID     `json:"session_id,omitempty" doc:"The session; absent from billing events."`
	Livemode  bool           `json:"livemode" doc:"false for what test keys made."`
	Sequence  int64          `json:"sequence" doc:"Counts the events of an account and mode, 1, 2, 3 … without a gap. GET /v1/events returns what was missed. 0 in a test event, which is not among them."`
	Timestamp form.Timestamp `json:"timestamp" doc:"When it happened, UTC."`
	Data      Payload        `json:"data" doc:"What happened."`
}

// NewEvent makes the event of a payload in scope at now, with its number in
// the scope; session is nil for billing events.
func NewEvent(scope Scope, session *SessionID, sequence int64, p Payload, now time.Time) (*Event, error) {
	body, err := json.Marshal(Envelope{
		Event: p.eventType(), SessionID: session, Livemode: scope.Livemode, Sequence: sequence, Timestamp: form.At(now), Data: p,
	})
	if err != nil {
		return nil, err
	}
	return &Event{
		ID: NewID[eventKind](), AccountID: scope.AccountID, Livemode: scope.Livemode, SessionID: session,
		Sequence: sequence, Type: p.eventType(), Body: body, CreatedAt: now,
	}, nil
}

// AccessedPayload is the data of session.accessed.
type AccessedPayload struct {
	SessionID  SessionID      `json:"session_id" doc:"The session."`
	AccessedAt form.Timestamp `json:"accessed_at" doc:"When the customer first opened the link, UTC."`
	UserAgent  string         `json:"user_agent" doc:"The browser's User-Agent header."`
	IPAddress  string         `json:"ip_address" doc:"The customer's address."`
}

// SectionCompletedPayload is the data of session.section_completed.
type SectionCompletedPayload struct {
	SessionID          SessionID `json:"session_id" doc:"The session."`
	Section            string    `json:"section" enum:"personal_details,income,assets,liabilities,expenses,documents,declaration" doc:"The section that was completed."`
	SectionNumber      int       `json:"section_number" doc:"Its place in the form, 1 to 7."`
	SectionsTotal      int       `json:"sections_total" doc:"How many sections there are."`
	SectionsCompleted  int       `json:"sections_completed" doc:"How many are completed now."`
	ProgressPercentage int       `json:"progress_percentage" doc:"The share completed, 0 to 100."`
}

// CompletedPayload is the data of session.completed.
type CompletedPayload struct {
	SessionID       SessionID        `json:"session_id" doc:"The session."`
	CompletedAt     form.Timestamp   `json:"completed_at" doc:"When the form was submitted, UTC."`
	FormType        string           `json:"form_type" doc:"financial_statement."`
	ReferenceID     *string          `json:"reference_id" doc:"The partner's own reference, null without one."`
	DurationMinutes int              `json:"duration_minutes" doc:"Whole minutes from the first opening to submission."`
	Summary         CompletedSummary `json:"summary" doc:"The statement in three amounts."`
}

// NewCompletedPayload is the data of session.completed for a completed session
// and its answers in sum.
func NewCompletedPayload(s *Session, sum statement.Summary) CompletedPayload {
	return CompletedPayload{
		SessionID: s.ID, CompletedAt: form.At(*s.CompletedAt), FormType: s.FormType, ReferenceID: s.ReferenceID,
		DurationMinutes: s.DurationMinutes(),
		Summary:         CompletedSummary{TotalAssets: sum.TotalAssets, TotalLiabilities: sum.TotalLiabilities, NetWorth: sum.NetWorth},
	}
}

// CompletedSummary is the statement in three amounts, in dollars (D20).
type CompletedSummary struct {
	TotalAssets      statement.Cents `json:"total_assets" doc:"Dollars."`
	TotalLiabilities statement.Cents `json:"total_liabilities" doc:"Dollars."`
	NetWorth         statement.Cents `json:"net_worth" doc:"Dollars; may be negative."`
}

// PDFReadyPayload is the data of session.pdf_ready.
type PDFReadyPayload struct {
	SessionID     SessionID `json:"session_id" doc:"The session."`
	PDFURL        string    `json:"pdf_url" doc:"Where to download it, with an API key."`
	FileSizeBytes int64     `json:"file_size_bytes" doc:"Size in bytes."`
	PageCount     int       `json:"page_count" doc:"Number of pages."`
}

// ExpiredPayload is the data of session.expired (D48).
type ExpiredPayload struct {
	SessionID          SessionID       `json:"session_id" doc:"The session."`
	ExpiredAt          form.Timestamp  `json:"expired_at" doc:"The session's expires_at."`
	WasAccessed        bool            `json:"was_accessed" doc:"Whether the customer ever opened the link."`
	ProgressPercentage int             `json:"progress_percentage" doc:"The share of sections completed, 0 to 100."`
	LastActivityAt     *form.Timestamp `json:"last_activity_at" doc:"The last opening or save, null when never opened."`
}

// NewExpiredPayload is the data of session.expired for an expired session.
func NewExpiredPayload(s *Session) ExpiredPayload {
	return ExpiredPayload{
		SessionID: s.ID, ExpiredAt: form.At(s.ExpiresAt), WasAccessed: s.AccessedAt != nil,
		ProgressPercentage: statement.Percentage(s.SectionsCompleted), LastActivityAt: form.AtOptional(s.LastActivityAt),
	}
}

// InvoicePaidPayload is the data of billing.invoice_paid.
type InvoicePaidPayload struct {
	InvoiceID   string         `json:"invoice_id" doc:"The invoice."`
	Amount      int64          `json:"amount" doc:"In cents."`
	Currency    string         `json:"currency" doc:"AUD."`
	PeriodStart form.Timestamp `json:"period_start" doc:"Start of the billing period, UTC."`
	PeriodEnd   form.Timestamp `json:"period_end" doc:"End of the billing period, UTC."`
}

// NewInvoicePaidPayload is the data of billing.invoice_paid for a paid invoice.
func NewInvoicePaidPayload(i *Invoice) InvoicePaidPayload {
	return InvoicePaidPayload{
		InvoiceID: i.ID.String(), Amount: int64(i.Total), Currency: i.Currency, PeriodStart: form.At(i.PeriodStart), PeriodEnd: form.At(i.PeriodEnd),
	}
}

// InvoicePaymentFailedPayload is the data of billing.invoice_payment_failed.
type InvoicePaymentFailedPayload struct {
	InvoiceID     string          `json:"invoice_id" doc:"The invoice."`
	Amount        int64           `json:"amount" doc:"In cents."`
	FailureReason string          `json:"failure_reason" doc:"Why the payment failed."`
	RetryAt       *form.Timestamp `json:"retry_at" doc:"When it is tried again, null when it isn't."`
}

// NewInvoicePaymentFailedPayload is the data of billing.invoice_payment_failed
// for an invoice whose payment has just failed.
func NewInvoicePaymentFailedPayload(i *Invoice) InvoicePaymentFailedPayload {
	return InvoicePaymentFailedPayload{
		InvoiceID: i.ID.String(), Amount: int64(i.Total), FailureReason: *i.FailureReason, RetryAt: form.AtOptional(i.NextAttemptAt),
	}
}

// SubscriptionCancelledPayload is the data of billing.subscription_cancelled.
type SubscriptionCancelledPayload struct {
	EffectiveDate form.Timestamp `json:"effective_date" doc:"When the cancellation takes effect, UTC."`
	Reason        string         `json:"reason" doc:"Why it was cancelled."`
}

// NewSubscriptionCancelledPayload is the data of billing.subscription_cancelled
// for a cancelled subscription.
func NewSubscriptionCancelledPayload(s *Subscription) SubscriptionCancelledPayload {
	return SubscriptionCancelledPayload{EffectiveDate: form.At(*s.EffectiveAt), Reason: *s.Reason}
}

func (AccessedPayload) eventType() EventType              { return SessionAccessed }
func (SectionCompletedPayload) eventType() EventType      { return SessionSectionCompleted }
func (CompletedPayload) eventType() EventType             { return SessionCompleted }
func (PDFReadyPayload) eventType() EventType              { return SessionPDFReady }
func (ExpiredPayload) eventType() EventType               { return SessionExpired }
func (InvoicePaidPayload) eventType() EventType           { return BillingInvoicePaid }
func (InvoicePaymentFailedPayload) eventType() EventType  { return BillingInvoicePaymentFailed }
func (SubscriptionCancelledPayload) eventType() EventType { return BillingSubscriptionCancelled }
