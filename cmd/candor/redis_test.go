package main_test

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"candor/internal/testkit"
	"candor/internal/testkit/process"
	"candor/internal/testkit/redistest"
)

// burst is what an account got.
type burst struct {
	allowed int
	slowest time.Duration
	took    time.Duration
}

// send sends n requests of an account, one after the other, to each process in turn.
func send(t *testing.T, processes []*process.Candor, key string, n int) (b burst) {
	t.Helper()
	began := time.Now()
	for i := range n {
		at := time.Now()
		status, header, body := process.NewPartner(t, processes[i%len(processes)].URL, key).Do(http.MethodGet, "/sessions?limit=1", "")
		b.slowest = max(b.slowest, time.Since(at))
		switch status {
		case http.StatusOK:
			b.allowed++
		case http.StatusTooManyRequests:
			if after, err := strconv.Atoi(header.Get("Retry-After")); err != nil || after != 1 ||
				header.Get("X-RateLimit-Remaining") != "0" {
				t.Errorf("Retry-After %q, remaining %q", header.Get("Retry-After"), header.Get("X-RateLimit-Remaining"))
			}
		default:
			t.Fatalf("status %d: %s", status, body)
		}
		if header.Get("X-RateLimit-Limit") != "100" {
			t.Fatalf("X-RateLimit-Limit %q", header.Get("X-RateLimit-Limit"))
		}
	}
	b.took = time.Since(began)
	return b
}

// gained is how many tokens a bucket gains in d, at most (D30).
func gained(d time.Duration) int { return int(math.Ceil(d.Seconds() / 0.6)) }

// rateLimits returns whether all processes share their limits, and how many requests
// they counted by themselves.
func rateLimits(t *testing.T, processes []*process.Candor) (shared bool, alone int) {
	t.Helper()
	shared = true
	for _, p := range processes {
		text := fetch(t, "http://"+p.WaitFor(metricsAddr)[1]+"/metrics", http.StatusOK)
		shared = shared && strings.Contains(text, "candor_rate_limits_shared 1\n")
		n, err := strconv.Atoi(aloneMetric.FindStringSubmatch(text)[1])
		if err != nil {
			t.Fatal(err)
		}
		alone += n
	}
	return shared, alone
}

// hiddenKey is a name in Redis without account or address.
var hiddenKey = regexp.MustCompile(`^rate:candor:[A-Za-z0-9_-]{32}$`)

var aloneMetric = regexp.MustCompile(`(?m)^candor_rate_limits_alone_total (\d+)$`)

// TestDrillOneRateLimitForThreeProcesses spends an account's limit at three web processes:
// 200 at once and 100 a minute for all of them together. Redis is killed: each
// process counts by itself, no request fails. It returns: they share again.
func TestDrillOneRateLimitForThreeProcesses(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	env := process.NewEnvironment(t).With("CANDOR_REDIS_URL", redis.URL, "CANDOR_METRICS_ADDR", "127.0.0.1:0")
	a := process.CreateAccount(t, env)
	var web []*process.Candor
	for range 3 {
		web = append(web, process.Serve(t, env, "web"))
	}
	together := func(key string) {
		t.Helper()
		testkit.Await(t, "the limits are shared", func() bool { shared, _ := rateLimits(t, web); return shared })
		_, before := rateLimits(t, web)
		b := send(t, web, key, 270)
		_, after := rateLimits(t, web) // a busy machine can make Redis seem slow
		if b.allowed < 200 || b.allowed > 200+gained(b.took)+after-before {
			t.Errorf("%d of 270 requests in %s are allowed, want 200 and 100 a minute", b.allowed, b.took)
		}
	}
	together(a.TestKey)

	redis.Kill()
	b := send(t, web, a.LiveKey, 300) // of a bucket that is full
	if b.allowed < 260 || b.slowest > 5*time.Second {
		t.Errorf("without Redis %d of 300 requests are allowed, the slowest took %s; want 200 by each process, at once",
			b.allowed, b.slowest)
	}
	for _, p := range web {
		fetch(t, p.URL+"/readyz", http.StatusOK)
	}
	if shared, alone := rateLimits(t, web); shared || alone == 0 {
		t.Errorf("the metrics say shared: %t, alone: %d", shared, alone)
	}

	redis.Restart()
	together(process.CreateAccount(t, env, "--email", "again@acme.example").TestKey)
	for _, key := range redis.Keys() {
		if !hiddenKey.MatchString(key) {
			t.Errorf("Redis has the key %q, want a MAC", key)
		}
	}
}

// loopbackCertificate is one for 127.0.0.1, and the file by which SSL_CERT_FILE has a process
// trust it.
func loopbackCertificate(t *testing.T) (certificate tls.Certificate, authority string) {
	t.Helper()
	issuer := httptest.NewTLSServer(http.NotFoundHandler())
	defer issuer.Close()
	authority = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issuer.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	return issuer.TLS.Certificates[0], authority
}

// TestRedisByTLS reaches Redis by TLS with a password, which no log shows. With a
// wrong password the process serves and counts by itself.
func TestRedisByTLS(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, "--requirepass", "hidden-password")
	certificate, authority := loopbackCertificate(t)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", redis.Socket)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
			go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
		}
	}()
	env := process.NewEnvironment(t).With("SSL_CERT_FILE", authority, "CANDOR_METRICS_ADDR", "127.0.0.1:0")
	for password, shared := range map[string]bool{"hidden-password": true, "hidden-guess": false} {
		p := process.Serve(t, env.With("CANDOR_REDIS_URL", "rediss://:"+password+"@"+listener.Addr().String()), "web")
		testkit.Await(t, "shared limits with the right password alone", func() bool {
			is, _ := rateLimits(t, []*process.Candor{p})
			return is == shared
		})
		if !shared {
			p.WaitFor(regexp.MustCompile(`Redis doesn't answer`))
		}
		fetch(t, p.URL+"/readyz", http.StatusOK)
		p.Stop()
		if logs := p.Stdout.String() + p.Stderr.String(); strings.Contains(logs, "hidden") {
			t.Errorf("the log has the password:\n%s", logs)
		}
	}
}
