package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/keys"
	"candor/internal/service/webhooks"
	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/harness"
	"candor/internal/webhook"
)

// atOnce is far less than the time after which a waiting request looks by itself.
const atOnce = 3 * time.Second

// waiting sends a GET /v1/events that waits.
func waiting(h *harness.Harness, key, query string) <-chan harness.Answer {
	answer := make(chan harness.Answer, 1)
	go func() {
		answer <- h.Do(harness.Call{Method: http.MethodGet, Path: "/events?" + query, Key: key})
	}()
	return answer
}

// soon is the answer, which must come at once.
func soon(h *harness.Harness, answer <-chan harness.Answer) harness.Answer {
	h.Helper()
	select {
	case a := <-answer:
		return a
	case <-time.After(atOnce):
		h.Fatal("no answer came")
		return harness.Answer{}
	}
}

// eventsIn reads the answer's events.
func eventsIn(h *harness.Harness, a harness.Answer) (page harness.FeedPage) {
	h.Helper()
	h.OK(json.Unmarshal(a.WantStatus(http.StatusOK).Body.Bytes(), &page))
	return page
}

// listening waits until the process's connection hears announcements.
func listening(h *harness.Harness) {
	h.Helper()
	testkit.Await(h, "there is not one connection that listens", func() bool {
		return harness.QueryOne[int](h,
			`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN "candor_change"'`) == 1
	})
}

// TestWaitForEvents: an event that another process records comes at once, and wakes
// no one else.
func TestWaitForEvents(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	other := h.NewAccount("other@lender.example", "starter")
	elsewhere := dbtest.Open(t, h.DSN)
	record := func(p domain.Payload) {
		h.OK(elsewhere.InTx(t.Context(), func(tx *db.Tx) error { return h.RecordEventIn(t.Context(), tx, session, p) }))
	}
	live, theirs := waiting(h, h.Account.LiveKey, "wait=1"), waiting(h, other.TestKey, "wait=1")
	for i := range 3 {
		answer := waiting(h, "", "wait=25&after="+string(rune('0'+i)))
		listening(h)
		record(domain.PDFReadyPayload{SessionID: session.ID})
		if page := eventsIn(h, soon(h, answer)); len(page.Data) != 1 || page.NextAfter != int64(i+1) {
			t.Errorf("event %d: %+v", i, page)
		}
	}
	filtered := waiting(h, "", "wait=25&type=session.expired")
	record(domain.PDFReadyPayload{SessionID: session.ID})
	record(domain.ExpiredPayload{SessionID: session.ID})
	if page := eventsIn(h, soon(h, filtered)); len(page.Data) != 1 || page.Data[0].Event != domain.SessionExpired ||
		page.NextAfter != 5 {
		t.Errorf("filtered: %+v", page)
	}
	for _, answer := range []<-chan harness.Answer{live, theirs} {
		if page := eventsIn(h, soon(h, answer)); len(page.Data) != 0 {
			t.Errorf("someone else gets %+v", page)
		}
	}
	start := time.Now()
	if page := eventsIn(h, soon(h, waiting(h, "", "wait=1&type=session.completed"))); len(page.Data) != 0 || page.NextAfter != 5 ||
		time.Since(start) < time.Second {
		t.Errorf("after %s, %+v", time.Since(start), page)
	}
	if page := eventsIn(h, soon(h, waiting(h, "", "wait=25"))); len(page.Data) != 5 {
		t.Errorf("with events there: %+v", page)
	}
	for query, field := range map[string]string{"wait=-1": "wait", "wait=26": "wait", "wait=": "wait", "wait=1.5": "wait",
		"include=body": "include"} {
		h.Get("/events?"+query).WantError(http.StatusBadRequest, "invalid_request", field)
	}
}

// TestWaitingEnds: when the key is deleted, when the process ends.
func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	row, key, err := h.Service.Keys.Create(h.Context(), h.TestScope(), harness.Operator, keys.Params{Name: "Second"})
	h.OK(err)
	revoked, other := waiting(h, key, "wait=25"), waiting(h, "", "wait=25")
	listening(h)
	h.OK(h.Service.Keys.Delete(h.Context(), h.TestScope(), harness.Operator, row.ID, "Second"))
	soon(h, revoked).WantError(http.StatusUnauthorized, "invalid_api_key", "")
	h.Service.Webhooks.EndWaits()
	h.Service.Webhooks.EndWaits()
	for _, answer := range []<-chan harness.Answer{other, waiting(h, "", "wait=25")} {
		if page := eventsIn(h, soon(h, answer)); len(page.Data) != 0 {
			t.Errorf("at the end: %+v", page)
		}
	}
}

