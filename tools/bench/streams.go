package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"candor/internal/service/live"
	"candor/internal/testkit/proc"
	"candor/tools/harness"
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
	before, err := proc.Memory(e.Server.Process.Pid, "VmRSS")
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
		cookie, err := e.signIn(ctx, account.Email)
		if err != nil {
			return err
		}
		for range live.StreamsPerAccount {
			p.ready.Add(1)
			go p.follow(ctx, cookie)
		}
	}
	p.ready.Wait()
	after, err := proc.Memory(e.Server.Process.Pid, "VmRSS")
	if err != nil {
		return err
	}
	began := e.cpu()
	harness.Pause(ctx, 2*live.Beat)
	used := e.cpu().since(began).sum()
	b.add(row{
		what:   fmt.Sprintf("%d open pages: memory and CPU while nothing changes", all),
		figure: fmt.Sprintf("%.0f kB each, %.1f %% of a core", float64(after-before)/1024/all, 100*float64(used)/float64(2*live.Beat)),
		target: "< 100 kB each", met: after-before < all*100<<10,
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
			made.Go(func() {
				// The pages show whether it worked.
				_ = exchange(ctx, "http://"+p.e.Addr+"/v1/sessions", key, json.RawMessage(newSession), &session{})
			})
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
		harness.Pause(ctx, 1500*time.Millisecond) // a page's pause between two changes
	}
	slices.Sort(times)
	b.add(row{
		what:   fmt.Sprintf("POST /v1/sessions to the message at %s %d pages", what, want),
		figure: fmt.Sprintf("p50 %.0f ms, p99 %.0f ms", ms(quantile(times, 0.5)), ms(quantile(times, 0.99))),
		target: "p99 < 1 s", met: quantile(times, 0.99) < time.Second,
	})
	return nil
}

// follow keeps a page's stream open.
func (p *openPages) follow(ctx context.Context, cookie string) {
	ready := sync.OnceFunc(p.ready.Done)
	defer ready()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.e.Addr+"/dashboard/test/live?on=session", http.NoBody)
	if err != nil {
		return
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Cookie", cookie)
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
