package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit/client"
)

const (
	pageRequests = 200
	pageWarmUp   = 20 // then PostgreSQL has chosen its generic plans
	pageTarget   = 30 * time.Millisecond
	searchTarget = 20 * time.Millisecond
)

// dashboardPages times every page of the dashboard for an account with a long
// history, one request after another, with the filters that staff use. It leaves
// out downloads and exports, which read one row or are streamed.
func (b *bench) dashboardPages(ctx context.Context, e *environment) error {
	if err := e.fillPartner(ctx, b.history); err != nil {
		return err
	}
	cookie, err := e.signIn(ctx, e.Account.Email)
	if err != nil {
		return err
	}
	pages, err := e.staffPages(ctx)
	if err != nil {
		return err
	}
	for _, p := range pages {
		get := e.pageRequest(cookie, p.path)
		warm, err := latencies(ctx, e.Addr, pageWarmUp, get)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		n := pageRequests
		if quantile(warm, 0.5) > 10*pageTarget {
			n = pageWarmUp // it fails, and takes long enough
		}
		times, err := latencies(ctx, e.Addr, n, get)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		p99, target := quantile(times, 0.99), pageTarget
		if strings.HasPrefix(p.path, "/search") {
			target = searchTarget
		}
		b.add(row{
			what: "Dashboard: " + p.name, figure: fmt.Sprintf("p99 %.1f ms, p50 %.1f ms", ms(p99), ms(quantile(times, 0.5))),
			target: fmt.Sprintf("p99 < %.0f ms", ms(target)), met: p99 < target,
		})
	}
	return nil
}

// pageRequest asks for a page of the dashboard as its browser does.
func (e *environment) pageRequest(cookie, path string) []byte {
	headers := []string{"Cookie: " + cookie, "Accept-Encoding: gzip"}
	if strings.HasPrefix(path, "/search") {
		headers = append(headers, "HX-Request: true") // as while it is typed
	}
	return client.Request("GET", e.Addr, "/dashboard/test"+path, "", headers...)
}

// signIn signs an account's owner in and returns the cookie. It bypasses the limit of
// sign-ins.
func (e *environment) signIn(ctx context.Context, email string) (cookie string, err error) {
	token, hash := domain.NewToken()
	now := time.Now().UTC()
	session := &domain.StaffSession{
		SessionID: domain.NewStaffSessionID(), Stage: domain.SignInFull, StartedAt: now, SeenAt: now, ConfirmedAt: now,
		ExpiresAt: now.Add(domain.StaffLifetime), Address: "127.0.0.1",
	}
	if err := e.DB.Raw().GetContext(ctx, &session.ID, `SELECT id FROM staff_user WHERE email = $1`, email); err != nil {
		return "", err
	}
	return "candor_staff=" + token, e.DB.InTx(ctx, func(tx *db.Tx) error { return tx.InsertStaffSession(ctx, session, hash) })
}

// page is a page that is timed.
type page struct{ name, path string }

// partnerObjects are shown by the pages.
type partnerObjects struct {
	Session    domain.SessionID    `db:"session"` // with ten events
	Middle     domain.SessionID    `db:"middle"`  // of the list
	Sequence   int64               `db:"sequence"`
	Delivery   domain.DeliveryID   `db:"delivery"` // failed, with attempts
	Endpoint   domain.EndpointID   `db:"endpoint"`
	Redelivery domain.RedeliveryID `db:"redelivery"`
	Request    domain.RequestID    `db:"request"` // in the middle
	Key        domain.KeyID        `db:"key"`
	Audit      domain.AuditID      `db:"audit"` // in the middle
	Event      domain.EventID      `db:"event"` // of the delivery
}

func (e *environment) partnerObjects(ctx context.Context) (*partnerObjects, error) {
	scope, err := e.scope()
	if err != nil {
		return nil, err
	}
	var out partnerObjects
	err = e.DB.Raw().GetContext(ctx, &out, `
		SELECT d.id AS delivery, d.event_id AS event, d.session_id AS session, d.endpoint_id AS endpoint, d.sequence,
			(SELECT id FROM session WHERE account_id = $1 AND NOT livemode ORDER BY created_at OFFSET (SELECT count(*) / 2 FROM session)
				LIMIT 1) AS middle,
			(SELECT id FROM redelivery WHERE account_id = $1 ORDER BY created_at LIMIT 1) AS redelivery,
			(SELECT id FROM api_request WHERE account_id = $1 AND NOT livemode ORDER BY id OFFSET $2 LIMIT 1) AS request,
			(SELECT key_id FROM api_request WHERE account_id = $1 LIMIT 1) AS key,
			(SELECT id FROM audit_log WHERE account_id = $1 ORDER BY at OFFSET $3 LIMIT 1) AS audit
		FROM delivery d
		WHERE d.account_id = $1 AND NOT d.livemode AND d.state = 'failed' AND EXISTS (SELECT 1 FROM delivery_attempt a
			WHERE a.delivery_id = d.id)
			AND d.sequence > (SELECT max(sequence) / 2 FROM event)
		ORDER BY d.sequence LIMIT 1`, scope.AccountID, loggedRequests/2, auditLines/2)
	return &out, err
}

