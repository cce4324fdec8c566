package devpg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"candor/internal/testkit"
)

// helperDir makes this test binary a process that starts a server and waits.
const helperDir = "DEVPG_TEST_HELPER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		opts := Options{Unsafe: true}
		if len(os.Args) > 1 && os.Args[1] == "detached" {
			opts.IdleStop = 2 * time.Second
		}
		s, err := Start(context.Background(), dir, opts)
		fmt.Println(s != nil, err)
		_, _ = io.Copy(io.Discard, os.Stdin) // until our parent ends us
		return
	}
	os.Exit(m.Run())
}

// openDir is an empty folder that the server's user can reach, unlike t.TempDir.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "devpg-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "pg")
}

func start(t *testing.T, dir string, opts Options) *Server {
	t.Helper()
	opts.Unsafe = true
	s, err := Start(context.Background(), dir, opts)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	return s
}

func query(s *Server, database, sql string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.DSN(database))
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	var out string
	return out, conn.QueryRow(ctx, sql).Scan(&out)
}

func answers(s *Server) bool {
	_, err := query(s, "postgres", "SELECT 'x'")
	return err == nil
}

func TestStartStopStart(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	s := start(t, dir, Options{MaxConnections: 17})
	ctx := context.Background()
	for range 2 { // the second time it exists
		if err := s.CreateDatabase(ctx, `it's "mine"`); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := query(s, "postgres", "SHOW max_connections"); got != "17" || err != nil {
		t.Errorf("max_connections = %q, %v; want 17", got, err)
	}
	if got, err := query(s, "postgres", "SHOW listen_addresses"); got != "" || err != nil {
		t.Errorf("listen_addresses = %q, %v; want none", got, err)
	}
	if got, err := query(s, "postgres", "SHOW fsync"); got != "off" || err != nil {
		t.Errorf("fsync = %q, %v; want off with Unsafe", got, err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if answers(s) {
		t.Error("still answers after Stop")
	}
	durable, err := Start(ctx, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer durable.Stop()
	if got, err := query(durable, `it's "mine"`, "SHOW fsync"); got != "on" || err != nil {
		t.Errorf("fsync = %q, %v; want on by default, in the database made before", got, err)
	}
}

func TestReuse(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	first := start(t, dir, Options{})
	second := start(t, dir, Options{})
	if !first.Started() || second.Started() || first.PID() != second.PID() {
		t.Errorf("started %v pid %d, then started %v pid %d; want one server", first.Started(), first.PID(), second.Started(),
			second.PID())
	}
	if err := second.Stop(); err != nil || !answers(first) {
		t.Errorf("Stop of a reused server: %v, answers %v; it must keep running", err, answers(first))
	}
}

func TestStartedAtOnce(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	servers := make([]*Server, 6)
	var wg sync.WaitGroup
	for i := range servers {
		wg.Go(func() {
			s, err := Start(context.Background(), dir, Options{Unsafe: true})
			if err != nil {
				t.Errorf("Start: %v", err)
				return
			}
			servers[i] = s
		})
	}
	wg.Wait()
	started := 0
	for _, s := range servers {
		if s != nil && s.Started() {
			started++
			defer s.Stop()
		}
	}
	if started != 1 {
		t.Errorf("%d of 6 started a server, want 1", started)
	}
}

func TestStartAfterPostmasterWasKilled(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	s := start(t, dir, Options{})
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.DSN("postgres")) // its backend outlives the postmaster for a moment
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	busy := conn.PgConn()
	reader := busy.ExecParams(ctx, "SELECT pg_sleep(1)", nil, nil, nil, nil)
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	again := start(t, dir, Options{})
	_, _ = reader.Close()
	if !again.Started() || again.PID() == s.PID() || !answers(again) {
		t.Errorf("started %v, pid %d (was %d), answers %v", again.Started(), again.PID(), s.PID(), answers(again))
	}
}

// After a reboot the id in a lock file may belong to anything, even to us.
func TestStaleLockFilesOfALivingProcess(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	s := start(t, dir, Options{})
	pidFile := filepath.Join(s.place.data(), "postmaster.pid")
	old, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(old), "\n")
	sleeper := s.command(t.Context(), "postgres", "--single", "-D", s.place.data())
	sleeper.Path, sleeper.Args = "/bin/sh", []string{"sh", "-c", "read x"}
	in, err := sleeper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleeper.Wait()
	defer in.Close()
	for _, file := range []string{pidFile, filepath.Join(s.place.socket, ".s.PGSQL.5432.lock")} {
		if err := os.WriteFile(file, fmt.Appendf(nil, "%d\n%s", sleeper.Process.Pid, rest), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if again := start(t, dir, Options{}); !answers(again) {
		t.Error("does not answer")
	}
}

func TestInitdbKilledHalfWay(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	half := filepath.Join(dir, "data.new")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(half, "PG_VERSION"), []byte("15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := start(t, dir, Options{}); !answers(s) {
		t.Error("does not answer")
	}
}

func TestLongSocketPath(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	long := filepath.Join(filepath.Dir(dir), strings.Repeat("long", 30))
	s := start(t, long, Options{})
	defer os.RemoveAll(s.place.socket)
	if !answers(s) || s.Dir() != long || len(s.place.socket) > maxSocketPath {
		t.Errorf("dir %s, socket %s, answers %v", s.Dir(), s.place.socket, answers(s))
	}
}

func TestPathWithSpaces(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	if s := start(t, openDir(t)+" & 'more' %41", Options{}); !answers(s) {
		t.Errorf("no answer at %s", s.DSN("postgres"))
	}
}

func TestClosedParentFallsBack(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	closed := t.TempDir() // its parent is 0700, as root's home is
	s := start(t, filepath.Join(closed, "pg"), Options{})
	defer os.RemoveAll(s.Dir())
	if !answers(s) {
		t.Error("does not answer")
	}
	fellBack := s.Dir() != filepath.Join(closed, "pg")
	if root := os.Getuid() == 0; fellBack != root || fellBack != (s.Notice() != "") {
		t.Errorf("as root %v: dir %s, notice %q", root, s.Dir(), s.Notice())
	}
}

func TestErrorsAreOneLineWithARemedy(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	file := filepath.Join(filepath.Dir(openDir(t)), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := openDir(t)
	if err := os.MkdirAll(filepath.Join(other, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "data", "PG_VERSION"), []byte("7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, dir string
		opts      Options
		want      string
	}{
		{"a file in the way", filepath.Join(file, "pg"), Options{}, "set DATABASE_URL"},
		{"a file in its place", file, Options{}, "set DATABASE_URL"},
		{"unwritable", "/proc/pg", Options{}, "set DATABASE_URL"},
		{"no programs", openDir(t), Options{BinDir: "/nowhere"}, "name another folder"},
		{"another version's data", other, Options{}, "PostgreSQL 7"},
	}
	for _, tt := range tests {
		_, err := Start(context.Background(), tt.dir, tt.opts)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v; want one line with %q", tt.name, err, tt.want)
		}
	}
}

func TestNoBinariesNamesThePackages(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	for _, want := range []string{"apt-get install postgresql", "brew install postgresql", "DATABASE_URL"} {
		if !strings.Contains(ErrNoBinaries.Error(), want) {
			t.Errorf("%q lacks %q", ErrNoBinaries, want)
		}
	}
}

func TestFolderOfAnotherUser(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	if err := os.Symlink("/tmp", dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(context.Background(), dir, Options{}); err == nil {
		t.Error("a symbolic link was followed")
	}
}

func TestCancelledStartLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Start(ctx, dir, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start = %v, want context.Canceled", err)
	}
	if s := start(t, dir, Options{}); !s.Started() {
		t.Error("a server was left running")
	}
}

// helper is another process that uses the server in dir.
func helper(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), helperDir+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "true <nil>\n" {
		t.Fatalf("helper: %q, %v", line, err)
	}
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the error says that it was killed
}

func TestDetachedOutlivesItsStarterAndStopsWhenIdle(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	starter := helper(t, dir, "detached")
	s := start(t, dir, Options{IdleStop: 2 * time.Second})
	if s.Started() {
		t.Fatal("the helper's server was not reused")
	}
	kill(t, starter)
	// Longer than the idle time: the lease of this process must keep it up.
	if got, err := query(s, "postgres", "SELECT 'up' FROM pg_sleep(4)"); got != "up" || err != nil {
		t.Fatalf("after its starter was killed: %q, %v", got, err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the idle server stops", func() bool {
		_, err := os.Stat(filepath.Join(s.place.data(), "postmaster.pid"))
		return errors.Is(err, os.ErrNotExist)
	})
	again := start(t, dir, Options{})
	if !again.Started() {
		t.Error("Start after the idle stop did not start a server")
	}
}
