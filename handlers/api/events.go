package api

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/webhooks"
)

// listEventsRequest is the query of GET /v1/events.
type listEventsRequest struct {
	After     int              `query:"after" default:"0" min:"0" max:"9007199254740991" doc:"Only events numbered above this: next_after of the answer before, or the sequence of the last event you have."`
	Limit     int              `query:"limit" sample:"100" default:"20" min:"1" max:"100" doc:"At most so many events."`
	Type      domain.EventType `query:"type" doc:"Only events of this type."`
	Wait      int              `query:"wait" default:"0" min:"0" max:"25" doc:"If there is no such event yet, wait for one at most so many seconds. The answer is empty if none comes. It counts as one request."`
	Include   string           `query:"include" enum:"webhook" doc:"Test keys only: each event has its webhook, to be sent to a receiver that webhooks can’t reach. A live key gets 422."`
	SessionID *string          `query:"session_id" pattern:"^sess_[0-7][0-9a-hjkmnp-tv-z]{25}$" doc:"Only events of this session, sess_…"`
}

// eventList is a page of the feed.
type eventList struct {
	Data           []feedEvent `json:"data" doc:"The events, in the order of their sequence."`
	HasMore        bool        `json:"has_more" doc:"Whether more follow already."`
	NextAfter      int64       `json:"next_after" doc:"The after of the next request. With a type or session_id it moves on past events that don’t match."`
	OldestSequence *int64      `json:"oldest_sequence" doc:"The smallest sequence that is kept, null where no event is. Events are kept for 90 days: if it is above after + 1, those between are gone."`
}

// feedEvent is an event with the fields of its webhook, so that one program can
// read both; id, pdf_sha256 and delivery are extra.
type feedEvent struct {
	ID         domain.EventID    `json:"id" doc:"The event’s id."`
	Event      domain.EventType  `json:"event" doc:"The event’s name."`
	SessionID  *domain.SessionID `json:"session_id,omitempty" doc:"The session; absent from billing events."`
	Livemode   bool              `json:"livemode" doc:"false for what test keys made."`
	Sequence   int64             `json:"sequence" doc:"Counts the events of an account and mode, 1, 2, 3 … without a gap."`
	Timestamp  form.Timestamp    `json:"timestamp" doc:"When it happened, UTC."`
	Data       eventData         `json:"data" doc:"What happened, as in the webhook."`
	PDFSHA256  string            `json:"pdf_sha256,omitempty" doc:"session.pdf_ready: the SHA-256 of the PDF as it was issued, lower-case hex. Absent from other events, and once the customer’s data are erased."`
	Webhook    *feedWebhook      `json:"webhook,omitempty" doc:"With include=webhook: what a delivery would send now."`
	Delivery   *feedDelivery     `json:"delivery" doc:"How far its webhook is; null where there was no URL to send it to, and once the customer’s data are erased. If it goes to several endpoints, the first of them."`
	Deliveries []feedDelivery    `json:"deliveries" doc:"All deliveries of its webhook, one to each endpoint that wanted it."`
}

// eventData is an event's data, as in the body of the webhook.
type eventData struct{ json.RawMessage }

// feedWebhook is an event's webhook.
type feedWebhook struct {
	Headers map[string]string `json:"headers" doc:"The headers, signatures included, of which the time is that of this answer. They are signed with the webhook secret of test mode, whatever the event’s URL."`
	Body    string            `json:"body" doc:"The body. Send exactly its UTF-8 bytes: the signatures are over them."`
}

// feedDelivery is the state of an event's webhook.
type feedDelivery struct {
	ID             domain.DeliveryID    `json:"id" doc:"The delivery’s id, X-Webhook-ID of each attempt."`
	EndpointID     domain.EndpointID    `json:"endpoint_id" doc:"The webhook endpoint, whe_…. That of a session’s own webhook_url isn’t listed."`
	URL            string               `json:"url" doc:"Where it goes."`
	State          domain.DeliveryState `json:"state" doc:"pending: attempts follow; delivered: a 2xx came; failed: all attempts failed; cancelled: it was called off."`
	Attempts       int                  `json:"attempts" doc:"How many attempts were made, redeliveries included."`
	LastStatusCode *int                 `json:"last_status_code" doc:"Of the last attempt, null without a response."`
	LastErrorClass *string              `json:"last_error_class" doc:"Why the last attempt failed: dns, connect, tls, timeout, refused_target, status or protocol; null after a success."`
	NextAttemptAt  *form.Timestamp      `json:"next_attempt_at" doc:"When the next attempt is due, UTC; null where none is."`
	FinishedAt     *form.Timestamp      `json:"finished_at" doc:"When it came to an end, UTC; null while pending."`
}

