package main_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/process"
)

// TestAttemptFollowsTheOneUnderWay asks for an attempt while one is under way. The answer says
// what came of another one, which begins after it (D99).
func TestAttemptFollowsTheOneUnderWay(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.WebEnvironment(t)
	account := process.CreateAccount(t, env)
	web := process.Serve(t, env, "web")
	process.Serve(t, env, "worker")
	arrived, release := make(chan struct{}), make(chan struct{})
	hook := hooktest.NewReceiver(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			close(arrived)
			<-release
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	hook.SetSecret(account.TestWebhookSecret)
	partner := process.NewPartner(t, web.URL, account.TestKey)
	partner.Do(http.MethodPost, "/sessions",
		`{"form_type": "financial_statement", "customer_email": "jo@customer.example", "simulate": "opened", "webhook_url": "`+
			hook.URL+`"}`)
	<-arrived
	type delivery struct {
		ID       string
		State    string
		Attempts int
		Queued   bool
		Next     time.Time `json:"next_attempt_at"`
	}
	now := func() delivery {
		t.Helper()
		var feed struct{ Data []struct{ Delivery delivery } }
		_, _, body := partner.Do(http.MethodGet, "/events", "")
		if err := json.Unmarshal(body, &feed); err != nil || len(feed.Data) != 1 {
			t.Fatalf("the feed is %s: %v", body, err)
		}
		return feed.Data[0].Delivery
	}
	first, answer := now(), make(chan []byte, 1)
	go func() {
		_, _, body := partner.Do(http.MethodPost, "/test/deliveries/"+first.ID+"/attempt", "")
		answer <- body
	}()
	testkit.Await(t, "the attempt is asked for", func() bool { return now().Next.After(first.Next) })
	close(release)
	var got delivery
	body := <-answer
	if err := json.Unmarshal(body, &got); err != nil || got.State != "delivered" || got.Attempts != 2 || got.Queued {
		t.Errorf("answered %s", body)
	}
	hook.Wait("session.accessed", 2)
}
