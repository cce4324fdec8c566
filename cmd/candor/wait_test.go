package main_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptrace"
	"testing"
	"time"

	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/process"
)

// TestWaitingAcrossProcesses waits at the web process for what the worker does, and
// ends the wait by a shutdown.
func TestWaitingAcrossProcesses(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.WebEnvironment(t)
	account := process.CreateAccount(t, env)
	web, worker := process.Serve(t, env, "web"), process.Serve(t, env, "worker")
	hook := hooktest.NewReceiver(t, nil)
	hook.SetSecret(account.TestWebhookSecret)
	partner := process.NewPartner(t, web.URL, account.TestKey)
	type page struct {
		Data      []struct{ Event string }
		NextAfter int64 `json:"next_after"`
	}
	ask := func(query string) (p page) {
		t.Helper()
		status, _, body := partner.Do(http.MethodGet, "/events?"+query, "")
		if err := json.Unmarshal(body, &p); status != http.StatusOK || err != nil {
			t.Fatalf("%s: %d %s", query, status, body)
		}
		return p
	}
	ready := make(chan page, 1)
	go func() { ready <- ask("wait=25&type=session.pdf_ready") }()
	status, _, body := partner.Do(http.MethodPost, "/sessions",
		`{"form_type": "financial_statement", "customer_email": "jo@customer.example", "simulate": "completed", "webhook_url": "`+
			hook.URL+`"}`)
	if status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	if p := <-ready; len(p.Data) != 1 {
		t.Fatalf("the worker's PDF: %+v", p)
	}
	hook.Wait("session.pdf_ready", 1)

	sent := make(chan struct{})
	traced := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
		close(sent)
	}})
	request, err := http.NewRequestWithContext(traced, http.MethodGet, web.URL+"/v1/events?wait=25&type=billing.invoice_paid", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+account.TestKey)
	start, ended := time.Now(), make(chan int, 1)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Error(err)
			ended <- 0
			return
		}
		_ = response.Body.Close()
		ended <- response.StatusCode
	}()
	<-sent
	ask("") // so that the other one waits
	web.Stop()
	if status := <-ended; status != http.StatusOK || time.Since(start) > 15*time.Second {
		t.Errorf("at the shutdown, after %s: %d", time.Since(start), status)
	}
	worker.Stop()
}
