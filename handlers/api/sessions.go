package api

import (
	"context"
	"encoding/json"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/idempotency"
	"candor/internal/service/simulator"
	"candor/internal/statement"
)

// createSessionRequest is the body of POST /v1/sessions.
type createSessionRequest struct {
	FormType      string          `json:"form_type" required:"true" enum:"financial_statement" doc:"The form to be filled in; any other is invalid_form_type."`
	CustomerEmail string          `json:"customer_email" required:"true" format:"email" maxLength:"254" doc:"The customer’s email address."`
	CustomerName  string          `json:"customer_name" sample:"yes" maxLength:"200" doc:"The customer’s full name."`
	ReferenceID   string          `json:"reference_id" sample:"yes" maxLength:"200" doc:"Your own reference."`
	WebhookURL    string          `json:"webhook_url" format:"uri" maxLength:"2048" doc:"Where this session’s events go, instead of your webhook endpoints. HTTPS in production."`
	ReturnURL     string          `json:"return_url" format:"uri" maxLength:"2048" doc:"Where the customer goes back to: a link on the list of sections, and a button after completion, with session_id in the query. Its rules are those of webhook_url."`
	ExpiresInDays *int            `json:"expires_in_days" min:"1" max:"90" doc:"After how many times 24 hours the link stops working. Without it, the account’s own default counts, 30 if it has set none."`
	Metadata      domain.Metadata `json:"metadata" doc:"Your own data: at most 10 keys of 1 to 100 characters; values are strings, numbers or booleans of at most 500 characters."`
	Language      domain.Language `json:"language" doc:"The language in which the form opens, whatever the browser asks for. The account must offer it; English is always offered. The customer can choose another one on the page. Without it, the browser decides."`
	Simulate      simulator.Goal  `json:"simulate" enum:"opened,personal_details,income,assets,liabilities,expenses,documents,declaration,completed,expired,pdf_expired" doc:"Test keys only: takes the new session so far at once, as POST /v1/test/sessions/{id}/advance does. A live key gets 422."`
	Deliver       *deliverOption  `json:"deliver" doc:"Has Candor email the link to customer_email, in your account’s name and brand and in the session’s language. In test mode only people of your own team get it. Without it, you pass the link on."`
	Prefill       rawPrefill      `json:"prefill" doc:"Answers that you know already, in the shape of the data endpoint’s data: any part of the five sections, at most 32 KiB of JSON. The form offers them to the customer, who can change them; they count when the customer saves the section. Computed members and expenses.share are ignored, any other unknown member is an error. An amount can be a string such as \"1250.50\"."`
	PrefillFrom   string          `json:"prefill_from" pattern:"^sess_[0-7][0-9a-hjkmnp-tv-z]{25}$" doc:"A former session of the same customer_email that is completed, expired or cancelled: the form offers its answers, and what was typed and not finished. The customer confirms each section, so nothing is typed twice. Documents are not copied. The key needs data:read. Not together with prefill."`
	Ask           asks            `json:"ask" maxItems:"6" doc:"What the customer is to do again or send: at most one note for each section before the declaration. The list of sections and the section’s page show it as your words."`
}

// askItem is what is asked for in a section (D102).
type askItem struct {
	Section string `json:"section" required:"true" enum:"personal_details,income,assets,liabilities,expenses,documents" doc:"The section."`
	Note    string `json:"note" required:"true" maxLength:"500" doc:"Your words to the customer: plain text in at most 5 lines, without web addresses."`
}

// asks are the members of ask.
type asks []askItem

// deliverOption says how a new session's link is passed on (D103).
type deliverOption struct {
	By     string `json:"by" required:"true" enum:"email" doc:"How."`
	Remind bool   `json:"remind,omitempty" doc:"Remind the customer while the form isn’t sent: not opened, after 2 and 7 days; begun, 1 and 4 days after the last activity; 2 days before the link ends. Never from 20 to 8 o’clock, by the home address if it is known and in Australia, else in your account’s time zone; and never after completion, cancellation or the customer’s No more reminders."`
}

