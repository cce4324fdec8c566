package main_test

import (
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
)

// webEnvironment is that of a web and a worker process side by side.
func webEnvironment(t *testing.T) environment {
	return testEnvironment(t).with("CANDOR_BASE_URL", "http://localhost:8080", "CANDOR_SWEEP_INTERVAL", "1s", "CANDOR_RESCUE_AFTER", "1s")
}

// linkOn is a session's link on a web process that isn't at the base URL.
func linkOn(p *candor, s session) string {
	return p.url + s.SessionURL[strings.Index(s.SessionURL, "/f/"):]
}

func TestWebAndWorkerApart(t *testing.T) {
	t.Parallel()
	env := webEnvironment(t)
	hooks := newReceiver(t, nil)
	a := createAccount(t, env, "--webhook-url", hooks.url)
	hooks.setSecret(a.TestWebhookSecret)
	web := serve(t, env, "web")
	api := partner{t, web.url, a.TestKey}
	s := api.createSession("") // its events go to the account's default URL
	openForm(t, linkOn(web, s)).submit()
	if status, _, body := api.do(http.MethodGet, "/sessions/"+s.ID+"/pdf", ""); status != http.StatusAccepted {
		t.Errorf("without a worker the PDF endpoint answered %d %s, want 202", status, body)
	}
	if n := len(hooks.of("")); n > 0 {
		t.Errorf("%d webhooks were sent without a worker", n)
	}
	worker := serve(t, env, "worker")
	hooks.wait("session.pdf_ready", 1)
	hooks.wait("", 10)
	if status, _, _ := api.do(http.MethodGet, "/sessions/"+s.ID+"/pdf", ""); status != http.StatusOK {
		t.Errorf("the PDF endpoint answered %d, want 200", status)
	}
	web.stop()
	worker.stop()
}

