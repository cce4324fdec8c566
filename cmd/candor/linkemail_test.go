package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/client"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/process"
	"candor/internal/testkit/smtptest"
)

// A cut is a mail server that stands still at a moment of an email.
type cut struct {
	mu    sync.Mutex // held while it stands still
	at    string     // the command at which it does; "" for none
	after int        // as many of them pass first
	held  chan chan struct{}
}

// pass stands still if this is the moment, and so do all others.
func (c *cut) pass(command string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == "" || !strings.HasPrefix(command, c.at) {
		return
	}
	if c.after--; c.after < 0 {
		c.at = ""
		release := make(chan struct{})
		c.held <- release
		<-release
	}
}

// arm sets the next moment.
func (c *cut) arm(at string, after int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.after = at, after
}

// wait waits until the mail server stands still; it continues once the channel is closed.
func (c *cut) wait(t *testing.T) chan struct{} {
	t.Helper()
	select {
	case release := <-c.held:
		return release
	case <-time.After(testkit.Patience):
		t.Fatal("the moment of an email never comes")
		return nil
	}
}

// emailed counts the emails of each session, and holds their Message-IDs to be different.
func emailed(t *testing.T, server *smtptest.Server) map[string]int {
	t.Helper()
	ids, sessions := map[string]bool{}, map[string]int{}
	for _, email := range server.Emails() {
		_, rest, _ := strings.Cut(email.Text, "Message-ID: ")
		id, _, _ := strings.Cut(rest, "\r\n")
		if id == "" || ids[id] {
			t.Errorf("the email %s came twice", id)
		}
		ids[id] = true
		sessions[regexp.MustCompile(`sess_[0-9a-z]{26}`).FindString(email.Text)]++
	}
	return sessions
}

// createEmailed creates sessions whose link is emailed, with reminders.
func createEmailed(t *testing.T, api process.Partner, to string, n int) (ids []string) {
	t.Helper()
	body := fmt.Sprintf(`{"form_type": "financial_statement", "customer_email": %q, "deliver": {"by": "email", "remind": true}}`, to)
	for range n {
		var s client.Session
		status, _, answer := api.Do(http.MethodPost, "/sessions", body)
		if err := json.Unmarshal(answer, &s); err != nil || status != http.StatusCreated {
			t.Fatalf("a session: %d %s", status, answer)
		}
		ids = append(ids, s.ID)
	}
	return ids
}

// remind has the next reminder of each session sent now.
func remind(t *testing.T, api process.Partner, ids []string) {
	t.Helper()
	for _, id := range ids {
		status, _, answer := api.Do(http.MethodPost, "/test/sessions/"+id+"/advance", `{"to": "reminder"}`)
		if status != http.StatusOK {
			t.Fatalf("a reminder of %s: %d %s", id, status, answer)
		}
	}
}

// TestDrillLinksAreEmailedOnce: half of 200 sessions get the link and half the first reminder
// while both workers are killed again and again, in turn before the mail server has an
// email's text and after. None comes twice. One whose worker died before comes; one whose
// worker died after is known to be unknown, and its reminder follows (D105). The mail server
// is go-smtp, with STARTTLS and a password.
func TestDrillLinksAreEmailedOnce(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	const half, kills, between, underway = 100, 6, 16, 2 * 4 // emails that two workers send at a time
	moments := &cut{held: make(chan chan struct{})}
	certificate, authority := loopbackCertificate(t)
	sender := smtptest.Account{User: "candor", Password: "hidden @/password"}
	server := smtptest.NewReal(t, certificate, sender, moments.pass)
	smtp := url.URL{Scheme: "smtp", User: url.UserPassword(sender.User, sender.Password), Host: server.Address}
	env := process.WebEnvironment(t).With("CANDOR_SMTP_URL", smtp.String(), "SSL_CERT_FILE", authority, "CANDOR_MAIL_FROM",
		"no-reply@candor.example", "CANDOR_RATE_BURST", "10000")
	account := process.CreateAccount(t, env)
	api := process.NewPartner(t, process.Serve(t, env, "web").URL, account.TestKey)
	database := dbtest.Open(t, env["DATABASE_URL"])
	rows := func(condition string) (ids []domain.SessionID) {
		t.Helper()
		if err := database.Raw().Select(&ids, `SELECT session_id FROM link_email WHERE `+condition); err != nil {
			t.Fatal(err)
		}
		return ids
	}
	// No job is left either: one that has just sent an email would stand for the next one's.
	settled := func(want int) {
		t.Helper()
		testkit.Await(t, "every email has come to an end", func() bool {
			var jobs int
			err := database.Raw().Get(&jobs, `SELECT count(*) FROM river_job WHERE kind = 'session_email' AND finalized_at IS NULL`)
			if err != nil {
				t.Fatal(err)
			}
			return jobs == 0 && len(rows(`ended_at IS NOT NULL`)) == want
		})
	}
	var workers []*process.Candor
	start := func() { workers = []*process.Candor{process.Serve(t, env, "worker"), process.Serve(t, env, "worker")} }

	start()
	reminded := createEmailed(t, api, account.Email, half)
	settled(half)
	for _, w := range workers {
		w.Stop()
	}
	remind(t, api, reminded)
	createEmailed(t, api, account.Email, half)
	begun := time.Now()
	for n := range kills {
		moments.arm([]string{"RCPT TO:", "."}[n%2], between)
		start()
		release := moments.wait(t)
		for _, w := range workers {
			w.Kill()
		}
		close(release)
	}
	start()
	settled(3 * half)
	unknown := rows(`state = 'unknown'`)
	t.Logf("%d emails, %d kills of two workers in %s: %d sent, %d unknown, %d arrived, none twice", 2*half, kills,
		time.Since(begun).Round(time.Millisecond), len(rows(`state = 'sent'`))-half, len(unknown), len(server.Emails())-half)
	if n := len(unknown); n < kills/2 || n > kills*underway {
		t.Errorf("%d emails are unknown, of %d kills", n, kills)
	}
	arrived, sent, known := emailed(t, server), map[string]int{}, map[string]int{}
	for _, id := range rows(`state = 'sent'`) {
		sent[id.String()]++
	}
	for _, id := range rows(`state IN ('sent', 'unknown')`) {
		known[id.String()]++
	}
	for id, n := range known {
		if arrived[id] < sent[id] || arrived[id] > n {
			t.Errorf("%s got %d emails; %d are sent, and %d more perhaps", id, arrived[id], sent[id], n-sent[id])
		}
	}
	var ids []string
	for _, id := range unknown {
		ids = append(ids, id.String())
	}
	remind(t, api, ids)
	settled(3*half + len(ids))
	for id, n := range emailed(t, server) {
		if slices.Contains(ids, id) && n <= arrived[id] {
			t.Errorf("no reminder follows the unknown email of %s", id)
		}
	}
	for _, w := range workers {
		w.Stop()
	}
}
