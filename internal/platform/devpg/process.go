package devpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// child is a server process that this process started.
type child struct {
	process *os.Process
	done    chan struct{} // closed once the process has ended
	err     error         // why; valid after done
}

// command prepares one of PostgreSQL's programs, run as the server's user with
// an environment of its own.
func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + s.bin + ":/usr/bin:/bin", "LC_ALL=C", "HOME=/"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.place.owner.credential(), Setpgid: true}
	return cmd
}

// spawn starts the server. It hands it the locked file alive, which every
// process of the server inherits: the lock is free again only when all of
// them have gone, so that no leftover of a killed server can be mistaken for a
// running one, nor a running one for a leftover.
func (s *Server) spawn(ctx context.Context, alive *os.File) error {
	defer alive.Close()
	var err error
	if s.place.socket, err = chooseSocket(s.place.dir, s.place.owner); err != nil {
		return err
	}
	if err := s.removeLeftovers(); err != nil {
		return err
	}
	log, err := os.OpenFile(s.place.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("devpg: %w", err)
	}
	defer log.Close()

	// Not bound to ctx: the server lives on after Start.
	cmd := s.command(context.Background(), "postgres", s.arguments()...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{alive}
	if s.opts.IdleStop > 0 {
		// Ctrl-C goes to a terminal's process group: leave session and group.
		cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Setsid = false, true
	} else {
		dieWithParent(cmd.SysProcAttr)
	}
	c, err := launch(cmd)
	if err != nil {
		return fmt.Errorf("devpg: start postgres: %w", err)
	}
	s.child, s.pid = c, c.process.Pid
	if err := s.waitReady(ctx); err != nil {
		_ = c.stop()
		s.child = nil
		return err
	}
	return nil
}

// removeLeftovers deletes the lock files of a server that was killed. They name
// a process id. If another process or a zombie has it by now, PostgreSQL would
// refuse to start.
func (s *Server) removeLeftovers() error {
	socket := filepath.Join(s.place.socket, ".s.PGSQL.5432")
	for _, file := range []string{filepath.Join(s.place.data(), "postmaster.pid"), socket, socket + ".lock"} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("devpg: %w", err)
		}
	}
	return nil
}

func (s *Server) arguments() []string {
	args := []string{"-D", s.place.data(), "-k", s.place.socket, "-p", "5432"}
	settings := []string{
		"listen_addresses=", "unix_socket_permissions=0700", "timezone=UTC", "log_timezone=UTC",
		"logging_collector=off", "log_checkpoints=off",
		"max_connections=" + strconv.Itoa(s.opts.MaxConnections),
	}
	if s.opts.Unsafe {
		// Little log is kept: each checkout's tests leave their server's folder behind. Plans are
		// those of a test's own ANALYZE, however long it takes.
		settings = append(settings, "autovacuum=off", "fsync=off", "full_page_writes=off", "synchronous_commit=off",
			"wal_level=minimal", "max_wal_senders=0", "min_wal_size=32MB", "max_wal_size=128MB")
	} else {
		settings = append(settings, "shared_buffers=256MB")
	}
	for _, set := range settings {
		args = append(args, "-c", set)
	}
	return args
}

// launch starts cmd and waits for it in a goroutine that owns its thread,
// because Linux signals a child when the thread that forked it ends.
func launch(cmd *exec.Cmd) (*child, error) {
	c := &child{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		if err == nil {
			c.process = cmd.Process
		}
		started <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// waitReady waits until our own child accepts connections.
func (s *Server) waitReady(ctx context.Context) error {
	for {
		if st, ok := readStatus(s.place.data()); ok && st.ready && st.pid == s.pid {
			conn, err := s.connect(ctx)
			if err == nil {
				_, err = s.retain(ctx, conn)
			}
			return err
		}
		select {
		case <-s.child.done:
			out, _ := os.ReadFile(s.place.log()) // best effort: the path is in the message
			return fmt.Errorf("devpg: postgres ended at start (%w), see %s: %s", s.child.err, s.place.log(), lastLine(out))
		case <-ctx.Done():
			return fmt.Errorf("devpg: postgres is not ready, see %s: %w", s.place.log(), ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// stop shuts down in PostgreSQL's fast mode (clients are disconnected), then
// immediately if that takes too long.
func (c *child) stop() error {
	_ = c.process.Signal(syscall.SIGINT) // an ended process is what we want
	select {
	case <-c.done:
		return nil
	case <-time.After(stopTimeout):
		_ = c.process.Signal(syscall.SIGQUIT)
		<-c.done
		return fmt.Errorf("devpg: postgres did not stop within %s and was ended", stopTimeout)
	}
}

// status is what postmaster.pid says. It may be a leftover.
type status struct {
	pid    int
	socket string
	ready  bool
}

func readStatus(data string) (status, bool) {
	b, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return status{}, false
	}
	lines := strings.Split(string(b), "\n")
	if len(lines) < 8 {
		return status{}, false // still being written
	}
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return status{}, false
	}
	return status{pid: pid, socket: strings.TrimSpace(lines[4]), ready: strings.TrimSpace(lines[7]) == "ready"}, true
}

func lastLine(out []byte) string {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return string(lines[len(lines)-1])
}
