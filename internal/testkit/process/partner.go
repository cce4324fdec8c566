package process

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"candor/internal/testkit/client"
	"candor/internal/testkit/hooktest"
)

// CreateAccount creates the account of Acme Loans; extra are more flags.
func CreateAccount(t *testing.T, env Environment, extra ...string) client.Account {
	t.Helper()
	return RunJSON[client.Account](t, env, append([]string{"account", "create", "--name", "Acme Loans", "--email",
		"staff@acme.example", "--plan", "starter"}, extra...)...)
}

// CreateAccountWithReceiver is CreateAccount of one whose default URL in test mode is a
// receiver's, which answers as that of hooktest.NewReceiver does and checks every request.
func CreateAccountWithReceiver(t *testing.T, env Environment, answer func(n int, w http.ResponseWriter, r *http.Request)) (
	client.Account, *hooktest.Receiver) {
	t.Helper()
	hooks := hooktest.NewReceiver(t, answer)
	a := CreateAccount(t, env, "--webhook-url", hooks.URL)
	hooks.SetSecret(a.TestWebhookSecret)
	return a, hooks
}

// Partner calls the API with a key.
type Partner struct {
	t *testing.T
	*client.Client
}

// NewPartner returns a partner that calls the service at base with a key.
func NewPartner(t *testing.T, base, key string) Partner {
	t.Helper()
	return Partner{t, client.NewPartner(base, key)}
}

// Do sends a request and returns the status, headers and body.
func (p Partner) Do(method, path, body string) (int, http.Header, []byte) {
	p.t.Helper()
	header := map[string]string{}
	if body != "" {
		header["Content-Type"] = "application/json"
	}
	a, err := p.Send(p.t.Context(), method, "/v1"+path, strings.NewReader(body), header)
	if err != nil {
		p.t.Fatal(err)
	}
	return a.Status, a.Header, a.Body
}

// CreateSession creates a session; webhookURL can be "".
func (p Partner) CreateSession(webhookURL string) client.Session {
	p.t.Helper()
	body, err := json.Marshal(map[string]any{
		"form_type": "financial_statement", "customer_email": "zoe.obrien@example.com", "customer_name": "Zoë O'Brien",
		"reference_id": "loan-7", "webhook_url": webhookURL,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	status, _, content := p.Do(http.MethodPost, "/sessions", string(body))
	var s client.Session
	if err := json.Unmarshal(content, &s); status != http.StatusCreated || err != nil {
		p.t.Fatalf("POST /v1/sessions returned %d %s (%v), want 201", status, content, err)
	}
	return s
}

// Status returns the status of a session.
func (p Partner) Status(id string) string {
	p.t.Helper()
	_, _, content := p.Do(http.MethodGet, "/sessions/"+id, "")
	var s client.Session
	if err := json.Unmarshal(content, &s); err != nil {
		p.t.Fatalf("GET the session: %s: %v", content, err)
	}
	return s.Status
}
