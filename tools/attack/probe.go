package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"candor/internal/testkit/client"
	"candor/tools/harness"
)

const (
	// victimNetwork is the network of the account that isn't attacked.
	victimNetwork = "203.0.113.9"
	victimPause   = 100 * time.Millisecond
	readyPause    = 500 * time.Millisecond
	// patience is how long a load balancer waits for /readyz.
	patience = 2 * time.Second
)

// probe is what another account and a load balancer saw during an attack.
type probe struct {
	times    []time.Duration // of sessions that were created
	failed   int             // calls that created none
	notReady int             // of checks
	checks   int
}

// median of the times to create a session.
func (p *probe) median() time.Duration { return percentile(p.times, 50) }

// watch creates sessions as the victim and checks readiness until ctx ends.
func (a *attack) watch(ctx context.Context) *probe {
	var p probe
	var work sync.WaitGroup
	work.Go(func() { a.callAPI(ctx, &p) })
	work.Go(func() { a.checkReady(ctx, &p) })
	work.Wait()
	return &p
}

func (a *attack) callAPI(ctx context.Context, p *probe) {
	request := client.Request("POST", a.Addr, "/v1/sessions",
		newSession, "Authorization: Bearer "+a.victim.TestKey, "X-Forwarded-For: "+victimNetwork)
	var c *client.Conn
	defer func() { c.Close() }()
	for ctx.Err() == nil {
		began := time.Now()
		status, err := a.send(context.WithoutCancel(ctx), &c, request)
		switch {
		case err == nil && status == http.StatusCreated:
			p.times = append(p.times, time.Since(began))
		case ctx.Err() == nil:
			p.failed++
		}
		harness.Pause(ctx, victimPause)
	}
}

// checkReady checks readiness over a new connection each time, like a load
// balancer.
func (a *attack) checkReady(ctx context.Context, p *probe) {
	request := client.Request("GET", a.Addr, "/readyz", "", "Connection: close")
	for ctx.Err() == nil {
		var c *client.Conn
		waits, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		status, err := a.send(waits, &c, request)
		cancel()
		c.Close()
		p.checks++
		if err != nil || status != http.StatusOK {
			p.notReady++
		}
		harness.Pause(ctx, readyPause)
	}
}

// send sends a request over a kept connection. It opens one if there is none, and
// drops it after an error, such as the end of ctx.
func (a *attack) send(ctx context.Context, c **client.Conn, request []byte) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if *c == nil {
		if *c, err = client.Dial(ctx, a.Addr); err != nil {
			*c = nil
			return 0, err
		}
	}
	until, _ := ctx.Deadline()
	if err = (*c).Conn.SetDeadline(until); err == nil {
		status, err = (*c).Do(request)
	}
	if err != nil {
		(*c).Close()
		*c = nil
	}
	return status, err
}

// idleSpan is how long the victim works without an attack before each flood.
// The machine's speed changes within minutes, so each flood has its own figure.
const idleSpan = 4 * time.Second

// measureIdle measures the victim's calls without an attack.
func (a *attack) measureIdle(ctx context.Context) {
	quiet, cancel := context.WithTimeout(ctx, idleSpan)
	defer cancel()
	a.idle = a.watch(quiet).median()
}

// unharmed is the target for another account's calls.
const unharmed = "median within 3 × idle, none fails, always ready"

// judge describes what the victim saw and whether it meets the target.
func (a *attack) judge(p *probe) (string, bool) {
	median := p.median()
	text := fmt.Sprintf("median %s, idle %s (%.1f ×)", round(median), round(a.idle), float64(median)/float64(a.idle))
	if p.failed > 0 {
		text += fmt.Sprintf(", %d of %d calls failed", p.failed, p.failed+len(p.times))
	}
	if p.notReady > 0 {
		text += fmt.Sprintf(", not ready %d of %d times", p.notReady, p.checks)
	}
	return text, median <= 3*a.idle && p.failed == 0 && p.notReady == 0
}

func round(d time.Duration) time.Duration {
	if d < 100*time.Millisecond {
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
