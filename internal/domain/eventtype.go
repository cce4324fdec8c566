package domain

import (
	"time"

	"candor/internal/form"
	"candor/internal/statement"
)

// An EventType is the name of an event, "session.completed".
type EventType string

// The event types (interface.md Events). To add one: its constant, its payload
// with eventType, and its row of EventTable.
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

// Payload is the data of an event. The schema in the API's document is made
// from its fields and their doc tags.
type Payload interface{ eventType() EventType }

func (AccessedPayload) eventType() EventType              { return SessionAccessed }
func (SectionCompletedPayload) eventType() EventType      { return SessionSectionCompleted }
func (CompletedPayload) eventType() EventType             { return SessionCompleted }
func (PDFReadyPayload) eventType() EventType              { return SessionPDFReady }
func (ExpiredPayload) eventType() EventType               { return SessionExpired }
func (InvoicePaidPayload) eventType() EventType           { return BillingInvoicePaid }
func (InvoicePaymentFailedPayload) eventType() EventType  { return BillingInvoicePaymentFailed }
func (SubscriptionCancelledPayload) eventType() EventType { return BillingSubscriptionCancelled }

// An EventInfo is what is known about an event type, for every reader: the
// API's document, the dashboard, the feed's filter, metrics and test events.
type EventInfo struct {
	Type    EventType
	Summary string   // what happened, in the API's document
	When    string   // when it is sent, and what follows, in the API's document
	Words   string   // what happened, in a session's timeline; "" for billing events
	Example Envelope // the body of a webhook
}

// AboutSession reports whether the events are about a session. The others are
// about billing.
func (i EventInfo) AboutSession() bool { return i.Example.SessionID != nil }

// EventTable describes every event type, in the order in which lists show them.
var EventTable = []EventInfo{
	{
		Type: SessionAccessed, Summary: "The customer opened the link for the first time",
		When: "Sent once. Prefetches and HEAD requests of the link don’t count.", Words: "Opened by the customer",
		Example: example(&exampleSession, 1043, "2026-11-20T03:11:05Z", AccessedPayload{
			SessionID: exampleSession, AccessedAt: exampleTime("2026-11-20T03:11:05Z"),
			UserAgent: "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X)", IPAddress: "203.0.113.7",
		}),
	},
	{
		Type: SessionSectionCompleted, Summary: "The customer completed a section",
		When: "Sent once for each section: later changes send nothing.", Words: "Section completed",
		Example: example(&exampleSession, 1042, "2026-11-20T03:36:05Z", SectionCompletedPayload{
			SessionID: exampleSession, Section: statement.DeclarationSection, SectionNumber: statement.SectionsTotal,
			SectionsTotal: statement.SectionsTotal, SectionsCompleted: statement.SectionsTotal, ProgressPercentage: 100,
		}),
	},
	{
		Type: SessionCompleted, Summary: "The customer submitted the form",
		When: "The data can be fetched now; the PDF follows.", Words: "Signed and submitted",
		Example: example(&exampleSession, 1045, "2026-11-20T03:36:05Z", CompletedPayload{
			SessionID: exampleSession, CompletedAt: exampleTime("2026-11-20T03:36:05Z"), FormType: FinancialStatement,
			ReferenceID: new("LOAN-4711"), DurationMinutes: 25,
			Summary: CompletedSummary{TotalAssets: 102_640_529, TotalLiabilities: 57_616_582, NetWorth: 45_023_947},
		}),
	},
	{
		Type: SessionPDFReady, Summary: "The PDF is there",
		When: "Sent seconds after session.completed. Fetch the PDF and the documents now and keep your own copies.", Words: "PDF made",
		Example: example(&exampleSession, 1046, "2026-11-20T03:36:06.120Z", PDFReadyPayload{
			SessionID: exampleSession, PDFURL: "https://candor.example/v1/sessions/" + exampleSession.String() + "/pdf",
			FileSizeBytes: 77_312, PageCount: 4,
		}),
	},
	{
		Type: SessionExpired, Summary: "The session expired without completion",
		When: "Sent within seconds of expires_at. A cancelled session sends nothing.", Words: "Expired",
		Example: example(&exampleSession, 1048, "2026-12-20T03:04:35Z", ExpiredPayload{
			SessionID: exampleSession, ExpiredAt: exampleTime("2026-12-20T03:04:05Z"), WasAccessed: true, ProgressPercentage: 29,
			LastActivityAt: new(exampleTime("2026-11-20T03:11:05Z")),
		}),
	},
	{
		Type: BillingInvoicePaid, Summary: "An invoice was paid",
		When: "Sent in live mode, to each webhook endpoint that takes it. An invoice of 0 is paid at once.",
		Example: example(nil, 1044, "2026-12-01T00:00:09Z", InvoicePaidPayload{
			InvoiceID: exampleInvoice, Amount: 1500, Currency: "AUD",
			PeriodStart: exampleTime("2026-11-01T00:00:00Z"), PeriodEnd: exampleTime("2026-12-01T00:00:00Z"),
		}),
	},
	{
		Type: BillingInvoicePaymentFailed, Summary: "A payment failed",
		When: "Sent in live mode, to each webhook endpoint that takes it, at each failed payment.",
		Example: example(nil, 1041, "2026-12-01T00:00:09Z", InvoicePaymentFailedPayload{
			InvoiceID: exampleInvoice, Amount: 1500, FailureReason: "The card was declined.",
			RetryAt: new(exampleTime("2026-12-04T00:00:00Z")),
		}),
	},
	{
		Type: BillingSubscriptionCancelled, Summary: "The subscription was cancelled",
		When: "Sent in live mode, to each webhook endpoint that takes it, when the subscription is cancelled.",
		Example: example(nil, 1047, "2026-12-10T01:02:03Z", SubscriptionCancelledPayload{
			EffectiveDate: exampleTime("2026-12-31T00:00:00Z"), Reason: "Requested by the account’s owner.",
		}),
	},
}

