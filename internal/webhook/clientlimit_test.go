package webhook

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"candor/internal/testkit"
)

func TestDoIsCutByTheTimeout(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	hang := func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }
	for name, test := range map[string]struct {
		serve  func(net.Conn)
		scheme string
		class  string
	}{
		"no answer":    {hang, "http", ClassTimeout},
		"no handshake": {hang, "https", ClassTimeout},
		"dripping header": {func(conn net.Conn) {
			readRequest(conn)
			dripOn(conn, "HTTP/1.1 200 OK\r\n"+strings.Repeat("A: b\r\n", 1000), 5*time.Millisecond)
		}, "http", ClassTimeout},
	} {
		url, _ := startRaw(t, test.serve)
		client := newTestClient(t, development, WithTimeouts(2*time.Second, 300*time.Millisecond))
		result := do(t, client, strings.Replace(url, "http", test.scheme, 1))
		wantClass(t, result, test.class)
		if result.Duration < 200*time.Millisecond || result.Duration > 5*time.Second {
			t.Errorf("%s: took %s, want about 300ms", name, result.Duration)
		}
	}
}

// A body of one byte a second passes each limit between two bytes. The limit on the
// whole attempt ends it and the connection.
func TestDoCutsABodyOfAByteASecond(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	cut := make(chan struct{})
	url, _ := startRaw(t, func(conn net.Conn) {
		readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
		go func() {
			_, _ = conn.Read(make([]byte, 1)) // ends when the client has gone
			close(cut)
		}()
		dripOn(conn, "x", time.Second)
	})
	result := do(t, newTestClient(t, development, WithTimeouts(time.Second, 2500*time.Millisecond)), url)
	wantClass(t, result, "")
	got := string(result.Response)
	if got == "" || strings.Trim(got, "x") != "" || result.Duration < 2*time.Second || result.Duration > 10*time.Second {
		t.Errorf("kept %q after %s, want what came in 2.5s", got, result.Duration)
	}
	<-cut
}

func TestDoBoundsConnecting(t *testing.T) {
	t.Parallel()
	silent, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	client := newTestClient(t, development, WithResolver(resolverAt(silent.LocalAddr())), WithTimeouts(200*time.Millisecond,
		30*time.Second))
	url, _ := startRaw(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	for hook, class := range map[string]string{
		"https://silent.example/":                  ClassDNS,
		strings.Replace(url, "http:", "https:", 1): ClassTimeout,
	} {
		result := do(t, client, hook)
		wantClass(t, result, class)
		if result.Duration > 10*time.Second {
			t.Errorf("%s: took %s, want about 200ms", hook, result.Duration)
		}
	}
}

func TestDoBoundsTheResponse(t *testing.T) {
	t.Parallel()
	const total = 64 << 20
	sent := make(chan int, 1)
	server := startPlain(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk := bytes.Repeat([]byte{'a', 0, 0xff, 0xc3, 0xa4, 'b'}, 5000)
		written := 0
		for written < total {
			n, err := w.Write(chunk)
			written += n
			if err != nil {
				break
			}
		}
		sent <- written
	})
	result := do(t, newTestClient(t, development), server.URL)
	wantClass(t, result, "")
	if size := len(result.Response); size > keptResponse || size < keptResponse-3 {
		t.Errorf("kept %d bytes, want about %d", size, keptResponse)
	}
	if !utf8.Valid(result.Response) || bytes.ContainsRune(result.Response, 0) || !bytes.HasPrefix(result.Response,
		[]byte("a\uFFFD\uFFFDäb")) {
		t.Errorf("response can't be stored: %q", result.Response[:20])
	}
	if written := <-sent; written >= total {
		t.Errorf("the receiver could send all of %d bytes", written)
	}
}
