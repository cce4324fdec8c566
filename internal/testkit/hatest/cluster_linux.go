// Package hatest runs what packaging/ha describes on loopback: etcd, Patroni with
// PostgreSQL on three machines, and HAProxy, with the same files. Every connection to a
// machine's PostgreSQL and Patroni, and of it to etcd, leads through toxiproxy.
package hatest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"candor/internal/platform/devpg"
	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/ports"
	"candor/internal/testkit/proc"
	"candor/internal/testkit/toxiproxy"
)

const machines = 3

// Cluster is the running cluster.
type Cluster struct {
	t       testing.TB
	dir     string
	values  []string // what stands for what in all files, in pairs
	ports   struct{ proxies, primary int }
	proxies *toxiproxy.Server
	haproxy *unit
	Nodes   []*Node
}

// Node is one of the three machines.
type Node struct {
	Name          string
	c             *Cluster
	dir           string
	etcd, patroni *unit
	ports         struct{ postgres, rest, client, peer int }
	postgres      *toxiproxy.Link   // to it
	rest          *toxiproxy.Link   // to it
	dcs           []*toxiproxy.Link // from it to etcd's members
}

// Start starts the cluster and waits until it is whole.
func Start(t testing.TB) *Cluster {
	t.Helper()
	for _, program := range []string{"etcd", "patroni"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is missing: sh scripts/setup.sh ha", program)
		}
	}
	dir, err := os.MkdirTemp(dbtest.Parent(), "candor-ha-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := &Cluster{t: t, dir: dir, values: sharedValues(t, root(t))}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // users of other programs pass through it
		t.Fatal(err)
	}
	c.certificate()
	free := ports.ForTest(t, 2+machines*(4+2+machines))
	take := func() int { port := free[0]; free = free[1:]; return port }
	c.ports.proxies, c.ports.primary = take(), take()
	for i := range machines {
		n := &Node{Name: "db" + strconv.Itoa(i+1), c: c}
		n.dir = filepath.Join(dir, n.Name)
		n.ports.postgres, n.ports.rest, n.ports.client, n.ports.peer = take(), take(), take(), take()
		c.Nodes = append(c.Nodes, n)
	}
	c.link(take)
	if err := os.MkdirAll(c.path("backup/wal"), 0o711); err != nil {
		t.Fatal(err)
	}
	c.giveToPostgres(c.path("backup/wal"))
	for _, n := range c.Nodes {
		n.start()
	}
	config := c.render("haproxy.cfg", c.dir, nil)
	c.haproxy = startUnit(t, filepath.Join(dir, "haproxy.log"), syscall.SIGKILL, func(ctx context.Context) *exec.Cmd {
		return exec.CommandContext(ctx, "/usr/sbin/haproxy", "-db", "-f", config)
	})
	c.AwaitWhole()
	return c
}

// sharedValues reads values.sed.
func sharedValues(t testing.TB, root string) (pairs []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "packaging/ha/values.sed"))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range regexp.MustCompile(`(?m)^s\|(@\w+@)\|(.*)\|g$`).FindAllStringSubmatch(string(text), -1) {
		pairs = append(pairs, one[1], one[2])
	}
	return pairs
}

func root(t testing.TB) string {
	t.Helper()
	root, err := testkit.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// certificate makes the servers' certificate as doc/operations.md says.
func (c *Cluster) certificate() {
	c.t.Helper()
	out, err := exec.CommandContext(c.t.Context(), "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
		"-subj", "/CN=candor-db", "-addext", "subjectAltName=DNS:localhost", "-keyout", c.path("server.key"),
		"-out", c.path("server.crt")).CombinedOutput()
	if err != nil {
		c.t.Fatalf("openssl: %v: %s", err, out)
	}
	c.giveToPostgres(c.path("server.key"))
}

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }

