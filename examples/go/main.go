// Command partner is a partner's server: it creates sessions, receives webhooks,
// and keeps answers.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

var (
	key       = os.Getenv("CANDOR_API_KEY")
	api       = os.Getenv("CANDOR_URL")
	port      = cmp.Or(os.Getenv("PORT"), "3000")
	publicURL = cmp.Or(os.Getenv("PUBLIC_URL"), "http://localhost:"+port)
	client    = &http.Client{Timeout: 30 * time.Second}
)

type application struct {
	Session  string      `json:"session"`
	Status   string      `json:"status"`
	NetWorth json.Number `json:"net_worth,omitempty"` // a float64 would lose cents of large amounts
	PDF      string      `json:"pdf,omitempty"`
}

// A partner keeps applications by our reference. A real server has a database.
type partner struct {
	webhook *standardwebhooks.Webhook

	mu           sync.Mutex
	applications map[string]*application
	seen         map[string]bool // ids of webhooks that are done
}

func main() {
	webhook, err := standardwebhooks.NewWebhook(os.Getenv("CANDOR_WEBHOOK_SECRET")) // takes whsec_… as it is
	if err != nil {
		log.Fatal(err)
	}
	p := &partner{webhook: webhook, applications: map[string]*application{}, seen: map[string]bool{}}
	http.HandleFunc("POST /applications", p.apply)
	http.HandleFunc("GET /applications/{reference}", p.show)
	http.HandleFunc("POST /webhooks", p.receive)
	log.Fatal(http.ListenAndServe(":"+port, nil))
}

// candor calls the API and returns the answer's body.
func candor(method, path string, body any, idempotencyKey string) ([]byte, error) {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequest(method, api+path, &content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", idempotencyKey)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s %s", path, response.Status, answer)
	}
	return answer, err
}

func (p *partner) apply(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Reference, Email, Simulate string }
	var session struct {
		ID  string `json:"id"`
		URL string `json:"session_url"`
	}
	err := json.NewDecoder(r.Body).Decode(&asked)
	if err == nil {
		var answer []byte
		answer, err = candor("POST", "/sessions", map[string]any{
			"form_type": "financial_statement", "customer_email": asked.Email, "reference_id": asked.Reference,
			"webhook_url": publicURL + "/webhooks", "simulate": asked.Simulate,
		}, "application-"+asked.Reference) // a retry creates no second session
		if err == nil {
			err = json.Unmarshal(answer, &session)
		}
	}
	if err == nil {
		p.mu.Lock()
		if p.applications[asked.Reference] == nil {
			p.applications[asked.Reference] = &application{Session: session.ID, Status: "sent"}
		}
		p.mu.Unlock()
	}
	answer(w, map[string]string{"session_url": session.URL}, err)
}

func (p *partner) show(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.applications[r.PathValue("reference")]
	if found == nil {
		http.Error(w, "there is no such application", http.StatusNotFound)
		return
	}
	answer(w, found, nil)
}

func (p *partner) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // the raw body, before it is parsed
	if err != nil || p.webhook.Verify(body, r.Header) != nil {
		http.Error(w, "the signature doesn't fit", http.StatusUnauthorized)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id := r.Header.Get("webhook-id")
	if !p.seen[id] {
		if err = p.take(body); err == nil {
			p.seen[id] = true
		}
	}
	answer(w, struct{}{}, err) // after an error Candor sends the event again
}

// take does what an event asks for.
func (p *partner) take(body []byte) error {
	var event struct {
		Event     string `json:"event"`
		SessionID string `json:"session_id"`
		Sequence  int64  `json:"sequence"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return err
	}
	if event.SessionID == "" || event.Sequence == 0 {
		return nil // about billing, or a test event: its session doesn't exist
	}
	path := "/sessions/" + event.SessionID
	var session struct {
		Status    string `json:"status"`
		Reference string `json:"reference_id"`
	}
	text, err := candor("GET", path, nil, "")
	if err == nil {
		err = json.Unmarshal(text, &session)
	}
	if err != nil {
		return err
	}
	found := p.applications[session.Reference]
	if found == nil {
		found = &application{Session: event.SessionID}
		p.applications[session.Reference] = found
	}
	found.Status = session.Status
	switch event.Event {
	case "session.completed":
		var submitted struct {
			Data struct {
				Summary struct {
					NetWorth json.Number `json:"net_worth"`
				} `json:"summary"`
			} `json:"data"`
		}
		if text, err = candor("GET", path+"/data", nil, ""); err == nil {
			err = json.Unmarshal(text, &submitted)
		}
		found.NetWorth = submitted.Data.Summary.NetWorth
	case "session.pdf_ready":
		if text, err = candor("GET", path+"/pdf", nil, ""); err == nil {
			found.PDF = event.SessionID + ".pdf"
			err = os.WriteFile(found.PDF, text, 0o600)
		}
	}
	return err
}

func answer(w http.ResponseWriter, body any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		log.Print(err)
		w.WriteHeader(http.StatusInternalServerError)
		body = map[string]string{"error": "try again"}
	}
	if err := json.NewEncoder(w).Encode(body); err != nil {
		log.Print(err)
	}
}
