package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"candor/internal/domain"
	"candor/internal/testkit/client"
	"candor/tools/harness"
)

const (
	floodConnections = 40
	// mostRows is how many rows a flood from one network may add: what the limits
	// let through before they refuse.
	mostRows = 300
)

// post is a form that anyone can send.
type post struct {
	path   string
	values url.Values // "#" becomes another number each time
	cookie string
}

// signedOutPosts are the forms before sign-in, filled in by an attacker.
func (a *attack) signedOutPosts() []post {
	const link = "candor_letter=bm8gc3VjaCB0b2tlbiwgYnV0IG9mIGl0cyBsZW5ndGg"
	return []post{
		{"/sign-in", url.Values{"email": {a.victim.Email}, "password": {"wrong password #"}}, ""},
		{"/sign-in/code", url.Values{"code": {"123456"}}, "candor_staff=bm8gc3VjaCB0b2tlbiwgYnV0IG9mIGl0cyBsZW5ndGg"},
		{"/sign-in/passkey", url.Values{"then": {"/"}}, ""},
		{"/sign-in/passkey/answer", url.Values{"token": {"no such token"}, "response": {"{}"}}, ""},
		{"/forgot", url.Values{"email": {"person#@example.com"}}, ""},
		{"/sign-up", url.Values{"company": {"Company"}, "name": {"Name"}, "email": {"person#@example.com"},
			"new_password": {"a long password # for it"}}, ""},
		{"/reset", url.Values{"new_password": {"a long password # for it"}}, link},
		{"/verify", url.Values{"password": {"a long password # for it"}}, link},
		{"/invitation", url.Values{"name": {"Name"}, "new_password": {"a long password # for it"}}, link},
	}
}

// request writes the form, sent from a network.
func (p post) request(addr, network string) []byte {
	return formRequest(addr, network, "/dashboard"+p.path, numbered(p.values.Encode(), "%23"), p.cookie)
}

// formRequest posts a form as its page does.
func formRequest(addr, network, path, body, cookies string) []byte {
	header := []string{"Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Site: same-origin",
		"X-Forwarded-For: " + network}
	if cookies != "" {
		header = append(header, "Cookie: "+cookies)
	}
	return client.Request("POST", addr, path, body, header...)
}

// outcome counts the responses to a flood.
type outcome struct {
	sync.Mutex
	statuses map[int]int // 0 for a broken connection
	total    int
}

func (o *outcome) count(status int) {
	o.Lock()
	defer o.Unlock()
	o.statuses[status]++
	o.total++
}

func (o *outcome) add(more *outcome) {
	for status, n := range more.statuses {
		o.statuses[status] += n
		o.total += n
	}
}

func (o *outcome) String() string {
	var statuses []int
	for status := range o.statuses {
		statuses = append(statuses, status)
	}
	slices.Sort(statuses)
	var parts []string
	for _, status := range statuses {
		parts = append(parts, fmt.Sprintf("%d × %d", o.statuses[status], status))
	}
	return strings.Join(parts, ", ")
}

// flood sends the requests of next over so many connections until ctx ends. A real
// attacker has another machine, so these threads only get the CPU time that the
// service and the victim leave.
func (a *attack) flood(ctx context.Context, connections int, next func() []byte) *outcome {
	o := &outcome{statuses: map[int]int{}}
	var work sync.WaitGroup
	for range connections {
		work.Go(func() {
			runtime.LockOSThread() // for good: the thread ends with its policy
			// Without it the flood disturbs more.
			_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
			var c *client.Conn
			defer func() { c.Close() }()
			for ctx.Err() == nil {
				if status, _ := a.send(ctx, &c, next()); ctx.Err() == nil { // a broken connection is counted as 0
					o.count(status)
				}
			}
		})
	}
	work.Wait()
	return o
}

// besideVictim floods for the span while the victim works.
func (a *attack) besideVictim(ctx context.Context, next func() []byte) (*outcome, *probe) {
	a.measureIdle(ctx)
	ctx, cancel := context.WithTimeout(ctx, a.span)
	defer cancel()
	seen := make(chan *probe)
	go func() { seen <- a.watch(ctx) }()
	o := a.flood(ctx, floodConnections, next)
	return o, <-seen
}

