package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"candor/internal/testkit/client"
)

// A growingRequest is asked of both databases. Its bytes are made for each turn.
type growingRequest struct {
	name   string
	status int
	make   func(e *environment, of sampled) []byte
}

// growthRequests times requests one after another, in turn in both databases.
func (b *bench) growthRequests(ctx context.Context, g *grown) error {
	samples, cookies, clients := map[*environment][]sampled{}, map[*environment]string{}, map[*environment]*client.Conn{}
	for _, e := range g.both(0) {
		n := fewSessions
		if e == g.large {
			n = g.n
		}
		var err error
		if samples[e], err = e.sample(ctx, n); err != nil {
			return err
		}
		if cookies[e], err = e.signIn(ctx, e.Account.Email); err != nil {
			return err
		}
		if clients[e], err = client.Dial(ctx, e.Addr); err != nil {
			return err
		}
		defer clients[e].Close()
	}
	for _, r := range growingRequests(cookies) {
		err := b.compareGrowth(g, r.name, growthTurns/growthBlock, func(e *environment, turn int) (times []time.Duration, err error) {
			for i := range growthBlock {
				request := r.make(e, samples[e][(turn*growthBlock+i)%len(samples[e])])
				began := time.Now()
				if err := do(clients[e], request, r.status); err != nil {
					return nil, err
				}
				times = append(times, time.Since(began))
			}
			return times, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// compareGrowth does work, which returns the time of each operation, in turn in both databases,
// once for warming up and as many turns, and adds a row.
func (b *bench) compareGrowth(g *grown, name string, turns int, work func(*environment, int) ([]time.Duration, error)) error {
	times := map[*environment][]time.Duration{}
	for turn := range 1 + turns {
		for _, e := range g.both(turn) {
			took, err := work(e, turn)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if turn > 0 {
				times[e] = append(times[e], took...)
			}
		}
	}
	middle := func(e *environment) float64 {
		slices.Sort(times[e])
		return ms(quantile(times[e], 0.5))
	}
	small, large := middle(g.small), middle(g.large)
	b.add(row{
		what: name, figure: fmt.Sprintf("%.2f ms", large), yardstick: fmt.Sprintf("%.2f ms", small),
		ratio:  fmt.Sprintf("%.2f ×", large/small),
		target: fmt.Sprintf("≤ %.1f ×", growthTarget), met: large/small <= growthTarget,
	})
	return nil
}

func growingRequests(cookies map[*environment]string) []growingRequest {
	api := func(path func(of sampled) string) func(*environment, sampled) []byte {
		return func(e *environment, of sampled) []byte {
			return client.Request("GET", e.Addr, path(of), "", "Authorization: Bearer "+e.Account.TestKey)
		}
	}
	page := func(path func(of sampled) string) func(*environment, sampled) []byte {
		return func(e *environment, of sampled) []byte {
			return e.pageRequest(cookies[e], path(of))
		}
	}
	same := func(path string) func(sampled) string { return func(sampled) string { return path } }
	requests := []growingRequest{
		{"POST a session", http.StatusCreated, func(e *environment, of sampled) []byte {
			body := `{"form_type":"financial_statement","customer_email":"` + of.Email + `","customer_name":"` + of.Name +
				`","reference_id":"LOAN-2026","metadata":{"branch":"12"}}`
			return client.Request("POST", e.Addr, "/v1/sessions", body, "Authorization: Bearer "+e.Account.TestKey)
		}},
		{"GET a session, any of the year", http.StatusOK, api(func(of sampled) string { return "/v1/sessions/" + of.ID.String() })},
		{"GET the list by reference", http.StatusOK, api(func(of sampled) string {
			return "/v1/sessions?reference_id=" + of.Reference
		})},
		{"GET the list by email", http.StatusOK, api(func(of sampled) string {
			return "/v1/sessions?customer_email=" + url.QueryEscape(of.Email)
		})},
	}
	for _, r := range [][2]string{
		{"the list", "/v1/sessions"}, {"the list of completed", "/v1/sessions?status=completed"},
		{"the list of expired", "/v1/sessions?status=expired"}, {"the list's 50th page", "/v1/sessions?page=50"},
		{"the usage of this month", "/v1/billing/usage?period=current_month"}, {"the usage of 90 days",
			"/v1/billing/usage?period=last_90_days"}, {"events", "/v1/events"},
	} {
		requests = append(requests, growingRequest{"GET " + r[0], http.StatusOK, api(same(r[1]))})
	}
	for _, r := range [][2]string{
		{"home", ""}, {"sessions", "/sessions"}, {"sessions in progress", "/sessions?status=in_progress"},
		{"sessions that expire soon", "/sessions?status=expiring"},
		{"webhooks", "/webhooks"}, {"failed webhooks", "/webhooks?state=failed"}, {"events", "/events"}, {"requests", "/requests"},
		{"requests with errors", "/requests?status=4xx"}, {"audit log", "/audit"},
	} {
		requests = append(requests, growingRequest{"Page: " + r[0], http.StatusOK, page(same(r[1]))})
	}
	for _, search := range []struct {
		what string
		text func(sampled) string
	}{
		{"a common first name", same("craig")},
		{"a last name", func(of sampled) string { return of.Name[strings.IndexByte(of.Name, ' ')+1:] }},
		{"a reference", func(of sampled) string { return of.Reference }},
		{"a whole name", func(of sampled) string { return of.Name }},
		{"an email", func(of sampled) string { return of.Email }},
		{"an id", func(of sampled) string { return of.ID.String() }},
		{"nothing there", same("zzyzzx")},
	} {
		requests = append(requests, growingRequest{"Search: " + search.what, http.StatusOK, page(func(of sampled) string {
			return "/search?q=" + url.QueryEscape(search.text(of))
		})})
	}
	return requests
}

// A growingJob is made due in both databases and timed from its start to its end.
type growingJob struct {
	name, kind string
	rows       int    // that are due
	due        string // SQL that makes $1 rows due, if there are any
}

// The databases must have as many rows for each turn. What is made due is far past its
// time: the small database has a few rows of each day.
var growingJobs = []growingJob{
	{"Expiry sweep of 1,000 sessions", "session_expiry", 1000, `
		INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, metadata, created_at, expires_at)
		SELECT gen_random_uuid(), a.id, true, 'pending', 'financial_statement', 'late' || i || '@example.com', '{}',
			now() - interval '30 days', now() - interval '1 second'
		FROM generate_series(1, $1) i, (SELECT id FROM account WHERE name = 'Lender 1') a`},
	{"Expiry sweep of none", "session_expiry", 0, ""},
	{"Retention of 1,000 events with deliveries and attempts", "retention", 1000, `
		UPDATE event SET created_at = now() - interval '91 days' WHERE id = ANY (ARRAY(SELECT id FROM event ORDER BY created_at
			LIMIT $1))`},
	{"Retention of 200 completed sessions' files", "retention", 200, `
		UPDATE session SET completed_at = now() - interval '91 days' WHERE id = ANY (ARRAY(
			SELECT id FROM session WHERE status = 'completed' AND erased_at IS NULL ORDER BY completed_at LIMIT $1))`},
	{"Retention of 40 expired sessions' answers", "retention", 40, `
		UPDATE session SET expires_at = now() - interval '31 days' WHERE id = ANY (ARRAY(
			SELECT id FROM session WHERE status = 'expired' AND data_erased_at IS NULL ORDER BY expires_at LIMIT $1))`},
	{"Retention of 500 lines of the request log", "retention", 500, `
		UPDATE api_request SET id = ('00' || substr(id::text, 3))::uuid WHERE (account_id, livemode, id) IN (
			SELECT account_id, livemode, id FROM api_request WHERE id > '01000000-0000-0000-0000-000000000000'
				ORDER BY account_id, livemode, id LIMIT $1)`},
	{"Retention of nothing", "retention", 0, ""},
	{"Rescue of nothing", "stranded_work", 0, ""},
	{"Reconciliation of two hours", "reconciliation", 0, ""},
	{"Billing run", "billing", 0, ""},
	{"Alerts", "alert_sweep", 0, ""},
	{"Recount of used sessions, once a day", "usage_recount", 0, ""},
}

// growthJobs times jobs of the worker, and the delivery of webhooks that are due at once.
func (b *bench) growthJobs(ctx context.Context, g *grown) error {
	err := b.compareGrowth(g, "1,000 due webhooks", jobTurns, func(e *environment, _ int) ([]time.Duration, error) {
		rate, err := e.deliverBacklog(ctx, dueWebhooks, targets{1, 1})
		return []time.Duration{time.Duration(dueWebhooks / rate * float64(time.Second))}, err
	})
	if err != nil {
		return err
	}
	for _, job := range growingJobs {
		err := b.compareGrowth(g, job.name, jobTurns, func(e *environment, _ int) ([]time.Duration, error) {
			took, err := e.runJob(ctx, job)
			return []time.Duration{took}, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// runJob makes a job's rows due, inserts it and returns how long it ran.
func (e *environment) runJob(ctx context.Context, job growingJob) (took time.Duration, err error) {
	if job.rows > 0 {
		result, err := e.DB.Raw().ExecContext(ctx, job.due, job.rows)
		if err != nil {
			return 0, err
		}
		if n, err := result.RowsAffected(); err != nil || int(n) != job.rows {
			return 0, fmt.Errorf("only %d rows could be made due: %w", n, err)
		}
	}
	var id int64
	if err := e.DB.Raw().GetContext(ctx, &id,
		`INSERT INTO river_job (kind, queue, args, max_attempts) VALUES ($1, 'upkeep', '{}', 1) RETURNING id`, job.kind); err != nil {
		return 0, err
	}
	if err := e.until(ctx, 2*time.Minute, `SELECT finalized_at IS NOT NULL FROM river_job WHERE id = $1`, id); err != nil {
		return 0, err
	}
	var run struct {
		State string  `db:"state"`
		Took  float64 `db:"took"`
	}
	err = e.DB.Raw().GetContext(ctx, &run,
		`SELECT state, extract(epoch FROM finalized_at - attempted_at)::float8 AS took FROM river_job WHERE id = $1`, id)
	if err == nil && run.State != "completed" {
		err = fmt.Errorf("the job ended as %s", run.State)
	}
	return time.Duration(run.Took * float64(time.Second)), err
}
