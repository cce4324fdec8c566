package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"candor/db"
	"candor/devpg"
	"candor/keyring"
)

// environment is a running service on a PostgreSQL of its own.
type environment struct {
	dir      string
	postgres *devpg.Server
	dsn      string
	db       *db.DB
	server   *exec.Cmd
	addr     string
	environ  []string
	account  struct {
		AccountID string `json:"account_id"`
		TestKey   string `json:"test_key"`
		Email     string `json:"email"`
		Password  string `json:"password"`
	}
}

const database = "bench"

func start(ctx context.Context, binary string) (*environment, error) {
	dir, err := os.MkdirTemp("", "candor-bench-")
	if err != nil {
		return nil, err
	}
	e := &environment{dir: dir}
	if err := e.open(ctx, binary); err != nil {
		e.stop()
		return nil, err
	}
	return e, nil
}

func (e *environment) open(ctx context.Context, binary string) (err error) {
	if e.postgres, err = devpg.Start(ctx, filepath.Join(e.dir, "postgres"), devpg.Options{MaxConnections: 200}); err != nil {
		return err
	}
	if err := e.postgres.CreateDatabase(ctx, database); err != nil {
		return err
	}
	e.dsn = e.postgres.DSN(database)
	if e.addr, err = freeAddress(); err != nil {
		return err
	}
	e.environ = append(os.Environ(),
		"CANDOR_ENV=development", "CANDOR_ADDR="+e.addr, "CANDOR_BASE_URL=http://"+e.addr, "DATABASE_URL="+e.dsn,
		"CANDOR_DATA_DIR="+filepath.Join(e.dir, "data"), "CANDOR_SECRET_KEYS="+keyring.Generate("bench"),
		"CANDOR_RATE_PER_MINUTE=1000000000", "CANDOR_RATE_BURST=1000000000", "CANDOR_DB_CONNECTIONS=32", "CANDOR_LOG_LEVEL=error",
	)
	if err := e.command(ctx, binary, "migrate").Run(); err != nil {
		return fmt.Errorf("candor migrate: %w", err)
	}
	out, err := e.command(ctx, binary, "account", "create", "--name", "Bench", "--email", "bench@example.com", "--plan", "enterprise", "--json").Output()
	if err != nil {
		return fmt.Errorf("candor account create: %w", err)
	}
	if err := json.Unmarshal(out, &e.account); err != nil {
		return fmt.Errorf("candor account create: %w", err)
	}
	if e.db, err = db.Open(ctx, e.dsn, db.Options{MaxOpenConns: 4}); err != nil {
		return err
	}
	e.server = e.command(ctx, binary, "serve")
	e.server.Stderr = os.Stderr
	if err := e.server.Start(); err != nil {
		return err
	}
	return e.ready(ctx)
}

// command is the service's binary; it ends with the bench.
func (e *environment) command(ctx context.Context, binary string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = e.environ
	return cmd
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (e *environment) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.addr+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close() // only the status matters
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the service is not ready: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stop ends everything and removes what it left; errors would only hide the
// figures.
func (e *environment) stop() {
	if e.server != nil && e.server.Process != nil {
		_ = e.server.Process.Signal(syscall.SIGTERM)
		_ = e.server.Wait()
	}
	if e.db != nil {
		_ = e.db.Close()
	}
	if e.postgres != nil {
		_ = e.postgres.Stop()
		_ = os.RemoveAll(e.postgres.Dir()) // which is elsewhere where root runs this
	}
	_ = os.RemoveAll(e.dir)
}
