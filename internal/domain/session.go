package domain

import (
	"net/url"
	"strings"
	"time"

	"candor/internal/statement"
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

// Enum lists the states.
func (Status) Enum() []string { return texts(Statuses) }

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
	ReturnURL         *string    `db:"return_url"` // as the partner gave it; ReturnLink leads there
	Metadata          Metadata   `db:"metadata"`
	SectionsCompleted int        `db:"sections_completed"` // at any time (D15)
	SectionsFinished  int        `db:"-"`                  // completed, and no draft since; of the dashboard's lists alone
	CreatedAt         time.Time  `db:"created_at"`
	ExpiresAt         time.Time  `db:"expires_at"` // zero until stored: by the account's default
	AccessedAt        *time.Time `db:"accessed_at"`
	CompletedAt       *time.Time `db:"completed_at"`
	CancelledAt       *time.Time `db:"cancelled_at"`
	LastActivityAt    *time.Time `db:"last_activity_at"`
	PDFReadyAt        *time.Time `db:"pdf_ready_at"`
	// of the PDF as it was issued; nil before, and once the customer is erased
	PDFSHA256        []byte     `db:"pdf_sha256"`
	PDFSigner        *string    `db:"pdf_signer"`         // who signed it, by the certificate (D81); nil if it isn't signed
	PDFSignerIssuer  *string    `db:"pdf_signer_issuer"`  // who issued that certificate
	ErasedAt         *time.Time `db:"erased_at"`          // when retention deleted PDF and documents
	DataErasedAt     *time.Time `db:"data_erased_at"`     // when the answers were erased, by retention or on request
	CustomerErasedAt *time.Time `db:"customer_erased_at"` // when the customer's identity was erased, on request
	CreatedByKind    *ActorKind `db:"created_by_kind"`    // nil if it isn't known, as in tests
	CreatedBy        *string    `db:"created_by"`         // the actor's name at that time
	Language         *Language  `db:"language"`           // in which the form opens; nil: the browser's (D57)
	ChosenLanguage   *Language  `db:"chosen_language"`    // by the customer, on a page; nil for none
	// the form shows answers that the partner gave, or a former session (D58, D101)
	Prefilled         bool       `db:"prefilled"`
	LinkVersion       int        `db:"link_version"`        // how often the link was renewed
	SavedBy           *string    `db:"saved_by"`            // LinkHolder.Mark of the browser that saved last; nil: none has
	Emailed           bool       `db:"emailed"`             // Candor emails its link (D103)
	Documents         *int       `db:"documents"`           // it was submitted with; nil: it wasn't, or that isn't known
	PreviousSessionID *SessionID `db:"previous_session_id"` // whose answers it offers (D101); nil: none

	Delivery *LinkDelivery `db:"-"` // of a new session whose link is emailed

	Holder LinkHolder `db:"-"` // the browser that works on the form
	// Of a new session; package vault stores them.
	Prefill statement.Prefill          `db:"-"`
	Offers  map[string]statement.Offer `db:"-"` // by section
	Asks    map[string]string          `db:"-"` // what the partner asks for, by section (D102)
}

// Scope returns the account and mode that own the session.
func (s *Session) Scope() Scope { return Scope{AccountID: s.AccountID, Livemode: s.Livemode} }

// LinkIsConfidential reports whether the session's link shows answers, of the
// customer or given by the partner (D51, D58).
func (s *Session) LinkIsConfidential() bool { return s.AccessedAt != nil || s.Prefilled }

// MayHaveAnswers reports whether a customer can have entered anything, here or in a former
// session.
func (s *Session) MayHaveAnswers() bool { return s.AccessedAt != nil || s.PreviousSessionID != nil }

// OpensFor reports whether the session's form opens in a browser. A link for one browser
// opens it in that which saved last, and while nothing is saved in any (D92).
func (s *Session) OpensFor(h LinkHolder) bool {
	return h.Link.Version == s.LinkVersion && (!h.Link.OneBrowser || s.SavedBy == nil || *s.SavedBy == h.Mark())
}

