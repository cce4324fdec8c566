package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/service/requestlog"
	"candor/internal/testkit/harness"
)

// strict is a call that asks to be refused for what isn't known.
func strict(method, path string, body any) harness.Call {
	return harness.Call{Method: method, Path: path, Body: body, Header: "Candor-Strict: 1"}
}

// TestStrictRequests: a strict request with an unknown name does nothing and names it; without
// one it is like any (D97).
func TestStrictRequests(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.Do(strict(http.MethodPost, "/sessions", harness.ValidBody)).WantStatus(http.StatusCreated)
	a := h.Do(strict(http.MethodPost, "/sessions", with(`"customerName": "Jo", "colour": "red", "expires_in_days": "x"`)))
	a.WantError(http.StatusBadRequest, "invalid_request", "colour")
	if got := fmt.Sprint(wrongFields(a)); got != "[colour customerName expires_in_days]" {
		t.Errorf("details.errors names %s", got)
	}
	for path, field := range map[string]string{"/sessions?limit=5": "limit", "/sessions?per_page=5&Jo": "…",
		"/sessions/" + unknownSession + "?expand=customer": "expand"} {
		h.Do(strict(http.MethodGet, path, nil)).WantError(http.StatusBadRequest, "invalid_request", field)
	}
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf(`"colour%02d": 1`, i))
	}
	if got := wrongFields(h.Do(strict(http.MethodPost, "/sessions", with(strings.Join(many, ", "))))); len(got) != 10 {
		t.Errorf("%d of 30 names are told", len(got))
	}
	if total := h.Get("/sessions").Object()["pagination"].(map[string]any)["total"]; total != 1.0 {
		t.Errorf("%v sessions were made", total)
	}
}

// TestUnknownNamesWithinOthers: deliver and ask are like the body (D97).
func TestUnknownNamesWithinOthers(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	body := with(`"deliver": {"by": "email", "reminds": true}, "ask": [{"section": "income", "note": "Again"},
		{"section": "assets", "note": "Again", "colour": 1}], "prefill": {"expenses": {"share": 50}}`)
	made := h.Post("/sessions", body).WantStatus(http.StatusCreated)
	want := "deliver.reminds;nearest=deliver.remind, prefill.expenses.share, ask.1.colour"
	if got := made.Header().Get("Candor-Ignored"); got != want {
		t.Errorf("ignored %s", got)
	}
	a := h.Do(strict(http.MethodPost, "/sessions", body)).WantStatus(http.StatusBadRequest)
	if got := fmt.Sprint(wrongFields(a)); got != "[deliver.reminds ask.1.colour]" {
		t.Errorf("details.errors names %s", got)
	}
	id := newSessionID(h, harness.ValidBody)
	data := advance(h, id, `{"to": "completed", "data": {"expenses": {"share": 50}, "income": {}}}`).WantStatus(http.StatusOK)
	if got := data.Header().Get("Candor-Ignored"); got != "data.expenses.share" {
		t.Errorf("of data %s", got)
	}
	again := advance(h, newSessionID(h, harness.ValidBody), `{"to": "completed", "data": {"expenses": {"share": null}}}`)
	if got := again.WantStatus(http.StatusOK).Header().Get("Candor-Ignored"); got != "" {
		t.Errorf("of what a single's data has %s", got)
	}
}

// TestUnknownNamesOfAnyCharacters: the header has what is no token as RFC 9651's display strings.
func TestUnknownNamesOfAnyCharacters(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for name, want := range map[string]string{
		`Jo Citizen`: `%"Jo%20Citizen"`, `größe`: `%"gr%c3%b6%c3%9fe"`, `1st`: `%"1st"`, `a, b;nearest=c`: `%"a%2c%20b%3bnearest%3dc"`,
		`line\r\nSet-Cookie: x`: `%"line%0d%0aSet-Cookie%3a%20x"`, ``: `%""`, `%\"`: `%"%25%22"`,
		strings.Repeat("名", 100): `%"` + strings.Repeat("%e5%90%8d", 13) + `%e2%80%a6"`, strings.Repeat("a", 100): `%"` +
			strings.Repeat("a", 40) + `%e2%80%a6"`,
	} {
		body := with(`"` + name + `": 1`)
		if got := h.Post("/sessions", body).WantStatus(http.StatusCreated).Header().Get("Candor-Ignored"); got != want {
			t.Errorf("%s is ignored as %s", name, got)
		}
		a := h.Do(strict(http.MethodPost, "/sessions", body)).WantStatus(http.StatusBadRequest)
		said := a.Object()["error"].(map[string]any)
		if field, told := wrongFields(a)[0], said["ignored"].([]any)[0].(map[string]any)["name"]; told != field {
			t.Errorf("%s: ignored %q and refused %q", name, told, field)
		}
	}
	a := h.Do(strict(http.MethodPost, "/sessions", with(`"Jo Citizen": 1`)))
	a.WantError(http.StatusBadRequest, "invalid_request", "Jo Citizen")
	if !strings.Contains(a.Body.String(), `\"Jo Citizen\" isn’t known here`) {
		t.Errorf("%s", a.Body)
	}
}

