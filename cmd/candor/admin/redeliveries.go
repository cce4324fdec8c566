package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"candor/cmd/candor/cli"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/webhooks"
)

// defaultRedeliveryRate is how many deliveries a second are redelivered without
// --rate.
const defaultRedeliveryRate = 10

// shownRedelivery is a redelivery of many deliveries.
type shownRedelivery struct {
	ID         string          `json:"id"`
	State      string          `json:"state"`
	Matched    int64           `json:"matched"`
	Requeued   int64           `json:"requeued"` // redelivered so far
	Skipped    int64           `json:"skipped"`  // no longer failed or waiting when it was their turn
	Rate       int             `json:"rate"`     // a second
	Since      *form.Timestamp `json:"since"`
	Until      *form.Timestamp `json:"until"`
	Endpoint   *string         `json:"endpoint"`
	Type       *string         `json:"type"`
	Status     *string         `json:"status"`
	CreatedBy  string          `json:"created_by"`
	CreatedAt  form.Timestamp  `json:"created_at"`
	FinishedAt *form.Timestamp `json:"finished_at"`
}

// showRedeliveries looks up the endpoints that the redeliveries are filtered by.
func showRedeliveries(ctx context.Context, app *scopedApp, found ...domain.Redelivery) ([]shownRedelivery, error) {
	endpoints, err := app.DB.EndpointLoads(ctx, app.scope)
	if err != nil {
		return nil, err
	}
	origins := make(map[domain.EndpointID]string, len(endpoints))
	for _, e := range endpoints {
		origins[e.ID] = e.Origin
	}
	out := make([]shownRedelivery, len(found))
	for i, r := range found {
		out[i] = shownRedelivery{
			ID: r.ID.String(), State: string(r.State), Matched: r.Matched, Requeued: r.Requeued, Skipped: r.Skipped, Rate: r.Rate,
			Since: form.AtOptional(r.Since), Until: form.AtOptional(r.Until), Type: (*string)(r.EventType), Status: r.Status,
			CreatedBy: r.CreatedBy,
			CreatedAt: form.At(r.CreatedAt), FinishedAt: form.AtOptional(r.FinishedAt),
		}
		if r.EndpointID != nil {
			origin := origins[*r.EndpointID]
			out[i].Endpoint = &origin
		}
	}
	return out, nil
}

// filter says which deliveries were asked for.
func (r *shownRedelivery) filter() string {
	var out []string
	if r.Since != nil {
		out = append(out, "since "+cli.Time(*r.Since))
	}
	if r.Until != nil {
		out = append(out, "until "+cli.Time(*r.Until))
	}
	for _, value := range []*string{r.Endpoint, r.Type, r.Status} {
		if value != nil {
			out = append(out, *value)
		}
	}
	return strings.Join(out, ", ")
}

