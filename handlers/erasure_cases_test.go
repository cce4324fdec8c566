package handlers_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
	view "candor/views/form"
)

// aboutNoSession are the routes that have nothing to do with a session.
var aboutNoSession = regexp.MustCompile(
	`^/dashboard/:mode/(live|me|ask|keys|figures|quickstart|billing|team|settings|audit|sessions/views)(/|$)|^/dashboard/:mode/webhooks(/(settings|endpoints|url|tests?|verify|secret)(/|$)|$)|^/v1/(billing|webhook_endpoints)(/|$)|^/v1/test/events$`)

// jobAboutNoSession are the kinds of jobs that have nothing to do with a session.
var jobAboutNoSession = regexp.MustCompile(
	`^(access_email|audit_repeats|alert_sweep|alert_email|billing|billing_letter|staff_letter|usage_recount)$`)

// A progress is how far a session has come before it is erased.
type progress int

const (
	pending   progress = iota
	open               // with a draft, a document and a section
	completed          // with its PDF
)

// A useCase is something that is done with a session while it is erased.
type useCase struct {
	from   progress
	live   bool
	before func(s *subject) // brings the session where the use case needs it
	do     func(s *subject) *httptest.ResponseRecorder
}

// besideErasure are all use cases that have to do with a session, by their route or job.
// What stands in brackets tells several of one route apart.
var besideErasure = func() map[string]useCase {
	all := map[string]useCase{}
	for _, cases := range []map[string]useCase{formCases(), apiCases(), staffCases(), jobCases()} {
		maps.Copy(all, cases)
	}
	return all
}()

func formCases() map[string]useCase {
	get := func(section string) func(*subject) *httptest.ResponseRecorder {
		return func(s *subject) *httptest.ResponseRecorder { return s.tab().Get(section) }
	}
	all := map[string]useCase{
		"GET /f/:session/:token": {pending, false, nil, func(s *subject) *httptest.ResponseRecorder {
			return s.visit(s.link)
		}},
		"GET /f/:session/:token (again)": {open, false, nil, func(s *subject) *httptest.ResponseRecorder { return s.visit(s.link) }},
		"GET /f/:session/:token (renewed)": {open, false, func(s *subject) {
			s.staff().Post(s.page("/renew"), nil)
		}, func(s *subject) *httptest.ResponseRecorder { return s.visit(s.link) }},
		"GET /f/:session/:token (wrong)": {open, false, nil, func(s *subject) *httptest.ResponseRecorder {
			return s.visit(s.link + "x")
		}},
		"GET /f/:session": {pending, false, nil, get("")},
		"GET /f/:session (again)": {open, false, func(s *subject) {
			s.exec(`UPDATE session SET last_activity_at = created_at - interval '1 hour' WHERE id = $1`, s.id)
		}, get("")},
		"GET /f/:session/reminders/:token": {open, false, nil, func(s *subject) *httptest.ResponseRecorder {
			return s.tab().Get("reminders/" + s.Service.Ring.Token(domain.ReminderSubject(s.id)))
		}},
		"POST /f/:session/reminders/:token": {open, false, nil, func(s *subject) *httptest.ResponseRecorder {
			return s.tab().Post("reminders/"+s.Service.Ring.Token(domain.ReminderSubject(s.id)), nil)
		}},
		"GET /f/:session/pdf":        {completed, false, nil, get("pdf")},
		"GET /f/:session/copy":       {completed, false, nil, get("copy")},
		"POST /f/:session/documents": {open, false, nil, func(s *subject) *httptest.ResponseRecorder { return s.attach("another") }},
		"POST /f/:session/documents (removal)": {open, false, nil, func(s *subject) *httptest.ResponseRecorder {
			return s.tab().Attach("", "", nil, view.ActionRemove+":"+s.document)
		}},
		"POST /f/:session/documents (complete)": {open, false, nil, func(s *subject) *httptest.ResponseRecorder {
			return s.tab().Attach("", "", nil, view.ActionContinue)
		}},
		"POST /f/:session/declaration": {open, false, (*subject).fill, (*subject).sign},
		"POST /f/:session/declaration (confirm)": {open, false, (*subject).fill, func(s *subject) *httptest.ResponseRecorder {
			return s.tab().Post(statement.DeclarationSection, url.Values{"action": {view.ActionConfirm}, "confirmed": {"a"},
				"full_name": {s.mark("typed")}})
		}},
	}
	for _, name := range statement.SectionNames {
		all["GET /f/:session/"+name] = useCase{open, false, nil, get(name)}
		if name == statement.DocumentsSection || name == statement.DeclarationSection {
			continue
		}
		all["POST /f/:session/"+name] = useCase{open, false, nil, func(s *subject) *httptest.ResponseRecorder {
			return s.tab().Post(name, s.typed(name))
		}}
		all["POST /f/:session/"+name+" (draft)"] = useCase{open, false, nil, func(s *subject) *httptest.ResponseRecorder {
			return s.tab().Post(name, s.mistyped(name))
		}}
	}
	return all
}

