package handlers_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"candor/handlers"
	"candor/handlers/web"
)

// TestRouting checks the answers to what is no endpoint (D27).
func TestRouting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, test := range []struct {
		method, path string
		status       int
		code         string
	}{
		{http.MethodGet, "", 404, "not_found"},
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
		a := b.call(apiCall{method: test.method, path: test.path}).refused(test.status, test.code, "")
		if test.status == 405 && a.Header().Get("Allow") == "" {
			t.Errorf("%s %s: no Allow header", test.method, test.path)
		}
	}
	if a := b.call(apiCall{method: http.MethodHead, path: "/sessions"}); a.Code != http.StatusOK {
		t.Errorf("HEAD: %d", a.Code)
	}
}

// TestPathIDs checks that an id that is none finds nothing.
func TestPathIDs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, id := range []string{
		unknownSession, "x", "sess_", "sess_01h455vb4pex5vsknk084sn02", "sess_01h455vb4pex5vsknk084sn02qq", "SESS_01H455VB4PEX5VSKNK084SN02Q",
		"sess_81h455vb4pex5vsknk084sn02q", "sess_01h455vb4pex5vsknk084sn0il", "doc_01h455vb4pex5vsknk084sn02q",
		"018e8f5c-7d00-7000-8000-000000000000", "%00", "%ff", "sess_01h455vb4pex5vsknk084sn02q%00", "..", "%2e%2e", "a%2Fb", "😀", "%F0%9F%98%80",
		strings.Repeat("a", 5000),
	} {
		for _, path := range []string{"", "/data", "/pdf", "/documents/doc_01h455vb4pex5vsknk084sn02q"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/sessions/"+id+path, nil)
			r.Header.Set("Authorization", "Bearer "+b.account.TestKey)
			answer{t, b.serve(r)}.refused(http.StatusNotFound, "session_not_found", "")
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/v1/sessions/"+id, nil)
		r.Header.Set("Authorization", "Bearer "+b.account.TestKey)
		answer{t, b.serve(r)}.refused(http.StatusNotFound, "session_not_found", "")
	}
}

// TestContentType checks which bodies are read (interface.md, D27).
func TestContentType(t *testing.T) {
	t.Parallel()
	b := newBench(t)
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
		a := b.call(apiCall{method: http.MethodPost, path: "/sessions", body: validBody, header: "Content-Type: " + contentType})
		if a.status(status); status != http.StatusCreated {
			a.refused(status, "unsupported_media_type", "")
		}
	}
	b.call(apiCall{method: http.MethodPost, path: "/sessions", body: validBody, header: "Content-Encoding: gzip"}).refused(415, "unsupported_media_type", "")
	b.call(apiCall{method: http.MethodPost, path: "/sessions"}).refused(400, "invalid_request", "")
	b.call(apiCall{method: http.MethodDelete, path: "/sessions/" + unknownSession, body: "x", header: "Content-Type: text/plain"}).refused(404, "session_not_found", "")
}

// TestBodySize checks the limit of 64 KiB (D27).
func TestBodySize(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := func(size int) string {
		head := validBody[:len(validBody)-1] + `, "ignored": "`
		return head + strings.Repeat("x", size-len(head)-2) + `"}`
	}
	b.post("/sessions", body(64<<10)).status(http.StatusCreated)
	b.post("/sessions", body(64<<10+1)).refused(http.StatusRequestEntityTooLarge, "payload_too_large", "")
	r := b.request(apiCall{method: http.MethodPost, path: "/sessions", body: body(1 << 20)})
	r.ContentLength = -1 // as a chunked body
	w := b.serve(r)
	b.checkResponse(r, w)
	answer{t, w}.refused(http.StatusRequestEntityTooLarge, "payload_too_large", "")
}

// TestRequestID checks that each response has an id of its own, which the log
// knows and a client can't choose.
func TestRequestID(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	seen := map[string]bool{}
	for _, path := range []string{"/v1/sessions", "/v1/nothing", "/healthz", "/nothing", "/f/x/y"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("X-Request-Id", "mine")
		id := b.serve(r).Header().Get("X-Request-Id")
		if !strings.HasPrefix(id, "req_") || seen[id] || !strings.Contains(b.logs.String(), `"request_id":"`+id+`"`) {
			t.Errorf("%s: request id %q", path, id)
		}
		seen[id] = true
	}
}

