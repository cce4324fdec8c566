package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"candor/handlers"
	"candor/handlers/mcp"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// keyed adds an API key to requests.
type keyed struct{ key string }

// RoundTrip sends a request.
func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+k.key)
	return http.DefaultTransport.RoundTrip(r)
}

// An agent is the official client, connected.
type agent struct {
	*sdk.ClientSession
	t testing.TB
}

func connect(t testing.TB, url, key string) agent {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: url + mcp.Path, HTTPClient: &http.Client{Transport: keyed{key}}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return agent{session, t}
}

// call calls a tool and returns the text of its result.
func (a agent) call(tool string, arguments any) (text string, failed bool) {
	a.t.Helper()
	result, err := a.CallTool(a.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	switch content := result.Content[0].(type) {
	case *sdk.TextContent:
		return content.Text, result.IsError
	case *sdk.EmbeddedResource:
		return string(content.Resource.Blob), result.IsError
	}
	a.t.Fatalf("%s answers with %T", tool, result.Content[0])
	return "", false
}

// object is the result of a call that succeeds.
func (a agent) object(tool string, arguments any) (out map[string]any) {
	a.t.Helper()
	text, failed := a.call(tool, arguments)
	if err := json.Unmarshal([]byte(text), &out); err != nil || failed {
		a.t.Fatalf("%s: %s (%v)", tool, text, err)
	}
	return out
}

// TestJourney makes a test session, completes it, and reads the PDF's figures.
func TestJourney(t *testing.T) {
	t.Parallel()
	h, url := harness.ListenAsItself(t)
	h.Mailbox() // workers, which draw the PDF
	a := connect(t, url, h.Account.TestKey)
	session := a.object("createSession", map[string]any{
		"form_type": "financial_statement", "customer_email": "jo@example.com", "idempotency_key": "loan-1",
	})
	again := a.object("createSession", map[string]any{
		"form_type": "financial_statement", "customer_email": "jo@example.com", "idempotency_key": "loan-1",
	})
	if again["id"] != session["id"] {
		t.Errorf("the same idempotency_key made %v and %v", session["id"], again["id"])
	}
	id := map[string]any{"id": session["id"]}
	a.object("advanceSession", map[string]any{"id": session["id"], "to": "completed"})
	summary := a.object("getSessionData", id)["data"].(map[string]any)["summary"].(map[string]any)
	pdf, failed := "", true
	testkit.Await(t, "the PDF", func() bool {
		if pdf, failed = a.call("getSessionPDF", id); failed && !strings.Contains(pdf, "pdf_not_ready") {
			t.Fatal(pdf)
		}
		return !failed
	})
	file := filepath.Join(t.TempDir(), "statement.pdf")
	h.OK(os.WriteFile(file, []byte(pdf), 0o600))
	text, err := exec.CommandContext(t.Context(), "pdftotext", "-layout", file, "-").Output()
	h.OK(err)
	if figure := dollars(summary["net_worth"].(float64)); !strings.Contains(string(text), figure) {
		t.Errorf("the PDF doesn't have the net worth %s", figure)
	}
}

// dollars is an amount as the PDF has it.
func dollars(amount float64) string {
	whole, cents, _ := strings.Cut(fmt.Sprintf("%.2f", amount), ".")
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	return whole + "." + cents
}

// TestToolsAreOperations compares the tools with the OpenAPI document: a test key has all,
// a live key those that read.
func TestToolsAreOperations(t *testing.T) {
	t.Parallel()
	h, url := harness.ListenAsItself(t)
	all := map[bool][]string{}
	document, err := handlers.Document(url)
	h.OK(err)
	for _, methods := range document.Paths {
		for method, o := range methods {
			all[false] = append(all[false], o.ID)
			if method == "get" {
				all[true] = append(all[true], o.ID)
			}
		}
	}
	for livemode, key := range map[bool]string{false: h.Account.TestKey, true: h.Account.LiveKey} {
		listed, err := connect(t, url, key).ListTools(t.Context(), nil)
		h.OK(err)
		var names []string
		for _, tool := range listed.Tools {
			names = append(names, tool.Name)
			if tool.Annotations.ReadOnlyHint != slices.Contains(all[true], tool.Name) {
				t.Errorf("%s: readOnlyHint is %t", tool.Name, tool.Annotations.ReadOnlyHint)
			}
		}
		slices.Sort(names)
		slices.Sort(all[livemode])
		if !slices.Equal(names, all[livemode]) {
			t.Errorf("livemode %t: tools %v, want %v", livemode, names, all[livemode])
		}
		text, err := json.Marshal(listed)
		h.OK(err)
		t.Logf("livemode %t: %d tools, %d bytes", livemode, len(names), len(text))
	}
}

// TestLiveKeysOnlyRead calls what writes with a live key.
func TestLiveKeysOnlyRead(t *testing.T) {
	t.Parallel()
	h, url := harness.ListenAsItself(t)
	a := connect(t, url, h.Account.LiveKey)
	before := h.Stored()
	for _, tool := range []string{"createSession", "cancelSession", "advanceSession"} {
		if _, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: map[string]any{}}); err == nil ||
			!strings.Contains(err.Error(), tool+" needs a test key") {
			t.Errorf("a live key calls %s: %v", tool, err)
		}
	}
	h.WantStored(before)
	a.object("listSessions", map[string]any{})
}