// floods sends each form from one network. A refused post must cost little and
// leave no rows.
func (a *attack) floods(ctx context.Context) error {
	for i, p := range a.signedOutPosts() {
		text, met, _, err := a.floodForRows(ctx, func() []byte { return p.request(a.Addr, fmt.Sprintf("198.51.100.%d", i+1)) })
		if err != nil {
			return err
		}
		a.add(met, fmt.Sprintf("%d connections flood POST /dashboard%s", floodConnections, p.path),
			fmt.Sprintf("%s; at most %d rows", unharmed, mostRows), "%s", text)
		harness.Pause(ctx, time.Second)
	}
	return nil
}

// floodForRows floods beside the victim, and reports whether that is unharmed and few rows
// were added.
func (a *attack) floodForRows(ctx context.Context, next func() []byte) (text string, met bool, o *outcome, err error) {
	before, err := a.rowsStored(ctx)
	if err != nil {
		return "", false, nil, err
	}
	o, seen := a.besideVictim(ctx, next)
	after, err := a.rowsStored(ctx)
	text, met = a.judge(seen)
	return fmt.Sprintf("%s; %d rows; %s", text, after-before, o), met && after-before <= mostRows, o, err
}

// manyNetworks floods the most expensive forms from made-up networks and for
// made-up addresses, each used once, so that no limit refuses them.
func (a *attack) manyNetworks(ctx context.Context) error {
	for _, p := range a.signedOutPosts() {
		switch p.path {
		case "/sign-in":
			p.values.Set("email", "person#@example.com")
		case "/forgot", "/sign-up":
		default:
			continue
		}
		o, seen := a.besideVictim(ctx, func() []byte { return p.request(a.Addr, madeUpNetwork()) })
		text, _ := a.judge(seen)
		a.add(seen.failed+seen.notReady == 0, fmt.Sprintf("%d connections, another network each time, flood POST /dashboard%s",
			floodConnections, p.path),
			"no call of another account fails, always ready", "%s; %s", text, o)
		harness.Pause(ctx, time.Second)
	}
	return nil
}

func madeUpNetwork() string {
	return fmt.Sprintf("10.%d.%d.%d", rand.IntN(256), rand.IntN(256), 1+rand.IntN(254))
}

// refusedClients calls the API with an unknown key, far beyond the limit of its
// network. A refused call must not reach the database.
func (a *attack) refusedClients(ctx context.Context) error {
	_, key := domain.NewAPIKey(domain.Scope{}, "none", time.Now())
	request := client.Request("GET", a.Addr, "/v1/sessions", "", "Authorization: Bearer "+key, "X-Forwarded-For: 198.51.100.99")
	call := func(span time.Duration) *outcome {
		ctx, cancel := context.WithTimeout(ctx, span)
		defer cancel()
		return a.flood(ctx, floodConnections, func() []byte { return request })
	}
	for used := 0; used < 4000; { // more than both bursts: of the network and of unknown keys
		used += call(time.Second).total
	}
	began, err := a.transactions(ctx)
	if err != nil {
		return err
	}
	harness.Pause(ctx, a.span)
	quiet, err := a.transactions(ctx)
	if err != nil {
		return err
	}
	o := call(a.span)
	after, err := a.transactions(ctx)
	if err != nil {
		return err
	}
	without, with := quiet-began, after-quiet
	let := o.total - o.statuses[http.StatusTooManyRequests]
	// A call that the limit lets through looks the key up. A new connection and a
	// new statement may count as transactions, too.
	a.add(with <= without+4*int64(let)+int64(o.total/100), "API calls with an unknown key, beyond the limit",
		"no query for a refused call",
		"%d transactions in %s without, %d with; %s", without, a.span, with, o)
	return nil
}

// transactions is how many the database has done. A process of PostgreSQL reports
// its own after ten idle seconds.
func (a *attack) transactions(ctx context.Context) (n int64, err error) {
	harness.Pause(ctx, 11*time.Second)
	err = a.DB.Raw().GetContext(ctx, &n,
		`SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()`)
	return n, err
}

// rowsStored counts the rows of all tables, except the tables that the victim's calls
// fill and the tables that River keeps for its processes.
func (a *attack) rowsStored(ctx context.Context) (n int64, err error) {
	err = a.DB.Raw().GetContext(ctx, &n, `
		SELECT sum((xpath('//n/text()', query_to_xml(format('SELECT count(*) AS n FROM public.%I', relname), false, true,
			'')))[1]::text::bigint)
		FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
		WHERE relkind = 'r' AND nspname = 'public'
		  AND relname NOT IN ('session', 'session_count', 'session_key', 'form_count', 'api_request', 'river_leader', 'river_queue',
		  	'river_client', 'river_client_queue')`)
	return n, err
}
