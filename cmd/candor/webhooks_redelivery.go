package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service"
)

// defaultRedeliveryRate is how many deliveries are made again a second
// without --rate.
const defaultRedeliveryRate = 10

// shownRedelivery is a redelivery of many.
type shownRedelivery struct {
	ID         string          `json:"id"`
	State      string          `json:"state"`
	Matched    int64           `json:"matched"`
	Requeued   int64           `json:"requeued"` // made again so far
	Skipped    int64           `json:"skipped"`  // were no longer failed when their turn came
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

// showRedelivery takes the origins of the scope's endpoints.
func showRedelivery(r *domain.Redelivery, origins map[domain.EndpointID]string) shownRedelivery {
	shown := shownRedelivery{
		ID: r.ID.String(), State: string(r.State), Matched: r.Matched, Requeued: r.Requeued, Skipped: r.Skipped, Rate: r.Rate,
		Since: form.AtOptional(r.Since), Until: form.AtOptional(r.Until), Type: (*string)(r.EventType), Status: r.Status, CreatedBy: r.CreatedBy,
		CreatedAt: form.At(r.CreatedAt), FinishedAt: form.AtOptional(r.FinishedAt),
	}
	if r.EndpointID != nil {
		origin := origins[*r.EndpointID]
		shown.Endpoint = &origin
	}
	return shown
}

// origins are those of a scope's endpoints.
func origins(ctx context.Context, a *app, scope domain.Scope) (map[domain.EndpointID]string, error) {
	endpoints, err := a.service.EndpointLoads(ctx, scope)
	out := make(map[domain.EndpointID]string, len(endpoints))
	for _, e := range endpoints {
		out[e.ID] = e.Origin
	}
	return out, err
}

// filter is which deliveries were asked for, in short.
func (r *shownRedelivery) filter() string {
	out := []string{"since " + stamp(r.Since)}
	if r.Until != nil {
		out = append(out, "until "+stamp(r.Until))
	}
	for _, value := range []*string{r.Endpoint, r.Type, r.Status} {
		if value != nil {
			out = append(out, *value)
		}
	}
	return strings.Join(out, ", ")
}

func runWebhooksRedeliver(ctx context.Context, p *process, args []string) error {
	var filter service.DeliveryFilter
	flags := flag.NewFlagSet("webhooks redeliver", flag.ContinueOnError)
	filterFlags(flags, &filter)
	rate := flags.Int("rate", defaultRedeliveryRate, "")
	yes := flags.Bool("yes", false, "")
	asJSON := flags.Bool("json", false, "")
	a, scope, shown, err := openScoped(ctx, p, flags, args)
	if err != nil {
		return err
	}
	defer a.close()
	if !*yes {
		return previewRedelivery(ctx, p, a, scope, shown, filter, *rate, *asJSON)
	}
	started, err := a.service.StartRedelivery(ctx, scope, filter, *rate, operator)
	if err != nil {
		return err
	}
	known, err := origins(ctx, a, scope)
	if err != nil {
		return err
	}
	r := showRedelivery(started, known)
	if *asJSON {
		return writeJSON(p.stdout, struct {
			shownScope
			shownRedelivery
		}{shown, r})
	}
	_, err = fmt.Fprintf(p.stdout, `%s
%s: %s are made again, %d a second at most (%s).
How far it is:  candor webhooks redeliveries --account %s%s
To stop it:     candor webhooks stop %s
`, shown, r.ID, failedDeliveries(r.Matched), r.Rate, r.filter(), shown.AccountID, liveFlag(scope), r.ID)
	return err
}

// previewRedelivery says what would be done, and does nothing.
func previewRedelivery(ctx context.Context, p *process, a *app, scope domain.Scope, shown shownScope, filter service.DeliveryFilter, rate int, asJSON bool) error {
	preview, err := a.service.PreviewRedelivery(ctx, scope, filter, rate, 0)
	if err != nil {
		return err
	}
	n := preview.Matched
	if asJSON {
		return writeJSON(p.stdout, struct {
			shownScope
			Matched int64 `json:"matched"`
			Rate    int   `json:"rate"`
			Started bool  `json:"started"` // false: this was a preview
		}{shown, n, rate, false})
	}
	if n == 0 {
		_, err = fmt.Fprintf(p.stdout, "%s\n%s\n", shown, shown.none("failed delivery matches"))
		return err
	}
	took := ""
	if least := time.Duration(n/int64(rate)) * time.Second; least > 0 {
		took = fmt.Sprintf(", in %s or more", least)
	}
	_, err = fmt.Fprintf(p.stdout, "%s\n%s would be made again, %d a second at most%s. Nothing was done; --yes does it.\n",
		shown, failedDeliveries(n), rate, took)
	return err
}

func failedDeliveries(n int64) string {
	if n == 1 {
		return "1 failed delivery"
	}
	return fmt.Sprintf("%d failed deliveries", n)
}

// liveFlag is what a further command needs for the scope.
func liveFlag(scope domain.Scope) string {
	if scope.Livemode {
		return " --live"
	}
	return ""
}

func runWebhooksRedeliveries(ctx context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("webhooks redeliveries", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "")
	a, scope, shown, err := openScoped(ctx, p, flags, args)
	if err != nil {
		return err
	}
	defer a.close()
	found, err := a.service.Redeliveries(ctx, scope)
	if err != nil {
		return err
	}
	known, err := origins(ctx, a, scope)
	if err != nil {
		return err
	}
	list := make([]shownRedelivery, len(found))
	for i := range found {
		list[i] = showRedelivery(&found[i], known)
	}
	if *asJSON {
		return writeJSON(p.stdout, struct {
			shownScope
			Redeliveries []shownRedelivery `json:"redeliveries"`
		}{shown, list})
	}
	fmt.Fprintln(p.stdout, shown)
	if len(list) == 0 {
		_, err = fmt.Fprintln(p.stdout, shown.none("redelivery was started"))
		return err
	}
	table := newTable(p.stdout, "REDELIVERY", "STATE", "MADE AGAIN", "OF", "SKIPPED", "A SECOND", "STARTED", "ENDED", "BY", "WHICH")
	for _, r := range list {
		table.row(r.ID, r.State, r.Requeued, r.Matched, r.Skipped, r.Rate, stamp(&r.CreatedAt), stamp(r.FinishedAt), r.CreatedBy, r.filter())
	}
	return table.Flush()
}

func runWebhooksStop(ctx context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("webhooks stop", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "")
	text, named, err := parseIdentified(flags, args)
	if err != nil {
		return err
	}
	id, err := domain.ParseRedeliveryID(text)
	if err != nil {
		return &usageError{fmt.Sprintf("webhooks stop: %q is no redelivery's id, which begins with rdl_", text)}
	}
	a, err := openCommand(ctx, p)
	if err != nil {
		return err
	}
	defer a.close()
	scope, err := a.service.RedeliveryScope(ctx, id)
	if err != nil {
		return err
	}
	shown, err := named.admit(ctx, a, scope)
	if err != nil {
		return err
	}
	stopped, err := a.service.StopRedelivery(ctx, scope, id, operator)
	if err != nil {
		return err
	}
	known, err := origins(ctx, a, scope)
	if err != nil {
		return err
	}
	r := showRedelivery(stopped, known)
	if *asJSON {
		return writeJSON(p.stdout, struct {
			shownScope
			shownRedelivery
		}{shown, r})
	}
	_, err = fmt.Fprintf(p.stdout, "%s\n%s is stopped: %d of %d were made again, and follow the schedule; the others stay failed.\n",
		shown, r.ID, r.Requeued, r.Matched)
	return err
}