// TestCallsAreTheAPIs asks for what a key may not do, for another account's session, and for
// what the document doesn't know: the answers are the API's.
func TestCallsAreTheAPIs(t *testing.T) {
	t.Parallel()
	h, url := harness.ListenAsItself(t)
	other := h.NewAccount("other@lender.example", "professional")
	foreign := h.NewSession(domain.Scope{AccountID: other.AccountID}, domain.NewSession{})
	own := h.NewSession(h.TestScope(), domain.NewSession{})
	a, restricted := connect(t, url, h.Account.TestKey), connect(t, url, h.RestrictedKey(domain.Permissions{domain.SessionsRead}))
	for name, test := range map[string]struct {
		agent     agent
		tool      string
		arguments map[string]any
		code      string
	}{
		"another account's": {a, "getSession", map[string]any{"id": foreign.ID.String()}, "session_not_found"},
		"no permission":     {restricted, "getSessionData", map[string]any{"id": own.ID.String()}, "forbidden"},
		"unknown parameter": {a, "listSessions", map[string]any{"colour": "red"}, "invalid_request"},
		"unknown member": {a, "createSession", map[string]any{
			"form_type": "financial_statement", "customer_email": "jo@example.com", "customerName": "Jo",
		}, "invalid_request"},
		"a path":       {a, "getSession", map[string]any{"id": "../events"}, "session_not_found"},
		"a query":      {a, "getSession", map[string]any{"id": own.ID.String() + "?x=1"}, "session_not_found"},
		"an object":    {a, "getSession", map[string]any{"id": map[string]any{}}, "must be a text"},
		"nothing":      {a, "getSession", map[string]any{}, "id is required"},
		"an empty id":  {a, "getSessionData", map[string]any{"id": ""}, "required"},
		"waiting":      {a, "listEvents", map[string]any{"wait": 25}, "doesn't wait"},
		"PDF too soon": {a, "getSessionPDF", map[string]any{"id": own.ID.String()}, "session_not_completed"},
	} {
		if text, failed := test.agent.call(test.tool, test.arguments); !failed || !strings.Contains(text, test.code) {
			t.Errorf("%s: %t %s, want %s", name, failed, text, test.code)
		}
	}
}

