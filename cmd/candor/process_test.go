package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that must happen.
const patience = 90 * time.Second

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "candor-binary-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "candor")
	args := []string{"build", "-buildvcs=false", "-o", binary}
	if raced() {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// raced reports whether these tests run with the race detector: then so does
// the program.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" })
}

// environment is what a candor process sees besides PATH.
type environment map[string]string

// with returns a copy with more variables; "" takes one away.
func (e environment) with(pairs ...string) environment {
	out := environment{}
	for k, v := range e {
		out[k] = v
	}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

func (e environment) list() []string {
	// A program with the race detector would sleep for a second before it ends.
	out := []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "GORACE=atexit_sleep_ms=0"}
	for k, v := range e {
		if v != "" {
			out = append(out, k+"="+v)
		}
	}
	return out
}

// output collects what a process prints and tells when there is more.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed and replaced at every write
}

func newOutput() *output { return &output{more: make(chan struct{})} }

// Write appends to the output.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	return o.text.Write(p)
}

func (o *output) read() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.more
}

// String is what was printed so far.
func (o *output) String() string {
	text, _ := o.read()
	return text
}

// candor is a running process.
type candor struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *output
	stderr *output
	done   chan struct{} // closed at its end
	url    string        // of a web process, once ready
}

// launch starts the program; it is killed when the test ends before it.
func launch(t *testing.T, env environment, args ...string) *candor {
	t.Helper()
	p := &candor{t: t, cmd: exec.Command(binary, args...), stdout: newOutput(), stderr: newOutput(), done: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env.list(), p.stdout, p.stderr
	p.cmd.Dir = t.TempDir()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the state is read from ProcessState
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("candor %s printed:\n%s%s", strings.Join(args, " "), p.stdout, p.stderr)
		}
		if strings.Contains(p.stderr.String(), "DATA RACE") {
			t.Errorf("candor %s has a data race:\n%s", strings.Join(args, " "), p.stderr)
		}
	})
	return p
}

var readyLine = regexp.MustCompile(`(?m)(?:msg=ready addr=|"msg":"ready","addr":")([^"\s]*)`)

// serve starts a serve, web or worker process and waits until it is ready.
func serve(t *testing.T, env environment, command string) *candor {
	t.Helper()
	p := launch(t, env, command)
	addr := p.waitFor(readyLine)[1]
	p.url = "http://" + addr
	if strings.HasPrefix(addr, ":") {
		p.url = "http://localhost" + addr
	}
	return p
}

// waitFor waits until the process has printed what the pattern says.
func (p *candor) waitFor(pattern *regexp.Regexp) []string {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		out, moreOut := p.stdout.read()
		errs, moreErrs := p.stderr.read()
		if found := pattern.FindStringSubmatch(out + errs); found != nil {
			return found
		}
		select {
		case <-moreOut:
		case <-moreErrs:
		case <-p.done:
			if found := pattern.FindStringSubmatch(p.stdout.String() + p.stderr.String()); found != nil {
				return found
			}
			p.t.Fatalf("candor ended with %s before it printed %s", p.cmd.ProcessState, pattern)
		case <-deadline:
			p.t.Fatalf("candor never printed %s", pattern)
		}
	}
}

func (p *candor) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait waits for the process's end.
func (p *candor) wait() *os.ProcessState {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatal("candor does not end")
	}
	return p.cmd.ProcessState
}

// stop asks for a shutdown and fails the test if it fails.
func (p *candor) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	if state := p.wait(); state.ExitCode() != 0 {
		p.t.Errorf("after SIGTERM candor ended with %s, want exit code 0", state)
	}
}

// kill is kill -9.
func (p *candor) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.wait()
}

// result is what a command left.
type result struct {
	code           int
	stdout, stderr string
}

// command runs a command to its end.
func command(t *testing.T, env environment, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env.list(), t.TempDir(), &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// commandJSON runs a command that must succeed and reads what it prints.
func commandJSON[T any](t *testing.T, env environment, args ...string) T {
	t.Helper()
	r := command(t, env, append(args, "--json")...)
	var out T
	if err := json.Unmarshal([]byte(r.stdout), &out); r.code != 0 || err != nil {
		t.Fatalf("candor %s --json: exit code %d, %v\n%s%s", strings.Join(args, " "), r.code, err, r.stdout, r.stderr)
	}
	wantAPIFormats(t, args, r.stdout)
	return out
}

var (
	jsonTime = regexp.MustCompile(`"(\d{4}-\d\d-\d\dT\d\d:\d\d[^"\\]*)"`)
	apiTime  = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
)

// wantAPIFormats fails if a command prints a time or an amount in another form
// than the API: UTC to the millisecond, and dollars.
func wantAPIFormats(t *testing.T, args []string, printed string) {
	t.Helper()
	for _, at := range jsonTime.FindAllStringSubmatch(printed, -1) {
		if !apiTime.MatchString(at[1]) {
			t.Errorf("candor %s --json prints the time %s, want the API's form", strings.Join(args, " "), at[1])
		}
	}
	if strings.Contains(printed, `_cents"`) {
		t.Errorf("candor %s --json prints cents, want dollars as the API does:\n%s", strings.Join(args, " "), printed)
	}
}

// eventually polls until ok says yes.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		case <-tick.C:
		}
	}
}