// rawPrefill is the JSON of what statement.ReadPrefill reads.
type rawPrefill json.RawMessage

// SessionPath is the path of GetSession, as Echo writes it.
const SessionPath = "/v1/sessions/:id"

// sessionID is the session in an endpoint's path.
type sessionID struct {
	SessionID string `path:"id" sample:"sess_01m7xsggnverxbaf5yh399t1b6" pattern:"^sess_[0-7][0-9a-hjkmnp-tv-z]{25}$" doc:"The session’s id, sess_…"`
}

func (p sessionID) parse() (domain.SessionID, error) {
	id, err := domain.ParseSessionID(p.SessionID)
	if err != nil {
		return id, domain.Errorf(domain.CodeSessionNotFound, "%s", notAnID("sess", p.SessionID))
	}
	return id, nil
}

// sessionFields are the fields of a session at its creation and later.
type sessionFields struct {
	ID            domain.SessionID  `json:"id" doc:"The session’s id."`
	Status        domain.Status     `json:"status" doc:"The session’s state."`
	FormType      string            `json:"form_type" enum:"financial_statement" doc:"The form."`
	CustomerEmail string            `json:"customer_email" doc:"The customer’s email address."`
	CustomerName  *string           `json:"customer_name" doc:"The customer’s full name, null where none was given."`
	ReferenceID   *string           `json:"reference_id" doc:"Your own reference, null where none was given."`
	WebhookURL    *string           `json:"webhook_url" doc:"Where this session’s events go, null for your webhook endpoints."`
	ReturnURL     *string           `json:"return_url" doc:"Where the customer goes back to, as it was given; null where it wasn’t."`
	CreatedAt     form.Timestamp    `json:"created_at" doc:"When it was created, UTC."`
	ExpiresAt     form.Timestamp    `json:"expires_at" doc:"When the link stops working, UTC."`
	AccessedAt    *form.Timestamp   `json:"accessed_at" doc:"When the customer first opened the form, UTC; null until then."`
	CompletedAt   *form.Timestamp   `json:"completed_at" doc:"When the form was submitted, UTC; null until then."`
	Metadata      domain.Metadata   `json:"metadata" doc:"The data given at creation."`
	Livemode      bool              `json:"livemode" doc:"false for sessions of test keys."`
	Previous      *domain.SessionID `json:"previous_session_id,omitempty" doc:"The session whose answers it offers, as given by prefill_from; absent if it wasn’t."`
	Deliver       *linkDelivery     `json:"deliver,omitempty" doc:"How the link is emailed; absent unless the request asked for it or your team had it sent from the dashboard, and once the customer’s data are erased."`
}

// linkDelivery is what became of the emails with a session's link (D103).
type linkDelivery struct {
	By                 string                `json:"by" enum:"email" doc:"How."`
	Remind             bool                  `json:"remind" doc:"Whether reminders were asked for."`
	Status             domain.LinkEmailState `json:"status" doc:"Of the email with the link, if your team had it sent again of the latest. queued: to be sent, or tried again. sent: the mail server took it. failed: it was refused for good, or not taken for 4½ days. not_sent: test mode doesn’t email this address, or the session ended first. unknown: the mail server got it and did not answer, so it is not sent again."`
	SentAt             *form.Timestamp       `json:"sent_at" doc:"When that email was sent, UTC; null if it isn’t, or isn’t yet."`
	Problem            *string               `json:"problem" doc:"Why the latest email wasn’t sent, in words; null for no problem."`
	RemindersSent      int                   `json:"reminders_sent" doc:"How many reminders were sent."`
	RemindersStoppedAt *form.Timestamp       `json:"reminders_stopped_at" doc:"When the customer chose No more reminders, UTC; null if not."`
}

func newLinkDelivery(of *domain.LinkDelivery) *linkDelivery {
	if of == nil {
		return nil
	}
	first := of.Email(domain.LinkItself)
	out := &linkDelivery{By: "email", Remind: of.Remind, Status: first.State, RemindersSent: of.RemindersSent(),
		RemindersStoppedAt: form.AtOptional(of.StoppedAt)}
	switch first.State {
	case domain.LinkSending:
		out.Status = domain.LinkQueued
	case domain.LinkSent:
		out.SentAt = form.AtOptional(first.EndedAt)
	}
	latest := of.Latest()
	if reason := latest.Reason(); reason != "" {
		out.Problem = &reason
	}
	return out
}

