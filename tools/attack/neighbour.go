package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/testkit/client"
	"candor/tools/harness"
)

const (
	attackerNetwork = "198.51.100.210"
	// probePause lets the neighbour make 8 calls of each kind a second, below every limit.
	probePause     = 125 * time.Millisecond
	neighbourForms = 8
	manyRows       = 20_000 // sessions of the attacker, for lists, searches and exports
	manyStreams    = 200
	slowUpload     = 512 << 10 // bytes a second
)

// activity is what one account does to the other: its name, and how it is prepared. The
// function that it returns does it until its context ends.
type activity struct {
	name    string
	prepare func(*attack, context.Context) (func(context.Context) *outcome, error)
}

var activities = []activity{
	{"uploads at 0.5 MB/s", (*attack).slowUploads},
	{"dashboard pages", pages("", "/sessions", "/events", "/webhooks", "/audit", "/billing", "/team", "/requests", "/no-such-page")},
	{"dashboard changes", posts(
		post{path: "/sessions", values: url.Values{"customer_email": {"person#@example.com"}, "expires_in_days": {"30"}}},
		post{path: "/me/name", values: url.Values{"name": {"Person #"}}},
		post{path: "/settings/time-zone", values: url.Values{"time_zone": {"Australia/Perth"}}})},
	{"exports", pages("/sessions/export", "/audit/export")},
	{"searches", pages("/search?q=person%23", "/search?q=son", "/sessions?q=per", "/sessions?q=zz%23")},
	{"PDFs and answers", (*attack).readStatements},
	{"test events", (*attack).testEvents},
	{"long polls", calls("GET", "/v1/events?wait=5&type=billing.invoice_paid", "")},
	{"lists of the API", calls("GET", "/v1/sessions?per_page=100", "")},
	{"streams", (*attack).streams},
}

// neighbour runs the activities of one account, and shows what another one sees: of an
// older build, too, if there is one.
func (a *attack) neighbour(ctx context.Context) error {
	before := map[string]string{}
	if a.before != "" {
		err := a.asNeighbours(ctx, a.before, func(name, text string, _ bool) { before[name] = "before: " + text + "; now: " })
		if err != nil {
			return err
		}
	}
	return a.asNeighbours(ctx, binary, func(name, text string, met bool) {
		a.add(met, "beside an account with "+name, "each p99 within 3 × idle, no error", "%s%s", before[name], text)
	})
}

