package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"candor/internal/testkit/proc"
	"candor/internal/testkit/toxiproxy"
	"candor/tools/harness"
)

// faults causes the planned faults.
type faults struct {
	env       *environment
	receivers *receivers

	mu     sync.Mutex
	busy   map[string]*sync.Mutex // by target, which has one fault at a time
	counts map[string]int         // by the fault's name
	done   int
	most   int // at once
	now    int
	ends   []time.Time // when each fault was healed
	failed []error     // to cause or to heal
}

func newFaults(e *environment, r *receivers) *faults {
	return &faults{env: e, receivers: r, busy: map[string]*sync.Mutex{}, counts: map[string]int{}}
}

// run causes each fault at its time and returns when all are healed.
func (f *faults) run(ctx context.Context, plan []fault) {
	var running sync.WaitGroup
	began := time.Now()
	slots := make(chan struct{}, 12) // a plan that is late doesn't cause everything at once
	for _, one := range plan {
		harness.Pause(ctx, time.Until(began.Add(one.At)))
		select {
		case <-ctx.Done():
		case slots <- struct{}{}:
		}
		if ctx.Err() != nil {
			break
		}
		running.Go(func() {
			f.cause(ctx, one)
			<-slots
		})
	}
	running.Wait()
}

// cause waits until the fault's target has no other, causes the fault, and heals it.
func (f *faults) cause(ctx context.Context, one fault) {
	target, do := f.fault(one)
	f.mu.Lock()
	if f.busy[target] == nil {
		f.busy[target] = &sync.Mutex{}
	}
	lock := f.busy[target]
	f.mu.Unlock()
	lock.Lock()
	defer lock.Unlock()
	if ctx.Err() != nil {
		return
	}
	f.mu.Lock()
	f.now++
	f.most = max(f.most, f.now)
	f.mu.Unlock()
	began := time.Now()
	err := do(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now--
	f.done++
	f.counts[one.name()]++
	f.ends = append(f.ends, time.Now())
	if err != nil {
		f.failed = append(f.failed, fmt.Errorf("%s: %w", one.name(), err))
		fmt.Fprintf(os.Stderr, "soak: %s: %v\n", one.name(), err)
	}
	fmt.Fprintf(os.Stderr, "%s fault %d: %s, %s\n", time.Now().Format("15:04:05"), f.done, one.name(),
		time.Since(began).Round(time.Millisecond))
}

// fault returns the fault's target, and what causes and heals it.
func (f *faults) fault(one fault) (target string, do func(context.Context) error) {
	e := f.env
	held := func(ps ...*process) func(context.Context) error {
		return func(ctx context.Context) error { return outage(ctx, one.Length/2, ps...) }
	}
	switch one.Kind {
	case killWeb, killWorker:
		p := e.candor[one.Target%webs]
		if one.Kind == killWorker {
			p = e.candor[webs+one.Target%workers]
		}
		return p.name, held(p)
	case killAll:
		return "all", held(e.candor...)
	case freeze:
		p := e.candor[one.Target%len(e.candor)]
		return p.name, func(ctx context.Context) error {
			p.signal(syscall.SIGSTOP)
			harness.Pause(ctx, one.Length)
			p.signal(syscall.SIGCONT)
			return nil
		}
	case clockJump:
		i := one.Target % len(e.candor)
		return e.clockFile(i), func(ctx context.Context) error { return f.moveClock(ctx, e.clockFile(i), one) }
	case downRedis:
		return e.redis.name, held(e.redis)
	case downS3:
		return e.s3.name, held(e.s3)
	case badReceiver:
		i := one.Target % receiverCount
		return fmt.Sprintf("receiver %d", i), func(ctx context.Context) error {
			f.receivers.behave(i, habits[one.Way%len(habits)])
			harness.Pause(ctx, one.Length)
			f.receivers.behave(i, healthy)
			return nil
		}
	case fullFiles:
		return "files", func(ctx context.Context) error { return f.fillDisk(ctx, e.files(), one.Length) }
	case network:
		links := e.links[one.Where]
		l := links[one.Target%len(links)]
		return "link " + l.Name, func(ctx context.Context) error { return worsen(ctx, l, one) }
	}
	return "cluster", func(ctx context.Context) error {
		e.cluster.mu.Lock()
		defer e.cluster.mu.Unlock()
		return f.database(ctx, one)
	}
}

// database causes a fault of PostgreSQL.
func (f *faults) database(ctx context.Context, one fault) error {
	c := f.env.cluster
	primary, replica := c.nodes[c.primary], c.nodes[1-c.primary]
	switch one.Kind {
	case crash:
		return c.restart(ctx, syscall.SIGKILL, one.Length/4)
	case quit:
		return c.restart(ctx, syscall.SIGQUIT, one.Length/4)
	case killStandby:
		replica.hold()
		replica.ended(ctx)
		harness.Pause(ctx, one.Length)
		replica.release()
		return c.accepts(ctx, replica)
	case killBackend:
		if pids := proc.Children(primary.pid()); len(pids) > 0 {
			_ = syscall.Kill(pids[one.Target%len(pids)], syscall.SIGKILL) // it may have ended
		}
		return c.accepts(ctx, primary)
	case fullDatabase:
		if err := f.fillDisk(ctx, primary.dir, one.Length); err != nil {
			return err
		}
		return c.accepts(ctx, primary)
	case failover:
		return c.fail(ctx)
	}
	return errors.New("an unknown fault")
}

// outage kills processes and starts them after a time.
func outage(ctx context.Context, length time.Duration, ps ...*process) error {
	for _, p := range ps {
		p.hold()
	}
	harness.Pause(ctx, length)
	for _, p := range ps {
		p.release()
	}
	return nil
}

// fillDisk leaves no room on a disk for a time.
func (f *faults) fillDisk(ctx context.Context, disk string, length time.Duration) error {
	if f.env.noDisk != nil {
		return f.env.noDisk
	}
	ballast := filepath.Join(disk, "ballast")
	err := fill(ballast, disk)
	harness.Pause(ctx, length)
	if removed := os.Remove(ballast); removed != nil {
		return removed
	}
	if errors.Is(err, syscall.ENOSPC) {
		return nil // another file took some of it: it is full
	}
	return err
}

// moveClock sets a process's clock apart for a time: by 1 s to 2 min, either way.
func (f *faults) moveClock(ctx context.Context, file string, one fault) error {
	apart := time.Duration(math.Pow(120, one.Size) * float64(time.Second))
	if one.Target/len(f.env.candor)%2 == 1 {
		apart = -apart
	}
	if err := os.WriteFile(file, []byte(apart.String()), 0o600); err != nil {
		return err
	}
	harness.Pause(ctx, 2*one.Length)
	return os.Remove(file)
}

// worsen makes a network worse for a time.
func worsen(ctx context.Context, l *toxiproxy.Link, one fault) error {
	t := toxiproxy.Toxic{Name: "t", Stream: []string{"upstream", "downstream"}[one.Target/7%2], Attributes: map[string]int{}}
	switch ways[one.Way%len(ways)] {
	case "cut":
		err := l.Cut(ctx)
		harness.Pause(ctx, one.Length)
		return errors.Join(err, l.Restore(context.WithoutCancel(ctx)))
	case "silent": // nothing arrives any more, and no connection is closed
		t.Type, t.Attributes["timeout"] = "timeout", 0
	case "slow":
		t.Type, t.Attributes["latency"] = "latency", 20+int(400*one.Size)
		t.Attributes["jitter"] = t.Attributes["latency"] / 2
	case "narrow":
		t.Type, t.Attributes["rate"] = "bandwidth", 4+int(100*one.Size) // KB/s
	case "reset":
		t.Type, t.Attributes["timeout"] = "reset_peer", int(500*one.Size)
	case "cut in the middle":
		t.Type, t.Attributes["bytes"] = "limit_data", 100+int(20_000*one.Size)
	}
	if err := l.Add(ctx, t); err != nil {
		return err
	}
	harness.Pause(ctx, one.Length)
	return l.Remove(context.WithoutCancel(ctx), t)
}
