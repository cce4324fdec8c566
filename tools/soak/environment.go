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

// deliveryTime is how long the deliveries may take after the last fault.
const deliveryTime = 3 * time.Minute

// environment is two workers on a private PostgreSQL.
type environment struct {
	*harness.Service
	workers [2]*exec.Cmd
}

func start(ctx context.Context, binary string) (*environment, error) {
	service, err := harness.Start(ctx, binary, harness.Options{Name: "soak", Connections: 8, Environ: []string{
		// A killed worker's claims end after 20 s, and a delivery makes all its
		// attempts within the run.
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

// startWorker starts a worker. Its log goes to a file, because it only has the
// errors that this run causes.
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

// kill kills workers with kill -9 and starts others in their place.
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

// restartPostgres stops PostgreSQL like pg_ctl stop -m immediate and starts it
// again. It also restarts workers that couldn't start without it, like a
// supervisor.
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

// isZombie reports whether a process has ended and nothing has waited for it.
func isZombie(pid int) bool {
	var info syscall.WaitStatus
	got, err := syscall.Wait4(pid, &info, syscall.WNOHANG, nil)
	return err == nil && got == pid
}

// waitDelivered waits until no delivery is pending.
func (e *environment) waitDelivered(ctx context.Context) error {
	deadline := time.Now().Add(deliveryTime)
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
