package process

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Account is what `candor account create --json` prints.
type Account struct {
	AccountID         string `json:"account_id"`
	TestKey           string `json:"test_key"`
	LiveKey           string `json:"live_key"`
	TestWebhookSecret string `json:"test_webhook_secret"`
	LiveWebhookSecret string `json:"live_webhook_secret"`
	Email             string `json:"email"`
	Password          string `json:"password"`
}

// CreateAccount creates the account of Acme Loans; extra are more flags.
func CreateAccount(t *testing.T, env Environment, extra ...string) Account {
	t.Helper()
	return RunJSON[Account](t, env, append([]string{"account", "create", "--name", "Acme Loans", "--email", "staff@acme.example", "--plan", "starter"}, extra...)...)
}

// Partner calls the API with a key.
type Partner struct {
	t      *testing.T
	Base   string
	Key    string
	Client *http.Client
}

// NewPartner returns a partner that calls the service at base with a key.
func NewPartner(t *testing.T, base, key string) Partner {
	t.Helper()
	return Partner{t, base, key, http.DefaultClient}
}

// Do sends a request and returns the status, headers and body.
func (p Partner) Do(method, path, body string) (int, http.Header, []byte) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.Base+"/v1"+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+p.Key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := p.Client.Do(request)
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

// Session is a session in the API.
type Session struct {
	ID         string `json:"id"`
	Status     string `json:"status"`
	SessionURL string `json:"session_url"`
}

// CreateSession creates a session; webhookURL can be "".
func (p Partner) CreateSession(webhookURL string) Session {
	p.t.Helper()
	body, err := json.Marshal(map[string]any{
		"form_type": "financial_statement", "customer_email": "zoe.obrien@example.com", "customer_name": "Zoë O'Brien",
		"reference_id": "loan-7", "webhook_url": webhookURL,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	status, _, content := p.Do(http.MethodPost, "/sessions", string(body))
	var s Session
	if err := json.Unmarshal(content, &s); status != http.StatusCreated || err != nil {
		p.t.Fatalf("POST /v1/sessions returned %d %s (%v), want 201", status, content, err)
	}
	return s
}

// Status returns the status of a session.
func (p Partner) Status(id string) string {
	p.t.Helper()
	_, _, content := p.Do(http.MethodGet, "/sessions/"+id, "")
	var s Session
	if err := json.Unmarshal(content, &s); err != nil {
		p.t.Fatalf("GET the session: %s: %v", content, err)
	}
	return s.Status
}