// send posts a message as it is.
func send(h *harness.Harness, key, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(h.Context(), http.MethodPost, harness.BaseURL+mcp.Path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	h.Handler.ServeHTTP(w, r)
	return w
}

const listing = `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "listSessions", "arguments": {}}}`

// TestMessagesAreGuarded sends messages without a valid key, from pages, and too long ones.
func TestMessagesAreGuarded(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	_, unknown := domain.NewAPIKey(h.TestScope(), "never stored", harness.StartTime)
	for name, test := range map[string]struct {
		key    string
		body   string
		status int
		header []string
	}{
		"a call":         {h.Account.TestKey, listing, http.StatusOK, nil},
		"no key":         {"", listing, http.StatusUnauthorized, nil},
		"an unknown key": {unknown, listing, http.StatusUnauthorized, nil},
		"a page": {
			h.Account.TestKey, listing, http.StatusForbidden,
			[]string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
		},
		"an old browser":    {h.Account.TestKey, listing, http.StatusForbidden, []string{"Origin", "http://127.0.0.1"}},
		"a long message":    {h.Account.TestKey, listing + strings.Repeat(" ", 80<<10), http.StatusRequestEntityTooLarge, nil},
		"an open stream":    {h.Account.TestKey, `{"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {}}`, 0, nil},
		"text":              {h.Account.TestKey, listing, http.StatusUnsupportedMediaType, []string{"Content-Type", "text/plain"}},
		"neither JSON-RPC":  {h.Account.TestKey, `{"a": 1}`, http.StatusBadRequest, nil},
		"a batch":           {h.Account.TestKey, " \n[" + listing + "]", http.StatusBadRequest, nil},
		"an unknown method": {h.Account.TestKey, `{"jsonrpc": "2.0", "id": 1, "method": "tools/steal"}`, http.StatusBadRequest, nil},
	} {
		began := time.Now()
		answer := send(h, test.key, test.body, test.header...)
		if test.status != 0 && answer.Code != test.status || time.Since(began) > 20*time.Second {
			t.Errorf("%s: %d %s", name, answer.Code, answer.Body)
		}
		if answer.Code == http.StatusUnauthorized && answer.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: 401 without WWW-Authenticate", name)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, harness.BaseURL+mcp.Path, nil)
	r.Header.Set("Authorization", "Bearer "+h.Account.TestKey)
	w := httptest.NewRecorder()
	if h.Handler.ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", w.Code)
	}
}

// TestUnreadableMessages: the answer is JSON-RPC, and not in a library's words.
func TestUnreadableMessages(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for body, code := range map[string]int{
		`{"jsonrpc": "2.0", "id": 1,`: -32700, ``: -32700, `{"id": 1} x`: -32700, `{"a": 1}`: -32600, `1`: -32600,
		` [` + listing + `]`: -32600,
		`{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}`: -32600,
	} {
		answer := send(h, h.Account.TestKey, body)
		var got struct {
			Version string `json:"jsonrpc"`
			ID      *int
			Error   struct {
				Code    int
				Message string
			}
		}
		err := json.Unmarshal(answer.Body.Bytes(), &got)
		if err != nil || answer.Code != http.StatusBadRequest || got.Version != "2.0" || got.Error.Code != code ||
			!strings.HasSuffix(got.Error.Message, ".") || got.ID != nil {
			t.Errorf("%s: %d %s", body, answer.Code, answer.Body)
		}
	}
}

// TestCallsAreCounted uses up the limit: a message counts once, with its call or without.
// The log has the calls.
func TestCallsAreCounted(t *testing.T) {
	t.Parallel()
	limiter, err := ratelimit.New(ratelimit.Config{PerMinute: 1, Burst: 10, Keys: 10})
	if err != nil {
		t.Fatal(err)
	}
	var logged []string
	h := harness.New(t, func(c *handlers.Config) {
		c.Limiter = limiter
		c.Called = func(r domain.APIRequest) { logged = append(logged, r.Method+" "+r.Route) }
	})
	for range 3 {
		answer := send(h, h.Account.TestKey, listing)
		if answer.Code != http.StatusOK || strings.Contains(answer.Body.String(), "isError") {
			t.Fatalf("%d %s", answer.Code, answer.Body)
		}
	}
	send(h, h.Account.TestKey, `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`)
	if want := []string{"GET /v1/sessions", "GET /v1/sessions", "GET /v1/sessions", "POST /mcp"}; !slices.Equal(logged, want) {
		t.Errorf("logged %v, want %v", logged, want)
	}
	for range 6 { // 10 in all
		if body := send(h, h.Account.TestKey, listing).Body.String(); strings.Contains(body, "rate_limit_exceeded") {
			t.Errorf("within the limit: %s", body)
		}
	}
	answer := send(h, h.Account.TestKey, listing)
	if answer.Code != http.StatusTooManyRequests || answer.Header().Get("Retry-After") == "" {
		t.Errorf("beyond the limit: %d %v", answer.Code, answer.Header())
	}
}

// TestTextsAreRead reads every resource.
func TestTextsAreRead(t *testing.T) {
	t.Parallel()
	h, url := harness.ListenAsItself(t)
	a := connect(t, url, h.Account.TestKey)
	listed, err := a.ListResources(t.Context(), nil)
	h.OK(err)
	for _, one := range listed.Resources {
		read, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: one.URI})
		if err != nil || !strings.HasPrefix(read.Contents[0].Text, "# "+one.Name+"\n") {
			t.Errorf("%s: %v", one.URI, err)
		}
	}
	if len(listed.Resources) < 16 {
		t.Errorf("%d resources", len(listed.Resources))
	}
}

// TestLongAnswers asks for a file that is too long to pass on.
func TestLongAnswers(t *testing.T) {
	t.Parallel()
	h, url := harness.ListenAsItself(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Open(session.ID)
	h.Complete(session.ID)
	h.StorePDF(session.ID, harness.PDFOf(3<<20))
	text, failed := connect(t, url, h.Account.TestKey).call("getSessionPDF", map[string]any{"id": session.ID.String()})
	if !failed || !strings.Contains(text, "/v1/sessions/"+session.ID.String()+"/pdf") {
		t.Errorf("%t %.100s", failed, text)
	}
}

// TestGuideConnects reads the configuration in the guide, and connects by it.
func TestGuideConnects(t *testing.T) {
	t.Parallel()
	h, url := harness.ListenAsItself(t)
	a := connect(t, url, h.Account.TestKey)
	read, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: url + "/docs/guides/agents.md"})
	h.OK(err)
	_, text, _ := strings.Cut(read.Contents[0].Text, "```json\n")
	text, _, _ = strings.Cut(text, "\n```")
	var config struct {
		Servers map[string]struct {
			URL     string
			Headers map[string]string
		} `json:"mcpServers"`
	}
	h.OK(json.Unmarshal([]byte(text), &config))
	server := config.Servers["candor"]
	if server.Headers["Authorization"] != "Bearer ${CANDOR_API_KEY}" {
		t.Errorf("the guide's headers are %v", server.Headers)
	}
	connect(t, strings.TrimSuffix(server.URL, mcp.Path), h.Account.TestKey).object("listSessions", map[string]any{})
}
