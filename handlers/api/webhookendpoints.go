package api

import (
	"context"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/idempotency"
	"candor/internal/service/webhooks"
)

// createWebhookEndpointRequest is the body of POST /v1/webhook_endpoints.
type createWebhookEndpointRequest struct {
	URL         string              `json:"url" required:"true" format:"uri" maxLength:"2048" doc:"Where the webhooks go. HTTPS in production."`
	Description *string             `json:"description" sample:"yes" maxLength:"200" doc:"What it is for, in your own words."`
	EventTypes  *[]domain.EventType `json:"event_types" maxItems:"50" doc:"The events that it gets. Empty or absent: all."`
	Paused      *bool               `json:"paused" doc:"Whether its webhooks wait until it is resumed. Without it, false."`
}

// updateWebhookEndpointRequest is PATCH /v1/webhook_endpoints/:id.
type updateWebhookEndpointRequest struct {
	webhookEndpointID
	URL         *string             `json:"url" format:"uri" maxLength:"2048" doc:"Where the webhooks go from now on. What was recorded before goes where it was to go, unless it is sent again."`
	Description *string             `json:"description" maxLength:"200" doc:"What it is for. An empty text removes it."`
	EventTypes  *[]domain.EventType `json:"event_types" maxItems:"50" doc:"The events that it gets from now on. Empty: all."`
	Paused      *bool               `json:"paused" sample:"yes" doc:"true: its webhooks are recorded and wait. false: they are sent, oldest first."`
}

// webhookEndpointID is the webhook endpoint in an endpoint's path.
type webhookEndpointID struct {
	EndpointID string `path:"id" sample:"whe_01m7xsggnverxbaf5yh399t1bd" pattern:"^whe_[0-7][0-9a-hjkmnp-tv-z]{25}$" doc:"The webhook endpoint’s id, whe_…"`
}

// parse returns the id; a malformed one is that of no endpoint.
func (p webhookEndpointID) parse() domain.EndpointID {
	id, _ := domain.ParseEndpointID(p.EndpointID)
	return id
}

// webhookEndpoint is where webhooks go (D109).
type webhookEndpoint struct {
	ID          domain.EndpointID  `json:"id" doc:"The endpoint’s id."`
	URL         string             `json:"url" doc:"Where the webhooks go."`
	Description *string            `json:"description" doc:"What it is for, null where it wasn’t given."`
	EventTypes  []domain.EventType `json:"event_types" doc:"The events that it gets. Empty: all."`
	Paused      bool               `json:"paused" doc:"Whether its webhooks wait until it is resumed."`
	Default     bool               `json:"default" doc:"Whether it is the account’s default URL. Its secret also signs what goes to a session’s own webhook_url."`
	Livemode    bool               `json:"livemode" doc:"false for one of test mode."`
	CreatedAt   form.Timestamp     `json:"created_at" doc:"When it was first used or set up, UTC."`
	Health      endpointHealth     `json:"health" doc:"What the last attempts there came to."`
}

// endpointHealth is how an endpoint does.
type endpointHealth struct {
	Status              domain.Health   `json:"status" doc:"ok: the last attempt succeeded; failing: it failed; gone: it failed with 410; unused: it failed more than 7 days ago; untried: nothing was sent yet; paused."`
	ConsecutiveFailures int             `json:"consecutive_failures" doc:"How many attempts failed since the last that succeeded."`
	FailingSince        *form.Timestamp `json:"failing_since" doc:"When the first of these failed, UTC; null for none."`
	LastSuccessAt       *form.Timestamp `json:"last_success_at" doc:"When an attempt, or the first test event, last succeeded, UTC; null for never."`
	LastFailureAt       *form.Timestamp `json:"last_failure_at" doc:"When an attempt last failed, UTC; null for never."`
	LastStatusCode      *int            `json:"last_status_code" doc:"Of the last attempt, null without a response."`
	LastErrorClass      *string         `json:"last_error_class" doc:"Why the last attempt failed, as in the feed of events; null after a success."`
}

// newWebhookEndpoint is an endpoint at its creation.
type newWebhookEndpoint struct {
	webhookEndpoint
	Secret string `json:"secret" doc:"What signs its webhooks, whsec_…. No other answer has it; the dashboard shows it again and rotates it."`
}

type webhookEndpointList struct {
	Data []webhookEndpoint `json:"data" doc:"The endpoints, the default URL first, then in the order in which they were made. At most 20."`
}

type deletedWebhookEndpoint struct {
	ID      domain.EndpointID `json:"id" doc:"The endpoint’s id."`
	Deleted bool              `json:"deleted" doc:"true."`
}

// CreateWebhookEndpoint is POST /v1/webhook_endpoints.
func (s *Server) CreateWebhookEndpoint() Endpoint {
	return idempotent(s, operation{
		id: "createWebhookEndpoint", tag: "Webhook endpoints", summary: "Add a webhook endpoint",
		description: "Sends the events of the key’s account and mode to one more URL, from now on, signed with a secret of its own. " +
			"Events of a session with a webhook_url go to that alone. An account has at most 20 endpoints in each mode.",
		errors: []domain.Code{domain.CodeValidation},
		status: 201,
	}, s.newWebhookEndpoint, s.createWebhookEndpoint)
}