// newSession is a session at its creation.
type newSession struct {
	sessionFields
	SessionURL string `json:"session_url" format:"uri" doc:"The link that opens the form. Give it to the customer alone. For a key without data:read it is a link for one browser: once something is saved, it opens the form only in the browser that saved it."`
}

// session is a session now.
type session struct {
	sessionFields
	SessionURL   *string         `json:"session_url" format:"uri" doc:"The link that opens the form. For a key without data:read it is a link for one browser, and null if the session has prefill or once the customer has opened it."`
	CancelledAt  *form.Timestamp `json:"cancelled_at" doc:"When it was cancelled, UTC; null unless it was."`
	DataErasedAt *form.Timestamp `json:"data_erased_at" doc:"When answers, drafts, prefill and documents were erased, UTC; null if they are kept. It happens on request, some days after a session expired or was cancelled, or when the account’s retention of answers is over. After a request, what says something about the customer is null or empty, too, and customer_email is erased@customer.invalid."`
	Progress     progress        `json:"progress" doc:"How far the customer has come."`
}

type progress struct {
	SectionsCompleted int `json:"sections_completed" min:"0" max:"7" doc:"How many sections were completed."`
	SectionsTotal     int `json:"sections_total" doc:"How many sections there are, 7."`
	Percentage        int `json:"percentage" min:"0" max:"100" doc:"The share completed, rounded to the nearest integer."`
}

// sessionItem is a session in a list.
type sessionItem struct {
	ID            domain.SessionID `json:"id" doc:"The session’s id."`
	Status        domain.Status    `json:"status" doc:"The session’s state."`
	FormType      string           `json:"form_type" enum:"financial_statement" doc:"The form."`
	CustomerEmail string           `json:"customer_email" doc:"The customer’s email address."`
	CustomerName  *string          `json:"customer_name" doc:"The customer’s full name, null where none was given."`
	ReferenceID   *string          `json:"reference_id" doc:"Your own reference, null where none was given."`
	CreatedAt     form.Timestamp   `json:"created_at" doc:"When it was created, UTC."`
	CompletedAt   *form.Timestamp  `json:"completed_at" doc:"When the form was submitted, UTC; null until then."`
	Livemode      bool             `json:"livemode" doc:"false for sessions of test keys."`
}

// listSessionsRequest is the query of GET /v1/sessions. The largest page is
// beyond any list's end, and still fits the database's numbers.
type listSessionsRequest struct {
	Page    int `query:"page" default:"1" min:"1" max:"1000000000" doc:"Which page, counted from 1. One past the end is empty."`
	PerPage int `query:"per_page" default:"20" min:"1" max:"100" doc:"Sessions on a page."`
	domain.SessionFilter
}

type sessionList struct {
	Data       []sessionItem `json:"data" doc:"The page’s sessions, newest first."`
	Pagination pagination    `json:"pagination" doc:"Where the page is in the list."`
}

type pagination struct {
	Page       int `json:"page" doc:"This page, counted from 1."`
	PerPage    int `json:"per_page" doc:"Items on a page."`
	Total      int `json:"total" doc:"Items in the whole list."`
	TotalPages int `json:"total_pages" doc:"Pages in the whole list, 0 for an empty one."`
}

// cancelledSession is the answer to a cancellation.
type cancelledSession struct {
	ID          domain.SessionID `json:"id" doc:"The session’s id."`
	Status      domain.Status    `json:"status" enum:"cancelled" doc:"Its state now."`
	CancelledAt form.Timestamp   `json:"cancelled_at" doc:"When it was cancelled, UTC."`
}

