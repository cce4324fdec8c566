package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"candor/internal/testkit"
	"candor/internal/testkit/client"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/process"
)

// shownDelivery is a delivery in the JSON of the webhooks commands.
type shownDelivery struct {
	AccountID     string     `json:"account_id"`
	Livemode      bool       `json:"livemode"`
	ID            string     `json:"id"`
	Sequence      int64      `json:"sequence"`
	Type          string     `json:"type"`
	SessionID     string     `json:"session_id"`
	State         string     `json:"state"`
	Cycle         int        `json:"cycle"`
	AttemptsTotal int        `json:"attempts_total"`
	NextAttemptAt *time.Time `json:"next_attempt_at"`
	Body          string     `json:"body"`
	AttemptLog    []struct {
		Number         int         `json:"number"`
		StatusCode     int         `json:"status_code"`
		RequestHeaders http.Header `json:"request_headers"`
		Response       string      `json:"response"`
	} `json:"attempt_log"`
}

type shownDeliveries struct {
	Deliveries []shownDelivery `json:"deliveries"`
	NextBefore *int64          `json:"next_before"`
}

// operator runs commands on one account.
type operator struct {
	t       *testing.T
	env     process.Environment
	account client.Account
}

// prints runs a command that must succeed and print all of want.
func (o operator) prints(args []string, want ...string) string {
	o.t.Helper()
	r := process.Run(o.t, o.env, append([]string{"webhooks"}, args...)...)
	o.says(args, r.Stdout, r.Code, 0, want)
	return r.Stdout
}

// refuses runs a command that must fail with the code and print all of want.
func (o operator) refuses(code int, args []string, want ...string) {
	o.t.Helper()
	r := process.Run(o.t, o.env, append([]string{"webhooks"}, args...)...)
	o.says(args, r.Stderr, r.Code, code, want)
	if r.Stdout != "" || strings.Count(r.Stderr, "\n") != 1 {
		o.t.Errorf("webhooks %s printed %q and %q, want one line of error", strings.Join(args, " "), r.Stdout, r.Stderr)
	}
}

func (o operator) says(args []string, text string, code, wantCode int, want []string) {
	o.t.Helper()
	if code != wantCode {
		o.t.Errorf("webhooks %s: exit code %d, want %d: %s", strings.Join(args, " "), code, wantCode, text)
	}
	for _, part := range want {
		if !strings.Contains(text, part) {
			o.t.Errorf("webhooks %s does not say %q:\n%s", strings.Join(args, " "), part, text)
		}
	}
}

func (o operator) of(args ...string) []string { return append(args, "--account", o.account.AccountID) }

func (o operator) list(args ...string) shownDeliveries {
	o.t.Helper()
	return process.RunJSON[shownDeliveries](o.t, o.env, append([]string{"webhooks", "list"}, o.of(args...)...)...)
}

func (o operator) show(id string) shownDelivery {
	o.t.Helper()
	return process.RunJSON[shownDelivery](o.t, o.env, "webhooks", "show", id)
}

// becomes waits until n of the account's deliveries are in the state.
func (o operator) becomes(state string, n int) []shownDelivery {
	o.t.Helper()
	var got []shownDelivery
	testkit.Await(o.t, fmt.Sprintf("%d deliveries %s", n, state), func() bool {
		got = o.list("--state", state).Deliveries
		return len(got) == n
	})
	return got
}

