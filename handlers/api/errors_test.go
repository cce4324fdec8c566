package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"candor/handlers"
	"candor/internal/platform/ratelimit"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// TestRouting checks the answers to what is no endpoint (D27).
func TestRouting(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for _, test := range []struct {
		method, path string
		status       int
		code         string
	}{
		{http.MethodGet, "/", 404, "not_found"},
		{http.MethodGet, "/nothing", 404, "not_found"},
		{http.MethodPost, "/nothing", 404, "not_found"},
		{http.MethodGet, "/sessions/a/b/c/d/e", 404, "not_found"},
		{http.MethodGet, "/billing", 404, "not_found"},
		{http.MethodGet, "/sessions/", 404, "not_found"},
		{http.MethodPut, "/sessions", 405, "method_not_allowed"},
		{http.MethodDelete, "/sessions", 405, "method_not_allowed"},
		{http.MethodPost, "/sessions/" + unknownSession, 405, "method_not_allowed"},
		{http.MethodPatch, "/sessions/" + unknownSession, 405, "method_not_allowed"},
		{http.MethodPost, "/billing/usage", 405, "method_not_allowed"},
		{"BREW", "/sessions", 405, "method_not_allowed"},
	} {
		a := h.Do(harness.Call{Method: test.method, Path: test.path}).WantError(test.status, test.code, "")
		if test.status == 405 && a.Header().Get("Allow") == "" {
			t.Errorf("%s %s: no Allow header", test.method, test.path)
		}
	}
	if a := h.Do(harness.Call{Method: http.MethodHead, Path: "/sessions"}); a.Code != http.StatusOK {
		t.Errorf("HEAD: %d", a.Code)
	}
}

// TestPathIDs checks that an id that is none finds nothing.
func TestPathIDs(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for _, id := range []string{
		unknownSession, "x", "sess_", "sess_01h455vb4pex5vsknk084sn02", "sess_01h455vb4pex5vsknk084sn02qq",
		"SESS_01H455VB4PEX5VSKNK084SN02Q",
		"sess_81h455vb4pex5vsknk084sn02q", "sess_01h455vb4pex5vsknk084sn0il", "doc_01h455vb4pex5vsknk084sn02q",
		"018e8f5c-7d00-7000-8000-000000000000", "%00", "%ff", "sess_01h455vb4pex5vsknk084sn02q%00", "..", "%2e%2e", "a%2Fb", "😀",
		"%F0%9F%98%80",
		strings.Repeat("a", 5000),
	} {
		for _, path := range []string{"", "/data", "/pdf", "/documents/doc_01h455vb4pex5vsknk084sn02q"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/sessions/"+id+path, nil)
			r.Header.Set("Authorization", "Bearer "+h.Account.TestKey)
			harness.AnswerOf(t, h.Serve(r)).WantError(http.StatusNotFound, "session_not_found", "")
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/v1/sessions/"+id, nil)
		r.Header.Set("Authorization", "Bearer "+h.Account.TestKey)
		harness.AnswerOf(t, h.Serve(r)).WantError(http.StatusNotFound, "session_not_found", "")
	}
}

// TestContentType checks which bodies are read (interface.md, D27).
func TestContentType(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for contentType, status := range map[string]int{
		"application/json":                  http.StatusCreated,
		"application/json; charset=utf-8":   http.StatusCreated,
		"Application/JSON":                  http.StatusCreated,
		"":                                  http.StatusUnsupportedMediaType,
		"text/plain":                        http.StatusUnsupportedMediaType,
		"application/x-www-form-urlencoded": http.StatusUnsupportedMediaType,
		"application/xml":                   http.StatusUnsupportedMediaType,
		"multipart/form-data; boundary=x":   http.StatusUnsupportedMediaType,
		"application/json, text/plain":      http.StatusUnsupportedMediaType,
		"application/":                      http.StatusUnsupportedMediaType,
		"\xff":                              http.StatusUnsupportedMediaType,
	} {
		a := h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Body: harness.ValidBody,
			Header: "Content-Type: " + contentType})
		if a.WantStatus(status); status != http.StatusCreated {
			a.WantError(status, "unsupported_media_type", "")
		}
	}
	h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Body: harness.ValidBody, Header: "Content-Encoding: gzip"}).
		WantError(415, "unsupported_media_type", "")
	h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions"}).WantError(400, "invalid_request", "")
	h.Do(harness.Call{Method: http.MethodDelete, Path: "/sessions/" + unknownSession, Body: "x",
		Header: "Content-Type: text/plain"}).WantError(404, "session_not_found", "")
}

