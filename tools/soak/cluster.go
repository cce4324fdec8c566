package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"candor/internal/platform/devpg"
	"candor/internal/testkit/ports"
	"candor/internal/testkit/proc"
	"candor/internal/testkit/toxiproxy"
	"candor/tools/harness"
)

const (
	databaseName   = "candor"
	clusterTimeout = 2 * time.Minute // of a change of the cluster
	queryTimeout   = 5 * time.Second
	databaseDisk   = 1500 // MB
)

// node is one of two PostgreSQL servers.
type node struct {
	*process
	dir     string // of its disk
	port    int
	clients *toxiproxy.Link // to it, for Candor
	feed    *toxiproxy.Link // to it, for its replica
}

// cluster is a primary and a synchronous replica, which change places.
type cluster struct {
	bin        string
	credential *syscall.Credential // nil if the tests don't run as root
	nodes      [2]*node

	mu      sync.Mutex // held by a fault that changes the servers
	primary int        // index of nodes

	direct sync.RWMutex // protects dsn
	dsn    string       // of the primary, without a proxy
}

func newCluster(dir string) (*cluster, error) {
	bin, err := devpg.FindBinDir("")
	if err != nil {
		return nil, err
	}
	c := &cluster{bin: bin}
	if c.credential, err = devpg.Credential(); err != nil {
		return nil, err
	}
	free, err := ports.Free(len(c.nodes))
	if err != nil {
		return nil, err
	}
	for i := range c.nodes {
		n := &node{dir: filepath.Join(dir, fmt.Sprintf("postgres-%d", i)), port: free[i]}
		n.process = newProcess(dir, fmt.Sprintf("postgres-%d", i), func() *exec.Cmd {
			return c.program("postgres", "-D", n.data(), "-p", strconv.Itoa(n.port), "-c", "listen_addresses=127.0.0.1", "-c",
				"unix_socket_directories=",
				"-c", "timezone=UTC", "-c", "max_connections=100", "-c", "shared_buffers=64MB", "-c", "max_wal_size=256MB", "-c",
				"wal_keep_size=192MB",
				"-c", "wal_sender_timeout=5s", "-c", "wal_receiver_timeout=5s", "-c", "wal_retrieve_retry_interval=200ms")
		})
		c.nodes[i] = n
	}
	return c, nil
}

func (n *node) data() string { return filepath.Join(n.dir, "data") }

// program is one of PostgreSQL's programs, as its user.
func (c *cluster) program(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + c.bin + ":/usr/bin:/bin", "LC_ALL=C", "HOME=/"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.credential}
	return cmd
}

func (c *cluster) run(name string, args ...string) error {
	if out, err := c.program(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// start makes the first primary and its replica.
func (c *cluster) start(ctx context.Context) error {
	for _, n := range c.nodes {
		if c.credential == nil {
			continue
		}
		if err := os.Chown(n.dir, int(c.credential.Uid), int(c.credential.Gid)); err != nil {
			return err
		}
	}
	first := c.nodes[0]
	if err := c.run("initdb", "-D", first.data(), "-U", "candor", "-A", "trust", "-E", "UTF8", "--locale=C",
		"--no-sync"); err != nil {
		return err
	}
	first.release()
	if err := c.accepts(ctx, first); err != nil {
		return err
	}
	if err := c.exec(ctx, first, "postgres", "CREATE DATABASE "+databaseName); err != nil {
		return err
	}
	c.use(0)
	return c.replicate(ctx, 1)
}

// use makes a node the primary.
func (c *cluster) use(i int) {
	c.direct.Lock()
	defer c.direct.Unlock()
	c.primary, c.dsn = i, c.nodes[i].dsn(databaseName)
}

// primaryDSN leads to the primary without a proxy.
func (c *cluster) primaryDSN() string {
	c.direct.RLock()
	defer c.direct.RUnlock()
	return c.dsn
}

func (n *node) dsn(database string) string {
	return fmt.Sprintf("postgres://candor@%s/%s?sslmode=disable&connect_timeout=2", ports.Local(n.port), database)
}

// exec runs statements one by one, each in its own transaction.
func (c *cluster) exec(ctx context.Context, n *node, database string, statements ...string) error {
	return withConn(ctx, n.dsn(database), func(ctx context.Context, conn *pgx.Conn) error {
		for _, s := range statements {
			if _, err := conn.Exec(ctx, s); err != nil {
				return fmt.Errorf("%s: %s: %w", n.name, s, err)
			}
		}
		return nil
	})
}

func withConn(ctx context.Context, dsn string, do func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // nothing is open any more
	return do(ctx, conn)
}

// is reports whether the query returns true.
func (c *cluster) is(ctx context.Context, n *node, query string) (yes bool) {
	err := withConn(ctx, n.dsn(databaseName), func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, query).Scan(&yes)
	})
	return err == nil && yes
}