// TestAPILog checks that the log names routes and accounts, and no secrets or
// people.
func TestAPILog(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	created := b.post("/sessions", `{"form_type": "financial_statement", "customer_email": "secret@customer.example", "customer_name": "Private Person"}`).status(201).object()
	b.get("/sessions/" + created["id"].(string)).status(200)
	b.get("/sessions?customer_email=secret@customer.example").status(200)
	b.call(apiCall{method: http.MethodGet, path: "/sessions", key: "candor_test_wrongkey"}).status(401)
	logs := b.logs.String()
	for _, wanted := range []string{`"route":"/v1/sessions/:id"`, b.account.AccountID.String(), `"status":401`} {
		if !strings.Contains(logs, wanted) {
			t.Errorf("the log doesn't have %s:\n%s", wanted, logs)
		}
	}
	token := created["session_url"].(string)
	token = token[strings.LastIndex(token, "/")+1:]
	for _, secret := range []string{"secret@customer", "Private Person", b.account.TestKey, "wrongkey", token, "customer_email", created["id"].(string)} {
		if strings.Contains(logs, secret) {
			t.Errorf("the log has %q:\n%s", secret, logs)
		}
	}
}

// panicking is a limiter that fails.
type panicking struct{ web.Limiter }

// TestPanic checks that a panic ends its own request alone, with nothing of
// the inside.
func TestPanic(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *handlers.Config) { c.Limiter = panicking{} })
	r := b.request(apiCall{method: http.MethodGet, path: "/sessions"})
	a := answer{t, b.serve(r)}
	a.refused(http.StatusInternalServerError, "internal_error", "")
	if strings.Contains(a.Body.String(), "nil pointer") || strings.Contains(a.Body.String(), ".go") || a.Header().Get("X-Request-Id") == "" {
		t.Errorf("answer %s, headers %v", a.Body, a.Header())
	}
	if !strings.Contains(b.logs.String(), "nil pointer") || !strings.Contains(b.logs.String(), `"status":500`) {
		t.Errorf("the log doesn't say what happened: %s", b.logs)
	}
}

// TestSecurityHeaders checks what every response forbids the browser.
func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	for _, development := range []bool{false, true} {
		b := newBench(t, func(c *handlers.Config) { c.Development = development })
		for _, path := range []string{"/v1/sessions", "/v1/openapi.json", "/healthz", "/nothing"} {
			h := b.serve(httptest.NewRequest(http.MethodGet, path, nil)).Header()
			for name, value := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
			} {
				if h.Get(name) != value {
					t.Errorf("%s: %s is %q, want %q", path, name, h.Get(name), value)
				}
			}
			if policy := h.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
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
	b := newBench(t)
	const marker = "<script>marker</script>"
	for _, a := range []answer{
		b.post("/sessions", fmt.Sprintf(`{"form_type": %q, "customer_email": %q, "webhook_url": %q, "expires_in_days": 91}`, marker, marker, marker)),
		b.get("/sessions?status=%3Cscript%3Emarker%3C/script%3E"),
		b.get("/%3Cscript%3Emarker"),
		b.get("/sessions/%3Cscript%3Emarker"),
	} {
		if strings.Contains(a.Body.String(), "marker") {
			t.Errorf("answer %d repeats the input: %s", a.Code, a.Body)
		}
	}
}

// TestOverHTTP checks what only a real connection shows.
func TestOverHTTP(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	server := httptest.NewServer(b.handler)
	t.Cleanup(server.Close)
	send := func(method, path string, body io.Reader) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, body)
		b.ok(err)
		r.Header.Set("Authorization", "Bearer "+b.account.TestKey)
		r.Header.Set("Content-Type", "application/json")
		response, err := server.Client().Do(r)
		b.ok(err)
		defer func() { b.ok(response.Body.Close()) }()
		text, err := io.ReadAll(response.Body)
		b.ok(err)
		return response, string(text)
	}
	created, text := send(http.MethodPost, "/v1/sessions", strings.NewReader(validBody))
	if created.StatusCode != http.StatusCreated || created.ContentLength != int64(len(text)) || created.Header.Get("Content-Type") != "application/json" {
		t.Errorf("created: %v %s", created, text)
	}
	get, whole := send(http.MethodGet, "/v1/sessions", nil)
	head, none := send(http.MethodHead, "/v1/sessions", nil)
	if head.StatusCode != http.StatusOK || none != "" || head.ContentLength != get.ContentLength || get.ContentLength != int64(len(whole)) {
		t.Errorf("HEAD: %v %q, GET: %v", head, none, get)
	}
	chunked := io.MultiReader(strings.NewReader(validBody[:20]), strings.NewReader(validBody[20:]))
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