// TestFailuresNameWhatIsIgnored: the body has it, also when it is replayed.
func TestFailuresNameWhatIsIgnored(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	body := `{"form_type": "financial_statement", "customer_email": "x", "customerName": "Jo", "colour": 1}`
	first := h.PostOnce("k", body).WantError(http.StatusUnprocessableEntity, "invalid_email", "customer_email")
	want := `"ignored":[{"name":"colour"},{"name":"customerName","nearest":"customer_name"}]`
	if again := h.PostOnce("k", body); !strings.Contains(first.Body.String(), want) || again.Body.String() != first.Body.String() {
		t.Errorf("first %s, then %s", first.Body, again.Body)
	}
	if a := h.Get("/sessions/" + unknownSession + "?expand=x"); !strings.Contains(a.Body.String(), `"ignored":[{"name":"expand"}]`) {
		t.Errorf("a query's: %s", a.Body)
	}
	if a := h.Get("/sessions/" + unknownSession); strings.Contains(a.Body.String(), "ignored") {
		t.Errorf("without any: %s", a.Body)
	}
}

// TestStrictNamesAreNotLogged: they can be anything (D90).
func TestStrictNamesAreNotLogged(t *testing.T) {
	t.Parallel()
	var log *requestlog.Writer
	h := harness.New(t, func(c *handlers.Config) {
		log = requestlog.NewWriter(c.Sessions.DB, c.Logger, func(why string, n int) { t.Errorf("%d requests not logged: %s", n, why) })
		t.Cleanup(log.Close)
		c.Called = log.Add
	})
	h.Do(strict(http.MethodPost, "/sessions", with(`"zanzibar": 1, "customerName": 2, "zanzibar 7": 3`))).
		WantStatus(http.StatusBadRequest)
	h.Do(strict(http.MethodGet, "/sessions?zanzibar=1&zanzibar", nil)).WantStatus(http.StatusBadRequest)
	log.Flush(t.Context())
	all := harness.QueryOne[string](h, `SELECT string_agg(r::text, chr(10)) FROM api_request r`)
	if strings.Contains(all, "zanzibar") || !strings.Contains(all, "customerName isn’t known here") {
		t.Errorf("the log has\n%s", all)
	}
}

// TestNumbersAsJSONHasThem: 3e1 is 30 (D97).
func TestNumbersAsJSONHasThem(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for _, days := range []string{"30", "30.0", "3e1", "3E+1", "0.3e2", "300e-1"} {
		created := h.Post("/sessions", with(`"expires_in_days": `+days)).WantStatus(http.StatusCreated).Object()
		if created["expires_at"] != "2026-12-20T03:04:05.678Z" {
			t.Errorf("%s days end at %v", days, created["expires_at"])
		}
	}
	for _, days := range []string{"3.1", "3e-1", "1e400", "1e-400", "1e999999999"} {
		h.Post("/sessions", with(`"expires_in_days": `+days)).WantError(http.StatusBadRequest, "invalid_request", "expires_in_days")
	}
	h.Post("/sessions", with(`"expires_in_days": 1e99`)).WantError(http.StatusUnprocessableEntity, "validation_error",
		"expires_in_days")

	id := newSessionID(h, harness.ValidBody)
	advance(h, id, `{"to": "completed", "data": {"income": {"employment_income": {"gross_salary": 1e5, "bonuses": 12505e-1, "allowances": 0.0}},
		"assets": {"real_property": [{"description": "Unit", "address": "1 Home Street", "ownership": "joint",
			"ownership_percentage": 5e1, "current_value": 4.5E5, "mortgage_owing": 0}]}}}`).WantStatus(http.StatusOK)
	got := h.Get("/sessions/" + id + "/data").WantStatus(http.StatusOK).Body.String()
	for _, want := range []string{`"gross_salary":100000,`, `"bonuses":1250.5,`, `"ownership_percentage":50,`,
		`"current_value":450000,`} {
		if !strings.Contains(got, want) {
			t.Errorf("the data lack %s: %s", want, got)
		}
	}
	for _, amount := range []string{"1e-3", "1e15", "1e999999999", "12.505"} {
		h.Post("/sessions", with(`"prefill": {"income": {"employment_income": {"gross_salary": `+amount+`}}}`)).
			WantError(http.StatusUnprocessableEntity, "validation_error", "prefill.income.employment_income.gross_salary")
	}
}