// EventTypes lists the event types.
var EventTypes = keys(EventTable, func(info EventInfo) EventType { return info.Type })

var eventTypes = byKey(EventTable, func(info EventInfo) EventType { return info.Type })

// Info describes the event type; it is zero for an unknown one.
func (t EventType) Info() EventInfo { return eventTypes[t] }

// Enum lists the event types.
func (EventType) Enum() []string { return texts(EventTypes) }

const exampleInvoice = "inv_01m7xsggnverxbaf5yh399t1b7"

var exampleSession = must(ParseSessionID("sess_01m7xsggnverxbaf5yh399t1b6"))

func example(session *SessionID, sequence int64, at string, p Payload) Envelope {
	return newEnvelope(true, session, sequence, exampleTime(at).Time, p)
}

func exampleTime(text string) form.Timestamp { return form.At(must(time.Parse(time.RFC3339, text))) }

// AccessedPayload is the data of session.accessed.
type AccessedPayload struct {
	SessionID  SessionID      `json:"session_id" doc:"The session."`
	AccessedAt form.Timestamp `json:"accessed_at" doc:"When the customer first opened the link, UTC."`
	UserAgent  string         `json:"user_agent" doc:"The browser’s User-Agent header."`
	IPAddress  string         `json:"ip_address" doc:"The customer’s address."`
}

// SectionCompletedPayload is the data of session.section_completed.
type SectionCompletedPayload struct {
	SessionID          SessionID             `json:"session_id" doc:"The session."`
	Section            statement.SectionName `json:"section" doc:"The section that was completed."`
	SectionNumber      int                   `json:"section_number" doc:"Its place in the form, 1 to 7."`
	SectionsTotal      int                   `json:"sections_total" doc:"How many sections there are."`
	SectionsCompleted  int                   `json:"sections_completed" doc:"How many are completed now."`
	ProgressPercentage int                   `json:"progress_percentage" doc:"The share completed, 0 to 100."`
}

// CompletedPayload is the data of session.completed.
type CompletedPayload struct {
	SessionID       SessionID        `json:"session_id" doc:"The session."`
	CompletedAt     form.Timestamp   `json:"completed_at" doc:"When the form was submitted, UTC."`
	FormType        string           `json:"form_type" doc:"financial_statement."`
	ReferenceID     *string          `json:"reference_id" doc:"The partner’s own reference, null without one."`
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
	ExpiredAt          form.Timestamp  `json:"expired_at" doc:"The session’s expires_at."`
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
		InvoiceID: i.ID.String(), Amount: int64(i.Total), Currency: i.Currency, PeriodStart: form.At(i.PeriodStart),
		PeriodEnd: form.At(i.PeriodEnd),
	}
}

// InvoicePaymentFailedPayload is the data of billing.invoice_payment_failed.
type InvoicePaymentFailedPayload struct {
	InvoiceID     string          `json:"invoice_id" doc:"The invoice."`
	Amount        int64           `json:"amount" doc:"In cents."`
	FailureReason string          `json:"failure_reason" doc:"Why the payment failed."`
	RetryAt       *form.Timestamp `json:"retry_at" doc:"When it is tried again, null when it isn’t."`
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
