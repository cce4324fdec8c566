package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var development = Policy{Development: true}

// newTestClient returns a client that reaches only loopback, even if the tested code
// permits more.
func newTestClient(t *testing.T, policy Policy, opts ...Option) *Client {
	t.Helper()
	client := NewClient(policy, opts...)
	t.Cleanup(client.Close)
	dial := client.transport.DialContext
	client.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(address)
		if ip, err := netip.ParseAddr(host); err == nil && !ip.IsLoopback() || err != nil && !strings.HasSuffix(host, ".example") {
			t.Errorf("dials %s", address)
			return nil, errors.New("not loopback")
		}
		return dial(ctx, network, address)
	}
	return client
}

func do(t *testing.T, client *Client, url string) Result {
	t.Helper()
	return client.Do(t.Context(), testRequest(url), time.Now())
}

func wantClass(t *testing.T, result Result, class string) {
	t.Helper()
	if result.ErrorClass != class || result.Err != nil {
		t.Errorf("class %q, want %q (status %d, %q, %v)", result.ErrorClass, class, result.StatusCode, result.Error, result.Err)
	}
	if (result.Error == "") != (class == "") || result.Delivered() != (class == "") {
		t.Errorf("class %q with error %q, delivered %t", class, result.Error, result.Delivered())
	}
	for _, part := range []string{"127.0.0.1", "token", "rebind", ".example"} {
		if strings.Contains(result.Error, part) && class != ClassRefusedTarget {
			t.Errorf("error shows %s: %q", part, result.Error)
		}
	}
}

func TestDoDelivers(t *testing.T) {
	t.Parallel()
	type received struct {
		header http.Header
		body   []byte
		method string
	}
	got := make(chan received, 1)
	authority := newAuthority(t)
	server := startTLS(t, authority.issue(t, time.Now().Add(time.Hour)), func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- received{r.Header, body, r.Method}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "thanks")
	})
	client := newTestClient(t, development, WithRootCAs(authority.pool()))
	now := time.Now()
	result := client.Do(t.Context(), testRequest(server.URL+"/hook?token=1"), now)
	wantClass(t, result, "")
	if result.StatusCode != 202 || string(result.Response) != "thanks" || !result.StartedAt.Equal(now) || result.Duration <= 0 {
		t.Errorf("result %+v", result)
	}
	request := <-got
	if request.method != http.MethodPost || string(request.body) != testBody {
		t.Errorf("received %s %q", request.method, request.body)
	}
	if err := verify(t, testSecret, string(request.body), request.header); err != nil {
		t.Error(err)
	}
	for name := range result.RequestHeader {
		if request.header.Get(name) != result.RequestHeader.Get(name) {
			t.Errorf("%s: received %q, logged %q", name, request.header.Get(name), result.RequestHeader.Get(name))
		}
	}
	if len(request.header) != len(result.RequestHeader)+1 { // Content-Length
		t.Errorf("received headers %v, logged %v", request.header, result.RequestHeader)
	}
}

func TestDoStatuses(t *testing.T) {
	t.Parallel()
	var status atomic.Int32
	server := startPlain(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) })
	client := newTestClient(t, development)
	for code, class := range map[int]string{200: "", 201: "", 204: "", 299: "", 300: ClassStatus, 304: ClassStatus, 400: ClassStatus,
		410: ClassStatus, 500: ClassStatus, 503: ClassStatus} {
		status.Store(int32(code))
		result := do(t, client, server.URL)
		wantClass(t, result, class)
		if result.StatusCode != code {
			t.Errorf("status %d, want %d", result.StatusCode, code)
		}
	}
}

func TestDoFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	var other atomic.Int32
	aim := startPlain(t, func(http.ResponseWriter, *http.Request) { other.Add(1) })
	for _, location := range []string{"http://169.254.169.254/latest/meta-data/", aim.URL, "/again", "::not a url%zz", ""} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			var calls atomic.Int32
			server := startPlain(t, func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				w.Header().Set("Location", location)
				w.WriteHeader(code)
			})
			result := do(t, newTestClient(t, development), server.URL)
			wantClass(t, result, ClassStatus)
			if result.StatusCode != code || calls.Load() != 1 || other.Load() != 0 {
				t.Errorf("%d to %q: status %d, %d calls, %d elsewhere", code, location, result.StatusCode, calls.Load(), other.Load())
			}
		}
	}
}

