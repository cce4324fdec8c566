package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/live"
)

const (
	streamAccounts = 10 // with live.StreamsPerAccount pages each
	streamTurns    = 10
)

// openPages are the dashboard's pages that are open.
type openPages struct {
	e       *environment
	client  *http.Client
	ready   sync.WaitGroup
	changed chan time.Time // when a page heard of a change
}

// streams measures what 1,000 open pages of the dashboard cost: their memory, the
// processor time while nothing happens, and how long a change takes to each.
func (b *bench) streams(ctx context.Context, e *environment) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const all = streamAccounts * live.StreamsPerAccount
	p := &openPages{e: e, client: &http.Client{Transport: &http.Transport{MaxConnsPerHost: 0}},
		changed: make(chan time.Time, 10*all)}
	keys := []string{}
	before, err := e.resident()
	if err != nil {
		return err
	}
	for i := range streamAccounts {
		name := fmt.Sprintf("streams%d", i)
		account, err := e.CreateAccount(ctx, name, name+"@example.com")
		if err != nil {
			return err
		}
		keys = append(keys, account.TestKey)
		token, err := e.signedIn(ctx, account.Email)
		if err != nil {
			return err
		}
		for range live.StreamsPerAccount {
			p.ready.Add(1)
			go p.follow(ctx, token)
		}
	}
	p.ready.Wait()
	after, err := e.resident()
	if err != nil {
		return err
	}
	began, err := e.cpuTime()
	if err != nil {
		return err
	}
	select {
	case <-time.After(2 * live.Beat):
	case <-ctx.Done():
		return ctx.Err()
	}
	ended, err := e.cpuTime()
	if err != nil {
		return err
	}
	b.add(row{
		what: fmt.Sprintf("%d open pages: memory and CPU while nothing changes", all),
		figure: fmt.Sprintf("%.0f kB each, %.1f %% of a core", float64(after-before)/all,
			100*float64(ended-began)/float64(2*live.Beat)),
		yardstick: "–", ratio: "–", target: "< 100 kB each", met: after-before < 100*all,
	})
	for _, of := range []struct {
		what string
		keys []string
	}{{"one account's", keys[:1]}, {"all accounts'", keys}} {
		if err := b.changes(ctx, p, of.what, of.keys); err != nil {
			return err
		}
	}
	return nil
}

// changes creates a session in each account, in turns, and measures when the pages hear.
func (b *bench) changes(ctx context.Context, p *openPages, what string, keys []string) error {
	want := len(keys) * live.StreamsPerAccount
	var times []time.Duration
	for range streamTurns {
		for len(p.changed) > 0 {
			<-p.changed
		}
		began := time.Now()
		var made sync.WaitGroup
		for _, key := range keys {
			made.Go(func() { p.create(ctx, key) })
		}
		made.Wait()
		patience := time.After(10 * time.Second)
		for range want {
			select {
			case at := <-p.changed:
				times = append(times, at.Sub(began))
			case <-patience:
				return fmt.Errorf("streams: a change of %s pages has not come", what)
			}
		}
		select {
		case <-time.After(1500 * time.Millisecond): // a page's pause between two changes
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	slices.Sort(times)
	b.add(row{
		what:   fmt.Sprintf("POST /v1/sessions to the message at %s %d pages", what, want),
		figure: fmt.Sprintf("p50 %.0f ms, p99 %.0f ms", ms(quantile(times, 0.5)), ms(quantile(times, 0.99))), yardstick: "–",
		ratio:  "–",
		target: "p99 < 1 s", met: quantile(times, 0.99) < time.Second,
	})
	return nil
}

func (p *openPages) create(ctx context.Context, key string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.e.Addr+"/v1/sessions",
		strings.NewReader(`{"form_type":"financial_statement","customer_email":"jessica@example.com"}`))
	if err != nil {
		return
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	if response, err := p.client.Do(r); err == nil {
		_ = response.Body.Close() // the pages show whether it worked
	}
}

// follow keeps a page's stream open.
func (p *openPages) follow(ctx context.Context, token string) {
	ready := sync.OnceFunc(p.ready.Done)
	defer ready()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.e.Addr+"/dashboard/test/live?on=session", http.NoBody)
	if err != nil {
		return
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Cookie", "candor_staff="+token)
	response, err := p.client.Do(r)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		switch lines.Text() {
		case "event: beat":
			ready()
		case "event: session":
			p.changed <- time.Now()
		}
	}
}

// signedIn signs the account's owner in and returns the token. It bypasses the limit of
// sign-ins.
func (e *environment) signedIn(ctx context.Context, email string) (token string, err error) {
	token, hash := domain.NewToken()
	now := time.Now().UTC()
	session := &domain.StaffSession{
		SessionID: domain.NewStaffSessionID(), Stage: domain.SignInFull, StartedAt: now, SeenAt: now, ConfirmedAt: now,
		ExpiresAt: now.Add(domain.StaffLifetime), Address: "127.0.0.1",
	}
	if err := e.DB.Raw().GetContext(ctx, &session.ID, `SELECT id FROM staff_user WHERE email = $1`, email); err != nil {
		return "", err
	}
	return token, e.DB.InTx(ctx, func(tx *db.Tx) error { return tx.InsertStaffSession(ctx, session, hash) })
}

// resident is the memory that candor has now, in kB.
func (e *environment) resident() (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", e.Server.Process.Pid))
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`VmRSS:\s+([0-9]+) kB`).FindSubmatch(status)
	if found == nil {
		return 0, fmt.Errorf("no VmRSS in the process's status")
	}
	return strconv.Atoi(string(found[1]))
}