// staffPages are all pages, by what they show.
func (e *environment) staffPages(ctx context.Context) ([]page, error) {
	of, err := e.partnerObjects(ctx)
	if err != nil {
		return nil, err
	}
	day := func(ago int) string { return time.Now().UTC().AddDate(0, 0, -ago).Format(time.DateOnly) }
	since := func(ago int) string { return "since=" + day(ago) + "T00%3A00" }
	sequence := strconv.FormatInt(of.Sequence, 10)
	pages := []page{
		{"home", ""}, {"me", "/me"},
		{"sessions", "/sessions"},
		{"sessions, from the middle on", "/sessions?before=" + of.Middle.String()},
		{"sessions by email", "/sessions?q=customer777777%40example.com"},
		{"sessions by an email of very many", "/sessions?q=qa%40lender.example"},
		{"cancelled sessions by an email of very many", "/sessions?q=qa%40lender.example&status=cancelled"},
		{"sessions by an email of very many and days", "/sessions?q=qa%40lender.example&from=" + day(60) + "&to=" + day(50)},
		{"sessions by reference", "/sessions?q=REF-777777"},
		{"sessions by a reference of very many", "/sessions?q=QA"},
		{"sessions by days", "/sessions?from=" + day(60) + "&to=" + day(50)},
		{"completed sessions by days", "/sessions?status=completed&from=" + day(60) + "&to=" + day(50)},
		{"sessions of a value of metadata", "/sessions?figure=metadata.broker%3Db7&from=" + day(60)},
		{"sessions that stopped in a section", "/sessions?progress=stopped:assets&from=" + day(30)},
		{"figures", "/figures"}, {"figures of 90 days by metadata", "/figures?by=metadata.broker&from=" + day(89)},
		{"figures of 366 days by metadata of many values", "/figures?by=metadata.file&from=" + day(365)},
		{"new session", "/sessions/new"},
		{"session", "/sessions/" + of.Session.String()},
		{"erase a session", "/sessions/" + of.Session.String() + "/erase"},
	}
	for _, status := range domain.Statuses {
		pages = append(pages, page{"sessions: " + string(status), "/sessions?status=" + string(status)})
	}
	pages = append(pages,
		page{"webhooks", "/webhooks"}, page{"webhooks, from the middle on", "/webhooks?before=" + sequence},
		page{"webhooks by type", "/webhooks?type=session.completed"}, page{"webhooks of a type that isn't there",
			"/webhooks?type=billing.invoice_paid"},
		page{"webhooks by result 5xx", "/webhooks?status=5xx"}, page{"webhooks by result timeout", "/webhooks?status=timeout"},
		page{"webhooks by result tls, none", "/webhooks?status=tls"},
		page{"webhooks by result 2xx", "/webhooks?status=2xx"}, page{"webhooks of a session",
			"/webhooks?session=" + of.Session.String()},
		page{"webhooks at an endpoint", "/webhooks?endpoint=" + of.Endpoint.String()},
		page{"failed webhooks at an endpoint by type", "/webhooks?state=failed&type=session.section_completed&endpoint=" +
			of.Endpoint.String()},
		page{"failed webhooks of a type that never fails", "/webhooks?state=failed&type=session.completed"},
		page{"delivered webhooks at an endpoint by type", "/webhooks?state=delivered&type=session.accessed&endpoint=" +
			of.Endpoint.String()},
		page{"webhooks by days", "/webhooks?from=" + day(60) + "&to=" + day(50)},
		page{"failed webhooks by days", "/webhooks?state=failed&from=" + day(60) + "&to=" + day(59)},
	)
	for _, state := range domain.DeliveryStates {
		pages = append(pages, page{"webhooks: " + string(state), "/webhooks?state=" + string(state)})
	}
	return append(append(pages,
		page{"webhook", "/webhooks/deliveries/" + of.Delivery.String()}, page{"code that verifies", "/webhooks/verify"},
		page{"redeliveries", "/webhooks/redeliveries"}, page{"redelivery", "/webhooks/redeliveries/" + of.Redelivery.String()},
		page{"preview of a redelivery, a day", "/webhooks/redeliveries?preview=1&rate=10&" + since(1)},
		page{"preview of a redelivery, 90 days", "/webhooks/redeliveries?preview=1&rate=10&" + since(90)},
		page{"preview of a redelivery, 90 days, none of its type", "/webhooks/redeliveries?preview=1&rate=10&type=session.completed&" +
			since(90)},
		page{"keys", "/keys"}, page{"new key", "/keys/new"},
		page{"team", "/team"}, page{"billing", "/billing"}, page{"billing: plan", "/billing/plan"},
		page{"billing: cancel", "/billing/cancel"},
		page{"settings", "/settings"}, page{"settings: retention", "/settings/retention?retention_days=30"},
		page{"audit log", "/audit"}, page{"audit log, from the middle on", "/audit?before=" + of.Audit.String()},
		page{"audit log by action", "/audit?action=api_key.created"}, page{"audit log by who", "/audit?who=staff7%40lender.example"},
		page{"audit log by who and action", "/audit?who=staff7%40lender.example&action=api_key.created"},
		page{"audit log by who and action, none", "/audit?who=staff7%40lender.example&action=staff.signed_in"},
		page{"audit log by days", "/audit?from=" + day(60) + "&to=" + day(50)},
		page{"webhook settings", "/webhooks/settings"}, page{"key", "/keys/" + of.Key.String()},
		page{"leaked key", "/keys/" + of.Key.String() + "/leaked"},
		page{"quickstart", "/quickstart"},
		page{"events", "/events"}, page{"events, from the middle on", "/events?before=" + sequence},
		page{"event", "/events/" + of.Event.String()},
		page{"events by type", "/events?type=session.completed"}, page{"events of a type that isn't there",
			"/events?type=billing.invoice_paid"},
		page{"events of a session", "/events?session=" + of.Session.String()}, page{"events by days",
			"/events?from=" + day(60) + "&to=" + day(50)},
		page{"sessions not opened for 3 days", "/sessions?status=pending&to=" + day(3)}, page{"sessions that expire soon",
			"/sessions?status=expiring"},
	), slices.Concat(requestPages(of, day), searchPages(of))...), nil
}

