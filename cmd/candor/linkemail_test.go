package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/process"
	"candor/internal/testkit/smtptest"
)

// TestLinksAreEmailedOnce: workers are killed while they send 200 emails. None comes twice.
// One whose worker died before the mail server got its text comes; one whose worker died
// after that is known to be unknown (D105).
func TestLinksAreEmailedOnce(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	const many = 200
	var mu sync.Mutex
	var taken int
	held, release := make(chan string, many), make(chan struct{})
	once := map[string]bool{}
	hold := func(what string) {
		mu.Lock()
		first := !once[what]
		once[what] = true
		mu.Unlock()
		if first {
			held <- what
			<-release
		}
	}
	server := smtptest.New(t, func(command string) string {
		switch {
		case strings.HasPrefix(command, "RCPT TO:<c0@"):
			hold("address")
		case command == ".":
			mu.Lock()
			taken++
			n := taken
			mu.Unlock()
			if n == 20 {
				hold("text")
			}
		}
		return ""
	})
	env := process.WebEnvironment(t).With("CANDOR_SMTP_URL", "smtp://"+server.Address, "CANDOR_MAIL_FROM", "no-reply@candor.example",
		"CANDOR_RATE_BURST", "10000")
	account := process.CreateAccount(t, env)
	web := process.Serve(t, env, "web")
	api := process.NewPartner(t, web.URL, account.LiveKey)
	for i := range many {
		body := fmt.Sprintf(
			`{"form_type": "financial_statement", "customer_email": "c%d@customer.example", "deliver": {"by": "email"}}`, i)
		if status, _, answer := api.Do(http.MethodPost, "/sessions", body); status != http.StatusCreated {
			t.Fatalf("session %d: %d %s", i, status, answer)
		}
	}
	doomed := process.Serve(t, env, "worker")
	for range 2 {
		t.Logf("a worker is killed while the mail server gets the %s of an email", <-held)
	}
	doomed.Kill()
	close(release)
	worker := process.Serve(t, env, "worker")
	database := dbtest.Open(t, env["DATABASE_URL"])
	count := func(state string) (n int) {
		if err := database.Raw().Get(&n, `SELECT count(*) FROM link_email WHERE state = $1`, state); err != nil {
			t.Fatal(err)
		}
		return n
	}
	process.Eventually(t, "every email has come to an end", func() bool { return count("queued")+count("sending") == 0 })
	worker.Stop()
	got := map[string]int{}
	for _, email := range server.Emails() {
		got[email.To]++
	}
	for to, n := range got {
		if n != 1 {
			t.Errorf("%s got %d emails", to, n)
		}
	}
	sent, unknown := count("sent"), count("unknown")
	t.Logf("%d sent, %d unknown, %d arrived", sent, unknown, len(got))
	if sent+unknown != many || unknown < 1 || unknown > 4 || len(got) < sent || got["c0@customer.example"] != 1 {
		t.Errorf("of %d emails %d are sent, %d unknown, and %d arrived", many, sent, unknown, len(got))
	}
}
