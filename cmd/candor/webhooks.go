package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service"
)

// scopeFlags say which account and mode a command is about.
type scopeFlags struct {
	account string
	live    bool
}

func (f *scopeFlags) add(flags *flag.FlagSet) {
	flags.StringVar(&f.account, "account", "", "")
	flags.BoolVar(&f.live, "live", false, "")
}

// find returns the scope and how it is shown.
func (f *scopeFlags) find(ctx context.Context, a *app) (domain.Scope, shownScope, error) {
	id, err := domain.ParseAccountID(f.account)
	if err != nil {
		return domain.Scope{}, shownScope{}, fmt.Errorf("--account %q is no account's id, which begins with acct_: see candor account list", f.account)
	}
	scope := domain.Scope{AccountID: id, Livemode: f.live}
	shown, err := showScope(ctx, a, scope)
	return scope, shown, err
}

// admit checks that what was found by its id, which is enough, isn't elsewhere
// than the flags say where they are given.
func (f *scopeFlags) admit(ctx context.Context, a *app, found domain.Scope) (shownScope, error) {
	shown, err := showScope(ctx, a, found)
	if err == nil && (f.account != "" && f.account != shown.AccountID || f.live && !found.Livemode) {
		err = fmt.Errorf("it belongs to %s", shown)
	}
	return shown, err
}

// parseIdentified reads the flags of a command about one thing and its id,
// which may stand before or after them.
func parseIdentified(flags *flag.FlagSet, args []string) (id string, named scopeFlags, err error) {
	named.add(flags)
	if err = parseSome(flags, args); err != nil {
		return "", named, err
	}
	if flags.NArg() == 0 {
		return "", named, &usageError{flags.Name() + " needs an id"}
	}
	id = flags.Arg(0)
	return id, named, parseFlags(flags, flags.Args()[1:])
}

// shownScope is what every answer begins with, so that nobody takes one
// account or mode for another.
type shownScope struct {
	AccountID string `json:"account_id"`
	Account   string `json:"account"`
	Livemode  bool   `json:"livemode"`
}

func showScope(ctx context.Context, a *app, scope domain.Scope) (shownScope, error) {
	account, err := a.db.Account(ctx, scope.AccountID)
	if errors.Is(err, db.ErrNotFound) {
		return shownScope{}, fmt.Errorf("there is no account %s: see candor account list", scope.AccountID)
	}
	return shownScope{AccountID: scope.AccountID.String(), Account: account.Name, Livemode: scope.Livemode}, err
}

// String is "Acme Loans (acct_…), test mode".
func (s shownScope) String() string {
	return fmt.Sprintf("%s (%s), %s mode", printable(s.Account), s.AccountID, s.mode())
}

func (s shownScope) mode() string {
	if s.Livemode {
		return "live"
	}
	return "test"
}

// none says that nothing was found, and where else it may be.
func (s shownScope) none(what string) string {
	if s.Livemode {
		return "No " + what + " in live mode; without --live, test mode is searched."
	}
	return "No " + what + " in test mode; with --live, live mode is searched."
}

// openScoped reads a command's flags and opens the app at the scope that they
// name; the caller closes the app where there is no error.
func openScoped(ctx context.Context, p *process, flags *flag.FlagSet, args []string) (*app, domain.Scope, shownScope, error) {
	var named scopeFlags
	named.add(flags)
	if err := parseFlags(flags, args); err != nil {
		return nil, domain.Scope{}, shownScope{}, err
	}
	if named.account == "" {
		return nil, domain.Scope{}, shownScope{}, &usageError{flags.Name() + " needs --account; candor account list shows the ids"}
	}
	a, err := openCommand(ctx, p)
	if err != nil {
		return nil, domain.Scope{}, shownScope{}, err
	}
	scope, shown, err := named.find(ctx, a)
	if err != nil {
		a.close()
		return nil, domain.Scope{}, shownScope{}, err
	}
	return a, scope, shown, nil
}

// momentFlag adds a flag for a point in time; the result is nil without it.
func momentFlag(flags *flag.FlagSet, name string, at **time.Time) {
	flags.Func(name, "", func(text string) error {
		t, err := parseMoment(text, domain.SystemClock.Now())
		*at = &t
		return err
	})
}

var errNoMoment = errors.New("give a time such as 2026-11-20T03:00:00Z, a day such as 2026-11-20 (UTC), or a span before now such as 90m, 24h or 7d")

// parseMoment reads a time, a day, or a span before now.
func parseMoment(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 12); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	span, err := time.ParseDuration(text)
	if err != nil || span < 0 {
		return time.Time{}, errNoMoment
	}
	return now.Add(-span), nil
}

// filterFlags adds the flags that narrow down deliveries.
func filterFlags(flags *flag.FlagSet, f *service.DeliveryFilter) {
	flags.StringVar(&f.Origin, "endpoint", "", "")
	flags.StringVar((*string)(&f.Type), "type", "", "")
	flags.StringVar(&f.Status, "status", "", "")
	momentFlag(flags, "since", &f.Since)
	momentFlag(flags, "until", &f.Until)
}

// defaultListed is how many deliveries are listed without --limit.
const defaultListed = 20

type deliveryList struct {
	shownScope
	Deliveries []shownDelivery `json:"deliveries"`
	NextBefore *int64          `json:"next_before"` // for the next page's --before; null on the last
}