// asNeighbours runs the activities against a service of their own.
func (a *attack) asNeighbours(ctx context.Context, program string, report func(name, text string, met bool)) error {
	own := &attack{span: a.span}
	if err := own.start(ctx, program); err != nil {
		return err
	}
	defer own.Stop()
	n, err := own.newNeighbour(ctx)
	if err != nil {
		return err
	}
	if err := own.fillAccount(ctx); err != nil {
		return err
	}
	for _, one := range activities {
		drive, err := one.prepare(own, ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		text, met := n.beside(ctx, drive)
		report(one.name, text, met)
		harness.Pause(ctx, 3*time.Second)
	}
	return nil
}

// rounds is how many times idle and flood follow each other, so that both meet the same
// other work of the machine. Idle takes half as long.
const rounds = 4

// beside says what the neighbour sees of an activity, and whether it meets the target.
func (n *neighbour) beside(ctx context.Context, drive func(context.Context) *outcome) (string, bool) {
	var idle, busy []sight
	all := &outcome{statuses: map[int]int{}}
	for range rounds {
		idle = joined(idle, n.watch(ctx, n.span/rounds/2))
		flood, cancel := context.WithTimeout(ctx, n.span/rounds)
		seen := make(chan []sight)
		go func() { seen <- n.watch(ctx, n.span/rounds) }()
		all.add(drive(flood))
		cancel()
		busy = joined(busy, <-seen)
	}
	text, met := compare(idle, busy)
	return text + "; " + all.String(), met
}

// fillAccount gives the attacker's account many sessions.
func (a *attack) fillAccount(ctx context.Context) error {
	c, err := a.customerOf(ctx, a.Account, attackerNetwork)
	if err != nil {
		return err
	}
	id, err := domain.ParseSessionID(c.id)
	if err != nil {
		return err
	}
	_, err = a.DB.Raw().ExecContext(ctx, `
		INSERT INTO session SELECT (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(), 'customer_email',
			'person' || n || '@example.com', 'customer_name', 'Person ' || n))).*
		FROM session s, generate_series(1, $1::int) n WHERE s.id = $2`, manyRows, id)
	if err != nil {
		return fmt.Errorf("sessions of the attacker: %w", err)
	}
	_, err = a.DB.Raw().ExecContext(ctx, `ANALYZE`)
	return err
}

// pages floods pages of the dashboard, below test mode.
func pages(paths ...string) func(*attack, context.Context) (func(context.Context) *outcome, error) {
	return func(a *attack, ctx context.Context) (func(context.Context) *outcome, error) {
		b, err := a.owner(ctx, a.Account, attackerNetwork)
		if err != nil {
			return nil, err
		}
		header := []string{"X-Forwarded-For: " + attackerNetwork, "Cookie: " + b.Cookies("/dashboard")}
		return func(ctx context.Context) *outcome {
			return a.flood(ctx, floodConnections, func() []byte {
				return client.Request("GET", a.Addr, "/dashboard/test"+numbered(paths[rand.IntN(len(paths))], "%23"), "", header...)
			})
		}, nil
	}
}

// posts floods forms of the dashboard.
func posts(forms ...post) func(*attack, context.Context) (func(context.Context) *outcome, error) {
	return func(a *attack, ctx context.Context) (func(context.Context) *outcome, error) {
		b, err := a.owner(ctx, a.Account, attackerNetwork)
		if err != nil {
			return nil, err
		}
		cookie := b.Cookies("/dashboard")
		return func(ctx context.Context) *outcome {
			return a.flood(ctx, floodConnections, func() []byte {
				f := forms[rand.IntN(len(forms))]
				f.path, f.cookie = "/test"+f.path, cookie
				return f.request(a.Addr, attackerNetwork)
			})
		}, nil
	}
}

// calls floods an endpoint of the API.
func calls(method, path, body string) func(*attack, context.Context) (func(context.Context) *outcome, error) {
	return func(a *attack, _ context.Context) (func(context.Context) *outcome, error) {
		request := client.Request(method, a.Addr, path, body, "X-Forwarded-For: "+attackerNetwork,
			"Authorization: Bearer "+a.Account.TestKey)
		return func(ctx context.Context) *outcome {
			return a.flood(ctx, floodConnections, func() []byte { return request })
		}, nil
	}
}

// testEvents floods test events, by the API and by the dashboard.
func (a *attack) testEvents(ctx context.Context) (func(context.Context) *outcome, error) {
	byPage, err := posts(post{path: "/webhooks/test", values: url.Values{"type": {"session.completed"},
		"url": {"http://127.0.0.1:9/"}}})(a, ctx)
	if err != nil {
		return nil, err
	}
	byKey, err := calls("POST", "/v1/test/events", `{"type":"billing.invoice_paid"}`)(a, ctx)
	return func(ctx context.Context) *outcome { return both(ctx, byPage, byKey) }, err
}

// readStatements completes sessions, each of which makes a PDF, and reads one by the
// dashboard.
func (a *attack) readStatements(ctx context.Context) (func(context.Context) *outcome, error) {
	const done = `{"form_type":"financial_statement","customer_email":"sam@example.com","simulate":"completed"}`
	b, err := a.owner(ctx, a.Account, attackerNetwork)
	if err != nil {
		return nil, err
	}
	session, err := b.create(ctx, a.Account, done)
	if err != nil {
		return nil, err
	}
	path := "/sessions/" + session.ID
	read, err := pages(path+"/pdf", path+"/data", path)(a, ctx)
	if err != nil {
		return nil, err
	}
	complete, err := calls("POST", "/v1/sessions", done)(a, ctx)
	return func(ctx context.Context) *outcome { return both(ctx, read, complete) }, err
}

// streams opens streams of changes, each again when it ends.
func (a *attack) streams(ctx context.Context) (func(context.Context) *outcome, error) {
	b, err := a.owner(ctx, a.Account, attackerNetwork)
	if err != nil {
		return nil, err
	}
	request := client.Request("GET", a.Addr, "/dashboard/test/live?on=session", "", "Accept: text/event-stream",
		"X-Forwarded-For: "+attackerNetwork, "Cookie: "+b.Cookies("/dashboard"))
	return func(ctx context.Context) *outcome {
		return a.flood(ctx, manyStreams, func() []byte { return request })
	}, nil
}

// slowUploads sends files over 40 links, as slowly as is allowed.
func (a *attack) slowUploads(ctx context.Context) (func(context.Context) *outcome, error) {
	var customers []*customer
	for i := range floodConnections {
		c, err := a.customerOf(ctx, a.Account, fmt.Sprintf("198.51.103.%d", i+1))
		if err != nil {
			return nil, err
		}
		c.rate = slowUpload
		customers = append(customers, c)
	}
	return func(ctx context.Context) *outcome { return uploadUntil(ctx, customers, 0) }, nil
}

// both does two things at a time.
func both(ctx context.Context, one, other func(context.Context) *outcome) *outcome {
	others := make(chan *outcome)
	go func() { others <- other(ctx) }()
	o := one(ctx)
	o.add(<-others)
	return o
}

// neighbour is the account that sees what another one does to it.
type neighbour struct {
	*attack
	staff *browser
	forms [][]byte // saves of its customers
}

func (a *attack) newNeighbour(ctx context.Context) (*neighbour, error) {
	n := &neighbour{attack: a}
	var err error
	if n.staff, err = a.owner(ctx, a.victim, victimNetwork); err != nil {
		return nil, err
	}
	for range neighbourForms {
		c, err := a.customerOf(ctx, a.victim, victimNetwork)
		if err != nil {
			return nil, err
		}
		path := c.path(statement.IncomeSection)
		n.forms = append(n.forms, saveRequest(a.Addr, path, victimNetwork, c.Cookies(path)))
	}
	return n, nil
}

// sight is what the neighbour saw of one kind of request.
type sight struct {
	kind   string
	times  []time.Duration
	errors int
}

// joined has the requests of both, kind by kind.
func joined(all, more []sight) []sight {
	if all == nil {
		return more
	}
	for i, one := range more {
		all[i].times, all[i].errors = append(all[i].times, one.times...), all[i].errors+one.errors
	}
	return all
}

// watch makes each kind of request for the span.
func (n *neighbour) watch(ctx context.Context, span time.Duration) []sight {
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	var kept *client.Conn
	defer func() { kept.Close() }()
	kinds := []struct {
		name string
		do   func() error
	}{
		{"API", func() error { return n.createAndGet(ctx) }},
		{"form", func() error {
			status, err := n.send(context.WithoutCancel(ctx), &kept, n.forms[rand.IntN(len(n.forms))])
			return expect(http.StatusOK, status, err)
		}},
		{"page", func() error {
			got, err := n.staff.Get(ctx, "/dashboard/test/sessions")
			return expect(http.StatusOK, got.Status, err)
		}},
	}
	seen := make([]sight, len(kinds))
	var work sync.WaitGroup
	for i, kind := range kinds {
		seen[i].kind = kind.name
		work.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				switch err := kind.do(); {
				case err == nil:
					seen[i].times = append(seen[i].times, time.Since(began))
				case ctx.Err() == nil:
					seen[i].errors++
				}
				harness.Pause(ctx, probePause)
			}
		})
	}
	work.Wait()
	return seen
}

