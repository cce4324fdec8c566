// Package redistest runs a redis-server for a test, on a unix socket.
package redistest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gomodule/redigo/redis"

	"candor/internal/testkit"
)

// Server is a redis-server that keeps nothing on disk. It ends with its test.
type Server struct {
	URL    string // unix://…
	Socket string
	Kill   func() // is kill -9
	t      testing.TB
	args   []string
	cmd    *exec.Cmd
}

// Start starts a server with further arguments for it.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	testkit.Slow(t)                        // make test-fast needs no redis-server
	dir, err := os.MkdirTemp("", "redis-") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &Server{t: t, Socket: filepath.Join(dir, "s")}
	s.URL = "unix://" + s.Socket
	s.args = append([]string{"--port", "0", "--unixsocket", s.Socket, "--save", "", "--appendonly", "no", "--dir", dir}, args...)
	s.Restart()
	return s
}

// Restart starts a server in the place of one that was killed; it is empty.
func (s *Server) Restart() {
	s.t.Helper()
	s.cmd = exec.CommandContext(context.Background(), "redis-server", s.args...)
	s.Kill = testkit.Start(s.t, s.cmd)
	testkit.Await(s.t, "redis-server doesn't answer", func() bool {
		// One that wants a password answers, too.
		_, err := s.do("PING")
		var answer redis.Error
		return err == nil || errors.As(err, &answer)
	})
}

// Pause lets the server accept connections and answer nothing.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume ends Pause.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Keys returns the names of everything that is stored.
func (s *Server) Keys() []string {
	s.t.Helper()
	keys, err := redis.Strings(s.do("KEYS", "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return keys
}

func (s *Server) do(command string, args ...any) (any, error) {
	conn, err := redis.Dial("unix", s.Socket, redis.DialReadTimeout(testkit.Patience))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return conn.Do(command, args...)
}