// TestWaitingEndsWithThePermission: who waits with a key that may read data no more gets none. What
// the request doesn't need can be lost.
func TestWaitingEndsWithThePermission(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	starts := func(after ...domain.Permission) (change func(), answer <-chan harness.Answer) {
		row, key, err := h.Service.Keys.Create(h.Context(), h.TestScope(), harness.Operator, keys.Params{Name: "Second"})
		h.OK(err)
		return func() {
			h.OK(h.Service.Keys.Change(h.Context(), h.TestScope(), harness.Operator, row.ID,
				keys.Params{Name: "Second", Permissions: after}))
		}, waiting(h, key, "wait=25")
	}
	narrow, served := starts(domain.SessionsRead, domain.DataRead)
	withdraw, refused := starts(domain.SessionsRead)
	listening(h)
	narrow()
	withdraw()
	soon(h, refused).WantError(http.StatusForbidden, "forbidden", "")
	h.RecordEvent(session, domain.PDFReadyPayload{SessionID: session.ID})
	if page := eventsIn(h, soon(h, served)); len(page.Data) != 1 {
		t.Errorf("with what it needs: %+v", page)
	}
}

// TestWaitsAreBounded: ten of an account wait, and those whose client leaves make
// room.
func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	server := testkit.Serve(t, h.Handler)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var clients sync.WaitGroup
	for range webhooks.WaitsPerScope {
		clients.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/v1/events?wait=25", nil)
			if err != nil {
				t.Error(err)
				return
			}
			r.Host, _ = strings.CutPrefix(harness.BaseURL, "https://")
			r.Header.Set("Authorization", "Bearer "+h.Account.TestKey)
			for {
				response, err := http.DefaultClient.Do(r)
				if err != nil {
					return // it left
				}
				_ = response.Body.Close()
				if response.StatusCode != http.StatusTooManyRequests { // the place is ask's
					t.Errorf("status %d, want none before the client leaves", response.StatusCode)
					return
				}
			}
		})
	}
	ask := func() harness.Answer { return h.Get("/events?wait=1") }
	until := func(status int) {
		testkit.Await(t, "no request is answered "+http.StatusText(status), func() bool { return ask().Code == status })
	}
	until(http.StatusTooManyRequests)
	got := ask()
	got.WantError(http.StatusTooManyRequests, "rate_limit_exceeded", "")
	if got.Header().Get("Retry-After") != "5" {
		t.Errorf("Retry-After %q", got.Header().Get("Retry-After"))
	}
	h.Do(harness.Call{Method: http.MethodGet, Path: "/events?wait=1", Key: h.Account.LiveKey}).WantStatus(http.StatusOK)
	h.Get("/events").WantStatus(http.StatusOK)
	leave()
	clients.Wait()
	until(http.StatusOK)
}

// TestEventsWithTheirWebhooks: what a test key gets is what a receiver verifies.
func TestEventsWithTheirWebhooks(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	quiet := h.NewSession(h.TestScope(), domain.NewSession{})
	loud := h.NewSession(h.TestScope(), domain.NewSession{WebhookURL: "https://lender.example/hook"})
	for _, session := range []*domain.Session{quiet, loud} {
		h.RecordEvent(session, domain.PDFReadyPayload{SessionID: session.ID, PDFURL: "https://lender.example/?a=1&b=<ü>"})
	}
	var page struct {
		Data []struct {
			ID       string
			Delivery *struct{ ID string }
			Webhook  struct {
				Headers map[string]string
				Body    string
			}
		}
	}
	var bodies []string
	h.OK(h.DB.Raw().SelectContext(t.Context(), &bodies, `SELECT convert_from(body, 'UTF8') FROM event ORDER BY sequence`))
	h.OK(json.Unmarshal(h.Get("/events?include=webhook&wait=25").WantStatus(http.StatusOK).Body.Bytes(), &page))
	for i, e := range page.Data {
		headers := e.Webhook.Headers
		standard, err := webhook.StandardSignature([]string{h.Account.TestWebhookSecret}, headers["X-Webhook-Id"], harness.StartTime,
			[]byte(bodies[i]))
		h.OK(err)
		if e.Webhook.Body != bodies[i] || headers["X-Webhook-Signature"] != webhook.Signature(h.Account.TestWebhookSecret,
			[]byte(bodies[i])) || headers["Webhook-Signature"] != standard {
			t.Errorf("%d: %+v, want %s", i, e.Webhook, bodies[i])
		}
		id := "whd_" + strings.TrimPrefix(e.ID, "evt_")
		if e.Delivery != nil {
			id = e.Delivery.ID
		}
		if headers["X-Webhook-Id"] != id || headers["Webhook-Id"] != id || headers["Content-Type"] != "application/json" {
			t.Errorf("%d: id %s in %v", i, id, headers)
		}
	}
	if len(page.Data) != 2 || strings.Contains(h.Get("/events").Body.String(), `"webhook"`) {
		t.Errorf("the feed has %+v", page)
	}
	h.Do(harness.Call{Method: http.MethodGet, Path: "/events?include=webhook", Key: h.Account.LiveKey}).
		WantError(http.StatusUnprocessableEntity, "validation_error", "include")
}