// SessionKeyOwner names a session as the owner of its sealed data key.
func SessionKeyOwner(id SessionID) string { return "session key " + id.String() }

// StatusAt returns the session's state at now, the same for every reader: an
// open session is expired after its expiry, before the sweep too (D11).
func (s *Session) StatusAt(now time.Time) Status {
	if s.Status.Open() && !now.Before(s.ExpiresAt) {
		return Expired
	}
	return s.Status
}

// Conflict returns why the session's state doesn't allow work or cancellation;
// nil if it does (D12).
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
// minutes, rounded (D48); 0 if either is missing.
func (s *Session) DurationMinutes() int {
	if s.AccessedAt == nil || s.CompletedAt == nil {
		return 0
	}
	return int((s.CompletedAt.Sub(*s.AccessedAt) + 30*time.Second) / time.Minute)
}

// LeastExtension is the fewest days after from with which the link ends later than it does.
func (s *Session) LeastExtension(from time.Time) int {
	return max(1, int(s.ExpiresAt.Sub(from)/(24*time.Hour))+1)
}

// Reference is the partner's reference, else one made of the id.
func (s *Session) Reference() string {
	if s.ReferenceID != nil {
		return *s.ReferenceID
	}
	return SessionReference(s.ID)
}

// ReturnLink is the partner's return URL with the session's id added to its query (D96), ""
// if the partner gave none.
func (s *Session) ReturnLink() string {
	if s.ReturnURL == nil {
		return ""
	}
	u, err := url.Parse(*s.ReturnURL)
	if err != nil {
		return "" // never: it was checked
	}
	var query []string // as it was given, but for a session_id, which would come first
	for member := range strings.SplitSeq(u.RawQuery, "&") {
		name, _, _ := strings.Cut(member, "=")
		if name, err := url.QueryUnescape(name); member != "" && (err != nil || name != "session_id") {
			query = append(query, member)
		}
	}
	u.RawQuery = strings.Join(append(query, "session_id="+s.ID.String()), "&")
	return u.String()
}

// SessionFilter filters a list of sessions; zero fields match everything
// (D10). Fields tagged query are parameters of the API, described by doc.
type SessionFilter struct {
	Status        Status     `query:"status" sample:"completed" doc:"Only sessions in this state."`
	ReferenceID   string     `query:"reference_id" doc:"Only sessions with exactly this reference. Spaces around it are removed; a blank one, and control characters, are refused."`
	CustomerEmail string     `query:"customer_email" doc:"Only sessions of this customer: the whole address, in any case. Spaces around it are removed; a blank one, and control characters, are refused."`
	CreatedAfter  *time.Time `query:"created_after" doc:"Only sessions created after this moment, itself excluded."`
	CreatedBefore *time.Time `query:"created_before" doc:"Only sessions created before this moment, itself excluded. One before created_after is refused."`
	Search        string     // words, each a part of the name, the address or the reference; of the dashboard alone
	Sections      int        // only with at least so many finished sections; of the dashboard alone
	Misspelt      bool       // Search: each word has one mistake (D131)
	Figure        *Figure    // only sessions that are counted so; of the dashboard alone
	Progress      *Progress  // only sessions whose customer came so far; of the dashboard alone
	ExpiresBefore *time.Time // only open sessions whose link expires before this, the first ExpiringMost; of the dashboard alone
}

