package docs_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/hooktest"
	"candor/internal/webhook"
)

// A laptop runs listen.mjs, as it is served, in a folder of its own.
type laptop struct {
	*harness.Harness
	folder string
}

func newLaptop(t *testing.T, h *harness.Harness) *laptop {
	t.Helper()
	l := &laptop{h.In(t), t.TempDir()}
	h.OK(os.WriteFile(filepath.Join(l.folder, "listen.mjs"), []byte(get(h, "/docs/listen.mjs")), 0o600))
	return l
}

// A listening is a run of listen.mjs.
type listening struct {
	*laptop
	*exec.Cmd
	lines chan string // that it printed
}

func (l *laptop) start(args ...string) *listening {
	l.Helper()
	out, in, err := os.Pipe()
	l.OK(err)
	run := &listening{l, exec.CommandContext(l.Context(), "node", append([]string{"listen.mjs"}, args...)...),
		make(chan string, 100)}
	run.Dir, run.Stdout, run.Stderr = l.folder, in, in
	run.Env = append(os.Environ(), "CANDOR_API_KEY="+l.Account.TestKey)
	l.OK(run.Start())
	l.OK(in.Close())
	go func() {
		defer close(run.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			run.lines <- lines.Text()
		}
	}()
	return run
}

// sees waits until a line is printed that contains the text.
func (r *listening) sees(text string) string {
	r.Helper()
	var seen []string
	for late := time.After(time.Minute); ; {
		select {
		case line, more := <-r.lines:
			if seen = append(seen, line); strings.Contains(line, text) {
				return line
			}
			if !more {
				r.Fatalf("it ended without %q:\n%s", text, strings.Join(seen, "\n"))
			}
		case <-late:
			r.Fatalf("no %q in:\n%s", text, strings.Join(seen, "\n"))
		}
	}
}

// stop interrupts it, as Ctrl-C does.
func (r *listening) stop() {
	r.Helper()
	r.OK(r.Process.Signal(os.Interrupt))
	r.sees("Stopped after event")
	r.OK(r.Wait())
}