// link starts toxiproxy with all links.
func (c *Cluster) link(take func() int) {
	c.t.Helper()
	ctx := c.t.Context()
	c.proxies = &toxiproxy.Server{Addr: ports.Local(c.ports.proxies)}
	startUnit(c.t, c.path("toxiproxy.log"), syscall.SIGKILL, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, filepath.Join(root(c.t), "bin/toxiproxy-server"), "-host", "127.0.0.1", "-port",
			strconv.Itoa(c.ports.proxies))
		cmd.Env = append(os.Environ(), "LOG_LEVEL=fatal")
		return cmd
	})
	testkit.Await(c.t, "toxiproxy doesn't answer: make bin/toxiproxy-server", func() bool { return c.proxies.Ready(ctx) })
	to := func(name string, port int) *toxiproxy.Link {
		l, err := c.proxies.Link(ctx, name, ports.Local(take()), ports.Local(port))
		if err != nil {
			c.t.Fatal(err)
		}
		return l
	}
	for _, n := range c.Nodes {
		n.postgres, n.rest = to(n.Name+"-postgres", n.ports.postgres), to(n.Name+"-rest", n.ports.rest)
		for _, member := range c.Nodes {
			n.dcs = append(n.dcs, to(n.Name+"-etcd-"+member.Name, member.ports.client))
		}
	}
}

// render writes a file of packaging/ha with loopback's ports, of a machine if n isn't nil.
func (c *Cluster) render(name, dir string, n *Node) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(root(c.t), "packaging/ha", name))
	if err != nil {
		c.t.Fatal(err)
	}
	pairs := []string{
		"127.0.0.1:5000", ports.Local(c.ports.primary), "localhost:5000", "localhost:" + strconv.Itoa(c.ports.primary),
		"/etc/candor/db-ca.crt", c.path("server.crt"), "/etc/patroni/server.crt", c.path("server.crt"),
		"/etc/patroni/server.key", c.path("server.key"), "mode: automatic", `mode: "off"`, "/backup", c.path("backup"),
	}
	for i, one := range c.Nodes {
		at := "@DB" + strconv.Itoa(i+1) + "@"
		pairs = append(pairs, at+":5432", one.postgres.Listen, at+" port 8008", strings.ReplaceAll(one.rest.Listen, ":", " port "),
			at+":2380", ports.Local(one.ports.peer), at+"/32", "127.0.0.1/32")
		if n != nil {
			pairs = append(pairs, at+":2379", n.dcs[i].Listen)
		}
	}
	if n != nil {
		pairs = append(pairs, n.values()...)
	}
	out := strings.NewReplacer(append(append(pairs, "@CLIENTS@", "127.0.0.1/32"), c.values...)...).Replace(string(text))
	if left := regexp.MustCompile(`@[A-Z0-9_]+@|10\.0\.0\.|/etc/|/var/`).FindString(withoutComments(out)); left != "" {
		c.t.Fatalf("%s isn't rendered whole: it has %s", name, left)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(out), 0o644); err != nil { //nolint:gosec // PostgreSQL's user reads it
		c.t.Fatal(err)
	}
	return path
}

func withoutComments(text string) string {
	return regexp.MustCompile(`(?m)#.*$`).ReplaceAllString(text, "")
}

// Backup is the folder that all machines mount, and how doc/operations.md connects to make a base backup.
func (c *Cluster) Backup(documented string) (folder, url string) {
	return c.path("backup"), strings.NewReplacer("port=5000", "port="+strconv.Itoa(c.ports.primary),
		"/etc/candor/db-ca.crt", c.path("server.crt")).Replace(documented) + " password=" + c.value("@CANDOR_PASSWORD@")
}

// DSN is DATABASE_URL of packaging/ha/candor.env.
func (c *Cluster) DSN() string {
	c.t.Helper()
	text, err := os.ReadFile(c.render("candor.env", c.dir, nil))
	if err != nil {
		c.t.Fatal(err)
	}
	_, dsn, _ := strings.Cut(string(text), "DATABASE_URL=")
	dsn, _, _ = strings.Cut(dsn, "\n")
	return dsn
}