func apiCases() map[string]useCase {
	call := func(method, path, body string) func(*subject) *httptest.ResponseRecorder {
		return func(s *subject) *httptest.ResponseRecorder {
			r := strings.NewReplacer("{id}", s.id.String(), "{document}", s.document, "{delivery}", s.delivery, "{extra}", s.mark("extra"),
				"{name}", s.mark("typed"), "{mail}", s.email())
			return s.call(method, r.Replace(path), r.Replace(body))
		}
	}
	const extra = "?{extra}=1&customer_name_{extra}=1&custome_name=1"
	return map[string]useCase{
		"POST /v1/sessions": {open, false, nil, (*subject).create},
		"GET /v1/sessions": {open, false, nil,
			call("GET", "/sessions?customer_email={mail}&customerEmail={mail}&{extra}=1", "")},
		"GET /v1/sessions/:id":      {open, false, nil, call("GET", "/sessions/{id}"+extra, "")},
		"DELETE /v1/sessions/:id":   {open, false, nil, call("DELETE", "/sessions/{id}"+extra, "")},
		"GET /v1/sessions/:id/data": {completed, false, nil, call("GET", "/sessions/{id}/data"+extra, "")},
		"GET /v1/sessions/:id/pdf":  {completed, false, nil, call("GET", "/sessions/{id}/pdf"+extra, "")},
		"GET /v1/sessions/:id/documents/:document_id": {completed, false, nil,
			call("GET", "/sessions/{id}/documents/{document}"+extra, "")},
		"GET /v1/events": {completed, false, nil,
			call("GET", "/events?limit=100&include=webhook&{extra}=1", "")},
		"POST /v1/test/sessions/:id/advance": {open, false, nil, call("POST", "/test/sessions/{id}/advance",
			`{"to": "completed", "{extra}": 1, "data": {"personal_details": {"full_name": "{name}"}}}`)},
		"POST /v1/test/sessions/:id/advance (opened)": {pending, false, nil, call("POST", "/test/sessions/{id}/advance",
			`{"to": "opened", "tO_{extra}": 1}`)},
		"POST /v1/test/sessions/:id/advance (expired)": {open, false, nil, call("POST", "/test/sessions/{id}/advance",
			`{"to": "expired"}`)},
		"POST /v1/test/sessions/:id/advance (pdf_expired)": {completed, false, nil, call("POST", "/test/sessions/{id}/advance",
			`{"to": "pdf_expired"}`)},
		"POST /v1/test/sessions/:id/advance (refused)": {open, false, nil, call("POST", "/test/sessions/{id}/advance",
			`{"to": "income", "data": {"income": {"{extra}": "{name}", "employment_income": {"gross_salary": "{name}"}}}}`)},
		"POST /v1/test/deliveries/:id/attempt": {completed, false, nil,
			call("POST", "/test/deliveries/{delivery}/attempt", "")},
	}
}

