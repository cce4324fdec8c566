package main_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"candor/internal/testkit/dbtest"
)

// testEvent is what `webhooks test --json` prints.
type testEvent struct {
	Delivered      bool
	ID             string
	URL            string
	Body           string
	StatusCode     *int                `json:"status_code"`
	ErrorClass     *string             `json:"error_class"`
	Error          *string             `json:"error"`
	RequestHeaders map[string][]string `json:"request_headers"`
	Response       *string             `json:"response"`
}

func TestTestEventCommand(t *testing.T) {
	t.Parallel()
	env := testEnvironment(t)
	var refuse atomic.Bool
	hooks := newReceiver(t, func(webhookCall, int) int {
		if refuse.Load() {
			return http.StatusTeapot
		}
		return http.StatusOK
	})
	a := createAccount(t, env, "--webhook-url", hooks.url)
	hooks.setSecret(a.TestWebhookSecret)
	test := []string{"webhooks", "test", "--account", a.AccountID}

	sent := commandJSON[testEvent](t, env, test...)
	got := hooks.of("session.completed")
	if len(got) != 1 || string(got[0].body) != sent.Body || got[0].id() != sent.ID || !slices.Equal(sent.RequestHeaders["X-Webhook-Id"], []string{sent.ID}) ||
		!sent.Delivered || *sent.StatusCode != http.StatusOK || sent.ErrorClass != nil || sent.URL != hooks.url {
		t.Errorf("test --json printed %+v, %d calls", sent, len(got))
	}
	r := command(t, env, append(test, "--url", hooks.url+"/other")...)
	for _, want := range []string{"test mode", hooks.url + "/other", "200 OK", "X-Webhook-Signature: ", `"event":"session.completed"`, "Delivered."} {
		if r.code != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("test: exit code %d, %q does not say %q", r.code, r.stdout+r.stderr, want)
		}
	}
	refuse.Store(true)
	r = command(t, env, append(test, "--json")...)
	if r.code != 1 || !strings.Contains(r.stdout, `"status_code": 418`) || !strings.Contains(r.stdout, `"delivered": false`) || !strings.Contains(r.stderr, "was not delivered: The receiver answered with status 418") {
		t.Errorf("a refusing receiver: exit code %d, %q", r.code, r.stdout+r.stderr)
	}
	for name, tt := range map[string]struct {
		args []string
		code int
		want string
	}{
		"a foreign host over http": {append(test, "--url", "http://hooks.example.com/"), 1, "must use https"},
		"live mode":                {append(test, "--live"), 2, "always in test mode"},
	} {
		if r := command(t, env, tt.args...); r.code != tt.code || !strings.Contains(r.stderr, tt.want) {
			t.Errorf("%s: exit code %d, %q; want %d and %q", name, r.code, r.stderr, tt.code, tt.want)
		}
	}
	var events int
	if err := dbtest.Open(t, env["DATABASE_URL"]).Raw().Get(&events, `SELECT count(*) FROM event`); err != nil || events != 0 {
		t.Errorf("test events have left %d events, %v", events, err)
	}
	// The account's audit log has what the commands did.
	var noted string
	err := dbtest.Open(t, env["DATABASE_URL"]).Raw().Get(&noted, `
		SELECT string_agg(action || ' ' || n, ', ' ORDER BY action) FROM (SELECT action, count(*) AS n FROM audit_log WHERE actor_kind = 'operator' GROUP BY action) l`)
	if want := "account.created 1, api_key.created 2, webhook.test_sent 3, webhook.url_changed 2"; err != nil || noted != want {
		t.Errorf("the audit log has %s, %v; want %s", noted, err, want)
	}
}