// TestBodySize checks the limit of 64 KiB (D27).
func TestBodySize(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	body := func(size int) string {
		head := harness.ValidBody[:len(harness.ValidBody)-1] + `, "ignored": "`
		return head + strings.Repeat("x", size-len(head)-2) + `"}`
	}
	h.Post("/sessions", body(64<<10)).WantStatus(http.StatusCreated)
	h.Post("/sessions", body(64<<10+1)).WantError(http.StatusRequestEntityTooLarge, "payload_too_large", "")
	r := h.Request(harness.Call{Method: http.MethodPost, Path: "/sessions", Body: body(1 << 20)})
	r.ContentLength = -1 // as a chunked body
	w := h.Serve(r)
	h.CheckContract(r, w)
	harness.AnswerOf(t, w).WantError(http.StatusRequestEntityTooLarge, "payload_too_large", "")
}

// TestRequestID checks that each response has an id of its own, which the log
// knows and a client can't choose.
func TestRequestID(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	seen := map[string]bool{}
	for _, path := range []string{"/v1/sessions", "/v1/nothing", "/nothing", "/f/x/y"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("X-Request-Id", "mine")
		id := h.Serve(r).Header().Get("X-Request-Id")
		if !strings.HasPrefix(id, "req_") || seen[id] || !strings.Contains(h.Logs.String(), `"request_id":"`+id+`"`) {
			t.Errorf("%s: request id %q", path, id)
		}
		seen[id] = true
	}
}

// TestAPILog checks that the log names routes and accounts, and no secrets or
// people.
func TestAPILog(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	created := h.Post("/sessions",
		`{"form_type": "financial_statement", "customer_email": "secret@customer.example", "customer_name": "Private Person"}`).WantStatus(201).Object()
	h.Get("/sessions/" + created["id"].(string)).WantStatus(200)
	h.Get("/sessions?customer_email=secret@customer.example").WantStatus(200)
	h.Do(harness.Call{Method: http.MethodGet, Path: "/sessions", Key: "candor_test_wrongkey"}).WantStatus(401)
	logs := h.Logs.String()
	for _, wanted := range []string{`"route":"/v1/sessions/:id"`, h.Account.AccountID.String(), `"status":401`} {
		if !strings.Contains(logs, wanted) {
			t.Errorf("the log doesn't have %s:\n%s", wanted, logs)
		}
	}
	token := created["session_url"].(string)
	token = token[strings.LastIndex(token, "/")+1:]
	for _, secret := range []string{"secret@customer", "Private Person", h.Account.TestKey, "wrongkey", token, "customer_email",
		created["id"].(string)} {
		if strings.Contains(logs, secret) {
			t.Errorf("the log has %q:\n%s", secret, logs)
		}
	}
}

// panicking is a limiter that fails.
type panicking struct{ ratelimit.Limiter }

// TestPanic checks that a panic ends its own request alone, with nothing of
// the inside.
func TestPanic(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(c *handlers.Config) { c.Limiter = panicking{} })
	r := h.Request(harness.Call{Method: http.MethodGet, Path: "/sessions"})
	a := harness.AnswerOf(t, h.Serve(r))
	a.WantError(http.StatusInternalServerError, "internal_error", "")
	if strings.Contains(a.Body.String(), "nil pointer") || strings.Contains(a.Body.String(), ".go") ||
		a.Header().Get("X-Request-Id") == "" {
		t.Errorf("answer %s, headers %v", a.Body, a.Header())
	}
	if !strings.Contains(h.Logs.String(), "nil pointer") || !strings.Contains(h.Logs.String(), `"status":500`) {
		t.Errorf("the log doesn't say what happened: %s", h.Logs)
	}
}