// CreateDatabase creates candor's role and database.
func (c *Cluster) CreateDatabase() {
	c.t.Helper()
	for _, statement := range []string{
		"CREATE ROLE candor LOGIN PASSWORD '" + c.value("@CANDOR_PASSWORD@") + "'",
		"CREATE ROLE backup LOGIN REPLICATION PASSWORD '" + c.value("@CANDOR_PASSWORD@") + "'",
		"CREATE DATABASE candor OWNER candor TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'",
	} {
		if err := c.Leader(nil).exec("postgres", statement, 30*time.Second); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *Cluster) value(name string) string {
	for i := 0; i < len(c.values); i += 2 {
		if c.values[i] == name {
			return c.values[i+1]
		}
	}
	return ""
}

// Leader is the machine that holds the lease and isn't the former, or nil.
func (c *Cluster) Leader(former *Node) *Node {
	for _, n := range c.Nodes {
		if n != former && n.status("/primary") == http.StatusOK {
			return n
		}
	}
	return nil
}

// Replica is a machine that isn't the primary.
func (c *Cluster) Replica(primary *Node) *Node {
	for _, n := range c.Nodes {
		if n != primary {
			return n
		}
	}
	return nil
}

// AwaitWhole waits until there is a primary with two replicas that commits wait for.
func (c *Cluster) AwaitWhole() {
	c.t.Helper()
	testkit.Await(c.t, "the cluster is whole", func() bool {
		leader := c.Leader(nil)
		if leader == nil {
			return false
		}
		for _, n := range c.Nodes { // Patroni knows it, too
			if n != leader && n.status("/synchronous") != http.StatusOK {
				return false
			}
		}
		var streaming, synchronous int
		err := leader.query("SELECT count(*), count(*) FILTER (WHERE sync_state = 'sync') FROM pg_stat_replication "+
			"WHERE state = 'streaming'", &streaming, &synchronous)
		return err == nil && streaming == machines-1 && synchronous == machines-1
	})
}

// Switchover makes a replica the primary, as patronictl switchover does.
func (c *Cluster) Switchover(primary *Node) {
	c.t.Helper()
	body := fmt.Sprintf(`{"leader": %q, "candidate": %q}`, primary.Name, c.Replica(primary).Name)
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost,
		"http://"+ports.Local(primary.ports.rest)+"/switchover", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.SetBasicAuth("patroni", c.value("@REST_PASSWORD@"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	if said, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		c.t.Fatalf("the switchover is answered with %s: %s", response.Status, said)
	}
}

// KillHAProxy is kill -9; it is started again.
func (c *Cluster) KillHAProxy() { c.haproxy.signal(syscall.SIGKILL) }

// Logs is what PostgreSQL and Patroni of all machines have logged.
func (c *Cluster) Logs() string {
	c.t.Helper()
	var all strings.Builder
	for _, n := range c.Nodes {
		text, err := os.ReadFile(n.patroni.log)
		if err != nil {
			c.t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// values are a machine's own.
func (n *Node) values() []string {
	return []string{
		"connect_address: @ADDRESS@:5432", "connect_address: " + n.postgres.Listen, "@ADDRESS@:5432", ports.Local(n.ports.postgres),
		"connect_address: @ADDRESS@:8008", "connect_address: " + n.rest.Listen, "@ADDRESS@:8008", ports.Local(n.ports.rest),
		"@ADDRESS@:2379", ports.Local(n.ports.client), "@ADDRESS@:2380", ports.Local(n.ports.peer), "@NAME@", n.Name,
		"/var/lib/etcd/candor", filepath.Join(n.dir, "etcd"), "/var/lib/postgresql/15/candor", n.data(),
		"/var/lib/postgresql/patroni.pgpass", filepath.Join(n.dir, "pgpass"), "/run/postgresql", n.dir,
		"/usr/lib/postgresql/15/bin", programs(n.c.t),
	}
}

func (n *Node) data() string { return filepath.Join(n.dir, "data") }

// programs is the folder of PostgreSQL's programs.
func programs(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		t.Fatal("PostgreSQL is missing: sh scripts/setup.sh postgres")
	}
	return filepath.Dir(found[len(found)-1])
}

// start starts etcd and Patroni.
func (n *Node) start() {
	t := n.c.t
	t.Helper()
	if err := os.Mkdir(n.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	settings, err := os.ReadFile(n.c.render("etcd.env", n.dir, n))
	if err != nil {
		t.Fatal(err)
	}
	n.etcd = startUnit(t, n.c.path(n.Name+"-etcd.log"), syscall.SIGKILL, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "etcd")
		cmd.Env = append(os.Environ(), strings.Fields(withoutComments(string(settings)))...)
		return cmd
	})
	config := n.c.render("patroni.yml", n.dir, n)
	credential := n.c.giveToPostgres(n.dir)
	t.Cleanup(n.killPostgres)
	n.patroni = startUnit(t, n.c.path(n.Name+"-patroni.log"), syscall.SIGTERM, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "patroni", config)
		cmd.Dir = n.dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + n.dir, "LC_ALL=C.UTF-8"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
		return cmd
	})
}

// giveToPostgres makes PostgreSQL's user the owner of a file, if the test runs as root,
// which PostgreSQL refuses.
func (c *Cluster) giveToPostgres(path string) *syscall.Credential {
	c.t.Helper()
	if os.Getuid() != 0 && os.Getenv("CI") == "true" {
		c.t.Fatal("the drill must be run as root")
	}
	if os.Getuid() != 0 {
		c.t.Skip("the drill runs PostgreSQL as its own user, so it must be run as root")
	}
	owner, err := devpg.Credential()
	if err == nil {
		err = os.Chown(path, int(owner.Uid), int(owner.Gid))
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return owner
}

// postmaster is the process id of PostgreSQL's first process, or 0.
func (n *Node) postmaster() int {
	text, err := os.ReadFile(filepath.Join(n.data(), "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(first) // 0 for what isn't a number
	return pid
}

// toPostgres sends a signal to all of PostgreSQL's processes.
func (n *Node) toPostgres(s syscall.Signal) {
	pid := n.postmaster()
	if pid == 0 {
		return
	}
	for _, one := range append([]int{pid}, proc.Children(pid)...) {
		_ = syscall.Kill(one, s) // it may have ended
	}
}

func (n *Node) killPostgres() { n.toPostgres(syscall.SIGKILL) }

// CrashPostgres is kill -9 of PostgreSQL's first process.
func (n *Node) CrashPostgres() {
	if pid := n.postmaster(); pid != 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}

// PowerOff ends everything on the machine at once, until the returned function.
func (n *Node) PowerOff() (on func()) {
	n.patroni.hold(syscall.SIGKILL)
	n.etcd.hold(syscall.SIGKILL)
	n.killPostgres()
	return func() { n.etcd.release(); n.patroni.release() }
}

// Restore stops Patroni everywhere, moves the data folders away, lets restore fill the machine's,
// runs steps on it as PostgreSQL's user, and starts Patroni here and then on the others. A step
// is repeated while it prints t, for true.
func (c *Cluster) Restore(n *Node, restore func(data string), steps []string) {
	t := c.t
	t.Helper()
	for _, one := range c.Nodes {
		one.patroni.hold(syscall.SIGTERM)
	}
	for _, one := range c.Nodes {
		testkit.Await(t, one.Name+" has stopped", one.patroni.ended) // PostgreSQL has, too
		if err := os.Rename(one.data(), one.data()+".away"); err != nil {
			t.Fatal(err)
		}
	}
	restore(n.data())
	// The backup's settings are of another machine. Those of packaging/ha have one port and one folder.
	own := fmt.Sprintf("listen_addresses= -c port=%d -c unix_socket_directories=%s -c hba_file=%[3]s/pg_hba.conf "+
		"-c ident_file=%[3]s/pg_ident.conf", n.ports.postgres, n.dir, n.data())
	here := strings.NewReplacer(append(n.values(), "/etc/patroni/config.yml", filepath.Join(n.dir, "patroni.yml"),
		"listen_addresses=", own)...)
	for _, step := range steps {
		testkit.Await(t, step, func() bool {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", here.Replace(step))
			cmd.Dir, cmd.Stdin = n.dir, strings.NewReader("candor\nYes I am aware\n") // patronictl asks
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + n.dir, "LC_ALL=C.UTF-8", "PGHOST=" + n.dir,
				"PGPORT=" + strconv.Itoa(n.ports.postgres)}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.giveToPostgres(n.dir)}
			log, err := os.Create(n.dir + ".step") // a pipe would stay open in the server
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = log.Close() }() // it was read
			cmd.Stdout, cmd.Stderr = log, log
			err = cmd.Run()
			said, _ := os.ReadFile(log.Name())
			if err != nil {
				t.Fatalf("%s: %v, %s", step, err, said)
			}
			return !strings.Contains(string(said), "\n t\n")
		})
	}
	n.patroni.release()
	testkit.Await(t, "Patroni leads on "+n.Name, func() bool { return c.Leader(nil) == n })
	for _, one := range c.Nodes {
		one.etcd.release()
		one.patroni.release()
	}
	c.AwaitWhole()
}

// StopEtcd is kill -9 of the machine's member of etcd.
func (n *Node) StopEtcd() (start func()) {
	n.etcd.hold(syscall.SIGKILL)
	return n.etcd.release
}

// Freeze stops PostgreSQL and Patroni without ending them.
func (n *Node) Freeze() (thaw func()) {
	n.patroni.signal(syscall.SIGSTOP)
	n.toPostgres(syscall.SIGSTOP)
	return func() { n.toPostgres(syscall.SIGCONT); n.patroni.signal(syscall.SIGCONT) }
}

// Cut lets nothing through to the machine's PostgreSQL and Patroni, nor from it to etcd.
// Connections stay open, as with a cable that was pulled.
func (n *Node) Cut() (mend func()) {
	links := append([]*toxiproxy.Link{n.postgres, n.rest}, n.dcs...)
	each := func(what func(*toxiproxy.Link, toxiproxy.Toxic) error) {
		for _, l := range links {
			for _, stream := range []string{"upstream", "downstream"} {
				silent := toxiproxy.Toxic{Type: "timeout", Stream: stream, Name: stream, Attributes: map[string]int{"timeout": 0}}
				if err := what(l, silent); err != nil {
					n.c.t.Error(err)
				}
			}
		}
	}
	ctx := context.WithoutCancel(n.c.t.Context())
	each(func(l *toxiproxy.Link, silent toxiproxy.Toxic) error { return l.Add(ctx, silent) })
	return func() { each(func(l *toxiproxy.Link, silent toxiproxy.Toxic) error { return l.Remove(ctx, silent) }) }
}

// Commit tries to write on the machine itself, and succeeds if the commit is acknowledged.
// It returns the timeline on which that was: each promotion begins another.
func (n *Node) Commit(within time.Duration) (timeline string, err error) {
	err = n.use("candor", within, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT left(pg_walfile_name(pg_logical_emit_message(true, 'drill', '')), 8)").Scan(&timeline)
	})
	return timeline, err
}

// DSN leads to the machine's PostgreSQL as its superuser.
func (n *Node) DSN(database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("postgres", n.c.value("@SUPERUSER_PASSWORD@")),
		Host: ports.Local(n.ports.postgres), Path: "/" + database, RawQuery: "sslmode=require"}
	return u.String()
}

func (n *Node) exec(database, statement string, within time.Duration) error {
	return n.use(database, within, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

func (n *Node) query(statement string, into ...any) error {
	return n.use("postgres", 3*time.Second, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, statement).Scan(into...)
	})
}

func (n *Node) use(database string, within time.Duration, what func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	config, err := pgx.ParseConfig(n.DSN(database))
	if err != nil {
		return err
	}
	var dialed atomic.Bool // pgx would ask to cancel a statement on a second connection
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dialed.Swap(true) {
			return nil, errors.New("one connection is enough")
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // it has done its work
	return what(ctx, conn)
}

// status is what Patroni answers, 0 for nothing within a second.
func (n *Node) status(path string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ports.Local(n.ports.rest)+path, http.NoBody)
	if err != nil {
		return 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = response.Body.Close() }() // it was read
	_, _ = io.Copy(io.Discard, response.Body)    // only the status counts
	return response.StatusCode
}
