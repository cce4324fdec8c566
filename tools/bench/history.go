package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit/client"
)

// longHistory compares the reads of an account with 1,000 sessions and with many.
func (b *bench) longHistory(ctx context.Context, e *environment) error {
	reads := map[string]func(id domain.SessionID) string{
		"list, first page":  func(domain.SessionID) string { return "/v1/sessions" },
		"list by status":    func(domain.SessionID) string { return "/v1/sessions?status=completed" },
		"list of expired":   func(domain.SessionID) string { return "/v1/sessions?status=expired" },
		"list by reference": func(domain.SessionID) string { return "/v1/sessions?reference_id=REF-500" },
		"get":               func(id domain.SessionID) string { return "/v1/sessions/" + id.String() },
		"usage":             func(domain.SessionID) string { return "/v1/billing/usage?period=last_90_days" },
	}
	short, err := e.historyTimes(ctx, 1000, reads)
	if err != nil {
		return err
	}
	long, err := e.historyTimes(ctx, b.history, reads)
	if err != nil {
		return err
	}
	for _, name := range []string{"list, first page", "list by status", "list of expired", "list by reference", "get", "usage"} {
		ratio := float64(long[name]) / float64(short[name])
		b.add(row{
			what:   fmt.Sprintf("%s with %d sessions", name, b.history),
			figure: fmt.Sprintf("%.2f ms", ms(long[name])), yardstick: fmt.Sprintf("with 1000: %.2f ms", ms(short[name])),
			ratio: fmt.Sprintf("%.1f ×", ratio), target: "≤ 2 ×", met: ratio <= 2,
		})
	}
	return nil
}

// historyTimes makes the account's history n sessions long and returns each
// read's median time.
func (e *environment) historyTimes(ctx context.Context, n int, reads map[string]func(domain.SessionID) string) (
	map[string]time.Duration, error) {
	if err := e.fill(ctx, n); err != nil {
		return nil, err
	}
	created, err := e.createSession(ctx, `{"form_type":"financial_statement","customer_email":"jessica@example.com"}`)
	if err != nil {
		return nil, err
	}
	out := map[string]time.Duration{}
	for name, path := range reads {
		get := client.Request("GET", e.Addr, path(created.ID), "", "Authorization: Bearer "+e.Account.TestKey)
		times, err := latencies(ctx, e.Addr, 300, get, http.StatusOK)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = quantile(times, 0.5)
	}
	return out, nil
}

// customerName is SQL for the name of the i-th customer: one of 40 first names, and one
// of 27,000 last names, so that one first name is common and a whole name is rare.
const customerName = `(ARRAY['Craig','Jessica','Wei','Thi','Maria','James','Olivia','Noah','Aisha','Liam','Mia','Jack','Ruby','Henry','Zoe','Leo','Grace','Oscar','Ella','Hugo',
	'Priya','Omar','Chloe','Ethan','Ivy','Lucas','Nina','Samir','Tara','Victor','Yuki','Ahmed','Bella',
		'Diego','Freya','George','Hannah','Isaac','Kiri','Lachlan'])[1 + i % 40]
	|| ' ' || initcap(part[1 + i % 30] || part[1 + i / 40 % 30] || part[1 + i / 1200 % 30])`

// nameParts is what customerName is selected from.
const nameParts = `(SELECT string_to_array('wo,zni,ak,mor,gan,son,nguy,en,smi,th,kel,ly,bar,ton,chan,dra,pat,el,ros,si,hay,es,mac,don,ald,fer,rei,ra,ko,vic', ',') AS part) p`

// fill replaces the account's test sessions by n, spread evenly over 90 days and
// all states, each with its own reference.
func (e *environment) fill(ctx context.Context, n int) error {
	account, err := domain.ParseAccountID(e.Account.AccountID)
	if err != nil {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM session`,
		`DELETE FROM session_count`,
		fmt.Sprintf(`
			INSERT INTO session (id, account_id, livemode, status, form_type, customer_name, customer_email, reference_id, metadata,
				created_at, expires_at, accessed_at, completed_at, pdf_ready_at, cancelled_at)
			SELECT gen_random_uuid(), '%s', false, status, 'financial_statement', %s, 'customer' || i || '@example.com', 'REF-' || i,
				json_build_object('product', 'p' || i %% 7, 'broker', 'b' || i %% 60, 'file', i),
				at, CASE WHEN status IN ('expired') THEN at + interval '1 hour' ELSE now() + interval '30 days' END, at,
				CASE WHEN status = 'completed' THEN at + interval '1 hour' END, CASE
					WHEN status = 'completed' THEN at + interval '1 hour' END,
				CASE WHEN status = 'cancelled' THEN at + interval '1 hour' END
			FROM (SELECT i, now() - interval '89 days' * i / %d - interval '2 hours' AS at,
				(ARRAY['completed', 'expired', 'cancelled', 'in_progress', 'pending'])[1 + i %% 5] AS status
				FROM generate_series(1, %d) i) n,
				`+nameParts, account.UUID, customerName, n, n),
		`VACUUM ANALYZE session`,
		`VACUUM ANALYZE session_search`,
		`VACUUM ANALYZE session_count`,
	} {
		if _, err := e.DB.Raw().ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("fill the history: %w", err)
		}
	}
	return nil
}