// TestSameJSONIsTheSameRequest: for an idempotency key order, spaces and escapes don't count
// (D98), also beside the previous release, which compares bytes.
func TestSameJSONIsTheSameRequest(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	first := h.PostOnce("k",
		`{"form_type": "financial_statement", "customer_email": "jo@customer.example", "metadata": {"a": 1, "b": "é"}}`).WantStatus(
		http.StatusCreated)
	same := `{"metadata":{"b":"\u00e9","a":1},"customer_email":"jo@customer.example","form_type":"financial_statement"}`
	replays(h.PostOnce("k", same), first)
	for _, other := range []string{
		`{"metadata":{"b":"é","a":1.0},"customer_email":"jo@customer.example","form_type":"financial_statement"}`,
		`{"metadata":{"b":"é"},"customer_email":"jo@customer.example","form_type":"financial_statement"}`,
		same + " x", "", "x",
	} {
		if other == "" {
			other = " "
		}
		h.PostOnce("k", other).WantError(http.StatusUnprocessableEntity, "idempotency_key_reused", "")
	}
	// As the previous release stores a request in the place of an old one.
	execSQL(h, `UPDATE idempotency_key SET fingerprint = sha256('another body')`)
	h.PostOnce("k", same).WantError(http.StatusUnprocessableEntity, "idempotency_key_reused", "")
}

// TestListIsOfOneMoment makes a session between the count and the page (D10).
func TestListIsOfOneMoment(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	blocker := lockSessions(h, "ACCESS EXCLUSIVE")
	listed := make(chan harness.Answer)
	go func() { listed <- h.Get("/sessions") }()
	h.WaitForLock()
	_, err := blocker.ExecContext(h.Context(), `
		INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, metadata, created_at, expires_at)
		VALUES (gen_random_uuid(), $1, false, 'pending', 'financial_statement', 'jo@customer.example', '{}', $2,
			$2::timestamptz + interval '1 day')`, h.Account.AccountID, harness.StartTime)
	h.OK(err)
	h.OK(blocker.Commit())
	list := (<-listed).WantStatus(http.StatusOK).Object()
	if total, rows := list["pagination"].(map[string]any)["total"], len(list["data"].([]any)); total != float64(rows) {
		t.Errorf("the total is %v, and %d rows are listed", total, rows)
	}
}

// TestMisdirectedRequestIsJSON: below /v1 a name that development doesn't answer to is refused
// like anything else.
func TestMisdirectedRequestIsJSON(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(c *handlers.Config) { c.Development = true })
	r := h.Request(harness.Call{Method: http.MethodGet, Path: "/sessions"})
	r.Host = "evil.example"
	w := httptest.NewRecorder()
	h.Handler.ServeHTTP(w, r)
	a := harness.AnswerOf(t, w).WantError(http.StatusMisdirectedRequest, "misdirected_request", "")
	for _, name := range []string{"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if a.Header().Get(name) == "" {
			t.Errorf("%s is missing", name)
		}
	}
	page := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/dashboard", nil)
	page.Host = "evil.example"
	got := httptest.NewRecorder()
	if h.Handler.ServeHTTP(got, page); got.Code != http.StatusMisdirectedRequest || strings.Contains(got.Body.String(), "{") {
		t.Errorf("elsewhere: %d %s", got.Code, got.Body)
	}
}

// TestOneSecond: what is left to wait is said in plain English.
func TestOneSecond(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(c *handlers.Config) { c.Limiter = harness.Burst(t, 1) })
	h.Get("/sessions").WantStatus(http.StatusOK)
	if a := h.Get("/sessions").WantStatus(http.StatusTooManyRequests); !strings.Contains(a.Body.String(),
		"Try again in a second.") || a.Header().Get("Retry-After") != "1" {
		t.Errorf("%v %s", a.Header(), a.Body)
	}
}

// TestEventsAfterTheLastOne: a number that was never taken is refused; one whose event is gone
// isn't (D97).
func TestEventsAfterTheLastOne(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.Get("/events?after=1").WantError(http.StatusUnprocessableEntity, "validation_error", "after")
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.RecordEvent(session, domain.AccessedPayload{SessionID: session.ID})
	if page := h.Events("?after=1"); page.NextAfter != 1 || len(page.Data) != 0 {
		t.Errorf("at the end: %+v", page)
	}
	a := h.Get("/events?after=2&wait=25").WantError(http.StatusUnprocessableEntity, "validation_error", "after")
	if !strings.Contains(a.Body.String(), "the last event, 1.") {
		t.Errorf("it doesn't say which is the last: %s", a.Body)
	}
	h.Clock.Advance(domain.EventRetention + time.Hour)
	if n, err := h.DB.DeleteEvents(t.Context(), h.Clock.Now().Add(-domain.EventRetention), 100); n != 1 || err != nil {
		t.Fatalf("deleted %d, %v", n, err)
	}
	if page := h.Events("?after=1"); page.NextAfter != 1 || page.OldestSequence != nil {
		t.Errorf("with all events gone: %+v", page)
	}
}