func staffCases() map[string]useCase {
	get := func(path string) func(*subject) *httptest.ResponseRecorder {
		return func(s *subject) *httptest.ResponseRecorder { return s.staff().Get(s.place(path)) }
	}
	post := func(path string, form url.Values) func(*subject) *httptest.ResponseRecorder {
		return func(s *subject) *httptest.ResponseRecorder { return s.staff().Post(s.place(path), form) }
	}
	all := map[string]useCase{
		// one with a mistake makes no session
		"POST /dashboard/:mode/sessions": {open, false, nil, func(s *subject) *httptest.ResponseRecorder {
			return s.staff().Post(s.place(""), url.Values{"customer_email": {s.mark("mail")}, "customer_name": {s.mark("name")},
				"reference_id": {s.mark("reference")}})
		}},
		"POST /dashboard/:mode/sessions/chosen": {open, false, nil, func(s *subject) *httptest.ResponseRecorder {
			return s.staff().Post(s.place("/chosen"), url.Values{"do": {"extend"}, "session": {s.id.String()}, "days": {"30"},
				"ends": {s.id.String() + " " + s.SessionOf(s.id).ExpiresAt.Format(time.RFC3339Nano)}})
		}},
		"POST /dashboard/:mode/sessions/:session/erase": {completed, false, nil, func(s *subject) *httptest.ResponseRecorder {
			return s.staff().Post(s.page("/erase"), url.Values{"confirm": {s.email()}, "sessions": {s.id.String()}})
		}},
		"POST /dashboard/:mode/webhooks/redeliveries": {completed, false, (*subject).failDeliveries,
			func(s *subject) *httptest.ResponseRecorder {
				return s.staff().Post(s.place("../webhooks/redeliveries"), redeliverAll)
			}},
		"GET /dashboard/:mode/webhooks/redeliveries/:redelivery": {completed, false, (*subject).redeliver,
			func(s *subject) *httptest.ResponseRecorder {
				return s.staff().Get(s.redelivery)
			}},
		"POST /dashboard/:mode/webhooks/redeliveries/:redelivery/stop": {completed, false, (*subject).redeliver,
			func(s *subject) *httptest.ResponseRecorder {
				return s.staff().Post(s.redelivery+"/stop", nil)
			}},
		"GET /dashboard/:mode/webhooks/outages/:outage": {completed, false, nil, func(s *subject) *httptest.ResponseRecorder {
			return s.staff().Get(s.place("../webhooks/outages/" + s.outage()))
		}},
		"POST /dashboard/:mode/webhooks/outages/:outage/send": {completed, false, nil, func(s *subject) *httptest.ResponseRecorder {
			return s.staff().Post(s.place("../webhooks/outages/"+s.outage()+"/send"), nil)
		}},
	}
	for path, from := range map[string]progress{
		"": open, "/sessions": open, "/search?q={name}": open, "/sessions/new": open, "/sessions/export?q={name}&search={name}": open,
		"/sessions/{id}": completed, "/sessions/{id}/data": completed, "/sessions/{id}/answers": completed,
		"/sessions/{id}/pdf": completed, "/sessions/{id}/documents/{document}": completed, "/sessions/{id}/erase": completed,
		"/sessions/{id}/receipt": completed,
		"/webhooks/redeliveries": completed, "/webhooks/deliveries/{delivery}": completed, "/events": completed,
		"/events/{event}": completed, "/requests": open, "/requests/{request}": open,
	} {
		all["GET "+routeOf(path)] = useCase{from, false, nil, get(".." + path)}
	}
	for path, form := range map[string]url.Values{
		"/sessions/{id}/cancel": nil, "/sessions/{id}/undo": nil, "/sessions/{id}/extend": {"days": {"60"}},
		"/sessions/{id}/renew":                  nil,
		"/sessions/{id}/email":                  {"sends": {"0"}},
		"/webhooks/deliveries/{delivery}/retry": nil, "/webhooks/deliveries/{delivery}/cancel": nil,
	} {
		all["POST "+routeOf(path)] = useCase{open, false, nil, post(".."+path, form)}
	}
	return all
}