// TestListen forwards events with their bytes, headers and signatures, through a
// receiver that is down and a listener that is stopped and killed. Nothing is lost
// and nothing comes twice.
func TestListen(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h, base := harness.ListenAsItself(t)
	l := newLaptop(t, h)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	n := 0
	record := func(many int) {
		for range many {
			n++
			h.RecordEvent(session, domain.PDFReadyPayload{SessionID: session.ID, PageCount: n, PDFURL: base + "/ü?a&b"})
		}
	}
	record(2) // before it is started for the first time: not forwarded
	got := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		if q.Header.Get("X-Webhook-Signature") != webhook.Signature(h.Account.TestWebhookSecret, body) ||
			q.Header.Get("Content-Type") != "application/json" || q.Header.Get("User-Agent") != "Candor-Webhooks/1" ||
			q.Header.Get("X-Webhook-Timestamp") != strconv.FormatInt(h.Clock.Now().Unix(), 10) || q.URL.Path != "/hook/" {
			t.Errorf("wrong: %s to %s with %v", body, q.URL, q.Header)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	to := got.URL + "/hook/"

	run := l.start("--forward", to)
	run.sees("after event 2, forwarding to " + to)
	run.stop() // before anything happened
	record(1)
	run = l.start("--forward", to)
	if line := run.sees("-> 200 in "); !strings.Contains(line, "3  session.pdf_ready  "+session.ID.String()) ||
		!strings.HasSuffix(line, " ms") {
		t.Errorf("it printed %q", line)
	}
	run.stop()
	record(3)
	run = l.start("--forward", to)
	run.sees("after event 3")
	run.sees("6  session.pdf_ready")
	h.OK(run.Process.Kill())
	_ = run.Wait()
	got.Close()
	record(2)
	run = l.start("--forward", to)
	run.sees("(ECONNREFUSED): is your receiver running? Trying again in 1 s.")
	h.Clock.Advance(6 * time.Minute) // the headers that came are too old now
	socket, err := new(net.ListenConfig).Listen(t.Context(), "tcp", got.Listener.Addr().String())
	h.OK(err)
	again := &http.Server{Handler: got.Config.Handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = again.Serve(socket) }()
	defer again.Close()
	run.sees("8  session.pdf_ready")
	run.stop()

	var bodies []string
	h.OK(h.DB.Raw().SelectContext(t.Context(), &bodies,
		`SELECT convert_from(body, 'UTF8') FROM event WHERE sequence > 2 ORDER BY sequence`))
	var forwarded []string
	for _, r := range got.Requests() {
		forwarded = append(forwarded, string(r.Body))
	}
	if !slices.Equal(forwarded, bodies) {
		t.Errorf("it forwarded\n%s\nwant\n%s", strings.Join(forwarded, "\n"), strings.Join(bodies, "\n"))
	}
	state, err := os.ReadFile(filepath.Join(l.folder, ".candor-listen.json"))
	h.OK(err)
	if strings.Contains(string(state), "candor_test") || !strings.Contains(string(state), ":8}") {
		t.Errorf("the state is %s", state)
	}
	run = l.start("--after", "7", "--state", "other.json", "--forward", "http://255.255.255.255") // no connection can be made to it
	run.sees("Can't reach http://255.255.255.255 (ENETUNREACH): is your receiver running? Trying again in 1 s.")
	run.stop()
	run = l.start("--after", "7", "--body")
	run.sees("8  session.pdf_ready")
	if run.sees("page_count") != bodies[5] {
		t.Error("--body prints another body")
	}
	run.stop()
}

// TestListenExplains runs it with what it can't work with.
func TestListenExplains(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h, base := harness.ListenAsItself(t)
	l := newLaptop(t, h)
	broken := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
	}))
	for text, args := range map[string][]string{
		"This is a live key. listen.mjs is for test mode": {"--key", h.Account.LiveKey},
		"A test key is missing. Set CANDOR_API_KEY":       {"--key", ""},
		"Candor answered 401: ":                           {"--key", h.Account.TestKey[:len(h.Account.TestKey)-1] + "!"},
		"Candor answered 403: This API key lacks a permission": {"--key",
			h.RestrictedKey(domain.Permissions{domain.SessionsRead})},
		"--forward must be an address such as http://localhost:3000": {"--forward", "localhost:3000"},
		"--after must be the number of an event":                     {"--after", "x"},
		"Unknown option '--forwards'":                                {"--forwards", base},
		"listen.mjs can't be read: ":                                 {"--state", "listen.mjs"},
		"Can't reach http://127.0.0.1:1: ":                           {"--url", "http://127.0.0.1:1"},
		"Candor answered 502: nothing. Trying again in 1 s.":         {"--url", broken.URL},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		run := l.start(args...)
		stop := context.AfterFunc(ctx, func() { _ = run.Process.Kill() })
		if line := run.sees(text); strings.Contains(line, "    at ") {
			t.Errorf("%q: %s", args, line)
		}
		if strings.Contains(text, "Trying") || strings.Contains(text, "reach") {
			h.OK(run.Process.Signal(os.Interrupt))
		}
		if err := run.Wait(); run.ProcessState.ExitCode() > 1 || run.ProcessState.ExitCode() < 0 {
			t.Errorf("%q: %v", args, err)
		}
		stop()
		cancel()
	}
}

// TestListenScriptIsServed as a script, once for each of its states.
func TestListenScriptIsServed(t *testing.T) {
	t.Parallel()
	h, base := harness.ListenAsItself(t)
	got := h.SignedOut().Get("/docs/listen.mjs")
	if kind := got.Header().Get("Content-Type"); kind != "text/javascript; charset=utf-8" ||
		!strings.Contains(got.Body.String(), `"`+base+`"`) || strings.Contains(got.Body.String(), "{base_url}") {
		t.Errorf("%s: %s", kind, got.Body)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, base+"/docs/listen.mjs", nil)
	r.Header.Set("If-None-Match", got.Header().Get("ETag"))
	if again := h.Serve(r); again.Code != http.StatusNotModified {
		t.Errorf("with its ETag: %d", again.Code)
	}
}
