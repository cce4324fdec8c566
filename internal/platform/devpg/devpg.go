// Package devpg runs a private PostgreSQL from the system's own binaries, for
// development and for tests. It listens on a unix socket only, never on the
// network.
//
// It must not know what is stored in the server: no migrations, no schema, no
// configuration of the service. Nor does it read the environment, apart from
// PATH (to find the binaries) and the place of temporary files.
package devpg

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// superuser is the only role; the socket's folder is closed to everyone else.
const superuser = "candor"

const (
	defaultMaxConnections = 100
	startTimeout          = 60 * time.Second
	stopTimeout           = 20 * time.Second
)

// Options say how a server is run. The zero value is a durable server that
// stops with the process that started it. All users of one folder should agree
// on them: a server that is reused keeps those it was started with.
type Options struct {
	// BinDir holds initdb and postgres. Empty: PATH and the usual places.
	BinDir string
	// MaxConnections is the server's limit. Zero: 100.
	MaxConnections int
	// Unsafe gives up durability for speed: a crash of the machine may lose
	// or corrupt everything. Nothing is vacuumed or analyzed by itself. For tests.
	Unsafe bool
	// IdleStop, when positive, starts the server detached: it outlives this
	// process, can be shared by many, and stops by itself once no process
	// that called Start has been alive for that long (rounded up to seconds).
	// Keep the Server for as long as it is needed: it holds the connection
	// that says so.
	IdleStop time.Duration
}

// Server is a running PostgreSQL, started or reused by Start.
type Server struct {
	place  place
	bin    string
	opts   Options
	pid    int
	child  *child    // nil when the server was already running
	lease  *pgx.Conn // held while a detached server must stay up
	notice string
}

// Start runs the server whose data lie in dir, creating them the first time.
// A server that already runs there is reused. It returns once connections are
// accepted. Errors are one line and name the remedy.
func Start(ctx context.Context, dir string, opts Options) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if opts.MaxConnections <= 0 {
		opts.MaxConnections = defaultMaxConnections
	}
	owner, err := findOwner()
	if err != nil {
		return nil, err
	}
	p, notice, err := choosePlace(dir, owner)
	if err != nil {
		return nil, err
	}
	bin, err := binariesFor(p.data(), opts.BinDir)
	if err != nil {
		return nil, err
	}
	s := &Server{place: p, bin: bin, opts: opts, notice: notice}

	starting, err := waitLock(ctx, p.path("starting.lock"))
	if err != nil {
		return nil, fmt.Errorf("devpg: another process is starting %s: %w", p.dir, err)
	}
	defer starting.Close()
	if err := s.initialise(ctx); err != nil {
		return nil, err
	}
	if err := s.bringUp(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// bringUp reuses the running server or starts one. It loops because a server
// found running may be on its way down.
func (s *Server) bringUp(ctx context.Context) error {
	for {
		adopted, err := s.adopt(ctx)
		if err != nil || adopted {
			return err
		}
		alive, err := tryLock(s.place.path("alive.lock"))
		if err != nil {
			return err
		}
		if alive != nil {
			return s.spawn(ctx, alive)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("devpg: a PostgreSQL holds %s but does not answer; end it (its process id is the first line of %s): %w",
				s.place.dir, filepath.Join(s.place.data(), "postmaster.pid"), ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// adopt reports whether a server already answers for this folder.
func (s *Server) adopt(ctx context.Context) (bool, error) {
	st, ok := readStatus(s.place.data())
	if !ok {
		return false, nil
	}
	s.place.socket = st.socket // it may have been started with another TMPDIR
	s.pid = st.pid
	conn, err := s.connect(ctx)
	if err != nil {
		return false, nil //nolint:nilerr // a dead server is the ordinary case; spawn reports real trouble
	}
	return s.retain(ctx, conn)
}

// retain keeps conn as the lease of a detached server, or closes it. It
// reports false when the server has already decided to stop.
func (s *Server) retain(ctx context.Context, conn *pgx.Conn) (bool, error) {
	if s.opts.IdleStop <= 0 {
		return true, conn.Close(ctx)
	}
	var got bool
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock_shared($1)", leaseKey).Scan(&got); err != nil || !got {
		_ = conn.Close(ctx)
		return false, nil //nolint:nilerr // it went away under us: the caller looks again
	}
	if err := s.startIdleWatch(ctx); err != nil {
		_ = conn.Close(ctx)
		return false, err
	}
	s.lease = conn
	return true, nil
}

// DSN is the connection string (URL form) of a database on this server, fit
// for lib/pq, pgx and the command line tools.
func (s *Server) DSN(database string) string {
	q := url.Values{"host": {s.place.socket}, "port": {"5432"}, "sslmode": {"disable"}}
	// libpq and pgx take a plus sign in a URL for itself, not for a space.
	query := strings.ReplaceAll(q.Encode(), "+", "%20")
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database, RawQuery: query}
	return u.String()
}

// Dir is the folder in use: the one asked for, or the replacement Notice tells of.
func (s *Server) Dir() string { return s.place.dir }

// BinDir is the folder of the PostgreSQL programs in use.
func (s *Server) BinDir() string { return s.bin }

// PID is the process id of the server.
func (s *Server) PID() int { return s.pid }

// Started reports whether this process started the server, rather than
// reusing a running one.
func (s *Server) Started() bool { return s.child != nil }

// Notice is a sentence for the user when the data could not lie where they
// were asked for, else empty.
func (s *Server) Notice() string { return s.notice }

// CreateDatabase creates a database unless it exists.
func (s *Server) CreateDatabase(ctx context.Context, name string) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return fmt.Errorf("devpg: create database %s: %w", name, err)
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && (pgErr.Code == "42P04" || pgErr.Code == "23505") {
		return nil // it exists, or another process has just created it
	}
	if err != nil {
		return fmt.Errorf("devpg: create database %s: %w", name, err)
	}
	return nil
}

// Stop shuts the server down if this process started it and it is not
// detached; a detached one is only let go of. It disconnects clients, waits
// for the server's end, and may be called again.
func (s *Server) Stop() error {
	if s.lease != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		_ = s.lease.Close(ctx) // its end is what counts, however it comes
		s.lease = nil
	}
	if s.child == nil || s.opts.IdleStop > 0 {
		return nil
	}
	return s.child.stop()
}

// connect opens one connection to the database postgres, ignoring whatever PG* variables are set.
func (s *Server) connect(ctx context.Context) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(s.DSN("postgres"))
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams, cfg.Password = nil, ""
	return pgx.ConnectConfig(ctx, cfg)
}

// initialise makes the data folder. It appears under its name only when
// complete: initdb killed half-way leaves a folder that looks finished.
func (s *Server) initialise(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(s.place.data(), "PG_VERSION")); err == nil {
		return nil
	}
	fresh := s.place.path("data.new")
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("devpg: %w", err)
	}
	cmd := s.command(ctx, "initdb", "-D", fresh, "-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("devpg: initdb in %s failed: %w: %s", fresh, err, lastLine(out))
	}
	if err := os.Rename(fresh, s.place.data()); err != nil {
		return fmt.Errorf("devpg: %w", err)
	}
	return nil
}

// tryLock takes an exclusive lock on a file, or returns nil if it is taken.
// The lock lasts until the file is closed in every process that inherited it.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("devpg: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("devpg: lock %s: %w", path, err)
}

// waitLock is tryLock until the lock is free or ctx ends.
func waitLock(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := tryLock(path)
		if f != nil || err != nil {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
