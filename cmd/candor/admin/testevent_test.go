package admin_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/process"
)

// testEvent is the JSON of `webhooks test`.
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
	testkit.Slow(t)
	env := process.NewEnvironment(t)
	var refuse atomic.Bool
	a, hooks := process.CreateAccountWithReceiver(t, env, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if refuse.Load() {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	test := []string{"webhooks", "test", "--account", a.AccountID}

	sent := process.RunJSON[testEvent](t, env, test...)
	got := hooks.Of("session.completed")
	if len(got) != 1 || string(got[0].Body) != sent.Body || got[0].DeliveryID() != sent.ID ||
		!slices.Equal(sent.RequestHeaders["X-Webhook-Id"], []string{sent.ID}) ||
		!sent.Delivered || *sent.StatusCode != http.StatusOK || sent.ErrorClass != nil || sent.URL != hooks.URL {
		t.Errorf("test --json printed %+v, %d calls", sent, len(got))
	}
	r := process.Run(t, env, append(test, "--url", hooks.URL+"/other")...)
	for _, want := range []string{"test mode", hooks.URL + "/other", "200 OK", "X-Webhook-Signature: ",
		`"event":"session.completed"`, "Delivered."} {
		if r.Code != 0 || !strings.Contains(r.Stdout, want) {
			t.Errorf("test: exit code %d, %q does not say %q", r.Code, r.Stdout+r.Stderr, want)
		}
	}
	expired := process.RunJSON[testEvent](t, env, append(test, "--type", "session.expired")...)
	if !expired.Delivered || !strings.Contains(expired.Body, `"event":"session.expired"`) {
		t.Errorf("test --type session.expired sent %s", expired.Body)
	}
	refuse.Store(true)
	r = process.Run(t, env, append(test, "--json")...)
	if r.Code != 1 || !strings.Contains(r.Stdout, `"status_code": 418`) || !strings.Contains(r.Stdout, `"delivered": false`) ||
		!strings.Contains(r.Stderr, "was not delivered: The receiver answered with status 418") {
		t.Errorf("a refusing receiver: exit code %d, %q", r.Code, r.Stdout+r.Stderr)
	}
	for name, tt := range map[string]struct {
		args []string
		code int
		want string
	}{
		"a foreign host over http": {append(test, "--url", "http://hooks.example.com/"), 1, "must use https"},
		"an unknown type":          {append(test, "--type", "session.opened"), 1, "must be the name of an event"},
		"live mode":                {append(test, "--live"), 2, "always in test mode"},
	} {
		if r := process.Run(t, env, tt.args...); r.Code != tt.code || !strings.Contains(r.Stderr, tt.want) {
			t.Errorf("%s: exit code %d, %q; want %d and %q", name, r.Code, r.Stderr, tt.code, tt.want)
		}
	}
	var events int
	if err := dbtest.Open(t, env["DATABASE_URL"]).Raw().Get(&events, `SELECT count(*) FROM event`); err != nil || events != 0 {
		t.Errorf("test events have left %d events, %v", events, err)
	}
	// The account's audit log has what the commands did.
	var noted string
	err := dbtest.Open(t, env["DATABASE_URL"]).Raw().Get(&noted, `
		SELECT string_agg(action || ' ' || n, ', ' ORDER BY action) FROM (SELECT action, count(*) AS n FROM audit_log
			WHERE actor_kind = 'operator' GROUP BY action) l`)
	if want := "account.created 1, api_key.created 2, webhook.test_sent 4, webhook.url_changed 2"; err != nil || noted != want {
		t.Errorf("the audit log has %s, %v; want %s", noted, err, want)
	}
}