func runWebhooksList(ctx context.Context, p *process, args []string) error {
	var filter service.DeliveryFilter
	flags := flag.NewFlagSet("webhooks list", flag.ContinueOnError)
	filterFlags(flags, &filter)
	flags.StringVar((*string)(&filter.State), "state", "", "")
	flags.Func("session", "", func(text string) error {
		id, err := domain.ParseSessionID(text)
		filter.Session = &id
		return err
	})
	before := flags.Int64("before", 0, "")
	limit := flags.Int("limit", defaultListed, "")
	asJSON := flags.Bool("json", false, "")
	a, scope, shown, err := openScoped(ctx, p, flags, args)
	if err != nil {
		return err
	}
	defer a.close()
	found, err := a.service.Deliveries(ctx, scope, filter, *before, *limit)
	if err != nil {
		return err
	}
	list := deliveryList{shownScope: shown, Deliveries: make([]shownDelivery, len(found))}
	for i := range found {
		list.Deliveries[i] = showDelivery(&found[i])
	}
	if len(found) == *limit {
		list.NextBefore = &found[len(found)-1].Sequence
	}
	if *asJSON {
		return writeJSON(p.stdout, list)
	}
	return list.write(p.stdout)
}

func (l *deliveryList) write(w io.Writer) error {
	if len(l.Deliveries) == 0 {
		_, err := fmt.Fprintf(w, "%s\n%s\n", l.shownScope, l.none("webhook delivery matches"))
		return err
	}
	fmt.Fprintln(w, l.shownScope)
	table := newTable(w, "EVENT", "DELIVERY", "TYPE", "STATE", "ATTEMPTS", "LAST", "CREATED", "NEXT ATTEMPT", "ENDPOINT")
	for _, d := range l.Deliveries {
		table.row(d.Sequence, d.ID, d.Type, d.State, d.AttemptsTotal, d.last(), stamp(&d.CreatedAt), stamp(d.NextAttemptAt), d.Endpoint)
	}
	if err := table.Flush(); err != nil || l.NextBefore == nil {
		return err
	}
	_, err := fmt.Fprintf(w, "Older ones: the same with --before %d\n", *l.NextBefore)
	return err
}

type shownEndpoint struct {
	Endpoint            string          `json:"endpoint"`
	Health              string          `json:"health"` // ok, failing, gone or untried
	Pending             int64           `json:"pending"`
	Failed              int64           `json:"failed"`
	ConsecutiveFailures int             `json:"consecutive_failures"`
	FailingSince        *form.Timestamp `json:"failing_since"`
	LastSuccessAt       *form.Timestamp `json:"last_success_at"`
	LastFailureAt       *form.Timestamp `json:"last_failure_at"`
	LastStatusCode      *int            `json:"last_status_code"`
	LastErrorClass      *string         `json:"last_error_class"`
}

func runWebhooksEndpoints(ctx context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("webhooks endpoints", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "")
	a, scope, shown, err := openScoped(ctx, p, flags, args)
	if err != nil {
		return err
	}
	defer a.close()
	found, err := a.service.EndpointLoads(ctx, scope)
	if err != nil {
		return err
	}
	endpoints := make([]shownEndpoint, len(found))
	for i, e := range found {
		endpoints[i] = shownEndpoint{
			Endpoint: e.Origin, Health: health(&e.Endpoint), Pending: e.Pending, Failed: e.Failed, ConsecutiveFailures: e.ConsecutiveFailures,
			FailingSince: form.AtOptional(e.FailingSince), LastSuccessAt: form.AtOptional(e.LastSuccessAt), LastFailureAt: form.AtOptional(e.LastFailureAt),
			LastStatusCode: e.LastStatusCode, LastErrorClass: e.LastErrorClass,
		}
	}
	if *asJSON {
		return writeJSON(p.stdout, struct {
			shownScope
			Endpoints []shownEndpoint `json:"endpoints"`
		}{shown, endpoints})
	}
	fmt.Fprintln(p.stdout, shown)
	if len(endpoints) == 0 {
		_, err = fmt.Fprintln(p.stdout, shown.none("webhook was ever sent"))
		return err
	}
	table := newTable(p.stdout, "ENDPOINT", "HEALTH", "PENDING", "FAILED", "LAST", "FAILURES IN A ROW", "FAILING SINCE", "LAST SUCCESS", "LAST FAILURE")
	for _, e := range endpoints {
		table.row(e.Endpoint, e.Health, e.Pending, e.Failed, lastOutcome(e.LastStatusCode, e.LastErrorClass), e.ConsecutiveFailures,
			stamp(e.FailingSince), stamp(e.LastSuccessAt), stamp(e.LastFailureAt))
	}
	return table.Flush()
}

func health(e *domain.Endpoint) string {
	switch {
	case e.Gone:
		return "gone"
	case e.FailingSince != nil:
		return "failing"
	case e.LastSuccessAt != nil:
		return "ok"
	}
	return "untried"
}

// table is text in columns.
type table struct{ *tabwriter.Writer }

func newTable(w io.Writer, heads ...any) table {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row(heads...)
	return t
}

func (t table) row(cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(t, "\t")
		}
		fmt.Fprint(t, strings.ReplaceAll(printable(fmt.Sprint(cell)), "\n", " "))
	}
	fmt.Fprintln(t)
}

// stamp is a time in a table, "-" for none.
func stamp(at *form.Timestamp) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

// lastOutcome is a status or the class of an error, "-" before the first
// attempt.
func lastOutcome(code *int, class *string) string {
	switch {
	case code != nil:
		return strconv.Itoa(*code)
	case class != nil:
		return *class
	}
	return "-"
}

// printable is a text that strangers wrote, without what would drive the
// operator's terminal or turn its lines around.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\t", "    "))
}
