package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"candor/internal/platform/keyring"
	"candor/internal/testkit/client"
	"candor/internal/testkit/ports"
	"candor/internal/testkit/toxiproxy"
	"candor/tools/harness"
)

const (
	webs, workers = 2, 2
	bucket        = "candor-blobs"
	filesDisk     = 800 // MB
	startPatience = time.Minute
)

// environment is everything that runs: two web processes and two workers on two
// PostgreSQL servers, Redis and S3, with a proxy in front of each.
type environment struct {
	dir       string
	program   string // absolute: it runs in dir
	environ   []string
	proxies   *toxiproxy.Server
	cluster   *cluster
	candor    []*process // webs, then workers
	redis, s3 *process
	servers   *process // toxiproxy-server
	webAddrs  []string // of the proxies in front of the web processes
	links     map[string][]*toxiproxy.Link
	disks     []string // that are mounted
	noDisk    error    // why there are no small disks
	stop      context.CancelFunc
	ended     sync.WaitGroup
}

func (e *environment) supervise(ctx context.Context, p *process) {
	e.ended.Go(func() { p.supervise(ctx) })
}

// start starts everything. The receivers' addresses get proxies, too.
func start(ctx context.Context, receivers []string) (e *environment, err error) {
	dir, err := os.MkdirTemp("", "candor-soak-")
	if err != nil {
		return nil, err
	}
	program, err := filepath.Abs("bin/candor-soak")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	e = &environment{dir: dir, program: program, links: map[string][]*toxiproxy.Link{}, stop: cancel}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	if err := os.Chmod(dir, 0o711); err != nil { // PostgreSQL's user enters it
		return e, err
	}
	if e.cluster, err = newCluster(dir); err != nil {
		return e, err
	}
	if err := e.makeDisks(); err != nil {
		return e, err
	}
	if err := e.startServices(ctx, receivers); err != nil {
		return e, err
	}
	for _, n := range e.cluster.nodes {
		e.supervise(ctx, n.process)
	}
	if err := e.cluster.start(ctx); err != nil {
		return e, err
	}
	return e, e.startCandor(ctx)
}

// makeDisks makes a small disk for each PostgreSQL and one for documents, or folders
// if that can't be done.
func (e *environment) makeDisks() error {
	for _, d := range []struct {
		dir  string
		size int
	}{{e.cluster.nodes[0].dir, databaseDisk}, {e.cluster.nodes[1].dir, databaseDisk}, {e.files(), filesDisk}} {
		if err := os.Mkdir(d.dir, 0o755); err != nil {
			return err
		}
		if err := mountDisk(d.dir, d.size); err != nil {
			e.noDisk = err
			continue
		}
		e.disks = append(e.disks, d.dir)
	}
	return os.MkdirAll(filepath.Join(e.files(), "s3", bucket), 0o700)
}

func (e *environment) files() string { return filepath.Join(e.dir, "files") }

func (e *environment) clockFile(i int) string {
	return filepath.Join(e.dir, fmt.Sprintf("clock-%d", i))
}

// startServices starts toxiproxy, Redis and S3, and makes all proxies.
func (e *environment) startServices(ctx context.Context, receivers []string) error {
	nodes := e.cluster.nodes
	upstreams := []struct{ name, upstream string }{
		{"PostgreSQL", ports.Local(nodes[0].port)},
		{"PostgreSQL", ports.Local(nodes[1].port)},
		{"replication", ports.Local(nodes[0].port)},
		{"replication", ports.Local(nodes[1].port)},
	}
	free, err := ports.Free(3 + webs)
	if err != nil {
		return err
	}
	upstreams = append(upstreams, struct{ name, upstream string }{"Redis", ports.Local(free[1])},
		struct{ name, upstream string }{"S3", ports.Local(free[2])})
	for _, port := range free[3:] {
		upstreams = append(upstreams, struct{ name, upstream string }{"web", ports.Local(port)})
	}
	for _, addr := range receivers {
		upstreams = append(upstreams, struct{ name, upstream string }{"receiver", addr})
	}
	e.proxies = &toxiproxy.Server{Addr: ports.Local(free[0])}
	e.servers = newProcess(e.dir, "toxiproxy", func() *exec.Cmd {
		return exec.Command("bin/toxiproxy-server", "-host", "127.0.0.1", "-port", portOf(e.proxies.Addr))
	})
	e.redis = newProcess(e.dir, "redis", func() *exec.Cmd {
		return exec.Command("redis-server", "--port", portOf(ports.Local(free[1])), "--bind", "127.0.0.1", "--save", "", "--appendonly",
			"no", "--dir", e.dir)
	})
	e.s3 = newProcess(e.dir, "s3", func() *exec.Cmd {
		return exec.Command("bin/versitygw", "--port", ports.Local(free[2]), "--access", "soak", "--secret", "secret-of-soak",
			"--quiet", "posix", filepath.Join(e.files(), "s3"))
	})
	for _, p := range []*process{e.servers, e.redis, e.s3} {
		e.supervise(ctx, p)
		p.release()
	}
	if !harness.Eventually(ctx, startPatience, func() bool { return e.proxies.Ready(ctx) }) {
		return fmt.Errorf("toxiproxy doesn't answer, see %s", e.servers.log)
	}
	listen, err := ports.Free(len(upstreams))
	if err != nil {
		return err
	}
	for i, u := range upstreams {
		l, err := e.proxies.Link(ctx, fmt.Sprintf("%s-%d", u.name, len(e.links[u.name])), ports.Local(listen[i]), u.upstream)
		if err != nil {
			return err
		}
		e.links[u.name] = append(e.links[u.name], l)
	}
	for i, n := range nodes {
		n.clients, n.feed = e.links["PostgreSQL"][i], e.links["replication"][i]
	}
	for _, l := range e.links["web"] {
		e.webAddrs = append(e.webAddrs, l.Listen)
	}
	return nil
}