// routeOf is the route of a page of a mode.
func routeOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return "/dashboard/:mode" + strings.NewReplacer("{id}", ":session", "{", ":", "}", "").Replace(path)
}

var redeliverAll = url.Values{"rate": {"100"}, "since": {"2026-11-01"}}

func jobCases() map[string]useCase {
	job := func(kind, queue, args string) func(*subject) *httptest.ResponseRecorder {
		return func(s *subject) *httptest.ResponseRecorder { s.job(kind, queue, args); return nil }
	}
	sql := func(statements ...string) func(*subject) {
		return func(s *subject) {
			for _, statement := range statements {
				s.exec(statement, s.id)
			}
		}
	}
	return map[string]useCase{
		"job statement_pdf": {completed, false, sql(`DELETE FROM statement_pdf WHERE session_id = $1`,
			`UPDATE session SET pdf_ready_at = NULL, pdf_sha256 = NULL WHERE id = $1`),
			job("statement_pdf", "pdf", `{"session_id": "{id}"}`)},
		"job customer_receipt": {completed, true, sql(`DELETE FROM customer_receipt WHERE session_id = $1`),
			job("customer_receipt", "mail", `{"session_id": "{id}", "language": "en"}`)},
		"job session_email": {open, true, nil, job("session_email", "mail", `{"session_id": "{id}"}`)},
		"job session_email_sweep": {open, true, sql(`UPDATE link_delivery SET look_at = now() WHERE session_id = $1`),
			job("session_email_sweep", "sweeps", `{}`)},
		"job figures": {open, false, sql(`UPDATE session_count SET figured = false WHERE $1::uuid IS NOT NULL`),
			job("figures", "upkeep", `{}`)},
		"job session_expiry": {open, false, sql(`UPDATE session SET expires_at = created_at WHERE id = $1`),
			job("session_expiry", "sweeps", `{}`)},
		"job retention": {open, false, sql(`UPDATE session SET status = 'expired', expires_at = '2026-01-01' WHERE id = $1`),
			job("retention", "upkeep", `{}`)},
		"job reconciliation": {completed, false, sql(`DELETE FROM event WHERE session_id = $1 AND type = 'session.completed'`),
			job("reconciliation", "upkeep", `{}`)},
		"job stranded_work": {completed, false,
			sql(`UPDATE session SET pdf_ready_at = NULL, completed_at = '2026-11-01' WHERE id = $1`),
			job("stranded_work", "sweeps", `{}`)},
		"job webhook_wake": {completed, false, (*subject).dueDeliveries, job("webhook_wake", "webhooks",
			`{"endpoint_id": "{endpoint}"}`)},
		"job webhook_redelivery": {completed, false, (*subject).redeliver, job("webhook_redelivery", "webhooks",
			`{"redelivery_id": "{redelivery}"}`)},
	}
}

// A subject is a session that is to be erased, in which all that is personal has a mark.
type subject struct {
	*erasureRace
	n          int
	live       bool
	id         domain.SessionID
	link       string
	customer   *harness.Customer
	browsers   atomic.Int32 // in which the link was opened again
	document   string
	delivery   string
	event      string
	request    string
	endpoint   string
	redelivery string
}

func (s *subject) mark(what string) string { return fmt.Sprintf("zq%06d%s", s.n, what) }

func (s *subject) email() string { return s.mark("mail") + "@heart.example" }

