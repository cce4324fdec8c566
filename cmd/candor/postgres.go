package main

import (
	"context"
	"syscall"
	"time"

	"candor/internal/platform/devpg"
)

// privatePostgres is this process's hold on the server in the data folder.
type privatePostgres struct{ server *devpg.Server }

const (
	// postgresLinger is how long the server outlives the last process that
	// uses it. A command run beside `candor serve` shares its server, and
	// whichever ends last takes it down, however it ends.
	postgresLinger = time.Second
	// postgresEnd is how long a process waits to see that end.
	postgresEnd = 5 * time.Second
)

// startPostgres starts the private server, or joins the running one, and
// returns the address of the service's database on it.
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

// stop lets go of the server.
func (p *privatePostgres) stop() { _ = p.server.Stop() }

// waitStopped waits for the server's end, but not for long: another command
// may still be using it.
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