// An operator looks into a receiver that is down, and redelivers what failed when it
// is up again.
func TestOperatorRedeliversFailedWebhooks(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	var up atomic.Bool
	hook := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("out of\torder \x1b[2J\nsince noon"))
		}
	})
	env := process.WebEnvironment(t).With("CANDOR_WEBHOOK_SCHEDULE", "0s")
	o := operator{t, env, process.CreateAccount(t, env)}
	web := process.Serve(t, env, "web")
	api := process.NewPartner(t, web.URL, o.account.TestKey)
	open := func() client.Session {
		s := api.CreateSession(hook.URL + "/hook?key=1")
		process.OpenForm(t, process.LinkOn(web, s))
		return s
	}

	first := open() // without a worker, so it stays pending
	waiting := o.becomes("pending", 1)[0]
	if waiting.SessionID != first.ID || waiting.Type != "session.accessed" || waiting.AttemptsTotal != 0 {
		t.Errorf("pending: %+v", waiting)
	}
	o.prints([]string{"cancel", waiting.ID}, "test mode", waiting.ID, "is cancelled")
	o.refuses(1, []string{"cancel", waiting.ID}, "Only a pending delivery can be cancelled; this one is cancelled.")
	o.prints(o.of("endpoints"), hook.URL, "untried")

	worker := process.Serve(t, env, "worker")
	for range 3 {
		open()
	}
	failed := o.becomes("failed", 3)
	o.prints(o.of("list"), "Acme Loans ("+o.account.AccountID+"), test mode", "DELIVERY", failed[0].ID, "session.accessed", "failed",
		"503", hook.URL, waiting.ID, "cancelled")
	o.prints(o.of("endpoints"), hook.URL, "failing", "503")
	_, err := dbtest.Open(t, env["DATABASE_URL"]).Raw().
		Exec(`UPDATE webhook_endpoint SET last_failure_at = last_failure_at - interval '8 days'`)
	if err != nil {
		t.Fatal(err)
	}
	o.prints(o.of("endpoints"), hook.URL, "unused", "503")
	shown := o.prints([]string{"show", failed[1].ID}, failed[1].SessionID, hook.URL+"/hook?key=1", "failed", "Attempt 1",
		"503 Service Unavailable",
		"X-Webhook-Id: "+failed[1].ID, "X-Webhook-Signature: ", "out of    order", "    since noon", `"event":"session.accessed"`)
	if strings.Contains(shown, "\x1b") {
		t.Errorf("the receiver's response reaches the terminal: %q", shown)
	}
	if strings.Contains(shown, o.account.TestWebhookSecret) {
		t.Error("the secret is shown")
	}
	before := o.show(failed[1].ID)
	if before.AccountID != o.account.AccountID || before.Livemode || len(before.AttemptLog) != 1 ||
		before.AttemptLog[0].StatusCode != 503 ||
		before.AttemptLog[0].Response != "out of\torder \x1b[2J\nsince noon" ||
		before.AttemptLog[0].RequestHeaders.Get("X-Webhook-Id") != before.ID || !strings.HasPrefix(before.Body, `{"event":`) {
		t.Errorf("show: %+v", before)
	}

	up.Store(true)
	o.prints([]string{"retry", "--account", o.account.AccountID, failed[1].ID}, failed[1].ID, "was failed", "under the same id")
	o.becomes("delivered", 1)
	after := o.show(failed[1].ID)
	if after.Cycle != 2 || len(after.AttemptLog) != 2 || after.AttemptLog[1].StatusCode != 200 ||
		after.AttemptLog[1].RequestHeaders.Get("X-Webhook-Id") != after.ID || after.Body != before.Body {
		t.Errorf("after the retry: %+v", after)
	}

	asked := len(hook.Requests())
	o.prints(o.of("redeliver", "--since", "1h"),
		"2 failed deliveries would be redelivered, at most 10 a second. Nothing was sent. Add --yes to start.")
	o.prints(o.of("redeliver", "--since", "1h", "--rate", "1"), "at most 1 a second, in at least 2s. Nothing")
	o.prints(o.of("redeliver", "--since", "1h", "--status", "4xx"), "No failed delivery matches in test mode. Add --live")
	o.becomes("failed", 2)
	if n := len(process.RunJSON[struct{ Redeliveries []any }](t, env, append([]string{"webhooks"},
		o.of("redeliveries")...)...).Redeliveries); n != 0 || len(hook.Requests()) != asked {
		t.Errorf("the preview started %d redeliveries and %d requests", n, len(hook.Requests())-asked)
	}
	o.prints(o.of("redeliver", "--since", "1h", "--status", "5xx", "--endpoint", hook.URL+"/other", "--rate", "50", "--yes"),
		"rdl_", "redelivering 2 failed deliveries, at most 50 a second", "candor webhooks stop rdl_")
	o.becomes("delivered", 3)
	testkit.Await(t, "the redelivery's end", func() bool {
		return strings.Contains(process.Run(t, env, append([]string{"webhooks"}, o.of("redeliveries")...)...).Stdout, "done")
	})
	o.prints(o.of("redeliveries"), "rdl_", "operator", "5xx", hook.URL)
	o.prints(o.of("endpoints"), "ok", "200")
	worker.Stop()
	web.Stop()
}