// CreateSession is POST /v1/sessions.
func (s *Server) CreateSession() Endpoint {
	return idempotent(s, operation{
		id: "createSession", tag: "Sessions", summary: "Create a session",
		description: "Makes a session and the link that opens its form. Unknown fields are ignored; null is the same as leaving a field out.",
		errors: []domain.Code{domain.CodeInvalidFormType, domain.CodeInvalidEmail, domain.CodeValidation,
			domain.CodeSpendCapReached},
		status: 201,
	}, s.newSession, s.createSession)
}

func (s *Server) createSession(ctx context.Context, key *idempotency.Key[*domain.Session],
	r *createSessionRequest) (*domain.Session, error) {
	params := domain.NewSession{
		FormType: r.FormType, CustomerEmail: r.CustomerEmail, CustomerName: r.CustomerName, ReferenceID: r.ReferenceID,
		WebhookURL: r.WebhookURL, ReturnURL: r.ReturnURL, ExpiresInDays: r.ExpiresInDays, Metadata: r.Metadata, Language: r.Language,
		Prefill: json.RawMessage(r.Prefill), PrefillFrom: r.PrefillFrom, By: actorIn(ctx),
	}
	for _, a := range r.Ask {
		params.Ask = append(params.Ask, domain.Ask{Section: a.Section, Note: a.Note})
	}
	if r.PrefillFrom != "" && !mayReadData(ctx) {
		return nil, domain.FieldError(domain.CodeForbidden, "prefill_from",
			"prefill_from shows the answers of a session to who has the new link. It needs a key with the permission data:read.")
	}
	if r.Deliver != nil {
		if r.Deliver.By != "email" {
			return nil, domain.Breaks(domain.CodeValidation, "deliver.by", form.Rule{Code: "one_of", Value: "email"})
		}
		params.Deliver = &domain.Deliver{Remind: r.Deliver.Remind, OneBrowser: !mayReadData(ctx)}
	}
	var created *domain.Session
	var err error
	if r.Simulate == "" {
		created, err = s.Sessions.Create(ctx, scopeIn(ctx), key, params, web.RequestIn(ctx).Leave)
	} else {
		created, err = s.Simulator.Create(ctx, scopeIn(ctx), key, params, r.Simulate)
	}
	if err == nil {
		id := created.ID // a copy: the log of requests would keep the whole session
		web.RequestIn(ctx).Created = &id
	}
	return created, err
}

func (s *Server) newSession(ctx context.Context, of *domain.Session) *newSession {
	return &newSession{newSessionFields(of), s.Sessions.URL(of, mayReadData(ctx))}
}

func newSessionFields(of *domain.Session) sessionFields {
	return sessionFields{
		ID: of.ID, Status: of.Status, FormType: of.FormType, CustomerEmail: of.CustomerEmail, CustomerName: of.CustomerName,
		ReferenceID: of.ReferenceID, WebhookURL: of.WebhookURL, ReturnURL: of.ReturnURL,
		CreatedAt: form.At(of.CreatedAt), ExpiresAt: form.At(of.ExpiresAt), AccessedAt: form.AtOptional(of.AccessedAt),
		CompletedAt: form.AtOptional(of.CompletedAt), Metadata: of.Metadata, Livemode: of.Livemode,
		Previous: of.PreviousSessionID, Deliver: newLinkDelivery(of.Delivery),
	}
}

// ListSessions is GET /v1/sessions.
func (s *Server) ListSessions() Endpoint {
	return endpoint(operation{
		id: "listSessions", tag: "Sessions", summary: "List sessions",
		description: "The sessions of the key’s account and mode, newest first.",
		errors:      []domain.Code{domain.CodeValidation},
		status:      200,
	}, s.listSessions)
}

