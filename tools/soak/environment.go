package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"candor/tools/harness"
)

// drainTime is how long the deliveries may take after the last fault.
const drainTime = 3 * time.Minute

// environment is two workers on a PostgreSQL of their own.
type environment struct {
	*harness.Service
	workers [2]*exec.Cmd
}

func start(ctx context.Context, binary string) (*environment, error) {
	service, err := harness.Start(ctx, binary, harness.Options{Name: "soak", Connections: 8, Environ: []string{
		// What a killed worker had claimed is free again after 20 s, and a
		// delivery is through its schedule within the run.
		"CANDOR_RESCUE_AFTER=20s", "CANDOR_SWEEP_INTERVAL=1s", "CANDOR_WEBHOOK_SCHEDULE=0s,1s,2s,4s,8s,16s,32s",
	}})
	if err != nil {
		return nil, err
	}
	e := &environment{Service: service}
	for i := range e.workers {
		if err := e.startWorker(i); err != nil {
			e.stop()
			return nil, err
		}
	}
	return e, nil
}

// startWorker starts a worker; what it logs as an error is only what the run
// does to it, so it goes to a file.
func (e *environment) startWorker(i int) error {
	log, err := os.OpenFile(filepath.Join(e.Dir, "worker.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the worker has its own handle
	e.workers[i] = e.Command("worker")
	e.workers[i].Stderr, e.workers[i].Stdout = log, log
	return e.workers[i].Start()
}

// kill ends workers by kill -9, at once, and starts others in their place.
func (e *environment) kill(which ...int) error {
	for _, i := range which {
		if err := e.workers[i].Process.Kill(); err != nil {
			return fmt.Errorf("kill worker %d, see %s: %w", i, e.Dir, err)
		}
	}
	for _, i := range which {
		_ = e.workers[i].Wait() // it was killed
		if err := e.startWorker(i); err != nil {
			return err
		}
	}
	return nil
}

// restartPostgres stops PostgreSQL without letting it finish anything, as
// pg_ctl stop -m immediate does, and starts it again. Workers that can't start
// meanwhile are started again, as a supervisor would.
func (e *environment) restartPostgres() error {
	if err := syscall.Kill(e.Postgres.PID(), syscall.SIGQUIT); err != nil {
		return err
	}
	_ = e.Postgres.Stop() // it has ended
	if err := e.StartPostgres(context.Background(), 0); err != nil {
		return err
	}
	for i, w := range e.workers {
		if w.Process.Signal(syscall.Signal(0)) == nil && !isZombie(w.Process.Pid) {
			continue
		}
		_ = w.Wait() // only that it has ended matters
		if err := e.startWorker(i); err != nil {
			return err
		}
	}
	return nil
}

// isZombie reports whether a process has ended and waits to be noticed.
func isZombie(pid int) bool {
	var info syscall.WaitStatus
	got, err := syscall.Wait4(pid, &info, syscall.WNOHANG, nil)
	return err == nil && got == pid
}

// drained waits until no delivery is pending.
func (e *environment) drained(ctx context.Context) error {
	deadline := time.Now().Add(drainTime)
	for {
		var pending int
		err := e.DB.Raw().GetContext(ctx, &pending, `SELECT count(*) FROM delivery WHERE state = 'pending'`)
		if err == nil && pending == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d deliveries are still pending: %w", pending, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (e *environment) stop() {
	for _, w := range e.workers {
		if w != nil && w.Process != nil {
			_ = w.Process.Kill()
			_ = w.Wait()
		}
	}
	e.Stop()
}
