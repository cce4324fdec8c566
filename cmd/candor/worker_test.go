package main_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"candor/db"
	"candor/internal/testkit"
	"candor/internal/testkit/client"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/process"
)

func TestWebAndWorkerApart(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.WebEnvironment(t)
	a, hooks := process.CreateAccountWithReceiver(t, env, nil)
	web := process.Serve(t, env, "web")
	api := process.NewPartner(t, web.URL, a.TestKey)
	s := api.CreateSession("") // its events go to the account's default URL
	process.OpenForm(t, process.LinkOn(web, s)).Submit()
	if status, _, body := api.Do(http.MethodGet, "/sessions/"+s.ID+"/pdf", ""); status != http.StatusAccepted {
		t.Errorf("without a worker the PDF endpoint returned %d %s, want 202", status, body)
	}
	if n := len(hooks.Requests()); n > 0 {
		t.Errorf("%d webhooks were sent without a worker", n)
	}
	worker := process.Serve(t, env, "worker")
	hooks.Wait("session.pdf_ready", 1)
	hooks.Wait("", 10)
	if status, _, _ := api.Do(http.MethodGet, "/sessions/"+s.ID+"/pdf", ""); status != http.StatusOK {
		t.Errorf("the PDF endpoint returned %d, want 200", status)
	}
	web.Stop()
	worker.Stop()
}

// A worker records a response that arrives during its shutdown.
func TestShutdownFinishesDeliveries(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.WebEnvironment(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	a, _ := process.CreateAccountWithReceiver(t, env, func(n int, _ http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			close(arrived)
			<-release
		}
	})
	web, worker := process.Serve(t, env, "web"), process.Serve(t, env, "worker")
	process.OpenForm(t, process.LinkOn(web, process.NewPartner(t, web.URL, a.TestKey).CreateSession("")))
	<-arrived
	worker.Signal(syscall.SIGTERM)
	worker.WaitFor(regexp.MustCompile(`msg="shutting down"`))
	close(release)
	if state := worker.Wait(); state.ExitCode() != 0 {
		t.Errorf("the worker ended with %s", state)
	}
	var state string
	if err := dbtest.Open(t, env["DATABASE_URL"]).Raw().Get(&state, `SELECT state FROM delivery`); err != nil ||
		state != "delivered" {
		t.Errorf("the delivery is %q (%v) after the shutdown, want delivered", state, err)
	}
}

// kill -9 during a delivery and a PDF: both are done again, with one delivery
// id and one PDF.
func TestDrillKilledWorkerLosesNothing(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.WebEnvironment(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	arrive := sync.OnceFunc(func() { close(arrived); <-release })
	a, hooks := process.CreateAccountWithReceiver(t, env, func(_ int, _ http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(`"session.accessed"`)) {
			arrive()
		}
	})
	t.Cleanup(func() { close(release) })
	database := dbtest.Open(t, env["DATABASE_URL"])
	web, doomed := process.Serve(t, env, "web"), process.Serve(t, env, "worker")
	api := process.NewPartner(t, web.URL, a.TestKey)
	s := api.CreateSession("")
	unlock := midPDF(t, database, web, s)
	<-arrived
	doomed.Kill()
	unlock()

	worker := process.Serve(t, env, "worker")
	accessed := hooks.Wait("session.accessed", 2)
	if accessed[0].DeliveryID() != accessed[1].DeliveryID() || string(accessed[0].Body) != string(accessed[1].Body) {
		t.Errorf("the delivery happened again as %s, first as %s", accessed[1].DeliveryID(), accessed[0].DeliveryID())
	}
	hooks.Wait("session.pdf_ready", 1)
	hooks.Wait("session.completed", 1)
	hooks.Wait("session.section_completed", 7)
	var pdfs, events, pending int
	if err := database.Raw().QueryRow(`
		SELECT (SELECT count(*) FROM statement_pdf), (SELECT count(*) FROM event WHERE type = 'session.pdf_ready'),
		       (SELECT count(*) FROM delivery WHERE state = 'failed')`).Scan(&pdfs, &events, &pending); err != nil {
		t.Fatal(err)
	}
	if pdfs != 1 || events != 1 || pending != 0 {
		t.Errorf("%d PDFs, %d session.pdf_ready, %d failed deliveries; want 1, 1, 0", pdfs, events, pending)
	}
	if status, _, _ := api.Do(http.MethodGet, "/sessions/"+s.ID+"/pdf", ""); status != http.StatusOK {
		t.Errorf("the PDF endpoint returned %d, want 200", status)
	}
	worker.Stop()
}