func expect(want, status int, err error) error {
	if err == nil && status != want {
		err = fmt.Errorf("answered %d", status)
	}
	return err
}

// createAndGet creates a session and gets it.
func (n *neighbour) createAndGet(ctx context.Context) error {
	session, err := n.staff.create(ctx, n.victim, newSession)
	if err != nil {
		return err
	}
	got, err := n.staff.call(ctx, n.victim, http.MethodGet, "/v1/sessions/"+session.ID, "")
	return expect(http.StatusOK, got.Status, err)
}

// compare says how much slower each kind of request was than at idle.
func compare(idle, busy []sight) (string, bool) {
	var parts []string
	met, failed := true, 0
	for i, one := range busy {
		was, is := percentile(idle[i].times, 99), percentile(one.times, 99)
		met = met && is <= 3*was
		failed += one.errors
		parts = append(parts, fmt.Sprintf("%s %s → %s (%.1f ×)", one.kind, round(was), round(is), float64(is)/float64(was)))
	}
	return fmt.Sprintf("%s; %d errors", strings.Join(parts, ", "), failed), met && failed == 0
}

// numbered replaces a mark by another number each time.
func numbered(text, mark string) string {
	return strings.ReplaceAll(text, mark, fmt.Sprintf("%08d", rand.IntN(1e8)))
}