// TestSecurityHeaders checks what every response forbids the browser.
func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	for _, development := range []bool{false, true} {
		h := harness.New(t, func(c *handlers.Config) { c.Development = development })
		for _, path := range []string{"/v1/sessions", "/healthz", "/nothing"} {
			h := h.Serve(httptest.NewRequest(http.MethodGet, path, nil)).Header()
			for name, value := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
			} {
				if h.Get(name) != value {
					t.Errorf("%s: %s is %q, want %q", path, name, h.Get(name), value)
				}
			}
			if policy := h.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") ||
				strings.Contains(policy, "unsafe") {
				t.Errorf("%s: policy %q", path, policy)
			}
			if got := h.Get("Strict-Transport-Security") == ""; got != development {
				t.Errorf("%s: development %v, Strict-Transport-Security %q", path, development, h.Get("Strict-Transport-Security"))
			}
		}
	}
}

// TestNoEchoOfInput checks that errors don't repeat what was sent.
func TestNoEchoOfInput(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	const marker = "<script>marker</script>"
	for _, a := range []harness.Answer{
		h.Post("/sessions", fmt.Sprintf(`{"form_type": %q, "customer_email": %q, "webhook_url": %q, "expires_in_days": 91}`, marker,
			marker, marker)),
		h.Get("/sessions?status=%3Cscript%3Emarker%3C/script%3E"),
		h.Get("/%3Cscript%3Emarker"),
		h.Get("/sessions/%3Cscript%3Emarker"),
	} {
		if strings.Contains(a.Body.String(), "marker") {
			t.Errorf("answer %d repeats the input: %s", a.Code, a.Body)
		}
	}
}

// TestOverHTTP checks what only a real connection shows.
func TestOverHTTP(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	server := testkit.Serve(t, h.Handler)
	send := func(method, path string, body io.Reader) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, body)
		h.OK(err)
		r.Header.Set("Authorization", "Bearer "+h.Account.TestKey)
		r.Header.Set("Content-Type", "application/json")
		response, err := server.Client().Do(r)
		h.OK(err)
		defer func() { h.OK(response.Body.Close()) }()
		text, err := io.ReadAll(response.Body)
		h.OK(err)
		return response, string(text)
	}
	created, text := send(http.MethodPost, "/v1/sessions", strings.NewReader(harness.ValidBody))
	if created.StatusCode != http.StatusCreated || created.ContentLength != int64(len(text)) ||
		created.Header.Get("Content-Type") != "application/json" {
		t.Errorf("created: %v %s", created, text)
	}
	get, whole := send(http.MethodGet, "/v1/sessions", nil)
	head, none := send(http.MethodHead, "/v1/sessions", nil)
	if head.StatusCode != http.StatusOK || none != "" || head.ContentLength != get.ContentLength ||
		get.ContentLength != int64(len(whole)) {
		t.Errorf("HEAD: %v %q, GET: %v", head, none, get)
	}
	chunked := io.MultiReader(strings.NewReader(harness.ValidBody[:20]), strings.NewReader(harness.ValidBody[20:]))
	if response, text := send(http.MethodPost, "/v1/sessions", chunked); response.StatusCode != http.StatusCreated {
		t.Errorf("chunked body: %d %s", response.StatusCode, text)
	}
	tooLarge := io.MultiReader(strings.NewReader(strings.Repeat(" ", 1<<20)))
	if response, text := send(http.MethodPost, "/v1/sessions", tooLarge); response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("endless body: %d %s", response.StatusCode, text)
	}
	if response, text := send(http.MethodGet, "/v1//sessions", nil); response.StatusCode != http.StatusNotFound {
		t.Errorf("doubled slash: %d %s", response.StatusCode, text)
	}
}