// searchPages search for what staff have: a name, or a part of one, of an address or
// of a reference; an id; a few letters.
func searchPages(of *partnerObjects) (pages []page) {
	for what, text := range map[string]string{
		"a first name of very many": "craig", "a whole name": "craig wowozni", "a last name": "znimorgan",
		"a part of a last name":   "gansm",
		"a name that isn't there": "zzyzzx", "an email": "customer777777@example.com", "a part of an email": "customer7777",
		"an email of very many": "qa@lender",
		"a reference":           "REF-777777", "a part of a reference": "f-77777", "two letters": "cr", "one letter": "a",
		"a part of every email": "example.com", "common parts": "mar son customer9",
		"a session": of.Session.String(), "an event": of.Event.String(), "a delivery": of.Delivery.String(),
		"a request": of.Request.String(),
		"a key":     of.Key.String(), "the end of a key": "abcd", "an invoice": "CAN-000001",
	} {
		pages = append(pages, page{"search for " + what, "/search?q=" + url.QueryEscape(text)})
	}
	slices.SortFunc(pages, func(a, b page) int { return strings.Compare(a.name, b.name) })
	return pages
}

func requestPages(of *partnerObjects, day func(ago int) string) []page {
	key := "&key=" + of.Key.String()
	return []page{
		{"requests", "/requests"}, {"requests, from the middle on", "/requests?before=" + of.Request.String()},
		{"request", "/requests/" + of.Request.String()},
		{"requests by id", "/requests?id=" + of.Request.String()}, {"requests by key", "/requests?" + key[1:]},
		{"requests by method POST", "/requests?method=POST"}, {"requests by method DELETE", "/requests?method=DELETE"},
		{"requests by method PUT, none", "/requests?method=PUT"},
		{"requests by status 200", "/requests?status=200"}, {"requests by status 404", "/requests?status=404"},
		{"requests by status 4xx", "/requests?status=4xx"},
		{"requests by status 5xx", "/requests?status=5xx"}, {"requests by code", "/requests?code=validation_error"},
		{"requests by days", "/requests?from=" + day(5) + "&to=" + day(4)},
		{"requests by key and code", "/requests?code=validation_error" + key},
		{"requests by status 4xx and DELETE, none", "/requests?status=4xx&method=DELETE"},
		{"requests by status 4xx, DELETE and key, none", "/requests?status=4xx&method=DELETE" + key},
		{"requests by status 200 and POST, none", "/requests?status=200&method=POST"},
		{"requests by status 200, POST and key, none", "/requests?status=200&method=POST" + key},
	}
}
