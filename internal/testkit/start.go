package testkit

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"testing"
)

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
