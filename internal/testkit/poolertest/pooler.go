// Package poolertest puts PgBouncer in front of a test's database.
package poolertest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"candor/internal/platform/devpg"
	"candor/internal/testkit"
)

// The pool modes.
const (
	Transaction = "transaction"
	Session     = "session"
)

// Start runs PgBouncer with so many connections to the server of dsn until the test
// ends. It returns the connection string of the same database through it.
func Start(t testing.TB, dsn, mode string, size int) string {
	t.Helper()
	testkit.Slow(t) // make test-fast needs no PgBouncer
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer"
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatal("PgBouncer is missing: apt-get install pgbouncer")
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal("poolertest: the connection string is not valid")
	}
	dir, err := os.MkdirTemp("", "candor-pooler-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	server := fmt.Sprintf("host=%s port=%d user=%s", config.Host, config.Port, config.User)
	if config.Password != "" {
		server += " password=" + config.Password
	}
	ini := filepath.Join(dir, "pgbouncer.ini")
	settings := fmt.Sprintf(`[databases]
* = %s
[pgbouncer]
unix_socket_dir = %s
listen_port = 6432
auth_type = any
pool_mode = %s
default_pool_size = %d
max_client_conn = 500
`, server, dir, mode, size)
	if err := os.WriteFile(ini, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, dir, exec.CommandContext(context.Background(), program, ini))
	socket := filepath.Join(dir, ".s.PGSQL.6432")
	testkit.Await(t, "PgBouncer doesn't start", func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "unix", socket)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	u := url.URL{Scheme: "postgres", User: url.User(config.User), Path: "/" + config.Database}
	u.RawQuery = "host=" + dir + "&port=6432&sslmode=disable"
	return u.String()
}

// run runs the program until the test ends, as the owner of the server's files if the
// test runs as root, which PgBouncer refuses.
func run(t testing.TB, dir string, cmd *exec.Cmd) {
	t.Helper()
	owner, err := devpg.Credential()
	if err == nil && owner != nil {
		err = os.Chown(dir, int(owner.Uid), int(owner.Gid))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: owner}
	testkit.Start(t, cmd)
}
