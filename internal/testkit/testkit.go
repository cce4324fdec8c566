// Package testkit holds what tests share.
package testkit

import (
	"bytes"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"
)

// Slow marks a test that takes more than a second beside others: one that runs processes or
// against the clock, or asks hundreds of times. `make test-fast` leaves it out; `make test`
// and CI run it.
//
// One that takes many is named TestDrill…, if it kills, restores or waits out real time, or
// TestToolchain…, if it runs other languages' compilers: `make drills` runs it.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow: make test runs it")
	}
}

// Raced reports whether the tests run with the race detector, which makes computing ten
// times as slow.
func Raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// Patience is how long a test waits for what must happen on a busy machine.
const Patience = 90 * time.Second

// Await waits until ready returns true, and fails the test if that takes longer than
// Patience. What it waits for has the processor between two questions.
func Await(t testing.TB, what string, ready func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !ready(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("gave up after %s: %s", Patience, what)
		}
	}
}

var update = flag.Bool("update", false, "rewrite the files that hold what the code makes")

// Golden fails the test where got isn't what the file holds, and shows the difference.
// With -update it writes the file.
func Golden(t testing.TB, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if held, err := os.ReadFile(file); err == nil && bytes.Equal(held, got) {
		return
	}
	diff := exec.CommandContext(t.Context(), "diff", "-u", "--label", file, "--label", "what the code makes", file, "-")
	diff.Stdin = bytes.NewReader(got)
	shown, _ := diff.CombinedOutput() // it fails where the two differ
	t.Errorf("run the test with -update if this is meant:\n%s", shown)
}

// A LogBuffer keeps what is logged. It is safe for concurrent use.
type LogBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends a log line.
func (l *LogBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// Clear forgets the lines so far.
func (l *LogBuffer) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// String returns all lines.
func (l *LogBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// ModuleRoot returns the folder that holds go.mod, above the test's package.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the test's folder")
		}
		dir = parent
	}
}

// Start starts a program, which is killed when the test ends, if not before. What it printed
// is logged if the test failed.
func Start(t testing.TB, program *exec.Cmd) (kill func()) {
	t.Helper()
	var out bytes.Buffer
	program.Stdout, program.Stderr = &out, &out
	if err := program.Start(); err != nil {
		t.Fatalf("%v: scripts/setup.sh installs what tests need", err)
	}
	kill = func() {
		_ = program.Process.Kill()
		_ = program.Wait() // it says that it was killed
	}
	t.Cleanup(func() {
		kill()
		if t.Failed() {
			t.Logf("%s printed:\n%s", filepath.Base(program.Path), &out)
		}
	})
	return kill
}

// Serve serves on a loopback address until the test ends.
func Serve(t testing.TB, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}
