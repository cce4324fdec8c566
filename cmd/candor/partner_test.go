package main_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/dbtest"
)

// testEnvironment is a development's, on a database and a folder of its own.
func testEnvironment(t *testing.T) environment {
	t.Helper()
	return environment{
		"CANDOR_ADDR": "localhost:0", "CANDOR_DATA_DIR": t.TempDir(), "CANDOR_LOG_LEVEL": "info",
		"CANDOR_DB_CONNECTIONS": "5", "DATABASE_URL": dbtest.DSN(t),
	}
}

// account is what `account create --json` prints.
type account struct {
	AccountID         string `json:"account_id"`
	TestKey           string `json:"test_key"`
	LiveKey           string `json:"live_key"`
	TestWebhookSecret string `json:"test_webhook_secret"`
	LiveWebhookSecret string `json:"live_webhook_secret"`
	Email             string `json:"email"`
	Password          string `json:"password"`
}

func createAccount(t *testing.T, env environment, extra ...string) account {
	t.Helper()
	return commandJSON[account](t, env, append([]string{"account", "create", "--name", "Acme Loans", "--email", "staff@acme.example", "--plan", "starter"}, extra...)...)
}

// partner calls the API with a key.
type partner struct {
	t    *testing.T
	base string
	key  string
}

// do sends a request and returns the status, headers and body.
func (p partner) do(method, path, body string) (int, http.Header, []byte) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.base+"/v1"+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+p.key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, response.Header, content
}

// session is a session as the API shows it.
type session struct {
	ID         string `json:"id"`
	Status     string `json:"status"`
	SessionURL string `json:"session_url"`
}

