package api

import (
	"context"
	"encoding/json"
	"time"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/idempotency"
	"candor/internal/service/simulator"
)

// The endpoints of test mode (D60).

// advanceSessionRequest is the body of POST /v1/test/sessions/:id/advance.
type advanceSessionRequest struct {
	sessionID
	To   simulator.Goal `json:"to" required:"true" doc:"How far: opened; a section, which means that it and all before it are completed (declaration is the same as completed); completed; expired; pdf_expired, which completes the session and then deletes its PDF and documents as retention does; or reminder, which sets the session’s times back until its next reminder is due, and sends it (422 while one is being sent)."`
	Data rawPrefill     `json:"data" doc:"Answers, in the shape of prefill, of sections up to to; one after it is refused. A section that is given has exactly these answers, so {} says that the customer has none of it; in personal_details what is missing is made up. Other sections are made up, the same for the session each time."`
}

// AdvanceSession is POST /v1/test/sessions/:id/advance.
func (s *Server) AdvanceSession() Endpoint {
	return idempotent(s, operation{
		id: "advanceSession", tag: "Test mode", summary: "Advance a session",
		description: "Plays the customer: opens the form, fills in sections with made-up answers, signs, or lets time pass until a reminder, or until the link or the PDF expires. It is the real form: its rules are checked, and its events and webhooks are sent. " +
			"Either all of it happens or nothing. A session that is as far already stays as it is, and sections that are completed keep their answers unless data has them. " +
			"After completed, `session.pdf_ready` follows within seconds. A PDF that isn’t made when its session goes to pdf_expired is never made. In a UTC day an account can have 1000 test sessions completed so. " +
			"`session_url` is null once the session was opened; creation returned it.",
		errors: []domain.Code{domain.CodeSessionNotFound, domain.CodeValidation, domain.CodeSessionCompleted,
			domain.CodeSessionCancelled, domain.CodeSessionExpired},
		status: 200, test: true,
	}, s.advancedSession, s.advanceSession)
}

func (s *Server) advanceSession(ctx context.Context, key *idempotency.Key[*domain.Session],
	r *advanceSessionRequest) (*domain.Session, error) {
	id, err := r.parse()
	if err != nil {
		return nil, err
	}
	return s.Simulator.Advance(ctx, scopeIn(ctx), key, id, simulator.Advance{To: r.To, Data: json.RawMessage(r.Data)})
}

// advancedSession has the link as any key may have it (D51): a replay can be
// another key's.
func (s *Server) advancedSession(_ context.Context, of *domain.Session) *session {
	return s.newSessionNow(of, false)
}

// createTestEventRequest is the body of POST /v1/test/events.
type createTestEventRequest struct {
	Type simulator.BillingType `json:"type" required:"true" doc:"The event’s name."`
}

// CreateTestEvent is POST /v1/test/events.
func (s *Server) CreateTestEvent() Endpoint {
	return idempotent(s, operation{
		id: "createTestEvent", tag: "Test mode", summary: "Create a billing event",
		description: "Records a made-up billing event, which test mode has none of. It is in the feed of events, and goes to the webhook endpoints of test mode.",
		errors:      []domain.Code{domain.CodeValidation},
		status:      201, test: true,
	}, newTestEvent, s.createTestEvent)
}

func (s *Server) createTestEvent(ctx context.Context, key *idempotency.Key[*domain.FeedEvent],
	r *createTestEventRequest) (*domain.FeedEvent, error) {
	return s.Simulator.RecordEvent(ctx, scopeIn(ctx), key, r.Type)
}

func newTestEvent(_ context.Context, e *domain.FeedEvent) *feedEvent {
	out, _ := newFeedEvent(e) // its body was made just now, so it can be read
	return &out
}

// deliveryID is the webhook delivery in an endpoint's path.
type deliveryID struct {
	DeliveryID string `path:"id" sample:"whd_01m7xsggnverxbaf5yh399t1bc" pattern:"^whd_[0-7][0-9a-hjkmnp-tv-z]{25}$" doc:"The delivery’s id, whd_…, from the feed of events or a webhook’s X-Webhook-ID."`
}

// AttemptDelivery is POST /v1/test/deliveries/:id/attempt.
func (s *Server) AttemptDelivery() Endpoint {
	return idempotent(s, operation{
		id: "attemptDelivery", tag: "Test mode", summary: "Attempt a delivery",
		description: "Sends a webhook again at once, with the same id and body. A delivery that has ended starts its schedule of attempts from the beginning; a pending one keeps its place in it, and if an attempt is under way, another one follows. " +
			"The answer comes once the attempt was made, or after 10 seconds: then `queued` is true, and GET /v1/events shows what comes of it. With an Idempotency-Key it comes at once, so that a repeat gets the same one.",
		status: 200, test: true,
	}, s.newAttemptedDelivery, s.attemptDelivery)
}

// attemptedDelivery is a delivery of which an attempt was asked for.
type attemptedDelivery struct {
	feedDelivery
	Queued bool `json:"queued" doc:"Whether the attempt is still to be made. If not, last_status_code and last_error_class say what came of it."`
}

func (s *Server) newAttemptedDelivery(_ context.Context, d *domain.Delivery) *attemptedDelivery {
	return &attemptedDelivery{*newFeedDelivery(d), d.DueAt(s.Clock.Now())}
}

func (s *Server) attemptDelivery(ctx context.Context, key *idempotency.Key[*domain.Delivery],
	r *deliveryID) (*domain.Delivery, error) {
	id, _ := domain.ParseDeliveryID(r.DeliveryID) // if it is malformed, the id of no delivery
	delivery, err := s.Simulator.AttemptDelivery(ctx, scopeIn(ctx), key, id, actorIn(ctx))
	if err != nil || key != nil {
		return delivery, err
	}
	request, start := web.RequestIn(ctx), time.Now()
	request.Leave()
	defer func() { request.Waited += time.Since(start) }()
	return s.Webhooks.AwaitAttempt(ctx, scopeIn(ctx), delivery, s.AttemptWait)
}

func newFeedDelivery(d *domain.Delivery) *feedDelivery {
	return &feedDelivery{
		ID: d.ID, EndpointID: d.EndpointID, URL: d.URL, State: d.State, Attempts: d.AttemptsTotal, LastStatusCode: d.LastStatusCode,
		LastErrorClass: d.LastErrorClass,
		NextAttemptAt:  form.AtOptional(d.NextAttemptAt), FinishedAt: form.AtOptional(d.FinishedAt),
	}
}