// newSubject makes a session and brings it to where the use case begins.
func (r *erasureRace) newSubject(n int, use useCase) *subject {
	r.Helper()
	s := &subject{erasureRace: r, n: n, live: use.live}
	created := harness.AnswerOf(r, s.create()).WantStatus(http.StatusCreated)
	var err error
	s.id, err = domain.ParseSessionID(created.Object()["id"].(string))
	r.OK(err)
	s.link, s.request = r.Link(s.id), created.Header().Get("X-Request-Id")
	s.customer = &harness.Customer{Harness: r.Harness, ID: s.id, Cookies: map[string]string{},
		From: fmt.Sprintf("[2001:db8:7a71:%d::1]:1234", n), UserAgent: s.mark("agent")}
	s.customer.WantRedirect(s.customer.Send(httptest.NewRequestWithContext(r.Context(), http.MethodGet, s.link, nil)))
	if use.from >= open {
		s.customer.WantPage(s.tab().Get(""), http.StatusOK)
		s.tab().Post(statement.IncomeSection, s.mistyped(statement.IncomeSection))
		s.customer.WantRedirect(s.tab().Post(statement.PersonalDetailsSection, s.typed(statement.PersonalDetailsSection)))
		s.customer.WantRedirect(s.attach("payslip"))
		documents, err := r.DB.Documents(r.Context(), s.id)
		r.OK(err)
		s.document = documents[0].ID.String()
		deliveries, err := r.DB.Deliveries(r.Context(), s.id)
		r.OK(err)
		s.delivery, s.event, s.endpoint = deliveries[0].ID.String(), deliveries[0].EventID.String(), deliveries[0].EndpointID.String()
	}
	if use.from == completed {
		s.fill()
		s.customer.WantRedirect(s.sign())
		r.StorePDF(s.id, []byte("%PDF-1.7 "+s.mark("pdf")))
	}
	if use.before != nil {
		use.before(s)
	}
	return s
}

// create creates the session, or sends the request again.
func (s *subject) create() *httptest.ResponseRecorder {
	return s.call(http.MethodPost, "/sessions", fmt.Sprintf(`{"form_type": "financial_statement", "customer_email": %q, "customer_name": %q, "reference_id": %q, "webhook_url": %q, "return_url": %q,
		"metadata": {"note": %q}, %q: 1, %q: 2, "customer_name_%s": 3, "customerName": 4,
			"prefill": {"personal_details": {"occupation": %q}}, "deliver": {"by": "email", "remind": true},
			"ask": [{"section": "income", "note": %q}]}`,
		s.email(), s.mark("name"), s.mark("reference"), s.hook+s.mark("hook"), "https://lender.example/back?who="+
			s.mark("return"), s.mark("note"), s.mark("name"), s.mark("extra"), s.mark("extra"), s.mark("prefill"), s.mark("ask")))
}

// call calls the API with the partner's reference as the idempotency key.
func (s *subject) call(method, path, body string) *httptest.ResponseRecorder {
	s.Helper()
	call := harness.Call{Method: method, Path: path, Key: s.Account.TestKey, Header: "Idempotency-Key: " + s.mark("reference")}
	if s.live {
		call.Key = s.Account.LiveKey
	}
	if body != "" {
		call.Body = body
	}
	return s.Serve(s.Request(call))
}

// tab is another tab of the customer's browser, for one request.
func (s *subject) tab() *harness.Customer { return s.customer.OtherBrowser() }

// visit opens a link, in a browser that wasn't there before.
func (s *subject) visit(link string) *httptest.ResponseRecorder {
	s.Helper()
	browser := s.tab()
	clear(browser.Cookies)
	browser.UserAgent += fmt.Sprint(" ", s.browsers.Add(1))
	return browser.Send(httptest.NewRequestWithContext(s.Context(), http.MethodGet, link, nil))
}

// attach uploads a file.
func (s *subject) attach(name string) *httptest.ResponseRecorder {
	s.Helper()
	return s.tab().Attach("income_evidence", name+s.mark("file")+".pdf", []byte("%PDF-1.7 "+name+s.mark("bytes")), "")
}