func (p partner) createSession(webhookURL string) session {
	p.t.Helper()
	body, err := json.Marshal(map[string]any{
		"form_type": "financial_statement", "customer_email": "zoe.obrien@example.com", "customer_name": "Zoë O'Brien",
		"reference_id": "loan-7", "webhook_url": webhookURL,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	status, _, content := p.do(http.MethodPost, "/sessions", string(body))
	var s session
	if err := json.Unmarshal(content, &s); status != http.StatusCreated || err != nil {
		p.t.Fatalf("POST /v1/sessions answered %d %s (%v), want 201", status, content, err)
	}
	return s
}

func (p partner) status(id string) string {
	p.t.Helper()
	_, _, content := p.do(http.MethodGet, "/sessions/"+id, "")
	var s session
	if err := json.Unmarshal(content, &s); err != nil {
		p.t.Fatalf("GET the session: %s: %v", content, err)
	}
	return s.Status
}

// customer fills the form as a browser without JavaScript does (D47).
type customer struct {
	t      *testing.T
	client *http.Client
	form   string // address of the form, without the token
}

// openForm opens a session's link.
func openForm(t *testing.T, link string) *customer {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &customer{t: t, client: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	response := c.send(http.MethodGet, link, "", nil)
	if response.StatusCode != http.StatusSeeOther {
		t.Fatalf("the link answered %d, want 303", response.StatusCode)
	}
	to, err := response.Location()
	if err != nil {
		t.Fatal(err)
	}
	c.form = to.String()
	if response := c.send(http.MethodGet, c.form, "", nil); response.StatusCode != http.StatusOK {
		t.Fatalf("the form answered %d, want 200", response.StatusCode)
	}
	return c
}

func (c *customer) send(method, to, contentType string, body io.Reader) *http.Response {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, to, body)
	if err != nil {
		c.t.Fatal(err)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := c.client.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		c.t.Fatal(err)
	}
	return response
}

// complete posts a section that must be taken.
func (c *customer) complete(section string) {
	c.t.Helper()
	values := statementtest.Values(section)
	if values == nil {
		values = url.Values{"action": {"continue"}}
	}
	response := c.send(http.MethodPost, c.form+"/"+section, "application/x-www-form-urlencoded", strings.NewReader(values.Encode()))
	if response.StatusCode != http.StatusSeeOther {
		c.t.Fatalf("%s answered %d, want 303", section, response.StatusCode)
	}
}

// upload sends a document.
func (c *customer) upload(name string, content []byte) {
	c.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for field, value := range map[string]string{"category": "tax_return", "action": "upload"} {
		if err := w.WriteField(field, value); err != nil {
			c.t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := part.Write(content); err != nil {
		c.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		c.t.Fatal(err)
	}
	response := c.send(http.MethodPost, c.form+"/documents", w.FormDataContentType(), &body)
	if response.StatusCode >= 400 {
		c.t.Fatalf("the upload answered %d", response.StatusCode)
	}
}

// submit completes all seven sections.
func (c *customer) submit() {
	c.t.Helper()
	for _, section := range statement.SectionNames {
		c.complete(section)
	}
}

// webhookCall is one request that a receiver got.
type webhookCall struct {
	Event     string          `json:"event"`
	SessionID string          `json:"session_id"`
	Timestamp time.Time       `json:"timestamp"`
	Livemode  bool            `json:"livemode"`
	Data      json.RawMessage `json:"data"`

	header http.Header
	body   []byte
	at     time.Time
}

func (c webhookCall) id() string { return c.header.Get("X-Webhook-ID") }

// receiver is a partner's webhook endpoint. It checks of every call what the
// contract says of all.
type receiver struct {
	t      *testing.T
	url    string
	answer func(call webhookCall, earlier int) int // status; earlier counts the calls with the same id

	mu     sync.Mutex
	secret string
	calls  []webhookCall
}

// newReceiver starts a receiver that answers 204, or what answer says.
func newReceiver(t *testing.T, answer func(webhookCall, int) int) *receiver {
	t.Helper()
	r := &receiver{t: t, answer: answer}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL + "/hook"
	return r
}

// ServeHTTP takes one call.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		r.t.Errorf("webhook body: %v", err)
	}
	call := webhookCall{header: request.Header.Clone(), body: body, at: time.Now()}
	if err := json.Unmarshal(body, &call); err != nil {
		r.t.Errorf("webhook body %s: %v", body, err)
	}
	r.check(request, call)
	r.mu.Lock()
	earlier := 0
	for _, c := range r.calls {
		if c.id() == call.id() {
			earlier++
		}
	}
	r.calls = append(r.calls, call)
	r.mu.Unlock()
	status := http.StatusNoContent
	if r.answer != nil {
		status = r.answer(call, earlier)
	}
	w.WriteHeader(status)
}

// check verifies the signature by itself, and the headers that every call has.
func (r *receiver) check(request *http.Request, call webhookCall) {
	r.mu.Lock()
	mac := hmac.New(sha256.New, []byte(r.secret))
	r.mu.Unlock()
	mac.Write(call.body)
	if want := hex.EncodeToString(mac.Sum(nil)); call.header.Get("X-Webhook-Signature") != want {
		r.t.Errorf("%s: X-Webhook-Signature = %q, want %q", call.Event, call.header.Get("X-Webhook-Signature"), want)
	}
	if got := call.header.Get("Content-Type"); request.Method != http.MethodPost || got != "application/json" {
		r.t.Errorf("%s: %s with Content-Type %q, want POST with application/json", call.Event, request.Method, got)
	}
	if !strings.HasPrefix(call.id(), "whd_") {
		r.t.Errorf("%s: X-Webhook-ID = %q, want whd_…", call.Event, call.id())
	}
	sent, err := strconv.ParseInt(call.header.Get("X-Webhook-Timestamp"), 10, 64)
	if age := call.at.Sub(time.Unix(sent, 0)); err != nil || age < -2*time.Second || age > time.Minute {
		r.t.Errorf("%s: X-Webhook-Timestamp = %q at %d", call.Event, call.header.Get("X-Webhook-Timestamp"), call.at.Unix())
	}
}

func (r *receiver) setSecret(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secret = secret
}

// of returns the calls so far with that event; "" for all.
func (r *receiver) of(event string) []webhookCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []webhookCall
	for _, c := range r.calls {
		if event == "" || c.Event == event {
			out = append(out, c)
		}
	}
	return out
}

// wait waits for that many calls with the event.
func (r *receiver) wait(event string, n int) []webhookCall {
	r.t.Helper()
	eventually(r.t, strconv.Itoa(n)+" × "+event, func() bool { return len(r.of(event)) >= n })
	return r.of(event)
}