func TestWebhooksListFiltersAndPages(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.WebEnvironment(t)
	o := operator{t, env, process.CreateAccount(t, env, "--webhook-url", "https://hooks.acme.example/candor")}
	web := process.Serve(t, env, "web")
	process.OpenForm(t, process.LinkOn(web, process.NewPartner(t, web.URL, o.account.TestKey).CreateSession(""))).Submit()
	live := process.NewPartner(t, web.URL, o.account.LiveKey).CreateSession("")
	process.OpenForm(t, process.LinkOn(web, live))

	_, _, made := process.NewPartner(t, web.URL, o.account.TestKey).Do(http.MethodPost, "/webhook_endpoints",
		`{"url": "https://crm.acme.example/hook", "description": "The CRM"}`)
	var endpoint struct{ ID string }
	if err := json.Unmarshal(made, &endpoint); err != nil || endpoint.ID == "" {
		t.Fatalf("%s: %v", made, err)
	}
	o.prints(o.of("endpoints"), endpoint.ID, "The CRM")

	all := o.list("--limit", "100").Deliveries
	if len(all) != 9 || all[0].Type != "session.completed" || all[0].Sequence != 9 {
		t.Fatalf("%d deliveries, the newest %+v", len(all), all[0])
	}
	page := o.list("--limit", "4", "--before", "6")
	if len(page.Deliveries) != 4 || page.Deliveries[0].Sequence != 5 || page.NextBefore == nil || *page.NextBefore != 2 {
		t.Errorf("a page: %+v", page)
	}
	if last := o.list("--before", "2"); len(last.Deliveries) != 1 || last.NextBefore != nil {
		t.Errorf("the last page: %+v", last)
	}
	o.prints(o.of("list", "--limit", "4"), "For older deliveries, add --before 6")
	liveOne := o.list("--live").Deliveries
	if len(liveOne) != 1 || liveOne[0].SessionID != live.ID {
		t.Fatalf("live: %+v", liveOne)
	}
	for name, tt := range map[string]struct {
		args []string
		want int
	}{
		"type": {[]string{"--type", "session.section_completed"}, 7}, "session": {[]string{"--session", all[0].SessionID}, 9},
		"live session": {[]string{"--session", live.ID}, 0},
		"endpoint":     {[]string{"--endpoint", "https://hooks.acme.example:443/x"}, 9}, "status": {[]string{"--status", "5xx"}, 0},
		"state":  {[]string{"--state", "delivered"}, 0},
		"a span": {[]string{"--since", "7d"}, 9}, "until": {[]string{"--until", "1h"}, 0},
		"a time": {[]string{"--since", "2026-01-01T00:00:00+10:00", "--until", "2900-01-01"}, 9},
	} {
		if got := o.list(tt.args...).Deliveries; len(got) != tt.want {
			t.Errorf("by %s: %d deliveries, want %d", name, len(got), tt.want)
		}
	}
	o.prints(o.of("list", "--state", "failed"), "No webhook delivery matches in test mode. Add --live to search live mode.")
	o.prints([]string{"show", liveOne[0].ID}, "live mode", live.ID)
	started := process.RunJSON[struct{ ID, State string }](t, env, append([]string{"webhooks"},
		o.of("redeliver", "--since", "1h", "--yes")...)...)
	o.prints([]string{"stop", started.ID}, started.ID+" is stopped: 0 of 0")
	o.refuses(1, []string{"stop", started.ID}, "Only a running redelivery can be stopped; this one is stopped.")

	for name, tt := range map[string]struct {
		code int
		args []string
		want string
	}{
		"another account": {1, []string{"list", "--account", "acct_01h455vb4pex5vsknk084sn02q"},
			"account acct_01h455vb4pex5vsknk084sn02q not found: see candor account list"},
		"not an account": {1, []string{"endpoints", "--account", "acme"}, `--account "acme" is not an account id`},
		"unknown endpoint": {1, o.of("list", "--endpoint", "https://other.example/"),
			"There is no endpoint https://other.example in this account and mode."},
		"bare host":          {1, o.of("list", "--endpoint", "hooks.acme.example"), "endpoint must be a URL"},
		"unknown state":      {1, o.of("list", "--state", "lost"), "state must be pending, delivered, failed or cancelled."},
		"unknown type":       {1, o.of("list", "--type", "completed"), "type must be the name of an event"},
		"unknown status":     {1, o.of("list", "--status", "503"), "status must be one of 2xx, 3xx"},
		"a long page":        {1, o.of("list", "--limit", "101"), "limit must be 1 to 100."},
		"times turned round": {1, o.of("list", "--since", "1h", "--until", "2h"), "until must be later than since."},
		"a rate":             {1, o.of("redeliver", "--since", "1h", "--rate", "0"), "rate must be 1 to 100"},
		"redeliver all":      {1, o.of("redeliver", "--yes"), "since is needed"},
		"unknown delivery":   {1, []string{"show", "whd_01h455vb4pex5vsknk084sn02q"}, "There is no webhook delivery with this id."},
		"unknown redelivery": {1, []string{"stop", "rdl_01h455vb4pex5vsknk084sn02q"}, "There is no redelivery with this id."},
		"another's delivery": {1, []string{"retry", all[0].ID, "--account", "acct_01h455vb4pex5vsknk084sn02q"},
			"it belongs to Acme Loans"},
		"the other mode": {1, []string{"cancel", all[0].ID, "--live"}, "it belongs to Acme Loans (" + o.account.AccountID +
			"), test mode"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			operator{t, env, o.account}.refuses(tt.code, tt.args, tt.want)
		})
	}
}

// A command line that can't be read is refused before anything is opened.
func TestWebhooksCommandLines(t *testing.T) {
	t.Parallel()
	for want, args := range map[string]string{
		"webhooks needs list, show, retry, cancel, endpoints, redeliver, redeliveries": "",
		"webhooks list needs --account":                          "list",
		"webhooks redeliver needs --account":                     "redeliver --since 1h",
		"webhooks show needs an id":                              "show --json",
		`"sess_x" is not a delivery id, which starts with whd_`:  "show sess_x",
		`"whd_x" is not a redelivery id, which starts with rdl_`: "stop whd_x",
		`unexpected argument "whd_y"`:                            "retry whd_x whd_y",
		`"soon" for flag -since: give a time such as`:            "list --since soon",
		`"-1h" for flag -until: give a time such as`:             "list --until -1h",
		`"99999d" for flag -since`:                               "list --since 99999d",
		`"x" for flag -session`:                                  "list --session x",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			operator{t: t, env: process.Environment{"DATABASE_URL": "postgres://127.0.0.1:1/none"}}.refuses(2, strings.Fields(args), want)
		})
	}
}
