package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"candor/internal/testkit/client"
)

// webhookLatency measures from the request that opens a session to the webhook's
// arrival at a receiver on loopback. The time includes drawing the page, so the
// figure is too high rather than too low. It is 0 if the webhook is first.
func (b *bench) webhookLatency(ctx context.Context, e *environment) error {
	arrived := make(chan time.Time, 16)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	receiver := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- time.Now()
	})}
	go func() { _ = receiver.Serve(listener) }() // ends with Close
	defer func() { _ = receiver.Close() }()
	body := fmt.Sprintf(`{"form_type":"financial_statement","customer_email":"jessica@example.com","webhook_url":"http://%s/hook"}`,
		listener.Addr())
	var times []time.Duration
	for range 200 {
		took, err := e.timeToWebhook(ctx, body, arrived)
		if err != nil {
			return err
		}
		times = append(times, took)
	}
	slices.Sort(times)
	p99 := quantile(times, 0.99)
	b.add(row{
		what: "Customer's request to webhook at the receiver, idle, p99 (p50)", figure: fmt.Sprintf("%.1f ms (%.1f ms)", ms(p99),
			ms(quantile(times, 0.5))),
		yardstick: "–", ratio: "–", target: "< 100 ms", met: p99 < 100*time.Millisecond,
	})
	return nil
}

// timeToWebhook opens a new session's form and waits for session.accessed. It
// counts the whole request, not only the time since its commit.
func (e *environment) timeToWebhook(ctx context.Context, body string, arrived <-chan time.Time) (time.Duration, error) {
	created, err := e.createSession(ctx, body)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if _, _, err := client.New("").Open(ctx, created.URL); err != nil {
		return 0, err
	}
	select {
	case at := <-arrived:
		return at.Sub(began), nil
	case <-time.After(10 * time.Second):
		return 0, fmt.Errorf("no webhook within 10 s")
	}
}
