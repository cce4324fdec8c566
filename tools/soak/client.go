package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"candor/internal/testkit/client"
	"candor/tools/harness"
)

const (
	requestTimeout = 8 * time.Second
	patience       = 3 * time.Minute // for one thing to be acknowledged
)

// browser keeps cookies, follows no redirects, and sends each request to one of the
// web processes, as a load balancer does that doesn't look.
type browser struct {
	*client.Client
	addrs  []string
	ledger *ledger
	acks   *acks
}

// acks has when requests that change something were acknowledged.
type acks struct {
	mu    sync.Mutex
	times []time.Time
}

func (a *acks) note() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times = append(a.times, time.Now())
}

func (p *people) newBrowser() *browser {
	c := client.New("")
	c.HTTP.Transport, c.HTTP.Timeout = p.transport, requestTimeout
	return &browser{c, p.env.webAddrs, p.ledger, p.acks}
}

// send sends a request and counts its answer under the kind.
func (b *browser) send(ctx context.Context, kind, method, path string, body []byte, header map[string]string) (client.Answer,
	error) {
	a, err := b.Send(ctx, method, "http://"+b.addrs[rand.IntN(len(b.addrs))]+path, bytes.NewReader(body), header)
	if ctx.Err() != nil {
		return a, ctx.Err()
	}
	b.ledger.answered(kind, outcome(a, err))
	if err == nil && method == http.MethodPost && a.Status < http.StatusBadRequest {
		b.acks.note()
	}
	return a, err
}

// outcome names an answer for the report.
func outcome(a client.Answer, err error) string {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case err != nil:
		return "connection lost"
	case a.Code() != "":
		return fmt.Sprintf("%d %s", a.Status, a.Code())
	}
	return fmt.Sprint(a.Status)
}

func (b *browser) get(ctx context.Context, kind, path string) (client.Answer, error) {
	return b.send(ctx, kind, http.MethodGet, path, nil, nil)
}

func (b *browser) post(ctx context.Context, kind, path string, values url.Values) (client.Answer, error) {
	return b.send(ctx, kind, http.MethodPost, path, []byte(values.Encode()), client.FormHeader)
}

// persist repeats until done returns true, or the patience or ctx ends.
func persist(ctx context.Context, l *ledger, what string, done func() bool) bool {
	deadline := time.Now().Add(patience)
	for wait := 50 * time.Millisecond; !done(); wait = min(2*wait, time.Second) {
		if ctx.Err() != nil {
			return false
		}
		if time.Now().After(deadline) {
			l.violate("requests that were never answered well, within "+patience.String(), what)
			return false
		}
		harness.Pause(ctx, wait/2+rand.N(wait))
	}
	return true
}

// partner is an account's server in one mode.
type partner struct {
	*browser
	index   int
	account client.Account
	company string // the account's name
	live    bool
	hooks   []string // addresses of the receivers

	mu     sync.Mutex
	events map[int64]feedEvent // by sequence, as the feed listed them
	after  int64
}

// feedEvent is what the feed of events has.
type feedEvent struct {
	ID       string    `json:"id"`
	Event    string    `json:"event"`
	Sequence int64     `json:"sequence"`
	Session  string    `json:"session_id"`
	PDF      string    `json:"pdf_sha256"`
	Delivery *delivery `json:"delivery"`
}

type delivery struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

func (p *partner) key() string {
	if p.live {
		return p.account.LiveKey
	}
	return p.account.TestKey
}

func (p *partner) secret() string {
	if p.live {
		return p.account.LiveWebhookSecret
	}
	return p.account.TestWebhookSecret
}

// signIn signs the account's owner in.
func (p *partner) signIn(ctx context.Context, staff *browser) (client.Answer, error) {
	return staff.post(ctx, "sign in", "/dashboard/sign-in", url.Values{"email": {p.account.Email}, "password": {p.account.Password}})
}

func (p *partner) mode() string {
	if p.live {
		return "live"
	}
	return "test"
}

// call calls the API. The idempotency key may be "".
func (p *partner) call(ctx context.Context, method, path, idempotency string, body any) (client.Answer, error) {
	header := map[string]string{"Authorization": "Bearer " + p.key()}
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return client.Answer{}, err
		}
		header["Content-Type"] = "application/json"
	}
	if idempotency != "" {
		header["Idempotency-Key"] = idempotency
	}
	return p.send(ctx, method+" "+template(path), method, "/v1"+path, text, header)
}

// template is a path with its ids replaced.
func template(path string) string {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.Contains(part, "_") {
			parts[i] = "{id}"
		}
	}
	return "/v1" + strings.Join(parts, "/")
}

// follow reads the feed of events until ctx ends. Numbers have no gap, and nothing
// appears below what was listed before.
func (p *partner) follow(ctx context.Context) {
	for ctx.Err() == nil {
		if !p.list(ctx, 5) {
			harness.Pause(ctx, 200*time.Millisecond)
		}
	}
}

// list reads one page of the feed. It returns false if there was nothing more.
func (p *partner) list(ctx context.Context, wait int) bool {
	a, err := p.call(ctx, http.MethodGet, fmt.Sprintf("/events?limit=100&wait=%d&after=%d", wait, p.after), "", nil)
	var page struct {
		Data []feedEvent `json:"data"`
		Next int64       `json:"next_after"`
	}
	if err != nil || a.Status != http.StatusOK || json.Unmarshal(a.Body, &page) != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range page.Data {
		if e.Sequence != p.after+1 {
			p.ledger.violate("gaps in the feed of events", fmt.Sprintf("%s %d after %d", p.mode(), e.Sequence, p.after))
		}
		p.after = e.Sequence
		p.events[e.Sequence] = e
	}
	return len(page.Data) > 0
}