func (c commands) webhooksRedeliver(ctx context.Context, args []string) error {
	var filter webhooks.DeliveryFilter
	flags := cli.NewJSONFlags("webhooks redeliver")
	addFilterFlags(flags, &filter)
	rate := flags.Int("rate", defaultRedeliveryRate, "")
	yes := flags.Bool("yes", false, "")
	app, err := c.openScope(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	if !*yes {
		preview, err := app.Webhooks.PreviewRedelivery(ctx, app.scope, filter, *rate, 0)
		if err != nil {
			return err
		}
		return flags.Print(c.Out, &previewedRedelivery{shownScope: app.shown, Matched: preview.Matched, Rate: *rate})
	}
	started, err := app.Webhooks.StartRedelivery(ctx, app.scope, filter, *rate, operator)
	if err != nil {
		return err
	}
	shown, err := showRedeliveries(ctx, app, *started)
	if err != nil {
		return err
	}
	return flags.Print(c.Out, &startedRedelivery{app.shown, shown[0]})
}

// previewedRedelivery is a redelivery that was not started.
type previewedRedelivery struct {
	shownScope
	Matched int64 `json:"matched"`
	Rate    int   `json:"rate"`
	Started bool  `json:"started"` // always false
}

// Text says what would be redelivered.
func (r *previewedRedelivery) Text() string {
	if r.Matched == 0 {
		return r.String() + "\n" + r.notFound("failed delivery matches") + "\n"
	}
	least := ""
	if duration := time.Duration(r.Matched/int64(r.Rate)) * time.Second; duration > 0 {
		least = fmt.Sprintf(", in at least %s", duration)
	}
	return fmt.Sprintf("%s\n%s would be redelivered, at most %d a second%s. Nothing was sent. Add --yes to start.\n",
		r.shownScope, failedDeliveries(r.Matched), r.Rate, least)
}

// startedRedelivery is a redelivery that was just started.
type startedRedelivery struct {
	shownScope
	shownRedelivery
}

// Text says how to follow and how to stop it.
func (r *startedRedelivery) Text() string {
	return fmt.Sprintf(`%s
%s: redelivering %s, at most %d a second (%s).
To see progress:  candor webhooks redeliveries --account %s%s
To stop:          candor webhooks stop %s
`, r.shownScope, r.ID, failedDeliveries(r.Matched), r.Rate, cli.Printable(r.filter()), r.AccountID, r.liveFlag(), r.ID)
}

func failedDeliveries(n int64) string {
	if n == 1 {
		return "1 failed delivery"
	}
	return fmt.Sprintf("%d failed deliveries", n)
}

type redeliveryList struct {
	shownScope
	Redeliveries []shownRedelivery `json:"redeliveries"`
}

// Text lists the redeliveries.
func (l *redeliveryList) Text() string {
	if len(l.Redeliveries) == 0 {
		return l.String() + "\n" + l.notFound("redelivery was started") + "\n"
	}
	table := cli.NewTable("REDELIVERY", "STATE", "REDELIVERED", "OF", "SKIPPED", "PER SECOND", "STARTED", "ENDED", "BY", "FILTER")
	for _, r := range l.Redeliveries {
		table.Row(r.ID, r.State, r.Requeued, r.Matched, r.Skipped, r.Rate, r.CreatedAt, r.FinishedAt, r.CreatedBy, r.filter())
	}
	return l.String() + "\n" + table.String()
}

func (c commands) webhooksRedeliveries(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("webhooks redeliveries")
	app, err := c.openScope(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	found, err := app.Webhooks.Redeliveries(ctx, app.scope)
	if err != nil {
		return err
	}
	shown, err := showRedeliveries(ctx, app, found...)
	if err != nil {
		return err
	}
	return flags.Print(c.Out, &redeliveryList{app.shown, shown})
}

// stoppedRedelivery is a redelivery that was just stopped.
type stoppedRedelivery struct {
	shownScope
	shownRedelivery
}

// Text says how far it got.
func (r *stoppedRedelivery) Text() string {
	return fmt.Sprintf("%s\n%s is stopped: %d of %d were redelivered and follow the schedule. The others stay failed.\n",
		r.shownScope, r.ID, r.Requeued, r.Matched)
}

func (c commands) webhooksStop(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("webhooks stop")
	named := addScopeFlags(flags)
	text, err := flags.ParseWithArgument(args, "an id")
	if err != nil {
		return err
	}
	id, err := domain.ParseRedeliveryID(text)
	if err != nil {
		return cli.Usagef("webhooks stop: %q is not a redelivery id, which starts with rdl_", text)
	}
	app, err := c.openFound(ctx, named, func(app *App) (domain.Scope, error) { return app.Webhooks.RedeliveryScope(ctx, id) })
	if err != nil {
		return err
	}
	defer app.Close()
	stopped, err := app.Webhooks.StopRedelivery(ctx, app.scope, id, operator)
	if err != nil {
		return err
	}
	shown, err := showRedeliveries(ctx, app, *stopped)
	if err != nil {
		return err
	}
	return flags.Print(c.Out, &stoppedRedelivery{app.shown, shown[0]})
}
