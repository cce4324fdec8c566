package main_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/client"
	"candor/internal/testkit/process"
)

// slowPost sends a section's head and half of its body, and returns when the
// server reads the body; finish sends the rest and returns the response.
func slowPost(t *testing.T, c *process.Customer, section string) (finish func() *http.Response) {
	t.Helper()
	body := statementtest.Values(section).Encode()
	read, write := io.Pipe()
	answer, reading := make(chan *http.Response, 1), make(chan struct{})
	begun := sync.OnceFunc(func() { close(reading) })
	go func() {
		defer begun() // also if the request fails
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: begun})
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Form+"/"+section, read)
		if err != nil {
			t.Error(err)
			return
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Expect", "100-continue") // the server's handler says when it reads
		response, err := c.HTTP.Do(request)
		if err != nil {
			t.Errorf("the slow request: %v", err)
			close(answer)
			return
		}
		response.Body.Close()
		answer <- response
	}()
	if _, err := io.WriteString(write, body[:len(body)/2]); err != nil {
		t.Fatal(err)
	}
	<-reading
	return func() *http.Response {
		if _, err := io.WriteString(write, body[len(body)/2:]); err != nil {
			t.Error(err)
		}
		write.Close()
		return <-answer
	}
}

func TestShutdownFinishesRequests(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.NewEnvironment(t)
	a := process.CreateAccount(t, env)
	p := process.Serve(t, env, "serve")
	api := process.NewPartner(t, p.URL, a.TestKey)
	form := process.OpenForm(t, api.CreateSession("").SessionURL)
	finish := slowPost(t, form, "income")

	p.Signal(syscall.SIGTERM)
	p.WaitFor(regexp.MustCompile(`msg="shutting down"`))
	testkit.Await(t, "new connections are refused", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	if response := finish(); response == nil || response.StatusCode != http.StatusSeeOther {
		t.Errorf("the request that was running at SIGTERM got %v, want 303", response)
	}
	if state := p.Wait(); state.ExitCode() != 0 {
		t.Errorf("candor ended with %s", state)
	}
}

// A web process that ends is first unready, and serves on until load balancers know.
func TestShutdownDelay(t *testing.T) {
	t.Parallel()
	p := process.Serve(t, process.NewEnvironment(t).With("CANDOR_SHUTDOWN_DELAY", "1h"), "web")
	get := func(path string) *http.Response {
		t.Helper()
		response, err := http.Get(p.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response
	}
	if r := get("/readyz"); r.StatusCode != http.StatusOK || r.Close {
		t.Errorf("before SIGTERM: %s, closes the connection: %t", r.Status, r.Close)
	}
	p.Signal(syscall.SIGTERM)
	p.WaitFor(regexp.MustCompile(`msg="leaving`))
	testkit.Await(t, "the process is unready", func() bool {
		return get("/readyz").StatusCode == http.StatusServiceUnavailable
	})
	if r := get("/dashboard/sign-in"); r.StatusCode != http.StatusOK || !r.Close {
		t.Errorf("after SIGTERM: %s, closes the connection: %t; want a page and true", r.Status, r.Close)
	}
	p.Signal(syscall.SIGTERM)
	if code := p.Wait().ExitCode(); code != 130 {
		t.Errorf("the second signal ended the delay with exit code %d, want 130", code)
	}
	worker := process.Serve(t, process.NewEnvironment(t).With("CANDOR_SHUTDOWN_DELAY", "1h"), "worker")
	worker.Stop() // at once: it has no clients
}

// On a socket that systemd holds, a connection that comes between two processes waits
// for the second.
func TestConnectionsWaitForARestart(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	listener.Close() // socket is a copy
	t.Cleanup(func() { socket.Close() })
	env := process.NewEnvironment(t).With("CANDOR_ADDR", "localhost:1") // which isn't used
	first := process.ServeOn(t, socket, env, "web")
	if want := "http://" + listener.Addr().String(); first.URL != want {
		t.Errorf("it listens at %s, want %s", first.URL, want)
	}
	first.Stop()
	status := make(chan string, 1)
	go func() {
		response, err := http.Get(first.URL + "/healthz")
		if err != nil {
			status <- err.Error()
			return
		}
		response.Body.Close()
		status <- response.Status
	}()
	second := process.ServeOn(t, socket, env, "web")
	if got := <-status; got != "200 OK" {
		t.Errorf("a connection between the two processes got %s", got)
	}
	second.Stop()
}

func TestShutdownEndsAtItsTimeoutAndASecondSignalAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		timeout string
		twice   bool
	}{
		"timeout":       {"200ms", false},
		"second signal": {"1h", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := process.NewEnvironment(t).With("CANDOR_SHUTDOWN_TIMEOUT", tt.timeout)
			a := process.CreateAccount(t, env)
			p := process.Serve(t, env, "web")
			conn := hangingUpload(t, p, a)
			defer conn.Close()
			p.Signal(syscall.SIGINT)
			p.WaitFor(regexp.MustCompile(`msg="shutting down"`))
			if tt.twice {
				p.Signal(syscall.SIGINT)
			}
			state := p.Wait()
			if state.Success() {
				t.Errorf("candor cut a request off and ended with %s, want a failure", state)
			}
			if !tt.twice && !strings.Contains(p.Stderr.String(), "CANDOR_SHUTDOWN_TIMEOUT") {
				t.Errorf("candor printed %q, want to hear of CANDOR_SHUTDOWN_TIMEOUT", p.Stderr)
			}
		})
	}
}

// hangingUpload leaves a POST unfinished on a connection.
func hangingUpload(t *testing.T, p *process.Candor, a client.Account) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn,
		"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n", a.TestKey)
	if err != nil {
		t.Fatal(err)
	}
	// The server asks for the body when a handler reads it.
	answer := make([]byte, len("HTTP/1.1 100 Continue\r\n"))
	if _, err := io.ReadFull(conn, answer); err != nil || !bytes.Contains(answer, []byte("100 Continue")) {
		t.Fatalf("the server returned %q, %v; want 100 Continue", answer, err)
	}
	return conn
}
