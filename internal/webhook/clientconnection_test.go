package webhook

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

func TestDoKeepsConnections(t *testing.T) {
	t.Parallel()
	server, connections := countConnections(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" || r.Header.Get("Idempotency-Key") != "" {
			t.Errorf("headers %v", r.Header)
		}
		_, _ = io.WriteString(w, "thanks")
	})
	client := newTestClient(t, development)
	for range 200 {
		wantClass(t, do(t, client, server.URL), "")
	}
	// A connection is free again a moment after the answer: on a busy machine the next request can come before.
	if n := connections.Load(); n > 5 {
		t.Errorf("200 attempts in a row took %d connections, want 1 or a few", n)
	}
}

// An endpoint runs up to 16 attempts, and bursts of them reuse connections.
func TestDoKeepsConnectionsBetweenBursts(t *testing.T) {
	t.Parallel()
	const bursts, atOnce = 20, 16
	server, connections := countConnections(t, func(http.ResponseWriter, *http.Request) {})
	client := newTestClient(t, development)
	for range bursts {
		var burst sync.WaitGroup
		for range atOnce {
			burst.Go(func() { wantClass(t, do(t, client, server.URL), "") })
		}
		burst.Wait()
	}
	t.Logf("%d attempts, %d at a time, took %d connections", bursts*atOnce, atOnce, connections.Load())
	if n := connections.Load(); n > 2*atOnce {
		t.Errorf("%d attempts took %d connections, want about %d", bursts*atOnce, n, atOnce)
	}
}

// countConnections serves handler and counts the connections made.
func countConnections(t *testing.T, handler http.HandlerFunc) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	connections := new(atomic.Int32)
	server := httptest.NewUnstartedServer(handler)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	return server, connections
}

// A receiver that drops a kept connection must not cost an attempt.
func TestDoSendsAgainOnADroppedConnection(t *testing.T) {
	t.Parallel()
	url, accepted := startRaw(t, func(conn net.Conn) {
		readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		readRequest(conn)
	})
	client := newTestClient(t, development)
	wantClass(t, do(t, client, url), "")
	wantClass(t, do(t, client, url), "")
	if accepted.Load() != 2 {
		t.Errorf("%d connections, want 2", accepted.Load())
	}
}