func (s *Server) createWebhookEndpoint(
	ctx context.Context, key *idempotency.Key[*webhooks.NewEndpoint], r *createWebhookEndpointRequest,
) (*webhooks.NewEndpoint, error) {
	return s.Webhooks.CreateEndpoint(ctx, scopeIn(ctx), key, actorIn(ctx), webhooks.EndpointParams{
		URL: &r.URL, Description: r.Description, EventTypes: r.EventTypes, Paused: r.Paused,
	})
}

func (s *Server) newWebhookEndpoint(_ context.Context, e *webhooks.NewEndpoint) *newWebhookEndpoint {
	return &newWebhookEndpoint{*s.webhookEndpoint(&e.Endpoint), e.Secret}
}

func (s *Server) webhookEndpoint(e *domain.Endpoint) *webhookEndpoint {
	out := &webhookEndpoint{
		ID: e.ID, URL: *e.URL, EventTypes: e.EventTypes, Paused: e.PausedAt != nil, Default: e.Default, Livemode: e.Livemode,
		CreatedAt: form.At(e.CreatedAt),
		Health: endpointHealth{
			Status: e.Health(s.Clock.Now()), ConsecutiveFailures: e.ConsecutiveFailures, FailingSince: form.AtOptional(e.FailingSince),
			LastSuccessAt: form.AtOptional(e.LastSuccessAt), LastFailureAt: form.AtOptional(e.LastFailureAt),
			LastStatusCode: e.LastStatusCode, LastErrorClass: e.LastErrorClass,
		},
	}
	if e.EventTypes == nil {
		out.EventTypes = []domain.EventType{}
	}
	if e.Description != "" {
		out.Description = &e.Description
	}
	return out
}

// ListWebhookEndpoints is GET /v1/webhook_endpoints.
func (s *Server) ListWebhookEndpoints() Endpoint {
	return endpoint(operation{
		id: "listWebhookEndpoints", tag: "Webhook endpoints", summary: "List webhook endpoints",
		description: "Where the events of the key’s account and mode go, and how each endpoint does.",
		status:      200,
	}, func(ctx context.Context, _ *struct{}) (*webhookEndpointList, error) {
		all, err := s.Webhooks.SetUpEndpoints(ctx, scopeIn(ctx))
		out := &webhookEndpointList{Data: make([]webhookEndpoint, len(all))}
		for i := range all {
			out.Data[i] = *s.webhookEndpoint(&all[i])
		}
		return out, err
	})
}

// GetWebhookEndpoint is GET /v1/webhook_endpoints/:id.
func (s *Server) GetWebhookEndpoint() Endpoint {
	return endpoint(operation{
		id: "getWebhookEndpoint", tag: "Webhook endpoints", summary: "Get a webhook endpoint",
		description: "The endpoint and how it does. Its secret is in no answer but that of its creation.",
		errors:      []domain.Code{domain.CodeNotFound},
		status:      200,
	}, func(ctx context.Context, r *webhookEndpointID) (*webhookEndpoint, error) {
		e, err := s.Webhooks.SetUpEndpoint(ctx, scopeIn(ctx), r.parse())
		if err != nil {
			return nil, err
		}
		return s.webhookEndpoint(e), nil
	})
}

// UpdateWebhookEndpoint is PATCH /v1/webhook_endpoints/:id.
func (s *Server) UpdateWebhookEndpoint() Endpoint {
	return endpoint(operation{
		id: "updateWebhookEndpoint", tag: "Webhook endpoints", summary: "Change a webhook endpoint",
		description: "Changes the members that the body has. While an endpoint is paused, its webhooks are recorded and wait; resumed, they are sent, oldest first. " +
			"What has waited for 90 days is cancelled.",
		errors: []domain.Code{domain.CodeValidation, domain.CodeNotFound},
		status: 200,
	}, func(ctx context.Context, r *updateWebhookEndpointRequest) (*webhookEndpoint, error) {
		e, err := s.Webhooks.ChangeEndpoint(ctx, scopeIn(ctx), r.parse(), actorIn(ctx), webhooks.EndpointParams{
			URL: r.URL, Description: r.Description, EventTypes: r.EventTypes, Paused: r.Paused,
		})
		if err != nil {
			return nil, err
		}
		return s.webhookEndpoint(e), nil
	})
}

// DeleteWebhookEndpoint is DELETE /v1/webhook_endpoints/:id.
func (s *Server) DeleteWebhookEndpoint() Endpoint {
	return endpoint(operation{
		id: "deleteWebhookEndpoint", tag: "Webhook endpoints", summary: "Delete a webhook endpoint",
		description: "Sends nothing more there: what is pending is cancelled. To stop for a while, pause it.",
		errors:      []domain.Code{domain.CodeNotFound},
		status:      200,
	}, func(ctx context.Context, r *webhookEndpointID) (*deletedWebhookEndpoint, error) {
		return &deletedWebhookEndpoint{r.parse(), true}, s.Webhooks.DeleteEndpoint(ctx, scopeIn(ctx), r.parse(), actorIn(ctx))
	})
}
