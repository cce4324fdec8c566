package webhooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/accounts"
	"candor/internal/service/webhooks"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/servicetest"
	"candor/internal/webhook"
)

// testEvents lets a service send test events, with an attempt's time cut to
// three seconds.
func testEvents(t testing.TB) func(*servicetest.Config) {
	t.Helper()
	limiter, err := ratelimit.New(webhooks.TestEventLimit)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *servicetest.Config) {
		c.TestClient = webhook.NewClient(c.Policy, webhook.WithTimeouts(3*time.Second, 3*time.Second))
		c.TestLimiter = limiter
		t.Cleanup(c.TestClient.Close)
	}
}

// stored counts all that an event leaves behind.
func (b *fixture) stored() int {
	b.Helper()
	return b.Count(`
		SELECT (SELECT count(*) FROM event) + (SELECT count(*) FROM event_sequence) + (SELECT count(*) FROM session) + (SELECT count(*)
			FROM delivery)
			+ (SELECT count(*) FROM delivery_attempt) + (SELECT count(*) FROM webhook_endpoint WHERE NOT is_default) + (SELECT count(*)
				FROM river_job)`)
}

func TestTestEvent(t *testing.T) {
	t.Parallel()
	b := newFixture(t, testEvents(t), func(c *servicetest.Config) { c.Clock = domain.SystemClock })
	b.Webhooks.SecretsLease = 0
	hook := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte("thanks" + strings.Repeat(".", 4000)))
	})
	fresh, err := b.Webhooks.CreateNextSecret(b.Ctx, b.Test(), nil, servicetest.Someone)
	b.OK(err)
	if _, err := b.Webhooks.SendTestEvent(b.Ctx, b.Account.AccountID, domain.Actor{Kind: "unheard of"}, nil, hook.URL+"/hook",
		domain.SessionCompleted); err == nil || len(hook.Requests()) != 0 {
		t.Errorf("a test event is sent that the audit log doesn't tell of: %v", err)
	}
	sent, err := b.Webhooks.SendTestEvent(b.Ctx, b.Account.AccountID, servicetest.Someone, nil, hook.URL+"/hook",
		domain.SessionCompleted)
	b.OK(err)
	if log := b.audited(); strings.Count(log, "webhook.test_sent by a test") != 1 {
		t.Errorf("the audit log has %s", log)
	}
	calls := hook.Requests()
	if len(calls) != 1 {
		t.Fatalf("%d webhooks, want 1", len(calls))
	}
	got := calls[0]
	for name := range sent.Result.RequestHeader {
		if got.Header.Get(name) != sent.Result.RequestHeader.Get(name) {
			t.Errorf("%s came as %q, is shown as %q", name, got.Header.Get(name), sent.Result.RequestHeader.Get(name))
		}
	}
	if !bytes.Equal(got.Body, sent.Body) || got.Header.Get("X-Webhook-Id") != sent.DeliveryID.String() ||
		!strings.HasPrefix(sent.DeliveryID.String(), "whd_") {
		t.Errorf("sent %s as %s, shown %s as %s", got.Body, got.Header.Get("X-Webhook-Id"), sent.Body, sent.DeliveryID)
	}
	// The old and the new secret of test mode, and not that of live mode.
	by := verify(t, calls, b.Account.TestWebhookSecret, fresh, b.Account.LiveWebhookSecret)[0]
	if !slices.Equal(by.Contract, []bool{true, false, false}) || !slices.Equal(by.Standard, []bool{true, true, false}) {
		t.Errorf("signed by %+v", by)
	}
	if r := sent.Result; !r.Delivered() || r.StatusCode != http.StatusAccepted || len(r.Response) != 2048 ||
		!strings.HasPrefix(string(r.Response), "thanks.") || r.Duration <= 0 {
		t.Errorf("answer %d %.20q of %d bytes in %s", r.StatusCode, r.Response, len(r.Response), r.Duration)
	}
	var body struct {
		Event     string
		SessionID string `json:"session_id"`
		Livemode  *bool
		Sequence  *int
		Timestamp time.Time
		Data      struct {
			SessionID string `json:"session_id"`
			Summary   map[string]json.Number
		}
	}
	b.OK(json.Unmarshal(sent.Body, &body))
	if body.Event != "session.completed" || *body.Livemode || *body.Sequence != 0 || body.SessionID != body.Data.SessionID ||
		time.Since(body.Timestamp) > time.Minute ||
		body.Data.Summary["net_worth"] != "450239.47" {
		t.Errorf("body %s", sent.Body)
	}
	if n := b.stored(); n != 0 {
		t.Errorf("a test event has left %d rows", n)
	}
	again, err := b.Webhooks.SendTestEvent(b.Ctx, b.Account.AccountID, servicetest.Someone, nil, hook.URL, domain.SessionCompleted)
	if err != nil || again.DeliveryID == sent.DeliveryID {
		t.Errorf("a second test event has the id of the first, or %v", err)
	}
}

