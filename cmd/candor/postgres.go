package main

import (
	"context"
	"syscall"
	"time"

	"candor/internal/platform/devpg"
)

// privatePostgres is this process's use of the server in the data folder.
type privatePostgres struct{ server *devpg.Server }

const (
	// postgresLinger is how long the server runs after the last process that used
	// it has ended. A command beside `candor serve` shares its server.
	postgresLinger = time.Second
	// postgresEnd is how long a process waits for the server to end.
	postgresEnd = 5 * time.Second
)

// startPostgres starts the private server, or uses the running one. It returns the
// address of the service's database.
func startPostgres(ctx context.Context, dir string) (*privatePostgres, string, error) {
	server, err := devpg.Start(ctx, dir, devpg.Options{IdleStop: postgresLinger})
	if err != nil {
		return nil, "", err
	}
	p := &privatePostgres{server}
	if err := server.CreateDatabase(ctx, "candor"); err != nil {
		p.stop()
		return nil, "", err
	}
	return p, server.DSN("candor"), nil
}

// stop ends the use of the server.
func (p *privatePostgres) stop() { _ = p.server.Stop() }

// waitStopped waits up to postgresEnd for the server to end. Another command can
// still be using it.
func (p *privatePostgres) waitStopped() {
	deadline := time.After(postgresEnd)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for syscall.Kill(p.server.PID(), 0) == nil {
		select {
		case <-deadline:
			return
		case <-tick.C:
		}
	}
}
