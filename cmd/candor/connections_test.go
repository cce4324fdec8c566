package main_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"candor/internal/testkit"
	"candor/internal/testkit/process"
)

// TestConnectionsAreLimited checks that one network gets half of the
// connections, and gets them back when it closes some.
func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	p := process.Serve(t, process.NewEnvironment(t).With("CANDOR_MAX_CONNECTIONS", "8"), "web")
	var open []net.Conn
	for range 12 {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: candor.example\r\n\r\n") // fails if it is refused
		if n, _ := conn.Read(make([]byte, 100)); n > 0 {
			open = append(open, conn)
		}
	}
	if len(open) < 1 || len(open) > 4 {
		t.Errorf("%d of 12 connections are served, want at most 4", len(open))
	}
	for _, conn := range open {
		_ = conn.Close()
	}
	testkit.Await(t, "a further connection", func() bool {
		response, err := http.Get(p.URL + "/healthz")
		if err == nil {
			err = response.Body.Close()
		}
		return err == nil
	})
}
