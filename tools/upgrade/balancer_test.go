//go:build upgrade

package upgrade

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/internal/testkit"
	"candor/internal/testkit/process"
)

// probeEvery is how often the balancer asks each process for its readiness.
const probeEvery = 200 * time.Millisecond

// balancer spreads requests over web processes, as a load balancer does: it asks
// /readyz, keeps connections, and sends a request to another process only if no
// connection could be opened. It sends nothing twice.
type balancer struct {
	*httptest.Server
	transport *http.Transport
	refused   atomic.Int64 // connections, each followed by another process

	mu       sync.Mutex
	backends []*backend
	next     int
}

type backend struct {
	host    string
	ready   bool
	running int
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	b := &balancer{transport: &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true}}
	proxy := &httputil.ReverseProxy{
		Transport:     b,
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.Host = "http", r.In.Host
			r.SetXForwarded()
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			http.Error(w, "balancer: "+r.URL.Host+": "+err.Error(), http.StatusBadGateway)
		},
	}
	b.Server = httptest.NewServer(proxy)
	b.URL = strings.Replace(b.URL, "127.0.0.1", "localhost", 1) // passkeys need a name
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(func() {
		stop()
		b.CloseClientConnections()
		b.Close()
	})
	go func() {
		tick := time.NewTicker(probeEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				b.probe(ctx)
			}
		}
	}()
	return b
}

// RoundTrip sends a request to a ready process.
func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	body := r.Body
	if body != nil {
		defer body.Close()
		r.Body = io.NopCloser(body) // the transport closes it if it can't connect
	}
	for range 4 {
		one := b.choose()
		if one == nil {
			return nil, errors.New("no process is ready")
		}
		r.URL.Host = one.host
		response, err := b.transport.RoundTrip(r)
		if err == nil {
			response.Body = &counted{ReadCloser: response.Body, done: sync.OnceFunc(func() { b.finished(one) })}
			return response, nil
		}
		b.finished(one)
		var refused *net.OpError
		if !errors.As(err, &refused) || refused.Op != "dial" {
			return nil, err
		}
		b.refused.Add(1)
		b.mu.Lock()
		one.ready = false
		b.mu.Unlock()
	}
	return nil, errors.New("no process takes a connection")
}

// counted is a response's body, which ends its request.
type counted struct {
	io.ReadCloser
	done func()
}

// Close closes the body.
func (c *counted) Close() error {
	defer c.done()
	return c.ReadCloser.Close()
}

func (b *balancer) choose() *backend {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.backends {
		b.next = (b.next + 1) % len(b.backends)
		if one := b.backends[b.next]; one.ready {
			one.running++
			return one
		}
	}
	return nil
}

func (b *balancer) finished(one *backend) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one.running--
}

// probe asks every process whether it is ready.
func (b *balancer) probe(ctx context.Context) {
	b.mu.Lock()
	all := slices.Clone(b.backends)
	b.mu.Unlock()
	for _, one := range all {
		ready := false
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+one.host+"/readyz", http.NoBody)
		if err == nil {
			if response, err := http.DefaultClient.Do(request); err == nil {
				ready = response.StatusCode == http.StatusOK
				_ = response.Body.Close() // only the status matters
			}
		}
		b.mu.Lock()
		one.ready = ready
		b.mu.Unlock()
	}
}

// add names a process and waits until it gets requests.
func (b *balancer) add(t *testing.T, p *process.Candor) {
	t.Helper()
	one := &backend{host: hostOf(t, p)}
	b.mu.Lock()
	b.backends = append(b.backends, one)
	b.mu.Unlock()
	testkit.Await(t, "the balancer finds a new process", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return one.ready
	})
}

// remove forgets a process and waits until its requests have ended.
func (b *balancer) remove(t *testing.T, p *process.Candor) {
	t.Helper()
	host := hostOf(t, p)
	b.mu.Lock()
	at := slices.IndexFunc(b.backends, func(one *backend) bool { return one.host == host })
	one := b.backends[at]
	b.backends = slices.Delete(b.backends, at, at+1)
	b.mu.Unlock()
	testkit.Await(t, "requests at a removed process end", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return one.running == 0
	})
}

func hostOf(t *testing.T, p *process.Candor) string {
	t.Helper()
	u, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}
