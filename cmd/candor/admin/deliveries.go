package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"candor/cmd/candor/cli"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/webhooks"
)

// defaultListed is how many deliveries are listed without --limit.
const defaultListed = 20

// shownDelivery is a delivery in lists.
type shownDelivery struct {
	ID             string          `json:"id"`
	Sequence       int64           `json:"sequence"`
	Type           string          `json:"type"`
	SessionID      *string         `json:"session_id"`
	Endpoint       string          `json:"endpoint"`
	URL            string          `json:"url"`
	State          string          `json:"state"`
	Cycle          int             `json:"cycle"` // 1, and 1 more for each redelivery
	Attempts       int             `json:"attempts"`
	AttemptsTotal  int             `json:"attempts_total"`
	LastStatusCode *int            `json:"last_status_code"`
	LastErrorClass *string         `json:"last_error_class"`
	CreatedAt      form.Timestamp  `json:"created_at"`
	FirstAttemptAt *form.Timestamp `json:"first_attempt_at"`
	NextAttemptAt  *form.Timestamp `json:"next_attempt_at"`
	FinishedAt     *form.Timestamp `json:"finished_at"`
}

func showDelivery(d *domain.ListedDelivery) shownDelivery {
	shown := shownDelivery{
		ID: d.ID.String(), Sequence: d.Sequence, Type: string(d.EventType), Endpoint: d.Origin, URL: d.URL, State: string(d.State),
		Cycle: d.Cycle, Attempts: d.Attempts, AttemptsTotal: d.AttemptsTotal, LastStatusCode: d.LastStatusCode,
		LastErrorClass: d.LastErrorClass,
		CreatedAt:      form.At(d.CreatedAt), FirstAttemptAt: form.AtOptional(d.FirstAttemptAt),
		NextAttemptAt: form.AtOptional(d.NextAttemptAt), FinishedAt: form.AtOptional(d.FinishedAt),
	}
	if d.SessionID != nil {
		session := d.SessionID.String()
		shown.SessionID = &session
	}
	return shown
}

type deliveryList struct {
	shownScope
	Deliveries []shownDelivery `json:"deliveries"`
	NextBefore *int64          `json:"next_before"` // for the next page's --before; null on the last
}

// Text lists the deliveries.
func (l *deliveryList) Text() string {
	if len(l.Deliveries) == 0 {
		return l.String() + "\n" + l.notFound("webhook delivery matches") + "\n"
	}
	table := cli.NewTable("EVENT", "DELIVERY", "TYPE", "STATE", "ATTEMPTS", "LAST", "CREATED", "NEXT ATTEMPT", "ENDPOINT")
	for _, d := range l.Deliveries {
		table.Row(d.Sequence, d.ID, d.Type, d.State, d.AttemptsTotal, lastOutcome(d.LastStatusCode, d.LastErrorClass), d.CreatedAt,
			d.NextAttemptAt, d.Endpoint)
	}
	text := l.String() + "\n" + table.String()
	if l.NextBefore != nil {
		text += fmt.Sprintf("For older deliveries, add --before %d\n", *l.NextBefore)
	}
	return text
}

// addFilterFlags adds the flags that filter deliveries.
func addFilterFlags(flags *cli.Flags, f *webhooks.DeliveryFilter) {
	flags.StringVar(&f.Origin, "endpoint", "", "")
	flags.StringVar((*string)(&f.Type), "type", "", "")
	flags.StringVar(&f.Status, "status", "", "")
	flags.Time("since", &f.Since)
	flags.Time("until", &f.Until)
}

