// Package webhook makes one attempt at a delivery: it signs the body, builds the
// headers, checks that the target may be called, sends the request, and computes
// when the next attempt is due.
//
// It must not know sessions, accounts, the database or the job queue. The caller
// provides the body and the secrets and stores the result.
package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

const (
	// AttemptTimeout is how long an attempt takes at most.
	AttemptTimeout = 15 * time.Second

	connectTimeout   = 5 * time.Second
	idleTimeout      = 30 * time.Second
	maxIdlePerHost   = 16   // the attempts that an endpoint may run; with fewer, bursts open new connections
	maxIdle          = 1000 // the attempts that a process may run
	maxHeaderBytes   = 16 << 10
	maxResponseBytes = 16 << 10
)

// Client makes delivery attempts. It follows no redirect, uses no proxy, checks
// every address before it connects and bounds what a receiver can cost in time
// and memory (D37, D38). It is safe for concurrent use.
type Client struct {
	policy    Policy
	transport *http.Transport
	timeout   time.Duration
}

// Option changes a setting of NewClient.
type Option func(*settings)

type settings struct {
	resolver *net.Resolver
	rootCAs  *x509.CertPool
	connect  time.Duration
	attempt  time.Duration
}

// WithResolver looks up names with resolver instead of the system's.
func WithResolver(resolver *net.Resolver) Option {
	return func(s *settings) { s.resolver = resolver }
}

// WithRootCAs trusts pool instead of the system's certificate authorities.
func WithRootCAs(pool *x509.CertPool) Option {
	return func(s *settings) { s.rootCAs = pool }
}

// WithTimeouts replaces the limits of D37: connect (5 s) bounds the look-up and
// the TCP connection, and again the TLS handshake; attempt (15 s) bounds the
// whole, including the response.
func WithTimeouts(connect, attempt time.Duration) Option {
	return func(s *settings) { s.connect, s.attempt = connect, attempt }
}

// NewClient returns a Client that calls only what policy permits. Close it when
// it is no longer used.
func NewClient(policy Policy, opts ...Option) *Client {
	s := settings{connect: connectTimeout, attempt: AttemptTimeout}
	for _, opt := range opts {
		opt(&s)
	}
	dialer := &net.Dialer{Timeout: s.connect, Resolver: s.resolver, ControlContext: policy.Control}
	// A second protocol would double what a hostile receiver can try.
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return &Client{policy: policy, timeout: s.attempt, transport: &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer.DialContext,
		Protocols:              protocols,
		TLSClientConfig:        &tls.Config{RootCAs: s.rootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    s.connect,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost, // no MaxConnsPerHost: accounts can have receivers at one host (D39)
		IdleConnTimeout:        idleTimeout,
	}}
}

// Close closes idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Do makes one attempt that starts at now and returns its result. It never takes
// longer than the attempt timeout. All failures are in the Result.
func (c *Client) Do(ctx context.Context, request Request, now time.Time) Result {
	result := Result{StartedAt: now.UTC()}
	header, err := request.Header(now)
	if err != nil {
		result.Err = err
		return result
	}
	result.RequestHeader = header
	started := time.Now()
	c.attempt(ctx, request, &result)
	result.Duration = time.Since(started)
	return result
}

func (c *Client) attempt(parent context.Context, request Request, result *Result) {
	if err := c.policy.CheckURL(request.URL); err != nil {
		result.ErrorClass, result.Error = classify(err, connecting)
		return
	}
	ctx, cancel := context.WithTimeout(parent, c.timeout)
	defer cancel()
	var reached atomic.Int32
	outgoing, err := newHTTPRequest(httptrace.WithClientTrace(ctx, tracePhase(&reached)), request, result.RequestHeader)
	if err != nil {
		result.Err = err
		return
	}
	// The transport instead of an http.Client: it follows no redirects and doesn't
	// read Location.
	response, err := c.transport.RoundTrip(outgoing)
	if err != nil {
		if parent.Err() == context.Canceled {
			result.Err = context.Cause(parent)
			return
		}
		result.ErrorClass, result.Error = classify(err, phase(reached.Load()))
		return
	}
	defer response.Body.Close()
	readResponse(response, result)
}

// Reach asks for the head of a URL on the way that attempts take, and returns why no
// response came: the class of the error and its sentence, both empty if one came.
func (c *Client) Reach(ctx context.Context, url string) (class, text string) {
	if err := c.policy.CheckURL(url); err != nil {
		return classify(err, connecting)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var reached atomic.Int32
	outgoing, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, tracePhase(&reached)), http.MethodHead, url, nil)
	if err != nil {
		return classify(err, connecting)
	}
	response, err := c.transport.RoundTrip(outgoing)
	if err != nil {
		return classify(err, phase(reached.Load()))
	}
	_ = response.Body.Close() // a HEAD's response has none
	return "", ""
}

func newHTTPRequest(ctx context.Context, request Request, header http.Header) (*http.Request, error) {
	outgoing, err := http.NewRequestWithContext(ctx, http.MethodPost, request.URL, bytes.NewReader(request.Body))
	if err != nil {
		return nil, err
	}
	outgoing.Header = header.Clone()
	// An empty value isn't sent, but lets the transport retry if a kept connection
	// is closed: receivers de-duplicate.
	outgoing.Header["Idempotency-Key"] = []string{}
	return outgoing, nil
}

// readResponse reads what D37 allows. It ignores errors: the status is known, and
// the body is only for the log.
func readResponse(response *http.Response, result *Result) {
	result.StatusCode = response.StatusCode
	result.RetryAfter = retryAfter(response.Header.Get("Retry-After"), result.StartedAt)
	if !result.Delivered() {
		result.ErrorClass, result.Error = ClassStatus, statusText(response.StatusCode)
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		return // the body is the bare connection here, which no timeout ends
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxResponseBytes))
	result.Response = storable(body)
}

// phase is how far an attempt has come. It distinguishes errors that look alike.
type phase int32

const (
	connecting phase = iota
	handshaking
	connected
)

func tracePhase(reached *atomic.Int32) *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { reached.Store(int32(connecting)) },
		// If a kept connection becomes free first, a dial continues in the background.
		// It must not reset the phase that the kept connection has reached.
		TLSHandshakeStart: func() { reached.CompareAndSwap(int32(connecting), int32(handshaking)) },
		GotConn:           func(httptrace.GotConnInfo) { reached.Store(int32(connected)) },
	}
}

// Limits of the requests to providers of sign-in (D141).
const (
	ProviderTimeout  = 10 * time.Second
	MaxProviderBytes = 256 << 10
)

// NewHTTPClient returns a client for other requests to URLs that partners choose: it
// calls only what policy permits, checks each address before it connects, follows no
// redirect, uses no proxy, and bounds time and size of a response.
func NewHTTPClient(policy Policy) *http.Client {
	client := NewClient(policy)
	client.transport.DisableKeepAlives = true // such requests are rare
	return &http.Client{
		Timeout: ProviderTimeout, Transport: &guarded{client},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// guarded checks the URL of each request and bounds its response.
type guarded struct{ *Client }

// RoundTrip implements http.RoundTripper.
func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.policy.CheckURL(r.URL.String()); err != nil {
		return nil, err
	}
	response, err := g.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = &bounded{response.Body, MaxProviderBytes}
	return response, nil
}

// bounded is a body that fails beyond a number of bytes.
type bounded struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("webhook: the response is too long")
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