func (s *Server) listSessions(ctx context.Context, r *listSessionsRequest) (*sessionList, error) {
	for _, filter := range []struct {
		name string
		text *string
	}{{"reference_id", &r.ReferenceID}, {"customer_email", &r.CustomerEmail}} {
		if *filter.text == "" {
			continue
		}
		// Stored texts are normalised, so the filter must be, too.
		if *filter.text, _ = form.CleanText(*filter.text, len(*filter.text)); *filter.text == "" {
			return nil, domain.FieldError(domain.CodeInvalidRequest, filter.name, filter.name+" must not be empty.")
		}
	}
	if after, before := r.CreatedAfter, r.CreatedBefore; after != nil && before != nil && before.Before(*after) {
		return nil, domain.Breaks(domain.CodeValidation, "created_before", form.Rule{Code: "created_order"})
	}
	page := domain.Page{Number: r.Page, Size: r.PerPage}
	sessions, total, err := s.Sessions.List(ctx, scopeIn(ctx), r.SessionFilter, page)
	if err != nil {
		return nil, err
	}
	out := &sessionList{Data: make([]sessionItem, len(sessions)), Pagination: pagination{
		Page: r.Page, PerPage: r.PerPage, Total: total, TotalPages: (total + r.PerPage - 1) / r.PerPage,
	}}
	for i, of := range sessions {
		out.Data[i] = sessionItem{
			ID: of.ID, Status: of.Status, FormType: of.FormType, CustomerEmail: of.CustomerEmail, CustomerName: of.CustomerName,
			ReferenceID: of.ReferenceID, CreatedAt: form.At(of.CreatedAt), CompletedAt: form.AtOptional(of.CompletedAt),
			Livemode: of.Livemode,
		}
	}
	return out, nil
}

// GetSession is GET /v1/sessions/:id.
func (s *Server) GetSession() Endpoint {
	return endpoint(operation{
		id: "getSession", tag: "Sessions", summary: "Get a session",
		description: "A session as it stands, with the customer’s progress. Its link opens what the customer has entered so far, " +
			"so if the session has prefill or the customer has opened it, `session_url` is null for a key without data:read.",
		errors: []domain.Code{domain.CodeSessionNotFound},
		status: 200,
	}, s.getSession)
}

func (s *Server) getSession(ctx context.Context, r *sessionID) (*session, error) {
	id, err := r.parse()
	if err != nil {
		return nil, err
	}
	of := web.RequestIn(ctx).Session
	if of == nil {
		if of, err = s.Sessions.Get(ctx, scopeIn(ctx), id); err != nil {
			return nil, err
		}
	}
	if of.Delivery, err = s.Sessions.Delivery(ctx, of); err != nil {
		return nil, err
	}
	return s.newSessionNow(of, mayReadData(ctx)), nil
}

// mayReadData reports whether the request's key may read answers.
func mayReadData(ctx context.Context) bool {
	return web.RequestIn(ctx).Principal.Permissions.Allow(domain.DataRead)
}

func (s *Server) newSessionNow(of *domain.Session, mayRead bool) *session {
	var link *string // null for a key that may not read what the link shows (D51)
	if url := s.Sessions.LinkNow(of, mayRead); url != "" {
		link = &url
	}
	return &session{sessionFields: newSessionFields(of), SessionURL: link, CancelledAt: form.AtOptional(of.CancelledAt),
		DataErasedAt: form.AtOptional(of.DataErasedAt), Progress: progress{
			SectionsCompleted: of.SectionsCompleted, SectionsTotal: statement.SectionsTotal,
			Percentage: statement.Percentage(of.SectionsCompleted),
		}}
}

// CancelSession is DELETE /v1/sessions/:id.
func (s *Server) CancelSession() Endpoint {
	return endpoint(operation{
		id: "cancelSession", tag: "Sessions", summary: "Cancel a session",
		description: "Ends a pending or in_progress session: its link shows that it was cancelled. No event is sent.",
		errors: []domain.Code{domain.CodeSessionNotFound, domain.CodeSessionCompleted, domain.CodeSessionCancelled,
			domain.CodeSessionExpired},
		status: 200,
	}, s.cancelSession)
}

func (s *Server) cancelSession(ctx context.Context, r *sessionID) (*cancelledSession, error) {
	id, err := r.parse()
	if err != nil {
		return nil, err
	}
	of, err := s.Sessions.Cancel(ctx, scopeIn(ctx), id, actorIn(ctx))
	if err != nil {
		return nil, err
	}
	return &cancelledSession{ID: of.ID, Status: of.Status, CancelledAt: form.At(*of.CancelledAt)}, nil
}