func (c commands) webhooksList(ctx context.Context, args []string) error {
	var filter webhooks.DeliveryFilter
	flags := cli.NewJSONFlags("webhooks list")
	addFilterFlags(flags, &filter)
	flags.StringVar((*string)(&filter.State), "state", "", "")
	flags.Func("session", "", func(text string) error {
		id, err := domain.ParseSessionID(text)
		filter.Session = &id
		return err
	})
	before := flags.Int64("before", 0, "")
	limit := flags.Int("limit", defaultListed, "")
	app, err := c.openScope(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	found, err := app.Webhooks.Deliveries(ctx, app.scope, filter, *before, *limit)
	if err != nil {
		return err
	}
	list := &deliveryList{shownScope: app.shown, Deliveries: make([]shownDelivery, len(found))}
	for i := range found {
		list.Deliveries[i] = showDelivery(&found[i])
	}
	if len(found) == *limit {
		list.NextBefore = &found[len(found)-1].Sequence
	}
	return flags.Print(c.Out, list)
}

// openDelivery opens the App at the delivery whose id is in args. The caller
// closes the App if there is no error.
func (c commands) openDelivery(ctx context.Context, flags *cli.Flags, args []string) (*scopedApp,
	*webhooks.DeliveryRecord, error) {
	named := addScopeFlags(flags)
	text, err := flags.ParseWithArgument(args, "an id")
	if err != nil {
		return nil, nil, err
	}
	id, err := domain.ParseDeliveryID(text)
	if err != nil {
		return nil, nil, cli.Usagef("%s: %q is not a delivery id, which starts with whd_", flags.Name(), text)
	}
	app, err := c.openFound(ctx, named, func(app *App) (domain.Scope, error) { return app.Webhooks.DeliveryScope(ctx, id) })
	if err != nil {
		return nil, nil, err
	}
	record, err := app.Webhooks.Delivery(ctx, app.scope, id)
	if err != nil {
		app.Close()
	}
	return app, record, err
}

// detailedDelivery is a delivery with its attempts and body.
type detailedDelivery struct {
	shownScope
	shownDelivery
	EventID    string         `json:"event_id"`
	Body       string         `json:"body"` // the bytes that are signed
	AttemptLog []shownAttempt `json:"attempt_log"`
}

func (c commands) webhooksShow(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("webhooks show")
	app, record, err := c.openDelivery(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	out := &detailedDelivery{
		shownScope: app.shown, shownDelivery: showDelivery(&record.ListedDelivery), EventID: record.Event.ID.String(),
		Body:       string(record.Event.Body),
		AttemptLog: make([]shownAttempt, len(record.AttemptLog)),
	}
	for i, a := range record.AttemptLog {
		out.AttemptLog[i] = shownAttempt{
			Number: a.Number, StartedAt: form.At(a.StartedAt), DurationMS: a.DurationMS, StatusCode: a.StatusCode,
			ErrorClass: a.ErrorClass,
			Error:      a.Error, Response: a.Response,
		}
		if err := json.Unmarshal(a.RequestHeaders, &out.AttemptLog[i].RequestHeaders); err != nil {
			return fmt.Errorf("headers of attempt %d: %w", a.Number, err)
		}
	}
	return flags.Print(c.Out, out)
}

// Text describes the delivery, each attempt and the body.
func (d *detailedDelivery) Text() string {
	table := cli.NewTable()
	table.Row("Delivery", d.ID)
	table.Row("Account", d.shownScope)
	table.Row("Event", fmt.Sprintf("%s, number %d, %s", d.Type, d.Sequence, d.EventID))
	table.Row("Session", d.SessionID)
	table.Row("URL", d.URL)
	table.Row("State", d.State)
	table.Row("Attempts", d.attempts())
	table.Row("Created", d.CreatedAt)
	table.Row("Next attempt", d.NextAttemptAt)
	table.Row("Ended", d.FinishedAt)
	var b strings.Builder
	b.WriteString(table.String())
	for i := range d.AttemptLog {
		d.AttemptLog[i].write(&b)
	}
	writeBody(&b, d.Body)
	return b.String()
}

func (d *detailedDelivery) attempts() string {
	if d.Cycle == 1 {
		return fmt.Sprint(d.AttemptsTotal)
	}
	return fmt.Sprintf("%d, %d of them since redelivery %d", d.AttemptsTotal, d.Attempts, d.Cycle-1)
}

// changedDelivery is a delivery after a command changed it.
type changedDelivery struct {
	shownScope
	shownDelivery
	change string // after "whd_… (session.completed to https://…)"
}

// Text says what was changed.
func (d *changedDelivery) Text() string {
	return fmt.Sprintf("%s\n%s (%s to %s) %s.\n", d.shownScope, d.ID, d.Type, cli.Printable(d.Endpoint), d.change)
}

func (c commands) webhooksRetry(ctx context.Context, args []string) error {
	return c.changeDelivery(ctx, "webhooks retry", args, func(app *scopedApp, before *webhooks.DeliveryRecord) (*domain.Delivery,
		string, error) {
		after, err := app.Webhooks.Redeliver(ctx, app.scope, before.ID, operator)
		if before.State == domain.DeliveryPending {
			return after, "is pending. Its next attempt is now, and the schedule continues from there", err
		}
		return after, fmt.Sprintf("was %s. It is due now and follows the schedule from the start, under the same id", before.State), err
	})
}

func (c commands) webhooksCancel(ctx context.Context, args []string) error {
	return c.changeDelivery(ctx, "webhooks cancel", args, func(app *scopedApp, before *webhooks.DeliveryRecord) (*domain.Delivery,
		string, error) {
		after, err := app.Webhooks.CancelDelivery(ctx, app.scope, before.ID, operator)
		return after, "is cancelled. An attempt that is already running may still arrive", err
	})
}

// changeDelivery changes one delivery and says what was changed.
func (c commands) changeDelivery(ctx context.Context, command string, args []string,
	change func(*scopedApp, *webhooks.DeliveryRecord) (*domain.Delivery, string, error)) error {
	flags := cli.NewJSONFlags(command)
	app, before, err := c.openDelivery(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	after, text, err := change(app, before)
	if err != nil {
		return err
	}
	return flags.Print(c.Out, &changedDelivery{app.shown, showDelivery(&domain.ListedDelivery{Delivery: *after,
		Origin: before.Origin}), text})
}
