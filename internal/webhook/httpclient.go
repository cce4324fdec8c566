package webhook

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Limits of the requests to providers of sign-in (D141).
const (
	ProviderTimeout  = 10 * time.Second
	MaxProviderBytes = 256 << 10
)

var errTooLong = errors.New("webhook: the response is too long")

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
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
