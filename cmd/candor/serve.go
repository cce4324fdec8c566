package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"candor/cmd/candor/cli"
	"candor/cmd/candor/config"
	"candor/internal/platform/tracing"
)

// roles are what a serving process does.
type roles struct{ web, worker bool }

// serve is the command of that name that serves in those roles.
func (p *process) serve(command string, r roles) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error { return p.serveAs(ctx, command, args, r) }
}

// collectRarely lets the heap grow to four times what is in use before it is collected,
// unless the operator has set GOGC. Requests leave much garbage beside little that stays:
// that takes up to a fifth less processor time, and some 30 MB more.
func collectRarely(env func(string) (string, bool)) {
	if _, set := env("GOGC"); !set {
		debug.SetGCPercent(300)
	}
}

// serveAs opens everything, starts the parts of its roles, serves until ctx ends,
// and shuts down.
func (p *process) serveAs(ctx context.Context, command string, args []string, r roles) error {
	if err := cli.NewFlags(command).Parse(args); err != nil {
		return err
	}
	c, err := config.Read(p.env)
	if err != nil {
		return err
	}
	collectRarely(p.env)
	logger := newLogger(c, p.stdout, p.stderr)
	var listener, ops net.Listener
	if r.web {
		// Before anything is started: a busy port is the most common error.
		if listener, c.Addr, err = p.listenWeb(ctx, c.Addr); err != nil {
			return err
		}
		defer listener.Close()
	}
	if c.MetricsAddr != "" {
		if ops, c.MetricsAddr, err = listen(ctx, "CANDOR_METRICS_ADDR", c.MetricsAddr); err != nil {
			return err
		}
		defer ops.Close()
	}
	logger.InfoContext(ctx, "starting", "command", command, "version", readVersion().Version, "config", c)
	a, err := openApp(ctx, command, c, logger)
	if err != nil {
		return err
	}
	if a.postgres != nil {
		defer a.postgres.waitStopped()
	}
	defer a.close()
	if err := a.db.Watch(c.DBTimeout / 2); err != nil {
		return err
	}
	a.warn(ctx, c, logger)

	parts := []part{a.startKeyCheck(ctx, logger)}
	if c.Traces.Endpoint != "" {
		a.tracer = startTracing(c, logger)
		defer stopTracing(ctx, a.tracer) // after the last request and job
	}
	if ops != nil {
		parts = append(parts, startOps(a, ops, logger))
	}
	if r.worker {
		worker, err := startWorker(ctx, c, a, logger)
		if err != nil {
			return errors.Join(err, shutDown(ctx, c.ShutdownTimeout, parts))
		}
		parts = append(parts, worker)
	}
	if r.web {
		web, err := startWeb(c, a, listener, logger)
		if err != nil {
			return errors.Join(err, shutDown(ctx, c.ShutdownTimeout, parts))
		}
		parts = append(parts, web)
	}
	if c.Development && r.web && r.worker {
		if err := welcome(ctx, p.stdout, c, a); err != nil {
			return errors.Join(err, shutDown(ctx, c.ShutdownTimeout, parts))
		}
	}
	logger.InfoContext(ctx, "ready", "addr", c.Addr, "metrics_addr", c.MetricsAddr)
	if !r.web {
		c.ShutdownDelay = 0
	}
	failed := waitFor(ctx, parts, c.ShutdownDelay, func() {
		logger.InfoContext(ctx, "leaving: load balancers get 503 at /readyz", "for", c.ShutdownDelay)
		a.ready.leaving.Store(true)
	})
	logger.InfoContext(ctx, "shutting down")
	return errors.Join(failed, shutDown(ctx, c.ShutdownTimeout, parts))
}

// part is a running part of the process.
type part struct {
	stop   func(context.Context) error // finishes what is running, until the context ends
	failed <-chan error                // receives why the part ended by itself; nil if it never does
}

// waitFor returns nil when ctx has ended and delay has passed since, or why a part
// ended before that. It calls leave when the delay begins.
func waitFor(ctx context.Context, parts []part, delay time.Duration, leave func()) error {
	ended := make(chan error, len(parts))
	for _, p := range parts {
		if p.failed != nil {
			go func() { ended <- <-p.failed }()
		}
	}
	select {
	case <-ctx.Done():
	case err := <-ended:
		return err
	}
	if delay == 0 {
		return nil
	}
	leave()
	select {
	case <-time.After(delay):
		return nil
	case err := <-ended:
		return err
	}
}

// shutDown stops all parts in parallel, within timeout.
func shutDown(ctx context.Context, timeout time.Duration, parts []part) error {
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

// lastTraces bounds the export of the last traces, so that a receiver that is down
// doesn't hold up a shutdown.
const lastTraces = 2 * time.Second

func startTracing(c config.Config, logger *slog.Logger) *tracing.Tracer {
	return tracing.New(tracing.Config{
		Endpoint: c.Traces.Endpoint, Headers: c.Traces.Headers, Service: c.Traces.Service, Ratio: c.Traces.Ratio,
		Version: readVersion().Version, Logger: logger,
	})
}

func stopTracing(ctx context.Context, t *tracing.Tracer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTraces)
	defer cancel()
	_ = t.Stop(ctx) // the exporter has warned
}
