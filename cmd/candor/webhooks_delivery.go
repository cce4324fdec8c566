package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service"
)

// shownDelivery is a delivery in lists.
type shownDelivery struct {
	ID             string          `json:"id"`
	Sequence       int64           `json:"sequence"`
	Type           string          `json:"type"`
	SessionID      *string         `json:"session_id"`
	Endpoint       string          `json:"endpoint"`
	URL            string          `json:"url"`
	State          string          `json:"state"`
	Cycle          int             `json:"cycle"` // 1, and one more for each time that it was made again
	Attempts       int             `json:"attempts"`
	AttemptsTotal  int             `json:"attempts_total"`
	LastStatusCode *int            `json:"last_status_code"`
	LastErrorClass *string         `json:"last_error_class"`
	CreatedAt      form.Timestamp  `json:"created_at"`
	FirstAttemptAt *form.Timestamp `json:"first_attempt_at"`
	NextAttemptAt  *form.Timestamp `json:"next_attempt_at"`
	FinishedAt     *form.Timestamp `json:"finished_at"`
}

func showDelivery(d *db.ListedDelivery) shownDelivery {
	shown := shownDelivery{
		ID: d.ID.String(), Sequence: d.Sequence, Type: string(d.EventType), Endpoint: d.Origin, URL: d.URL, State: string(d.State),
		Cycle: d.Cycle, Attempts: d.Attempts, AttemptsTotal: d.AttemptsTotal, LastStatusCode: d.LastStatusCode, LastErrorClass: d.LastErrorClass,
		CreatedAt: form.At(d.CreatedAt), FirstAttemptAt: form.AtOptional(d.FirstAttemptAt), NextAttemptAt: form.AtOptional(d.NextAttemptAt), FinishedAt: form.AtOptional(d.FinishedAt),
	}
	if d.SessionID != nil {
		session := d.SessionID.String()
		shown.SessionID = &session
	}
	return shown
}

func (d *shownDelivery) last() string { return lastOutcome(d.LastStatusCode, d.LastErrorClass) }

// shownRecord is a delivery with all that is known of it.
type shownRecord struct {
	shownScope
	shownDelivery
	EventID    string         `json:"event_id"`
	Body       string         `json:"body"` // the very bytes that are signed
	AttemptLog []shownAttempt `json:"attempt_log"`
}

type shownAttempt struct {
	Number         int            `json:"number"`
	StartedAt      form.Timestamp `json:"started_at"`
	DurationMS     int64          `json:"duration_ms"`
	StatusCode     *int           `json:"status_code"`
	ErrorClass     *string        `json:"error_class"`
	Error          *string        `json:"error"`
	RequestHeaders http.Header    `json:"request_headers"`
	Response       *string        `json:"response"` // its first 2 KiB
}

func showRecord(scope shownScope, r *service.DeliveryRecord) (*shownRecord, error) {
	out := &shownRecord{
		shownScope: scope, shownDelivery: showDelivery(&r.ListedDelivery), EventID: r.Event.ID.String(), Body: string(r.Event.Body),
		AttemptLog: make([]shownAttempt, len(r.AttemptLog)),
	}
	for i, a := range r.AttemptLog {
		out.AttemptLog[i] = shownAttempt{
			Number: a.Number, StartedAt: form.At(a.StartedAt), DurationMS: a.DurationMS, StatusCode: a.StatusCode, ErrorClass: a.ErrorClass,
			Error: a.Error, Response: a.Response,
		}
		if err := json.Unmarshal(a.RequestHeaders, &out.AttemptLog[i].RequestHeaders); err != nil {
			return nil, fmt.Errorf("headers of attempt %d: %w", a.Number, err)
		}
	}
	return out, nil
}

// foundDelivery is the delivery that a command is about.
type foundDelivery struct {
	*app // to be closed
	*service.DeliveryRecord
	scope domain.Scope
	shown shownScope
}

// openDelivery reads the flags and the delivery's id, opens the app and finds
// the delivery. The caller closes the app where there is no error.
func openDelivery(ctx context.Context, p *process, flags *flag.FlagSet, args []string) (found foundDelivery, err error) {
	text, named, err := parseIdentified(flags, args)
	if err != nil {
		return found, err
	}
	id, err := domain.ParseDeliveryID(text)
	if err != nil {
		return found, &usageError{fmt.Sprintf("%s: %q is no delivery's id, which begins with whd_", flags.Name(), text)}
	}
	if found.app, err = openCommand(ctx, p); err != nil {
		return found, err
	}
	defer func() {
		if err != nil {
			found.close()
		}
	}()
	if found.scope, err = found.service.DeliveryScope(ctx, id); err != nil {
		return found, err
	}
	if found.shown, err = named.admit(ctx, found.app, found.scope); err != nil {
		return found, err
	}
	found.DeliveryRecord, err = found.service.Delivery(ctx, found.scope, id)
	return found, err
}