func (c *cluster) accepts(ctx context.Context, n *node) error {
	var err error
	if !harness.Eventually(ctx, clusterTimeout, func() bool { err = c.exec(ctx, n, "postgres"); return err == nil }) {
		return fmt.Errorf("%s doesn't accept connections: %w", n.name, err)
	}
	return nil
}

// replicate makes a node a new replica of the other one. Commits wait for it from
// then on.
func (c *cluster) replicate(ctx context.Context, i int) error {
	replica, primary := c.nodes[i], c.nodes[1-i]
	replica.hold()
	replica.ended(ctx)
	source := "host=127.0.0.1 user=candor application_name=standby port="
	var err error
	made := harness.Eventually(ctx, clusterTimeout, func() bool {
		if err = os.RemoveAll(replica.data()); err == nil {
			err = c.run("pg_basebackup", "-D", replica.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d",
				source+strconv.Itoa(primary.port))
		}
		return err == nil
	})
	if !made {
		return err
	}
	settings, err := os.OpenFile(filepath.Join(replica.data(), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(settings, "\nprimary_conninfo = '%s%s connect_timeout=2'\n", source, portOf(primary.feed.Listen))
	if closed := settings.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	replica.release()
	return c.awaitReplica(ctx, primary)
}

// awaitReplica waits until the replica follows, lets commits wait for it, and waits
// until they do.
func (c *cluster) awaitReplica(ctx context.Context, primary *node) error {
	if !harness.Eventually(ctx, clusterTimeout, func() bool { return c.follows(ctx, primary, "streaming") }) {
		return fmt.Errorf("%s has no replica that follows", primary.name)
	}
	err := c.exec(ctx, primary, "postgres", "ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (standby)'",
		"SELECT pg_reload_conf()")
	if err == nil && !harness.Eventually(ctx, clusterTimeout, func() bool { return c.synchronous(ctx, primary) }) {
		err = fmt.Errorf("%s has no synchronous replica", primary.name)
	}
	return err
}

func (c *cluster) follows(ctx context.Context, primary *node, state string) bool {
	return c.is(ctx, primary, "SELECT count(*) = 1 FROM pg_stat_replication WHERE application_name = 'standby' AND state = '"+
		state+"'")
}

// synchronous reports whether the replica has everything that was acknowledged.
func (c *cluster) synchronous(ctx context.Context, primary *node) bool {
	return c.is(ctx, primary, "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'")
}

// fail loses the primary, promotes its replica and makes a new one. It first waits
// until the replica is synchronous: operators promote no other. Without that, commits
// that the primary made visible after a crash could be lost after they were seen.
func (c *cluster) fail(ctx context.Context) error {
	old, next := c.nodes[c.primary], c.nodes[1-c.primary]
	if !harness.Eventually(ctx, clusterTimeout, func() bool { return c.synchronous(ctx, old) }) {
		return fmt.Errorf("%s: no synchronous replica to promote", old.name)
	}
	processes := proc.Children(old.pid())
	old.hold()
	for _, pid := range processes { // a machine is lost, not one process
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	old.ended(ctx)
	var err error
	promoted := harness.Eventually(ctx, clusterTimeout, func() bool {
		err = c.exec(ctx, next, "postgres", "SELECT CASE WHEN pg_is_in_recovery() THEN pg_promote(true, 30) END",
			"ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
		return err == nil && c.is(ctx, next, "SELECT NOT pg_is_in_recovery()")
	})
	if !promoted {
		return fmt.Errorf("promote %s: %w", next.name, err)
	}
	c.use(1 - c.primary)
	return c.replicate(ctx, 1-c.primary)
}

// restart kills the primary by a signal and waits until it is back.
func (c *cluster) restart(ctx context.Context, s syscall.Signal, after time.Duration) error {
	n := c.nodes[c.primary]
	n.holdBy(s)
	n.ended(ctx)
	harness.Pause(ctx, after)
	n.release()
	return c.accepts(ctx, n)
}

// portOf is the port of an address.
func portOf(addr string) string { return addr[len("127.0.0.1:"):] }
