package admin

import (
	"cmp"
	"context"
	"strconv"

	"candor/cmd/candor/cli"
	"candor/internal/domain"
	"candor/internal/form"
)

type shownEndpoint struct {
	ID                  string          `json:"id"`
	Description         string          `json:"description"`
	Endpoint            string          `json:"endpoint"`
	Health              domain.Health   `json:"health"`
	Pending             int64           `json:"pending"`
	Failed              int64           `json:"failed"`
	ConsecutiveFailures int             `json:"consecutive_failures"`
	FailingSince        *form.Timestamp `json:"failing_since"`
	LastSuccessAt       *form.Timestamp `json:"last_success_at"`
	LastFailureAt       *form.Timestamp `json:"last_failure_at"`
	LastStatusCode      *int            `json:"last_status_code"`
	LastErrorClass      *string         `json:"last_error_class"`
}

type endpointList struct {
	shownScope
	Endpoints []shownEndpoint `json:"endpoints"`
}

// Text lists the endpoints.
func (l *endpointList) Text() string {
	if len(l.Endpoints) == 0 {
		return l.String() + "\n" + l.notFound("webhook was sent") + "\n"
	}
	table := cli.NewTable("ID", "ENDPOINT", "DESCRIPTION", "HEALTH", "PENDING", "FAILED", "LAST", "FAILURES IN A ROW",
		"FAILING SINCE", "LAST SUCCESS",
		"LAST FAILURE")
	for _, e := range l.Endpoints {
		table.Row(e.ID, e.Endpoint, cmp.Or(e.Description, "-"), e.Health, e.Pending, e.Failed,
			lastOutcome(e.LastStatusCode, e.LastErrorClass), e.ConsecutiveFailures, e.FailingSince, e.LastSuccessAt, e.LastFailureAt)
	}
	return l.String() + "\n" + table.String()
}

func (c commands) webhooksEndpoints(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("webhooks endpoints")
	app, err := c.openScope(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	found, err := app.DB.EndpointLoads(ctx, app.scope)
	if err != nil {
		return err
	}
	now := domain.SystemClock.Now()
	list := &endpointList{app.shown, make([]shownEndpoint, len(found))}
	for i, e := range found {
		list.Endpoints[i] = shownEndpoint{
			ID: e.ID.String(), Description: e.Description, Endpoint: e.Origin, Health: e.Endpoint.Health(now), Pending: e.Pending,
			Failed:              e.Failed,
			ConsecutiveFailures: e.ConsecutiveFailures,
			FailingSince:        form.AtOptional(e.FailingSince), LastSuccessAt: form.AtOptional(e.LastSuccessAt),
			LastFailureAt:  form.AtOptional(e.LastFailureAt),
			LastStatusCode: e.LastStatusCode, LastErrorClass: e.LastErrorClass,
		}
	}
	return flags.Print(c.Out, list)
}

// lastOutcome is a status or an error class, "-" before the first attempt.
func lastOutcome(code *int, class *string) string {
	switch {
	case code != nil:
		return strconv.Itoa(*code)
	case class != nil:
		return *class
	}
	return "-"
}