// A worker that is told to stop records what its receiver answers.
func TestShutdownFinishesDeliveries(t *testing.T) {
	t.Parallel()
	env := webEnvironment(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	hooks := newReceiver(t, func(_ webhookCall, earlier int) int {
		if earlier == 0 {
			close(arrived)
			<-release
		}
		return http.StatusNoContent
	})
	a := createAccount(t, env, "--webhook-url", hooks.url)
	hooks.setSecret(a.TestWebhookSecret)
	web, worker := serve(t, env, "web"), serve(t, env, "worker")
	openForm(t, linkOn(web, partner{t, web.url, a.TestKey}.createSession("")))
	<-arrived
	worker.signal(syscall.SIGTERM)
	worker.waitFor(regexp.MustCompile(`msg="shutting down"`))
	close(release)
	if state := worker.wait(); state.ExitCode() != 0 {
		t.Errorf("the worker ended with %s", state)
	}
	var state string
	if err := dbtest.Open(t, env["DATABASE_URL"]).Raw().Get(&state, `SELECT state FROM delivery`); err != nil || state != "delivered" {
		t.Errorf("the delivery is %q (%v) after the shutdown, want delivered", state, err)
	}
}

// kill -9 in the middle of a delivery and of a PDF: both happen again, with
// one delivery id and one PDF.
func TestKilledWorkerLosesNothing(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := webEnvironment(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	hooks := newReceiver(t, func(c webhookCall, earlier int) int {
		if c.Event == "session.accessed" && earlier == 0 {
			close(arrived)
			<-release
		}
		return http.StatusNoContent
	})
	t.Cleanup(func() { close(release) })
	a := createAccount(t, env, "--webhook-url", hooks.url)
	hooks.setSecret(a.TestWebhookSecret)
	database := dbtest.Open(t, env["DATABASE_URL"])
	// No PDF can be stored while this lock is held: the worker stops in its middle.
	lock, err := database.Raw().Beginx()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Rollback()
	if _, err := lock.Exec(`LOCK TABLE statement_pdf IN SHARE MODE`); err != nil {
		t.Fatal(err)
	}

	web, doomed := serve(t, env, "web"), serve(t, env, "worker")
	api := partner{t, web.url, a.TestKey}
	s := api.createSession("")
	openForm(t, linkOn(web, s)).submit()
	<-arrived
	eventually(t, "a worker is in the middle of the PDF", func() bool {
		var waiting bool
		err := database.Raw().Get(&waiting, `
			SELECT EXISTS (SELECT 1 FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%INTO statement_pdf%')`)
		if err != nil {
			t.Fatal(err)
		}
		return waiting
	})
	doomed.kill()
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}

	worker := serve(t, env, "worker")
	accessed := hooks.wait("session.accessed", 2)
	if accessed[0].id() != accessed[1].id() || string(accessed[0].body) != string(accessed[1].body) {
		t.Errorf("the delivery happened again as %s, first as %s", accessed[1].id(), accessed[0].id())
	}
	hooks.wait("session.pdf_ready", 1)
	hooks.wait("session.completed", 1)
	hooks.wait("session.section_completed", 7)
	var pdfs, events, pending int
	if err := database.Raw().QueryRow(`
		SELECT (SELECT count(*) FROM statement_pdf), (SELECT count(*) FROM event WHERE type = 'session.pdf_ready'),
		       (SELECT count(*) FROM delivery WHERE state = 'failed')`).Scan(&pdfs, &events, &pending); err != nil {
		t.Fatal(err)
	}
	if pdfs != 1 || events != 1 || pending != 0 {
		t.Errorf("%d PDFs, %d session.pdf_ready, %d failed deliveries; want 1, 1, 0", pdfs, events, pending)
	}
	if status, _, _ := api.do(http.MethodGet, "/sessions/"+s.ID+"/pdf", ""); status != http.StatusOK {
		t.Errorf("the PDF endpoint answered %d, want 200", status)
	}
	worker.stop()
}

func TestProductionIsStrict(t *testing.T) {
	t.Parallel()
	env := production(t, dbtest.DSN(t))
	a := createAccount(t, env)
	web, worker := serve(t, env, "web"), serve(t, env, "worker")
	for _, hook := range []string{
		"http://hooks.example.com/", "http://localhost:9000/", "http://127.0.0.1:9000/", "https://127.0.0.1/", "https://[::1]/",
		"https://10.1.2.3/", "https://192.168.0.10/", "https://169.254.169.254/latest/", "https://[::ffff:10.0.0.1]/", "https://localhost/",
	} {
		status, _, body := partner{t, web.url, a.TestKey}.do(http.MethodPost, "/sessions",
			`{"form_type":"financial_statement","customer_email":"private@example.com","webhook_url":"`+hook+`"}`)
		if status != http.StatusUnprocessableEntity || !strings.Contains(string(body), `"webhook_url"`) {
			t.Errorf("webhook_url %s: %d %s, want 422", hook, status, body)
		}
	}
	s := partner{t, web.url, a.TestKey}.createSession("https://hooks.example.com/candor")
	if !strings.HasPrefix(s.SessionURL, "https://forms.example.com/f/"+s.ID+"/") {
		t.Errorf("session_url = %s", s.SessionURL)
	}
	if response := (&customer{t: t, client: http.DefaultClient}).send(http.MethodGet, web.url+"/readyz", "", nil); response.StatusCode != http.StatusOK {
		t.Errorf("readyz answered %d", response.StatusCode)
	}
	web.stop()
	worker.stop()
	logs := web.stdout.String()
	for _, want := range []string{`"route":"/v1/sessions"`, `"status":201`, `"account_id":"` + a.AccountID, `"request_id":"req_`, `"secret_keys":"k2,k1"`} {
		if !strings.Contains(logs, want) {
			t.Errorf("the log does not have %s", want)
		}
	}
	token := s.SessionURL[strings.LastIndex(s.SessionURL, "/")+1:]
	for _, secret := range []string{"private@example.com", "zoe.obrien", a.TestKey, token, "AAAAAAAA"} {
		if strings.Contains(logs+worker.stdout.String()+web.stderr.String(), secret) {
			t.Errorf("the log has %s", secret)
		}
	}
	if strings.Contains(web.stdout.String(), "Test API key") {
		t.Error("production prints a welcome")
	}
}
