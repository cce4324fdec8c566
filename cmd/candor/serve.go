package main

import (
	"context"
	"errors"
	"flag"
	"net"
	"sync"
	"time"
)

// roles are what a serving process does.
type roles struct{ web, worker bool }

func runServe(ctx context.Context, p *process, args []string) error {
	return runRoles(ctx, p, "serve", args, roles{web: true, worker: true})
}

// runRoles is serve, web and worker: it opens everything, works until ctx
// ends, and drains.
func runRoles(ctx context.Context, p *process, name string, args []string, r roles) error {
	if err := parseFlags(flag.NewFlagSet(name, flag.ContinueOnError), args); err != nil {
		return err
	}
	c, err := readConfig(p.env)
	if err != nil {
		return err
	}
	logger := newLogger(c, p)
	var listener net.Listener
	if r.web {
		// Before anything is started: a busy port is the commonest trouble.
		if listener, c.Addr, err = listen(ctx, "CANDOR_ADDR", c.Addr); err != nil {
			return err
		}
		defer listener.Close()
	}
	var ops net.Listener
	if c.MetricsAddr != "" {
		if ops, c.MetricsAddr, err = listen(ctx, "CANDOR_METRICS_ADDR", c.MetricsAddr); err != nil {
			return err
		}
		defer ops.Close()
	}
	logger.InfoContext(ctx, "starting", "command", name, "version", readVersion().Version, "config", c)
	a, err := openApp(ctx, c, logger)
	if err != nil {
		return err
	}
	if a.postgres != nil {
		defer a.postgres.waitStopped()
	}
	defer a.close()
	a.warnOfKeys(ctx, logger)
	if !c.Development {
		a.warnOfRole(ctx, logger)
		c.warnOfSeller(ctx, logger)
		c.warnOfDatabase(ctx, logger)
	}

	var parts []part
	if ops != nil {
		parts = append(parts, startOps(a, ops, logger))
	}
	if r.worker {
		worker, err := startWorker(ctx, c, a, logger)
		if err != nil {
			return errors.Join(err, drain(ctx, c.ShutdownTimeout, parts))
		}
		parts = append(parts, worker)
	}
	if r.web {
		web, err := startWeb(c, a, listener, logger)
		if err != nil {
			return errors.Join(err, drain(ctx, c.ShutdownTimeout, parts))
		}
		parts = append(parts, web)
	}
	if c.Development && r.web && r.worker {
		if err := welcome(ctx, p, c, a); err != nil {
			return errors.Join(err, drain(ctx, c.ShutdownTimeout, parts))
		}
	}
	logger.InfoContext(ctx, "ready", "addr", c.Addr, "metrics_addr", c.MetricsAddr)
	failed := waitFor(ctx, parts)
	logger.InfoContext(ctx, "draining")
	return errors.Join(failed, drain(ctx, c.ShutdownTimeout, parts))
}

// part is a running half of the process.
type part struct {
	stop   func(context.Context) error // waits for what is running, until the context ends
	failed <-chan error                // yields when it has ended by itself; nil: it never does
}

// waitFor returns nil when ctx ends, or why a part has ended before.
func waitFor(ctx context.Context, parts []part) error {
	ended := make(chan error, len(parts))
	for _, p := range parts {
		if p.failed != nil {
			go func() { ended <- <-p.failed }()
		}
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		return err
	}
}

// drain stops all parts side by side, within timeout.
func drain(ctx context.Context, timeout time.Duration, parts []part) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, p := range parts {
		wg.Go(func() { errs[i] = p.stop(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