func TestDoVerifiesCertificates(t *testing.T) {
	t.Parallel()
	authority, foreign := newAuthority(t), newAuthority(t)
	var calls atomic.Int32
	count := func(http.ResponseWriter, *http.Request) { calls.Add(1) }
	soon := time.Now().Add(time.Hour)
	plain := startPlain(t, count)
	for name, test := range map[string]struct{ url, text string }{
		"expired":     {startTLS(t, authority.issue(t, time.Now().Add(-time.Hour)), count).URL, "expired"},
		"other name":  {startTLS(t, authority.issue(t, soon, "other.example"), count).URL, "another host name"},
		"unknown":     {startTLS(t, foreign.issue(t, soon), count).URL, "trusted authority"},
		"self-signed": {startTLS(t, selfSigned(t), count).URL, "trusted authority"},
		"not yet valid": {startTLS(t, authority.issueFrom(t, &x509.Certificate{
			NotBefore: soon, NotAfter: soon.Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}), count).URL, "not yet valid"},
		"for clients": {startTLS(t, authority.issueFrom(t, &x509.Certificate{
			NotBefore: time.Now().Add(-time.Hour), NotAfter: soon, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}), count).URL, "not valid"},
		"TLS 1.1":    {startOldTLS(t, authority.issue(t, soon), count).URL, "handshake"},
		"plain http": {strings.Replace(plain.URL, "http:", "https:", 1), "not answer in TLS"},
	} {
		result := do(t, newTestClient(t, development, WithRootCAs(authority.pool())), test.url)
		wantClass(t, result, ClassTLS)
		if !strings.Contains(result.Error, test.text) {
			t.Errorf("%s: %q, want %q", name, result.Error, test.text)
		}
	}
	trusting := startTLS(t, authority.issue(t, soon), count)
	wantClass(t, do(t, newTestClient(t, development), trusting.URL), ClassTLS)
	if calls.Load() != 0 {
		t.Errorf("%d deliveries over connections that were not verified", calls.Load())
	}
}

func TestDoSurvivesProtocolFaults(t *testing.T) {
	t.Parallel()
	answer := func(text string) func(net.Conn) {
		return func(conn net.Conn) {
			readRequest(conn)
			_, _ = io.WriteString(conn, text)
			_, _ = io.Copy(io.Discard, conn)
		}
	}
	for name, test := range map[string]struct {
		serve func(net.Conn)
		class string
	}{
		"closes after reading": {readRequest, ClassProtocol},
		"resets after reading": {func(conn net.Conn) {
			readRequest(conn)
			_ = conn.(*net.TCPConn).SetLinger(0)
		}, ClassProtocol},
		"1 MB header":       {answer("HTTP/1.1 200 OK\r\nX-Big: " + strings.Repeat("a", 1<<20) + "\r\n\r\n"), ClassProtocol},
		"many headers":      {answer("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Many: a\r\n", 20000) + "\r\n"), ClassProtocol},
		"not HTTP":          {answer("220 mail.example.com ESMTP\r\n"), ClassProtocol},
		"endless early":     {answer(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 1000)), ClassProtocol},
		"switches protocol": {answer("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), ClassStatus},
		"broken 200 body":   {answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n"), ""},
	} {
		url, accepted := startRaw(t, test.serve)
		result := do(t, newTestClient(t, development, WithTimeouts(2*time.Second, 5*time.Second)), url)
		wantClass(t, result, test.class)
		if result.Duration > 4*time.Second || accepted.Load() != 1 {
			t.Errorf("%s: took %s over %d connections", name, result.Duration, accepted.Load())
		}
	}
}

func TestDoDialFailures(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	client := newTestClient(t, development, WithResolver(startDNS(t)))
	result := do(t, client, "https://"+closed.Addr().String()+"/?token=1")
	wantClass(t, result, ClassConnect)
	missing := do(t, client, "https://missing.example/?token=1")
	wantClass(t, missing, ClassDNS)
	if !strings.Contains(missing.Error, "does not exist") {
		t.Errorf("missing host: %q", missing.Error)
	}
}

func TestDoVoidAttempts(t *testing.T) {
	t.Parallel()
	client := newTestClient(t, development)
	unsigned := testRequest("https://example.com")
	unsigned.Secrets = nil
	if result := client.Do(t.Context(), unsigned, time.Now()); !errors.Is(result.Err, ErrRequest) || result.Delivered() ||
		result.ErrorClass != "" {
		t.Errorf("no secret: %+v, want ErrRequest", result)
	}
	ctx, cancel := context.WithCancel(t.Context())
	url, _ := startRaw(t, func(conn net.Conn) {
		readRequest(conn)
		cancel()
		_, _ = io.Copy(io.Discard, conn)
	})
	result := client.Do(ctx, testRequest(url), time.Now())
	if !errors.Is(result.Err, context.Canceled) || result.Delivered() || result.ErrorClass != "" {
		t.Errorf("cancelled: %+v, want it void", result)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "120": 2 * time.Minute, " 5 ": 5 * time.Second, "-1": 0, "1.5": 0, "soon": 0, "99999999": 24 * time.Hour,
		"99999999999999999999":          0,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
		"Fri, 02 Jan 2099 03:04:00 GMT": 24 * time.Hour,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("retryAfter(%q) = %s, want %s", value, got, want)
		}
	}
	server := startPlain(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	if got := do(t, newTestClient(t, development), server.URL).RetryAfter; got != 7*time.Second {
		t.Errorf("RetryAfter = %s, want 7s", got)
	}
}