// startCandor starts the web processes and the workers, and waits until they serve.
func (e *environment) startCandor(ctx context.Context) error {
	databases := e.links["PostgreSQL"]
	e.environ = append(os.Environ(),
		"CANDOR_ENV=development", "CANDOR_LOG_LEVEL=info", "CANDOR_BASE_URL=http://localhost:"+portOf(e.webAddrs[0]),
		"DATABASE_URL=postgres://candor@/"+databaseName+"?sslmode=disable&connect_timeout=2&host=127.0.0.1,127.0.0.1&port="+
			portOf(databases[0].Listen)+","+portOf(databases[1].Listen),
		"CANDOR_DATA_DIR="+filepath.Join(e.files(), "data"), "CANDOR_SECRET_KEYS="+keyring.Generate("soak"), "CANDOR_DB_CONNECTIONS=12",
		"CANDOR_BLOBS=s3", "CANDOR_S3_ENDPOINT=http://"+e.links["S3"][0].Listen, "CANDOR_S3_BUCKET="+bucket,
		"CANDOR_S3_ACCESS_KEY=soak", "CANDOR_S3_SECRET_KEY=secret-of-soak",
		"CANDOR_REDIS_URL=redis://"+e.links["Redis"][0].Listen,
		"CANDOR_RATE_PER_MINUTE=1000000", "CANDOR_RATE_BURST=1000000", "CANDOR_FORM_RATE_PER_MINUTE=100000",
		"CANDOR_STAFF_RATE_PER_MINUTE=100000",
		// A killed worker's claims end after 20 s, and a delivery makes all its attempts
		// within some minutes.
		"CANDOR_RESCUE_AFTER=20s", "CANDOR_SWEEP_INTERVAL=1s", "CANDOR_WEBHOOK_SCHEDULE=0s,1s,2s,4s,8s,16s,32s",
		"CANDOR_SHUTDOWN_TIMEOUT=10s")
	if out, err := e.command("migrate").CombinedOutput(); err != nil {
		return fmt.Errorf("candor migrate: %w: %s", err, out)
	}
	for i := range webs + workers {
		role, addr := "worker", "localhost:0"
		if i < webs {
			role, addr = "web", e.links["web"][i].Upstream
		}
		p := newProcess(e.dir, fmt.Sprintf("%s-%d", role, i), func() *exec.Cmd {
			cmd := e.command(role)
			cmd.Env = append(cmd.Env, "CANDOR_ADDR="+addr, "CANDOR_SOAK_CLOCK="+e.clockFile(i))
			return cmd
		})
		e.candor = append(e.candor, p)
		e.supervise(ctx, p)
		p.release()
	}
	return e.serving(ctx)
}

// command is a command of Candor.
func (e *environment) command(args ...string) *exec.Cmd {
	cmd := exec.Command(e.program, args...)
	cmd.Env, cmd.Dir = e.environ[:len(e.environ):len(e.environ)], e.dir
	return cmd
}

// serving waits until each web process is ready, through its proxy.
func (e *environment) serving(ctx context.Context) error {
	for i, addr := range e.webAddrs {
		if err := harness.AwaitOK(ctx, "http://"+addr+"/readyz"); err != nil {
			return fmt.Errorf("%s: %w, see %s", e.candor[i].name, err, e.candor[i].log)
		}
	}
	return nil
}

func (e *environment) createAccount(name string) (a client.Account, err error) {
	create := e.command("account", "create", "--name", name, "--email", "owner@"+name+".example", "--plan", "enterprise", "--json")
	create.Stderr = os.Stderr
	out, err := create.Output()
	if err != nil {
		return a, fmt.Errorf("candor account create: %w", err)
	}
	return a, json.Unmarshal(out, &a)
}

// keepLogs moves the logs to a folder that stays.
func (e *environment) keepLogs() string {
	dir, err := os.MkdirTemp("", "candor-soak-logs-")
	if err != nil {
		return err.Error()
	}
	logs, _ := filepath.Glob(filepath.Join(e.dir, "*.log")) // the pattern is valid
	for _, path := range logs {
		_ = os.Rename(path, filepath.Join(dir, filepath.Base(path))) // the others are there
	}
	return dir
}

// close kills everything and removes the files.
func (e *environment) close() {
	e.stop()
	e.ended.Wait()
	for _, disk := range e.disks {
		if err := unmountDisk(disk); err != nil {
			fmt.Fprintf(os.Stderr, "soak: unmount %s: %v\n", disk, err)
		}
	}
	_ = os.RemoveAll(e.dir)
}
