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
	samples, cookies := map[*environment][]sampled{}, map[*environment]string{}
	for _, e := range g.both(0) {
		n := fewSessions
		if e == g.large {
			n = g.n
		}
		var err error
		if samples[e], err = e.sample(ctx, n); err != nil {
			return err
		}
		if cookies[e], err = e.signIn(ctx); err != nil {
			return err
		}
	}
	clients := map[*environment]*client.Conn{}
	for _, e := range g.both(0) {
		var err error
		if clients[e], err = client.Dial(ctx, e.Addr); err != nil {
			return err
		}
		defer clients[e].Close()
	}
	for _, r := range growingRequests(cookies) {
		if !strings.Contains(r.name, b.onlyPages) {
			continue
		}
		spent := spending{}
		for turn := range 1 + growthTurns/growthBlock {
			for _, e := range g.both(turn) {
				err := spent.note(e, turn == 0, func() (times []time.Duration, err error) {
					for i := range growthBlock {
						request := r.make(e, samples[e][(turn*growthBlock+i)%len(samples[e])])
						began := time.Now()
						status, err := clients[e].Do(request)
						if err != nil || status != r.status {
							return nil, fmt.Errorf("status %d, %w", status, err)
						}
						times = append(times, time.Since(began))
					}
					return times, nil
				})
				if err != nil {
					return fmt.Errorf("%s: %w", r.name, err)
				}
			}
		}
		b.addGrowth(g, r.name, spent)
	}
	return nil
}

// spending is what an operation took in each database.
type spending map[*environment]*spentTime

type spentTime struct {
	times []time.Duration
	cpu   time.Duration // of candor and PostgreSQL, for all of them
}

// note runs work, which returns the time of each operation, and adds them unless it is
// for warming up.
func (s spending) note(e *environment, warmUp bool, work func() ([]time.Duration, error)) error {
	before, err := e.cpuTime()
	if err != nil {
		return err
	}
	times, err := work()
	if err != nil || warmUp {
		return err
	}
	after, err := e.cpuTime()
	if s[e] == nil {
		s[e] = &spentTime{}
	}
	s[e].times, s[e].cpu = append(s[e].times, times...), s[e].cpu+after-before
	return err
}

// addGrowth adds a row.
func (b *bench) addGrowth(g *grown, name string, spent spending) {
	figure := func(e *environment) (text string, middle, cpu float64) {
		times := spent[e].times
		slices.Sort(times)
		middle, cpu = ms(quantile(times, 0.5)), ms(spent[e].cpu)/float64(len(times))
		return fmt.Sprintf("%.2f / %.2f ms, CPU %.2f ms", middle, ms(quantile(times, 0.99)), cpu), middle, cpu
	}
	small, smallTime, smallCPU := figure(g.small)
	large, largeTime, largeCPU := figure(g.large)
	ratio := largeTime / smallTime
	b.add(row{
		what: name, figure: large, yardstick: small, ratio: fmt.Sprintf("%.2f ×, CPU %.2f ×", ratio, largeCPU/smallCPU),
		target: fmt.Sprintf("≤ %.1f ×", growthTarget), met: ratio <= growthTarget,
	})
}

func growingRequests(cookies map[*environment]string) []growingRequest {
	api := func(path func(of sampled) string) func(*environment, sampled) []byte {
		return func(e *environment, of sampled) []byte {
			return client.Request("GET", e.Addr, path(of), "", "Authorization: Bearer "+e.Account.TestKey)
		}
	}
	page := func(path func(of sampled) string) func(*environment, sampled) []byte {
		return func(e *environment, of sampled) []byte {
			headers := []string{"Cookie: " + cookies[e], "Accept-Encoding: gzip"}
			if strings.HasPrefix(path(of), "/search") {
				headers = append(headers, "HX-Request: true") // as while it is typed
			}
			return client.Request("GET", e.Addr, "/dashboard/test"+path(of), "", headers...)
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
	for name, of := range map[string]func(sampled) string{
		"a whole name": func(of sampled) string {
			return of.Name
		}, "an email": func(of sampled) string { return of.Email }, "a reference": func(of sampled) string { return of.Reference },
		"a last name": func(of sampled) string {
			return of.Name[strings.IndexByte(of.Name, ' ')+1:]
		}, "a common first name": same("craig"), "nothing there": same("zzyzzx"), "an id": func(of sampled) string {
			return of.ID.String()
		},
	} {
		requests = append(requests, growingRequest{"Search: " + name, http.StatusOK, page(func(s sampled) string {
			return "/search?q=" + url.QueryEscape(of(s))
		})})
	}
	slices.SortStableFunc(requests[len(requests)-7:], func(a, b growingRequest) int { return strings.Compare(a.name, b.name) })
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
	{"Sealing of old answers", "seal_old_data", 0, ""},
	{"Billing run", "billing", 0, ""},
	{"Alerts", "alert_sweep", 0, ""},
	{"Recount of used sessions, once a day", "usage_recount", 0, ""},
}

// growthJobs times jobs of the worker, in turn in both databases.
func (b *bench) growthJobs(ctx context.Context, g *grown) error {
	if strings.Contains(drainOf, b.onlyPages) {
		if err := b.growthDrain(ctx, g); err != nil {
			return err
		}
	}
	for _, job := range growingJobs {
		if !strings.Contains(job.name, b.onlyPages) {
			continue
		}
		spent := spending{}
		for turn := range jobTurns + 1 {
			for _, e := range g.both(turn) {
				err := spent.note(e, turn == 0, func() ([]time.Duration, error) {
					took, err := e.runJob(ctx, job)
					return []time.Duration{took}, err
				})
				if err != nil {
					return fmt.Errorf("%s: %w", job.name, err)
				}
			}
		}
		b.addGrowth(g, job.name, spent)
	}
	return nil
}

const drainOf = "1,000 due webhooks"

// growthDrain times the delivery of webhooks that are due at once.
func (b *bench) growthDrain(ctx context.Context, g *grown) error {
	drained := spending{}
	for turn := range jobTurns + 1 {
		for _, e := range g.both(turn) {
			err := drained.note(e, turn == 0, func() ([]time.Duration, error) {
				rate, err := e.deliverBacklog(ctx, dueWebhooks, targets{1, 1})
				return []time.Duration{time.Duration(dueWebhooks / rate * float64(time.Second))}, err
			})
			if err != nil {
				return err
			}
		}
	}
	b.addGrowth(g, drainOf, drained)
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