func TestProductionIsStrict(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.ProductionEnvironment(t, dbtest.DSN(t))
	a := process.CreateAccount(t, env)
	web, worker := process.Serve(t, env, "web"), process.Serve(t, env, "worker")
	for _, hook := range []string{
		"http://hooks.example.com/", "http://localhost:9000/", "http://127.0.0.1:9000/", "https://127.0.0.1/", "https://[::1]/",
		"https://10.1.2.3/", "https://192.168.0.10/", "https://169.254.169.254/latest/", "https://[::ffff:10.0.0.1]/",
		"https://localhost/",
	} {
		status, _, body := process.NewPartner(t, web.URL, a.TestKey).Do(http.MethodPost, "/sessions",
			`{"form_type":"financial_statement","customer_email":"private@example.com","webhook_url":"`+hook+`"}`)
		if status != http.StatusUnprocessableEntity || !strings.Contains(string(body), `"webhook_url"`) {
			t.Errorf("webhook_url %s: %d %s, want 422", hook, status, body)
		}
	}
	s := process.NewPartner(t, web.URL, a.TestKey).CreateSession("https://hooks.example.com/candor")
	if !strings.HasPrefix(s.SessionURL, "https://forms.example.com/f/"+s.ID+"/") {
		t.Errorf("session_url = %s", s.SessionURL)
	}
	fetch(t, web.URL+"/readyz", http.StatusOK)
	web.Stop()
	worker.Stop()
	logs := web.Stdout.String()
	for _, want := range []string{`"route":"/v1/sessions"`, `"status":201`, `"account_id":"` + a.AccountID, `"request_id":"req_`,
		`"secret_keys":"k2,k1"`} {
		if !strings.Contains(logs, want) {
			t.Errorf("the log does not have %s", want)
		}
	}
	token := s.SessionURL[strings.LastIndex(s.SessionURL, "/")+1:]
	for _, secret := range []string{"private@example.com", "zoe.obrien", a.TestKey, token, "AAAAAAAA"} {
		if strings.Contains(logs+worker.Stdout.String()+web.Stderr.String(), secret) {
			t.Errorf("the log has %s", secret)
		}
	}
	if strings.Contains(web.Stdout.String(), "Test API key") {
		t.Error("production prints a welcome")
	}
}

// takenUpWithin is how soon another worker takes up the jobs of one that has died.
const takenUpWithin = 15 * time.Second

// A job of a killed worker doesn't wait for CANDOR_RESCUE_AFTER. One of a worker that
// takes longer than that to show nothing, but lives, is left to it.
func TestDrillJobsOfADeadWorkerAreTakenUp(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.WebEnvironment(t).With("CANDOR_RESCUE_AFTER", "2m")
	a, hooks := process.CreateAccountWithReceiver(t, env, nil)
	web, doomed := process.Serve(t, env, "web"), process.Serve(t, env, "worker")
	database := dbtest.Open(t, env["DATABASE_URL"])
	unlock := midPDF(t, database, web, process.NewPartner(t, web.URL, a.TestKey).CreateSession(""))
	worker := process.Serve(t, env, "worker")
	attempts := func() (n int) {
		if err := database.Raw().Get(&n, `SELECT attempt FROM river_job WHERE kind = 'statement_pdf'`); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var since time.Time
	testkit.Await(t, "the second worker could say who is dead, and asks", func() bool {
		err := database.Raw().Get(&since, `SELECT max(since) FROM worker`)
		return err == nil && time.Since(since) > 12*time.Second
	})
	if n := attempts(); n != 1 {
		t.Fatalf("a job of a living worker was tried %d times", n)
	}
	doomed.Kill()
	killed := time.Now()
	testkit.Await(t, "the job is taken up", func() bool { return attempts() == 2 })
	if took := time.Since(killed); took > takenUpWithin {
		t.Errorf("the job was taken up %s after its worker was killed, want at most %s", took, takenUpWithin)
	} else {
		t.Logf("the job was taken up %s after its worker was killed", took.Round(time.Millisecond))
	}
	unlock()
	hooks.Wait("session.pdf_ready", 1)
	if n := attempts(); n != 2 {
		t.Errorf("the job was tried %d times, want 2", n)
	}
	worker.Stop()
	var workers int
	if err := database.Raw().Get(&workers, `SELECT count(*) FROM worker`); err != nil || workers != 0 {
		t.Errorf("%d workers are left after the last has stopped, %v", workers, err)
	}
}

// midPDF submits a session and returns when a worker is in the middle of its PDF, which
// can't be stored before unlock.
func midPDF(t *testing.T, database *db.DB, web *process.Candor, s client.Session) (unlock func()) {
	t.Helper()
	lock, err := database.Raw().Beginx()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Rollback() })
	if _, err := lock.Exec(`LOCK TABLE statement_pdf IN SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	process.OpenForm(t, process.LinkOn(web, s)).Submit()
	testkit.Await(t, "a worker is in the middle of the PDF", func() bool {
		var waiting bool
		err := database.Raw().Get(&waiting, `
			SELECT EXISTS (SELECT 1 FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%INTO statement_pdf%')`)
		if err != nil {
			t.Fatal(err)
		}
		return waiting
	})
	return func() {
		if err := lock.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
}