// SessionFilters are the filters of lists of sessions.
var SessionFilters = []Filter[SessionFilter]{
	{Name: "status", Index: "session_status_idx", Counted: true, Value: func(f *SessionFilter) any { return set(f.Status) }},
	{Name: "reference_id", Column: "reference_id", Index: "session_reference_idx", Value: func(f *SessionFilter) any {
		return set(f.ReferenceID)
	}},
	{Name: "customer_email", Column: "customer_email", Compare: EqualFold, Index: "session_email_idx",
		Value: func(f *SessionFilter) any {
			return set(f.CustomerEmail)
		}},
	{Name: "q", Index: "session_search_idx", Value: func(f *SessionFilter) any { return set(f.Search) }},
	{Name: "expiring", Index: "session_overdue_idx", Value: func(f *SessionFilter) any { return given(f.ExpiresBefore) }},
	{Name: "sections", Value: func(f *SessionFilter) any { return set(f.Sections) }},
	{Name: "figure", Value: func(f *SessionFilter) any { return given(f.Figure) }},
	{Name: "progress", Value: func(f *SessionFilter) any { return given(f.Progress) }},
	{Name: "created_after", Column: "created_at", Compare: Above, Index: "session_list_idx", Counted: true,
		Value: func(f *SessionFilter) any {
			return given(f.CreatedAfter)
		}},
	{Name: "created_before", Column: "created_at", Compare: Below, Index: "session_list_idx", Counted: true,
		Value: func(f *SessionFilter) any {
			return given(f.CreatedBefore)
		}},
}

// Counted reports whether the counters, which are by status and day, can count
// what the filter matches.
func (f SessionFilter) Counted() bool { return counted(SessionFilters, &f) }

// Walks reports whether the list's sessions are looked at one by one, since no index leads
// to what the filter matches.
func (f SessionFilter) Walks() bool { return f.Figure != nil || f.Progress != nil }

// ByCustomer reports whether the filter names a customer or a reference.
func (f SessionFilter) ByCustomer() bool { return f.ReferenceID != "" || f.CustomerEmail != "" }

// A SessionOrder is how a list of sessions is sorted (D134).
type SessionOrder string

// The orders.
const (
	NewestFirst SessionOrder = ""
	OldestFirst SessionOrder = "oldest"
	EndsSoonest SessionOrder = "ends" // open links, by their expiry
)

// Sorts reports whether an index leads through what the filter matches in this order.
func (o SessionOrder) Sorts(f *SessionFilter) bool {
	switch o {
	case NewestFirst:
		return true
	case OldestFirst:
		return f.Search == "" && !f.Walks()
	case EndsSoonest:
		return f.Search == "" && !f.Walks() &&
			(f.ExpiresBefore != nil || f.Status.Open() && f.CreatedAfter == nil && f.CreatedBefore == nil)
	}
	return false
}

// A SessionMark is the last row of a page of sessions, after which the next one begins.
type SessionMark struct {
	ID        SessionID
	ExpiresAt time.Time // as the page was sorted by it; zero for what it is now
}

// FarAlong is how many finished sections make it worth the while to extend a link.
const FarAlong = 4

// ExpiringMost is how many of the links that expire first are listed and counted.
// Reading 300 takes less than 2 ms.
const ExpiringMost = 300

// CountMost is how far a page counts if no counter is kept.
const CountMost = 10_000

// NewMost is how far the rows are counted that came since a list was shown.
const NewMost = 100

// A Page is one page of a list: Number from 1, Size items.
type Page struct{ Number, Size int }

// Document is an uploaded file's row; its bytes are in the blob store. Package
// vault seals and opens the name and the bytes.
type Document struct {
	ID          DocumentID `db:"id"`
	SessionID   SessionID  `db:"session_id"`
	Category    string     `db:"category"` // "" until the customer chose one
	FileName    string     `db:"file_name"`
	ContentType string     `db:"content_type"`
	SizeBytes   int64      `db:"size_bytes"`
	SHA256      []byte     `db:"sha256"`
	UploadedAt  time.Time  `db:"uploaded_at"`
}

// MoveTo moves a new session, with the end of its link, to another time of
// creation.
func (s *Session) MoveTo(created time.Time) {
	if !s.ExpiresAt.IsZero() {
		s.ExpiresAt = s.ExpiresAt.Add(created.Sub(s.CreatedAt))
	}
	s.CreatedAt = created
}

// A PDF is a session's statement as it is issued.
type PDF struct {
	Content      []byte
	Pages        int
	Signer       string // the subject of the certificate that signed it (D81); "" if it isn't signed
	SignerIssuer string // who issued that certificate
}
