// Package process runs the built program for tests: its commands to their end, and
// its servers until they are stopped or killed. It also has what surrounds a
// running service: a partner that calls the API and receives webhooks, a customer who
// fills in the form. It shares no code with the service.
package process

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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"candor/internal/testkit"
)

// The program under test, without the race detector and with it.
var (
	plain = sync.OnceValues(func() (string, error) { return build("test") })
	raced = sync.OnceValues(func() (string, error) { return build("test-race", "-race") })
)

// Binary builds the program, if its code has changed, and returns its path. All packages
// of this checkout share it.
func Binary(t *testing.T) string {
	t.Helper()
	return must(t, plain)
}

// serverBinary is Binary with the race detector, if the tests have it. A command ends
// before the detector has begun to look, which takes it ten times as long.
func serverBinary(t *testing.T) string {
	t.Helper()
	if testkit.Raced() {
		return must(t, raced)
	}
	return must(t, plain)
}

func must(t *testing.T, built func() (string, error)) string {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// build builds the program in a folder below bin. go build leaves one alone that is of the
// same code, so one process builds and others wait for it.
func build(folder string, flags ...string) (string, error) {
	root, err := testkit.ModuleRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "bin", folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close() // which unlocks
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	binary := filepath.Join(dir, "candor")
	args := append([]string{"build", "-buildvcs=false", "-ldflags=-w", "-o", binary}, flags...)
	if out, err := exec.CommandContext(context.Background(), "go", append(args, "candor/cmd/candor")...).
		CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}

// output collects what a process prints and signals when there is more.
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

// Candor is a running process.
type Candor struct {
	t      *testing.T
	cmd    *exec.Cmd
	Stdout *output
	Stderr *output
	done   chan struct{} // closed at its end
	URL    string        // of a web process, once ready
}

// Launch starts the program. It is killed if the test ends first.
func Launch(t *testing.T, env Environment, args ...string) *Candor {
	t.Helper()
	return launch(t, exec.CommandContext(context.Background(), serverBinary(t), args...), env)
}

// ServeOn is Serve on a socket that the caller holds, as systemd does.
func ServeOn(t *testing.T, socket *os.File, env Environment, command string) *Candor {
	t.Helper()
	// systemd sets LISTEN_PID between fork and exec, as the shell does here.
	cmd := exec.CommandContext(context.Background(), "sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$1"`,
		serverBinary(t), command)
	cmd.ExtraFiles = []*os.File{socket}
	return launch(t, cmd, env).ready()
}

func launch(t *testing.T, cmd *exec.Cmd, env Environment) *Candor {
	t.Helper()
	p := &Candor{t: t, cmd: cmd, Stdout: newOutput(), Stderr: newOutput(), done: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env.list(), p.Stdout, p.Stderr
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
			t.Logf("candor %s printed:\n%s%s", strings.Join(cmd.Args[1:], " "), p.Stdout, p.Stderr)
		}
		if strings.Contains(p.Stderr.String(), "DATA RACE") {
			t.Errorf("candor %s has a data race:\n%s", strings.Join(cmd.Args[1:], " "), p.Stderr)
		}
	})
	return p
}

// ReadyLine matches the log line of a serving process that is ready, and its address.
var ReadyLine = regexp.MustCompile(`(?m)(?:msg=ready addr=|"msg":"ready","addr":")([^"\s]*)`)

// Serve starts a serve, web or worker process and waits until it is ready.
func Serve(t *testing.T, env Environment, command string) *Candor {
	t.Helper()
	return ServeBinary(t, serverBinary(t), env, command)
}

// ServeBinary is Serve of another release.
func ServeBinary(t *testing.T, binary string, env Environment, command string) *Candor {
	t.Helper()
	return launch(t, exec.CommandContext(context.Background(), binary, command), env).ready()
}

// ready waits until the process is ready, and keeps its address.
func (p *Candor) ready() *Candor {
	p.t.Helper()
	addr := p.WaitFor(ReadyLine)[1]
	p.URL = "http://" + addr
	if strings.HasPrefix(addr, ":") {
		p.URL = "http://localhost" + addr
	}
	return p
}

// WaitFor waits until the output matches the pattern.
func (p *Candor) WaitFor(pattern *regexp.Regexp) []string {
	p.t.Helper()
	deadline := time.After(testkit.Patience)
	for {
		out, moreOut := p.Stdout.read()
		errs, moreErrs := p.Stderr.read()
		if found := pattern.FindStringSubmatch(out + errs); found != nil {
			return found
		}
		select {
		case <-moreOut:
		case <-moreErrs:
		case <-p.done:
			if found := pattern.FindStringSubmatch(p.Stdout.String() + p.Stderr.String()); found != nil {
				return found
			}
			p.t.Fatalf("candor ended with %s before it printed %s", p.cmd.ProcessState, pattern)
		case <-deadline:
			p.t.Fatalf("candor never printed %s", pattern)
		}
	}
}

// Program is the path of its program.
func (p *Candor) Program() string { return p.cmd.Path }

// Signal sends a signal to the process.
func (p *Candor) Signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// Wait waits for the process's end.
func (p *Candor) Wait() *os.ProcessState {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(testkit.Patience):
		p.t.Fatal("candor does not end")
	}
	return p.cmd.ProcessState
}

// Stop asks for a shutdown and fails the test if it fails.
func (p *Candor) Stop() {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
	if state := p.Wait(); state.ExitCode() != 0 {
		p.t.Errorf("after SIGTERM candor ended with %s, want exit code 0", state)
	}
}

// Kill is kill -9.
func (p *Candor) Kill() {
	p.t.Helper()
	p.Signal(syscall.SIGKILL)
	p.Wait()
}

// Result is a command's exit code and output.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Run runs a command to its end.
func Run(t *testing.T, env Environment, args ...string) Result {
	t.Helper()
	return RunBinary(t, Binary(t), env, args...)
}

// RunBinary is Run of another release.
func RunBinary(t *testing.T, binary string, env Environment, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env.list(), t.TempDir(), &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return Result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// RunJSON runs a command that must succeed, and decodes its JSON.
func RunJSON[T any](t *testing.T, env Environment, args ...string) T {
	t.Helper()
	r := Run(t, env, append(args, "--json")...)
	var out T
	if err := json.Unmarshal([]byte(r.Stdout), &out); r.Code != 0 || err != nil {
		t.Fatalf("candor %s --json: exit code %d, %v\n%s%s", strings.Join(args, " "), r.Code, err, r.Stdout, r.Stderr)
	}
	wantAPIFormats(t, args, r.Stdout)
	return out
}

var (
	jsonTime = regexp.MustCompile(`"(\d{4}-\d\d-\d\dT\d\d:\d\d[^"\\]*)"`)
	apiTime  = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
)

// wantAPIFormats fails the test unless times and amounts have the API's format: UTC
// to the millisecond, and dollars.
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