func runWebhooksShow(ctx context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("webhooks show", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "")
	found, err := openDelivery(ctx, p, flags, args)
	if err != nil {
		return err
	}
	defer found.close()
	record, err := showRecord(found.shown, found.DeliveryRecord)
	if err != nil {
		return err
	}
	if *asJSON {
		return writeJSON(p.stdout, record)
	}
	_, err = io.WriteString(p.stdout, record.text())
	return err
}

func (r *shownRecord) text() string {
	var b strings.Builder
	session := "-"
	if r.SessionID != nil {
		session = *r.SessionID
	}
	for _, line := range [][2]string{
		{"Delivery", r.ID}, {"Account", r.shownScope.String()}, {"Event", fmt.Sprintf("%s, number %d, %s", r.Type, r.Sequence, r.EventID)},
		{"Session", session}, {"URL", printable(r.URL)}, {"State", r.State}, {"Attempts", r.attempts()},
		{"Created", stamp(&r.CreatedAt)}, {"Next attempt", stamp(r.NextAttemptAt)}, {"Ended", stamp(r.FinishedAt)},
	} {
		fmt.Fprintf(&b, "%-13s %s\n", line[0], line[1])
	}
	for i := range r.AttemptLog {
		r.AttemptLog[i].write(&b)
	}
	fmt.Fprintf(&b, "\nBody (%d bytes)\n%s\n", len(r.Body), indented(r.Body))
	return b.String()
}

func (r *shownRecord) attempts() string {
	if r.Cycle == 1 {
		return fmt.Sprint(r.AttemptsTotal)
	}
	return fmt.Sprintf("%d, %d of them since it was made again (%s)", r.AttemptsTotal, r.Attempts, times(r.Cycle-1))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (a *shownAttempt) write(b *strings.Builder) {
	fmt.Fprintf(b, "\nAttempt %d  %s  %d ms  %s\n", a.Number, stamp(&a.StartedAt), a.DurationMS, a.outcome())
	if a.Error != nil {
		fmt.Fprintf(b, "  %s\n", printable(*a.Error))
	}
	b.WriteString("  Request headers\n")
	for _, name := range slices.Sorted(maps.Keys(a.RequestHeaders)) {
		for _, value := range a.RequestHeaders[name] {
			fmt.Fprintf(b, "    %s: %s\n", name, printable(value))
		}
	}
	if a.Response != nil && *a.Response != "" {
		fmt.Fprintf(b, "  Response, its first 2 KiB\n%s\n", indented(*a.Response))
	}
}

func (a *shownAttempt) outcome() string {
	if a.StatusCode == nil {
		return lastOutcome(nil, a.ErrorClass)
	}
	return fmt.Sprintf("%d %s", *a.StatusCode, http.StatusText(*a.StatusCode))
}

// indented is a stranger's text, set off from ours.
func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(printable(text), "\n"), "\n", "\n    ")
}

func runWebhooksRetry(ctx context.Context, p *process, args []string) error {
	return changeDelivery(ctx, p, "webhooks retry", args, func(was foundDelivery) (*domain.Delivery, string, error) {
		again, err := was.service.Redeliver(ctx, was.scope, was.ID, operator)
		if was.State == domain.DeliveryPending {
			return again, "is pending: its next attempt is now, and the schedule goes on from there", err
		}
		return again, fmt.Sprintf("was %s: it is due now, and runs through the schedule anew under the same id", was.State), err
	})
}

func runWebhooksCancel(ctx context.Context, p *process, args []string) error {
	return changeDelivery(ctx, p, "webhooks cancel", args, func(was foundDelivery) (*domain.Delivery, string, error) {
		cancelled, err := was.service.CancelDelivery(ctx, was.scope, was.ID, operator)
		return cancelled, "is cancelled; an attempt that is under way may still arrive", err
	})
}

// changeDelivery does something with one delivery and says what came of it.
func changeDelivery(ctx context.Context, p *process, name string, args []string, change func(was foundDelivery) (*domain.Delivery, string, error)) error {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "")
	was, err := openDelivery(ctx, p, flags, args)
	if err != nil {
		return err
	}
	defer was.close()
	is, text, err := change(was)
	if err != nil {
		return err
	}
	if *asJSON {
		return writeJSON(p.stdout, struct {
			shownScope
			shownDelivery
		}{was.shown, showDelivery(&db.ListedDelivery{Delivery: *is, Origin: was.Origin})})
	}
	_, err = fmt.Fprintf(p.stdout, "%s\n%s (%s to %s) %s.\n", was.shown, was.ID, is.EventType, printable(was.Origin), text)
	return err
}

// operator is who runs commands, for the audit log.
var operator = domain.Actor{Kind: domain.ActorOperator, ID: "command", Name: "operator"}
