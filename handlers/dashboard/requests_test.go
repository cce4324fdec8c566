package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/keys"
	"candor/internal/service/requestlog"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// newLogged starts a server that logs API requests.
func newLogged(t *testing.T, change ...func(*handlers.Config)) (*harness.Harness, *requestlog.Writer) {
	t.Helper()
	var log *requestlog.Writer
	return harness.New(t, append(change, func(c *handlers.Config) {
		log = requestlog.NewWriter(c.Sessions.DB, c.Logger, func(why string, n int) { t.Errorf("%d requests not logged: %s", n, why) })
		t.Cleanup(log.Close)
		c.Called = log.Add
	})...), log
}

// send sends a request to the API as it is.
func send(h *harness.Harness, method, path, key string, header http.Header, body string) *httptest.ResponseRecorder {
	h.Helper()
	h.Clock.Advance(time.Second)
	r := httptest.NewRequestWithContext(h.Context(), method, "/v1"+path, strings.NewReader(body))
	if header != nil {
		r.Header = header.Clone()
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return h.Serve(r)
}

// loggedCalls are the scope's logged requests in short, oldest first.
func loggedCalls(h *harness.Harness, scope domain.Scope) (out []string) {
	h.Helper()
	lines, _, err := h.DB.APIRequests(h.Context(), scope, domain.RequestFilter{}, nil, 100)
	h.OK(err)
	for _, r := range slices.Backward(lines) {
		text := fmt.Sprint(r.Method, " ", r.Route, " ", r.Status)
		if r.ErrorCode != "" {
			text += " " + string(r.ErrorCode)
		}
		if r.SessionID != nil {
			text += " " + r.SessionID.String()
		}
		if r.DocumentID != nil {
			text += " " + r.DocumentID.String()
		}
		if r.Replayed {
			text += " replayed"
		}
		if r.Ignored != "" {
			text += " ignored " + r.Ignored
		}
		out = append(out, text)
	}
	return out
}

// TestRequestsAreLogged makes calls of all sorts with a word in every part of
// them that a caller can choose, and finds them without that word.
func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	h, log := newLogged(t)
	const word = "zanzibar"
	key, header := h.Account.TestKey, http.Header{"Idempotency-Key": {word}, "User-Agent": {word}, "X-Forwarded-For": {word},
		"X-Request-Id": {word}}
	session, document := h.NewSession(h.TestScope(), domain.NewSession{}).ID.String(), domain.NewDocumentID().String()
	created := send(h, "POST", "/sessions", key, header, `{"form_type":"financial_statement","customer_email":"`+word+
		`@customer.example","reference_id":"`+word+`","customerName":"`+word+`"}`)
	id := harness.AnswerOf(t, created).WantStatus(http.StatusCreated).Object()["id"].(string)
	send(h, "POST", "/sessions", key, header, `{"form_type":"financial_statement","customer_email":"`+word+
		`@customer.example","reference_id":"`+word+`","customerName":"`+word+`"}`)
	send(h, "POST", "/sessions", key, header, `{"form_type":"other"}`)
	wrong := http.Header{"Idempotency-Key": {"wrong " + word}}
	send(h, "POST", "/sessions", key, wrong, `{"form_type":"`+word+`","customer_email":"a@b.example"}`)
	send(h, "POST", "/sessions", key, wrong, `{"form_type":"`+word+`","customer_email":"a@b.example"}`)
	send(h, "POST", "/sessions", key, nil, `{"`+word)
	send(h, "GET", "/sessions?customer_email="+word+"%40customer.example&reference_id="+word, key, header, "")
	send(h, "GET", "/sessions?page="+word, key, nil, "")
	send(h, "HEAD", "/sessions/"+session+"?color="+word+"&"+word, key, nil, "")
	send(h, "GET", "/sessions/"+word+"@customer.example", key, nil, "")
	send(h, "GET", "/sessions/"+session+"/documents/"+document, key, nil, "")
	send(h, "DELETE", "/sessions/"+session, key, nil, "")
	send(h, "GET", "/"+word, key, nil, "")
	send(h, "PUT", "/sessions", key, nil, word)
	send(h, strings.ToUpper(word), "/sessions", key, nil, "")
	send(h, "GET", "/sessions", "", header, "")
	send(h, "GET", "/sessions", h.Account.TestKey[:len(h.Account.TestKey)-1]+"-", nil, "")
	_, unknown := domain.NewAPIKey(h.TestScope(), word, h.Clock.Now())
	send(h, "GET", "/sessions", unknown, nil, "")
	other := h.NewAccount("other@lender.example", "professional")
	send(h, "GET", "/billing/usage", other.TestKey, nil, "")
	send(h, "GET", "/events", h.Account.LiveKey, nil, "")
	log.Flush(t.Context())

	const misspelt = " ignored customerName;nearest=customer_name"
	want := []string{
		"POST /v1/sessions 201 " + id + misspelt, "POST /v1/sessions 201 replayed" + misspelt,
		"POST /v1/sessions 422 idempotency_key_reused",
		"POST /v1/sessions 422 invalid_form_type", "POST /v1/sessions 422 invalid_form_type replayed",
		"POST /v1/sessions 400 invalid_request",
		"GET /v1/sessions 200", "GET /v1/sessions 400 invalid_request", "HEAD /v1/sessions/:id 200 " + session + " ignored *;others=1",
		"GET /v1/sessions/:id 404 session_not_found",
		"GET /v1/sessions/:id/documents/:document_id 400 session_not_completed " + session + " " + document,
		"DELETE /v1/sessions/:id 200 " + session, "GET  404 not_found", "PUT /v1/sessions 405 method_not_allowed",
		"other /v1/sessions 405 method_not_allowed",
	}
	if got := loggedCalls(h, h.TestScope()); !slices.Equal(got, want) {
		t.Errorf("logged\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for scope, want := range map[domain.Scope]string{
		{AccountID: h.Account.AccountID, Livemode: true}: "GET /v1/events 200",
		{AccountID: other.AccountID}:                     "GET /v1/billing/usage 200",
	} {
		if got := loggedCalls(h, scope); !slices.Equal(got, []string{want}) {
			t.Errorf("logged for %v: %q, want %q", scope, got, want)
		}
	}
	all := harness.QueryOne[string](h, `SELECT string_agg(r::text, chr(10)) FROM api_request r`)
	if strings.Contains(strings.ToLower(all), word) || strings.Count(all, "\n") != len(want)+1 {
		t.Errorf("the log has what a caller sent, or too many lines:\n%s", all)
	}

	developer, stranger := h.Staff(domain.RoleDeveloper), h.StaffOf(other.AccountID, domain.RoleOwner)
	page := developer.Get("/dashboard/test/requests")
	developer.WantPage(page, http.StatusOK, "GET /v1/sessions/"+session+"/documents/"+document, "session_not_completed",
		"an address that isn’t there", " ms", " …"+key[len(key)-4:])
	reference := created.Header().Get("X-Request-Id")
	developer.WantPage(developer.Get("/dashboard/test/requests?id="+reference), http.StatusOK, "POST /v1/sessions ", reference)
	developer.WantPage(developer.Get("/dashboard/test/requests/"+reference), http.StatusOK, reference, "201", "192.0.2.1",
		"customerName – did you mean customer_name?", "20 Nov 2026, 2:04:06 pm").LeadsTo("/dashboard/test/sessions/" + id)
	developer.WantPage(developer.Get("/dashboard/live/requests"), http.StatusOK, "/v1/events")
	for _, path := range []string{"/dashboard/test/requests", "/dashboard/test/requests?id=" + reference,
		"/dashboard/live/requests"} {
		if strings.Contains(stranger.Get(path).Body.String(), "/v1/sessions") {
			t.Errorf("another account sees these requests at %s", path)
		}
	}
	stranger.WantPage(stranger.Get("/dashboard/test/requests/"+reference), http.StatusNotFound)
	developer.WantPage(developer.Get("/dashboard/live/requests/"+reference), http.StatusNotFound)

	h.Clock.Advance(domain.RequestRetention)
	developer = h.Staff(domain.RoleDeveloper)
	developer.WantPage(developer.Get("/dashboard/test/requests"), http.StatusOK, "No requests yet")
	developer.WantPage(developer.Get("/dashboard/test/requests/"+reference), http.StatusNotFound, "more than 7 days old")
}

// TestRefusedRequestsSayWhy: the log has the fields and messages of a refused
// request, as its response had them, and nothing of what was sent: every field
// and parameter is sent as a word, a list, an object and a word too long.
func TestRefusedRequestsSayWhy(t *testing.T) {
	t.Parallel()
	h, log := newLogged(t)
	const typed, word = "zanzibar", "zanzibar_q"
	key, session := h.Account.TestKey, h.NewSession(h.TestScope(), domain.NewSession{}).ID.String()
	refused := send(h, "POST", "/sessions", key, nil, `{"form_type":"financial_statement","customer_email":"`+word+
		`","expires_in_days":0,"metadata":{"`+word+`":[]}}`)
	harness.AnswerOf(t, refused).WantError(http.StatusUnprocessableEntity, "invalid_email", "customer_email")
	fields := []string{
		"form_type", "customer_email", "customer_name", "reference_id", "webhook_url", "redirect_url", "expires_in_days", "language",
		"metadata", "simulate", "prefill",
		"metadata/key", "prefill/income", "prefill/personal_details", "prefill/assets", "prefill/expenses", "prefill/liabilities", word,
		"prefill/income/employment_income", "prefill/income/employment_income/gross_salary", "prefill/assets/vehicles",
	}
	long := strings.Repeat(word, 400)
	for _, field := range fields {
		for i, value := range []string{`"` + word + `"`, `["` + word + `"]`, `{"` + word + `":"` + word + `"}`, `[{"` + word + `":1}]`,
			`"` + long + `"`, `"` + word, `-1`} {
			header := http.Header{"Idempotency-Key": {fmt.Sprint(field, i, word)}}
			rest := `"` + strings.ReplaceAll(field, "/", `":{"`) + `":` + value + strings.Repeat("}", strings.Count(field, "/")+1)
			send(h, "POST", "/sessions", key, header, `{"form_type":"financial_statement","customer_email":"jo@customer.example",`+rest)
			if data, ok := strings.CutPrefix(rest, `"prefill":`); ok {
				send(h, "POST", "/test/sessions/"+session+"/advance", key, header, `{"to":"completed","data":`+data)
			}
		}
	}
	for _, query := range []string{"limit", "page", "status", "customer_email", "reference_id", "created_after", "cursor", "type",
		"session_id", "after", "wait", "include", "period", "start_date"} {
		for _, path := range []string{"/sessions?", "/events?", "/billing/usage?"} {
			send(h, "GET", path+query+"="+word, key, nil, "")
		}
	}
	for _, id := range []string{session, word} {
		send(h, "POST", "/test/sessions/"+id+"/advance", key, nil, `{"to":"`+word+`","data":{"`+word+`":1}}`)
	}
	send(h, "POST", "/test/events", key, nil, `{"type":"`+word+`"}`)
	send(h, "POST", "/sessions", key, nil, `{"`+word+`":1,"`+word+`":2}`)
	send(h, "POST", "/sessions", key, nil, `{"customer_email":1,"customer_email":2}`)
	odd := send(h, "POST", "/sessions", key, nil, `{"form_type":"financial_statement","customer_email":"jo@customer.example",`+
		`"prefill":{"personal_details":{"full_name":"Mia 🦊 Chen"}}}`)
	if !strings.Contains(odd.Body.String(), "a character we can’t print: 🦊. Use English letters") {
		t.Errorf("the response doesn't have the character: %s", odd.Body)
	}
	log.Flush(t.Context())
	all := harness.QueryOne[string](h, `SELECT string_agg(r::text, chr(10)) FROM api_request r`)
	if at := strings.Index(strings.ToLower(all), typed); at >= 0 || !strings.Contains(all, "prefill.… is not a member") ||
		strings.Contains(all, "🦊") || !strings.Contains(all, "a character we can’t print. Use English letters") ||
		!strings.Contains(all, "data.… is not one of") ||
		!strings.Contains(all, `has the member \\""…\\"" twice`) || !strings.Contains(all,
		`has the member \\""customer_email\\"" twice`) {
		t.Errorf("the log has what was sent: %s", all[max(0, at-200):min(len(all), at+50)])
	}
	if n := harness.QueryOne[int](h, `SELECT count(*) FROM api_request WHERE status IN (400, 422) AND refused = ''`); n != 0 {
		t.Errorf("%d refused requests don't say why", n)
	}
	developer := h.Staff(domain.RoleDeveloper)
	id := refused.Header().Get("X-Request-Id")
	developer.WantPage(developer.Get("/dashboard/test/requests?id="+id), http.StatusOK, "customer_email")
	developer.WantPage(developer.Get("/dashboard/test/requests/"+id), http.StatusOK, "Refused because customer_email",
		"must be an email address such as name@example.com", "expires_in_days", "metadata.… must be a string")
}

// Calls with a key that may no longer call are in the log of its account.
func TestRefusedKeysAreLogged(t *testing.T) {
	t.Parallel()
	h, log := newLogged(t)
	h.Clock.Advance(-time.Minute)
	end := h.Clock.Now().Add(time.Minute)
	_, expiring, err := h.Service.Keys.Create(h.Context(), h.TestScope(), harness.Operator,
		keys.Params{Name: "Expiring", ExpiresAt: &end})
	h.OK(err)
	gone, deleted, err := h.Service.Keys.Create(h.Context(), h.TestScope(), harness.Operator, keys.Params{Name: harness.Hostile})
	h.OK(err)
	h.OK(h.Service.Keys.Delete(h.Context(), h.TestScope(), harness.Operator, gone.ID, gone.Name))
	_, elsewhere, err := h.Service.Keys.Create(h.Context(), h.TestScope(), harness.Operator,
		keys.Params{Name: "Elsewhere", Networks: "203.0.113.7"})
	h.OK(err)
	h.Clock.Advance(time.Minute)
	for key, status := range map[string]int{expiring: 401, deleted: 401, elsewhere: 403} {
		if got := send(h, "GET", "/sessions", key, nil, ""); got.Code != status {
			t.Errorf("answered %d, want %d", got.Code, status)
		}
	}
	log.Flush(t.Context())
	developer := h.Staff(domain.RoleDeveloper)
	developer.WantPage(developer.Get("/dashboard/test/requests?status=401&code=invalid_api_key"), http.StatusOK,
		"Expiring …"+expiring[len(expiring)-4:], "<script>", " …"+gone.Last4+" (deleted)")
	developer.WantPage(developer.Get("/dashboard/test/requests?status=403"), http.StatusOK, "Elsewhere …", "forbidden")
	// it isn't listed any more
	developer.WantPage(developer.Get("/dashboard/test/keys"), http.StatusOK).Hides(gone.Last4, "<script>alert")
	if n := len(loggedCalls(h, h.TestScope())); n != 3 {
		t.Errorf("%d calls logged, want 3", n)
	}
}

func TestRequestsBeyondTheLimitAreLogged(t *testing.T) {
	t.Parallel()
	limiter, err := ratelimit.New(ratelimit.Config{PerMinute: 1, Burst: 1, Keys: 10})
	if err != nil {
		t.Fatal(err)
	}
	h, log := newLogged(t, func(c *handlers.Config) { c.Limiter = limiter })
	send(h, "GET", "/sessions", h.Account.TestKey, nil, "")
	send(h, "GET", "/sessions", h.Account.TestKey, nil, "")
	log.Flush(t.Context())
	if got := loggedCalls(h, h.TestScope()); !slices.Equal(got, []string{"GET /v1/sessions 200",
		"GET /v1/sessions 429 rate_limit_exceeded"}) {
		t.Errorf("logged: %q", got)
	}
}

func TestRequestsAreFound(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	keys, err := h.Service.Keys.List(h.Context(), h.TestScope())
	h.OK(err)
	lines := make([]domain.APIRequest, domain.RequestReach+60)
	for i := range lines {
		r := &lines[i]
		*r = domain.APIRequest{
			ID: domain.NewRequestID(harness.StartTime.Add(time.Duration(i-len(lines)) * time.Second)), AccountID: h.Account.AccountID,
			KeyID:  keys[0].ID,
			Method: "GET", Route: "/v1/sessions", Status: 200, Address: "192.0.2.1",
		}
		switch {
		case i == 7:
			r.Method = "DELETE"
		case i%1000 == 0:
			r.Status, r.ErrorCode = 404, domain.CodeSessionNotFound
		case i == len(lines)-2:
			r.Status, r.ErrorCode, r.DurationUS = 500, domain.CodeInternal, 1_234_567
		}
	}
	h.OK(h.DB.InsertAPIRequests(h.Context(), lines))
	developer := h.Staff(domain.RoleDeveloper)
	at := func(query ...string) *httptest.ResponseRecorder {
		values := url.Values{}
		for i := 0; i < len(query); i += 2 {
			values.Set(query[i], query[i+1])
		}
		return developer.Get("/dashboard/test/requests?" + values.Encode())
	}
	shown := func(answer *httptest.ResponseRecorder) int { return listedRequests(page.Read(t, answer.Body.String())) }
	next := func(answer *httptest.ResponseRecorder) string {
		for _, address := range page.Read(t, answer.Body.String()).Leads("/dashboard/test/requests?") {
			if to, err := url.Parse(address); err == nil && to.Query().Has("before") {
				return to.Query().Get("before")
			}
		}
		t.Fatal("the page doesn't lead to older requests")
		return ""
	}
	sydney := domain.LoadTimeZone("Australia/Sydney")
	from := harness.StartTime.Add(-30 * time.Second).In(sydney).Format("2006-01-02T15:04:05")
	for name, test := range map[string]struct {
		page *httptest.ResponseRecorder
		rows int
		text []string
	}{
		"all":           {at(), 50, []string{"Older", "1,234 ms", "The newest 2,000 requests", "1 failed"}},
		"class":         {at("status", "4xx"), domain.RequestReach/1000 + 1, []string{"session_not_found"}},
		"5xx":           {at("status", "5xx"), 1, []string{"internal_error"}},
		"status":        {at("status", "404"), domain.RequestReach/1000 + 1, nil},
		"code":          {at("code", "internal_error"), 1, nil},
		"contradiction": {at("code", "internal_error", "status", "404"), 0, []string{"No request matches"}},
		"success":       {at("status", "2xx", "from", from), 29, nil},
		"key":           {at("key", keys[0].ID.String(), "from", from), 30, nil},
		"another key":   {at("key", "key_00000000000000000000000000"), 0, []string{"Choose an option from the list"}},
		"not known": {at("status", "999", "method", "BREW", "code", "x", "key", "x", "from", from), 0,
			[]string{"Choose an option from the list"}},
		"bad id":    {at("id", "req_1<script>"), 0, []string{"Enter a whole request id", "req_1<script>"}},
		"bad time":  {at("from", "noon"), 0, []string{"Enter a date and time"}},
		"backwards": {at("from", from, "to", from), 0, []string{"Until must be after from"}},
		"rare":      {at("method", "DELETE"), 0, []string{"Nothing found yet", "Look further back", "Looked back to "}},
	} {
		developer.WantPage(test.page, http.StatusOK, test.text...)
		if n := shown(test.page); n != test.rows {
			t.Errorf("%s: %d lines, want %d", name, n, test.rows)
		}
	}
	older := at("before", next(at()))
	developer.WantPage(older, http.StatusOK, harness.StartTime.Add(-51*time.Second).In(sydney).Format("3:04:05 pm"))
	if shown(older) != 50 {
		t.Errorf("the second page has %d lines", shown(older))
	}
	found := at("method", "DELETE", "before", next(at("method", "DELETE")))
	developer.WantPage(found, http.StatusOK, "DELETE /v1/sessions")
	if shown(found) != 1 {
		t.Errorf("further back: %d lines, want 1", shown(found))
	}
	developer.WantPage(at("before", "x"), http.StatusNotFound)
}

// TestChartOfRequests: its line has a point for each span with requests, the slowest at the top,
// and a gap where there were none; a table says the same.
func TestChartOfRequests(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	logCalls(h, h.NewSession(h.TestScope(), domain.NewSession{}).ID)
	keys, err := h.Service.Keys.List(h.Context(), h.TestScope())
	h.OK(err)
	h.Clock.Advance(10 * time.Minute)
	late := domain.APIRequest{ID: domain.NewRequestID(h.Clock.Now().Add(-time.Second)), AccountID: h.Account.AccountID,
		KeyID: keys[0].ID, Method: "GET", Route: "/v1/sessions", Status: 200, Address: "192.0.2.1", DurationUS: 2_506_000}
	h.OK(h.DB.InsertAPIRequests(t.Context(), []domain.APIRequest{late}))
	developer := h.Staff(domain.RoleDeveloper)
	shown := developer.WantPage(developer.Get("/dashboard/test/requests"), http.StatusOK,
		"9 requests. The line is how long 95% took at most, up to 5.0 s.", "Answered (2xx) Refused (4xx) Failed (5xx)",
		"1:05 pm 2 2 1 5.0 s", "2:10 pm 1 0 0 2.5 s")
	var lines []string
	for _, path := range shown.All("path") {
		if path.Attr("class") == "chart-line" {
			lines = append(lines, path.Attr("d"))
		}
	}
	if want := []string{"M24.0 135.9h0L72.0 4.0h0L120.0 135.7h0M696.0 70.0h0"}; !slices.Equal(lines, want) {
		t.Errorf("the lines are %q, want %q", lines, want)
	}
}

// listedRequests is how many requests a page lists, without the rows of its chart.
func listedRequests(p *page.Page) (n int) {
	for _, row := range p.Rows() {
		if len(row) == 6 {
			n++
		}
	}
	return n
}

// logCalls puts some calls of all sorts into the log of API requests.
func logCalls(h *harness.Harness, id domain.SessionID) {
	h.Helper()
	keys, err := h.Service.Keys.List(h.Context(), h.TestScope())
	h.OK(err)
	document := domain.NewDocumentID()
	lines := []domain.APIRequest{
		{Method: "POST", Route: "/v1/sessions", Status: 201, DurationUS: 4210, SessionID: &id},
		{Method: "GET", Route: "/v1/sessions", Status: 200, DurationUS: 1730},
		{Method: "GET", Route: "/v1/sessions/:id/pdf", Status: 202, ErrorCode: domain.CodePDFNotReady, DurationUS: 950, SessionID: &id},
		{Method: "POST", Route: "/v1/sessions", Status: 422, ErrorCode: domain.CodeValidation, DurationUS: 2100},
		{Method: "GET", Route: "", Status: 404, ErrorCode: domain.CodeNotFound, DurationUS: 300},
		{Method: "GET", Route: "/v1/sessions/:id", Status: 500, ErrorCode: domain.CodeInternal, DurationUS: 5_012_000, SessionID: &id},
		{Method: "POST", Route: "/v1/sessions", Status: 201, Replayed: true, DurationUS: 1100, SessionID: &id},
		{Method: "GET", Route: "/v1/sessions/:id/documents/:document_id", Status: 200, DurationUS: 12_400, SessionID: &id,
			DocumentID: &document},
	}
	for i := range lines {
		r := &lines[i]
		r.ID, r.AccountID, r.KeyID, r.Address = domain.NewRequestID(h.Clock.Now().Add(time.Duration(i)*time.Minute-time.Hour)),
			h.Account.AccountID, keys[i%len(keys)].ID, "2001:db8::1f:7"
	}
	h.OK(h.DB.InsertAPIRequests(h.Context(), lines))
}