// typed is a section's answers, with a mark among those of the first one.
func (s *subject) typed(section string) url.Values {
	values := statementtest.Values(section)
	if values.Has("full_name") {
		values.Set("full_name", s.mark("typed"))
	}
	return values
}

// mistyped is typed with a mark in the place of each amount and date.
func (s *subject) mistyped(section string) url.Values {
	values := s.typed(section)
	for name, value := range values {
		if amount.MatchString(value[0]) {
			values.Set(name, s.mark("typed"))
		}
	}
	return values
}

// fill completes every section before the declaration.
func (s *subject) fill() {
	s.Helper()
	for _, name := range statement.SectionNames[:6] {
		if name != statement.PersonalDetailsSection {
			s.Fill(s.id, name)
		}
	}
}

// sign posts the declaration, in the browser that has the copies from then on.
func (s *subject) sign() *httptest.ResponseRecorder {
	s.Helper()
	return s.customer.Post(statement.DeclarationSection, s.typed(statement.DeclarationSection))
}

// staff is an owner's browser, for one request.
func (s *subject) staff() *harness.StaffBrowser {
	return &harness.StaffBrowser{Harness: s.Harness, Session: s.owner.Session, Cookies: maps.Clone(s.owner.Cookies)}
}

// page is the session's page in the dashboard, and what is below it.
func (s *subject) page(below string) string { return s.place(s.id.String() + below) }

// place is a page of the dashboard, by its path from that of the sessions.
func (s *subject) place(path string) string {
	mode := "test"
	if s.live {
		mode = "live"
	}
	path = strings.NewReplacer("{id}", s.id.String(), "{document}", s.document, "{delivery}", s.delivery, "{event}", s.event,
		"{request}", s.request, "{name}", s.mark("name")).Replace(path)
	return filepath.Join("/dashboard/"+mode+"/sessions", path)
}

// failDeliveries has all attempts of the deliveries failed.
func (s *subject) failDeliveries() {
	s.exec(`UPDATE delivery SET state = 'failed', next_attempt_at = NULL, finished_at = now() WHERE session_id = $1`, s.id)
}

// dueDeliveries has the deliveries attempted at the next wake.
func (s *subject) dueDeliveries() {
	s.exec(`UPDATE delivery SET next_attempt_at = '2026-11-01', attempts_total = 1 WHERE session_id = $1 AND state = 'pending'`,
		s.id)
}

// redeliver starts a redelivery.
func (s *subject) redeliver() {
	s.failDeliveries()
	got := s.staff().Post(s.place("../webhooks/redeliveries"), redeliverAll)
	if got.Code != http.StatusSeeOther {
		s.Fatalf("no redelivery: %d %.2000s", got.Code, got.Body)
	}
	s.redelivery = got.Header().Get("Location")
}

// outage makes an outage of which the session's deliveries are.
func (s *subject) outage() string {
	id := domain.NewOutageID()
	s.exec(`
		INSERT INTO outage (id, account_id, livemode, endpoint_id, started_at, last_failure_at, first_sequence, last_sequence, answers)
		SELECT $1, account_id, livemode, endpoint_id, created_at, created_at, sequence, sequence, '{"503": 1}'
		FROM delivery WHERE session_id = $2 LIMIT 1`, id, s.id)
	return id.String()
}

// job runs a job and waits for its end.
func (s *subject) job(kind, queue, args string) {
	s.Helper()
	args = strings.NewReplacer("{id}", s.id.String(), "{endpoint}", s.endpoint, "{redelivery}", filepath.Base(s.redelivery)).
		Replace(args)
	var id int
	s.OK(s.control.Raw().GetContext(s.Context(), &id, `
		INSERT INTO river_job (kind, queue, args, max_attempts) VALUES ($1, $2, $3, 1) RETURNING id`, kind, queue, args))
	testkit.Await(s, "the job's end", func() bool {
		return s.count(`SELECT count(*) FROM river_job WHERE id = $1 AND finalized_at IS NULL AND state <> 'scheduled'`, id) == 0
	})
}