func TestTestEventTellsWhatWentWrong(t *testing.T) {
	t.Parallel()
	b := newFixture(t, testEvents(t))
	release := make(chan struct{})
	hook := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/500":
			http.Error(w, "no such partner", http.StatusInternalServerError)
		case "/302":
			http.Redirect(w, r, "/200", http.StatusFound)
		case "/hang":
			<-release
		}
	})
	t.Cleanup(func() { close(release) })
	for url, want := range map[string]struct {
		status               int
		class, says, answers string
	}{
		hook.URL + "/500":         {500, webhook.ClassStatus, "status 500", "no such partner\n"},
		hook.URL + "/302":         {302, webhook.ClassStatus, "Redirects are not followed", ""},
		hook.URL + "/hang":        {0, webhook.ClassTimeout, "did not answer in time", ""},
		"http://127.0.0.1:1/":     {0, webhook.ClassConnect, "Nothing listens", ""},
		"https://" + hook.URL[7:]: {0, webhook.ClassTLS, "did not answer in TLS", ""},
	} {
		sent, err := b.Webhooks.SendTestEvent(b.Ctx, b.Account.AccountID, servicetest.Someone, nil, url, domain.SessionCompleted)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		r := sent.Result
		if r.StatusCode != want.status || r.ErrorClass != want.class || !strings.Contains(r.Error, want.says) ||
			string(r.Response) != want.answers || len(r.RequestHeader) < 8 {
			t.Errorf("%s: %d %s %q %q, want %+v", url, r.StatusCode, r.ErrorClass, r.Error, r.Response, want)
		}
	}
	if n := b.stored(); n != 0 {
		t.Errorf("test events have left %d rows", n)
	}
}

// What the policy refuses isn't called, whether the URL shows it or only the
// name's address.
func TestTestEventRefusesTargets(t *testing.T) {
	t.Parallel()
	b := newFixture(t, func(c *servicetest.Config) { c.Policy = webhook.Policy{} }, testEvents(t))
	for _, url := range []string{
		"http://hooks.example.com/", "https://169.254.169.254/latest", "https://10.0.0.1/", "https://localhost/",
		"https://u:p@hooks.example.com/", "hooks", "https://[::1]/",
	} {
		_, err := b.Webhooks.SendTestEvent(b.Ctx, b.Account.AccountID, servicetest.Someone, nil, url, domain.SessionCompleted)
		var refused *domain.Error
		if !errors.As(err, &refused) || refused.Code != domain.CodeValidation || len(refused.Fields) != 1 ||
			refused.Fields[0].Field != "url" {
			t.Errorf("%s: %v, want validation_error on url", url, err)
		}
	}
	_, err := b.Webhooks.SendTestEvent(b.Ctx, domain.NewAccountID(), servicetest.Someone, nil, "https://hooks.example.com/",
		domain.SessionCompleted)
	b.Code("unknown account", err, domain.CodeNotFound)
	// A service whose URLs pass still has its client look at the address.
	hook := hooktest.NewReceiver(t, nil)
	open := newFixture(t, testEvents(t), func(c *servicetest.Config) { c.TestClient = webhook.NewClient(webhook.Policy{}) })
	sent, err := open.Webhooks.SendTestEvent(b.Ctx, open.Account.AccountID, servicetest.Someone, nil, hook.URL,
		domain.SessionCompleted)
	if err != nil || sent.Result.ErrorClass != webhook.ClassRefusedTarget || len(hook.Requests()) != 0 {
		t.Errorf("a refused address: %+v, %v, %d calls", sent, err, len(hook.Requests()))
	}
}