// ListEvents is GET /v1/events.
func (s *Server) ListEvents() Endpoint {
	return endpoint(operation{
		id: "listEvents", tag: "Webhooks", summary: "List events",
		description: "What happened in the key’s account and mode, in order, whether or not a webhook could be delivered. " +
			"Sequence numbers have no gap, and no event appears below one that was listed before: ask again with `next_after` and you miss none. Events are kept for 90 days. " +
			"Where a customer’s data were erased on request, the `data` of the session’s events are `session_id` and `data_erased_at` alone. " +
			"With `wait` a program hears of events within milliseconds, without a receiver. At most 10 requests of an account and mode can wait at a time.",
		errors: []domain.Code{domain.CodeValidation},
		status: 200,
	}, s.listEvents)
}

func (s *Server) listEvents(ctx context.Context, r *listEventsRequest) (*eventList, error) {
	filter := domain.EventFilter{After: int64(r.After), Type: r.Type}
	if r.SessionID != nil {
		id, err := domain.ParseSessionID(*r.SessionID)
		if err != nil {
			return nil, domain.FieldError(domain.CodeInvalidRequest, "session_id", "session_id is wrong. "+notAnID("sess", *r.SessionID))
		}
		filter.Session = &id
	}
	var samples []webhooks.Sample
	if r.Include != "" && scopeIn(ctx).Livemode {
		_, err := s.Webhooks.Samples(ctx, scopeIn(ctx), nil)
		return nil, err
	}
	feed, err := s.waitEvents(ctx, filter, r)
	if err == nil && r.Include != "" {
		samples, err = s.Webhooks.Samples(ctx, scopeIn(ctx), feed.Events)
	}
	if err != nil {
		return nil, err
	}
	out := &eventList{Data: make([]feedEvent, len(feed.Events)), HasMore: feed.More, NextAfter: feed.NextAfter}
	if feed.Oldest > 0 {
		out.OldestSequence = &feed.Oldest
	}
	for i := range feed.Events {
		if out.Data[i], err = newFeedEvent(&feed.Events[i]); err != nil {
			return nil, err
		}
		if samples != nil {
			out.Data[i].Webhook = newFeedWebhook(samples[i])
		}
	}
	return out, nil
}

// waitEvents reads the feed, and waits for it if the request asks for that. It notes
// how long that took.
func (s *Server) waitEvents(ctx context.Context, filter domain.EventFilter, r *listEventsRequest) (*webhooks.EventFeed, error) {
	feed, err := s.Webhooks.Events(ctx, scopeIn(ctx), filter, r.Limit)
	if err != nil || r.Wait == 0 || len(feed.Events) > 0 {
		return feed, err
	}
	request, start := web.RequestIn(ctx), time.Now()
	request.Leave()
	defer func() { request.Waited += time.Since(start) }()
	return s.Webhooks.WaitEvents(ctx, scopeIn(ctx), filter, r.Limit, time.Duration(r.Wait)*time.Second, request.Recheck)
}

func newFeedWebhook(of webhooks.Sample) *feedWebhook {
	out := &feedWebhook{Headers: map[string]string{}, Body: string(of.Body)}
	for name := range of.Header {
		out.Headers[name] = of.Header.Get(name)
	}
	return out
}

func newFeedEvent(e *domain.FeedEvent) (feedEvent, error) {
	var body struct {
		Timestamp form.Timestamp  `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(e.Body, &body); err != nil {
		return feedEvent{}, fmt.Errorf("handlers: body of event %s: %w", e.ID, err)
	}
	out := feedEvent{
		ID: e.ID, Event: e.Type, SessionID: e.SessionID, Livemode: e.Livemode, Sequence: e.Sequence,
		Timestamp: body.Timestamp, Data: eventData{body.Data}, PDFSHA256: hex.EncodeToString(e.PDFSHA256),
	}
	out.Deliveries = []feedDelivery{}
	for _, d := range append([]domain.EventDelivery{e.EventDelivery}, e.More...) {
		if d.DeliveryID == nil {
			continue
		}
		out.Deliveries = append(out.Deliveries, feedDelivery{
			ID: *d.DeliveryID, EndpointID: *d.Endpoint, URL: *d.DeliveryURL, State: *d.State, Attempts: *d.Attempts,
			LastStatusCode: d.LastStatusCode, LastErrorClass: d.LastErrorClass,
			NextAttemptAt: form.AtOptional(d.NextAttemptAt), FinishedAt: form.AtOptional(d.FinishedAt),
		})
	}
	if len(out.Deliveries) > 0 {
		out.Delivery = new(out.Deliveries[0])
	}
	return out, nil
}