func TestTestEventGoesToTheDefaultURL(t *testing.T) {
	t.Parallel()
	b := newFixture(t, testEvents(t))
	test, live := hooktest.NewReceiver(t, nil), hooktest.NewReceiver(t, nil)
	b.OK(b.Webhooks.SetDefaultURL(b.Ctx, b.Live(), servicetest.Someone, live.URL))
	_, err := b.Webhooks.SendTestEvent(b.Ctx, b.Account.AccountID, servicetest.Someone, nil, "", domain.SessionCompleted)
	b.saying("no URL", err, "no default webhook URL")
	b.OK(b.Webhooks.SetDefaultURL(b.Ctx, b.Test(), servicetest.Someone, test.URL))
	sent, err := b.Webhooks.SendTestEvent(b.Ctx, b.Account.AccountID, servicetest.Someone, nil, "", domain.SessionCompleted)
	if err != nil || sent.URL != test.URL || len(test.Requests()) != 1 || len(live.Requests()) != 0 {
		t.Errorf("%+v, %v: %d at the test URL, %d at the live one", sent, err, len(test.Requests()), len(live.Requests()))
	}
}

// Of one account two test events run at once, and ten a minute; other
// accounts aren't touched by that.
func TestTestEventIsLimited(t *testing.T) {
	t.Parallel()
	b := newFixture(t, testEvents(t), func(c *servicetest.Config) { c.TestClient = webhook.NewClient(c.Policy) })
	other, err := b.Accounts.Create(b.Ctx, accounts.Params{Name: "Broker", Email: "owner@broker.example", Plan: "starter"},
		servicetest.Someone)
	b.OK(err)
	release := make(chan struct{})
	hook := hooktest.NewReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			<-release
		}
	})
	send := func(path string) error {
		_, err := b.Webhooks.SendTestEvent(b.Ctx, b.Account.AccountID, servicetest.Someone, nil, hook.URL+path, domain.SessionCompleted)
		return err
	}
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			if err := send("/hang"); err != nil {
				t.Errorf("one of two at once: %v", err)
			}
		})
	}
	testkit.Await(b, "two under way", func() bool { return len(hook.Requests()) == 2 })
	for range 20 { // refused ones don't count
		b.Code("a third at once", send("/"), domain.CodeRateLimitExceeded)
	}
	_, err = b.Webhooks.SendTestEvent(b.Ctx, other.AccountID, servicetest.Someone, nil, hook.URL, domain.SessionCompleted)
	b.OK(err)
	close(release)
	running.Wait()
	for range 8 {
		b.OK(send("/"))
	}
	err = send("/")
	b.Code("the eleventh", err, domain.CodeRateLimitExceeded)
	if err == nil || !strings.Contains(err.Error(), "Try again in") {
		t.Errorf("the eleventh: %v", err)
	}
	_, err = b.Webhooks.SendTestEvent(b.Ctx, other.AccountID, servicetest.Someone, nil, hook.URL, domain.SessionCompleted)
	b.OK(err)
	if n := len(hook.Requests()); n != 12 {
		t.Errorf("%d webhooks, want 12", n)
	}
}

// A caller who goes away gets an error and no verdict on the receiver.
func TestTestEventEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	b := newFixture(t, testEvents(t))
	ctx, cancel := context.WithCancel(b.Ctx)
	hook := hooktest.NewReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if sent, err := b.Webhooks.SendTestEvent(ctx, b.Account.AccountID, servicetest.Someone, nil, hook.URL,
		domain.SessionCompleted); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", sent, err)
	}
	for range 4 { // its place is free again
		_, err := b.Webhooks.SendTestEvent(b.Ctx, b.Account.AccountID, servicetest.Someone, nil, "http://127.0.0.1:1/",
			domain.SessionCompleted)
		b.OK(err)
	}
}
