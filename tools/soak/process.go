package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"candor/tools/harness"
)

// restartPause is how long a supervisor waits before it starts a process again.
const restartPause = 100 * time.Millisecond

// process is a program under supervision: if it ends, it is started again, as systemd
// does.
type process struct {
	name    string
	log     string // file
	command func() *exec.Cmd

	mu     sync.Mutex
	cmd    *exec.Cmd // nil while it doesn't run
	held   bool      // not to be started
	starts int
	change chan struct{} // closed and replaced when any of these changes
}

func newProcess(dir, name string, command func() *exec.Cmd) *process {
	return &process{name: name, log: filepath.Join(dir, name+".log"), command: command, held: true, change: make(chan struct{})}
}

// supervise keeps the process running until ctx ends, and then kills it.
func (p *process) supervise(ctx context.Context) {
	runtime.LockOSThread() // Linux kills a child when the thread that started it ends
	stop := context.AfterFunc(ctx, p.hold)
	defer stop()
	for ctx.Err() == nil {
		if !p.await(ctx, func() bool { return !p.held }) {
			return
		}
		if err := p.run(); err != nil {
			fmt.Fprintf(os.Stderr, "soak: start %s: %v\n", p.name, err)
		}
		harness.Pause(ctx, restartPause)
	}
}

// run starts the process and waits for its end.
func (p *process) run() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has its own handle
	cmd := p.command()
	cmd.Stdout, cmd.Stderr = log, log
	dieWithParent(cmd)
	p.mu.Lock()
	if p.held {
		p.mu.Unlock()
		return nil
	}
	err = cmd.Start()
	if err == nil {
		p.cmd = cmd
		p.starts++
		p.changed()
	}
	p.mu.Unlock()
	if err != nil {
		return err
	}
	_ = cmd.Wait() // it is started again, whatever it says
	p.mu.Lock()
	p.cmd = nil
	p.changed()
	p.mu.Unlock()
	return nil
}

// changed tells those who wait. The caller has the lock.
func (p *process) changed() {
	close(p.change)
	p.change = make(chan struct{})
}

// await waits until ok, which is called with the lock. It returns false if ctx ended.
func (p *process) await(ctx context.Context, ok func() bool) bool {
	for {
		p.mu.Lock()
		done, change := ok(), p.change
		p.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-change:
		}
	}
}

// signal sends a signal to the process, if it runs.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s) // it may end at this moment
	}
}

// hold kills the process and keeps it from being started.
func (p *process) hold() { p.holdBy(syscall.SIGKILL) }

func (p *process) holdBy(s syscall.Signal) {
	p.mu.Lock()
	p.held = true
	p.mu.Unlock()
	p.signal(s)
	p.signal(syscall.SIGCONT)
}

// release lets the process be started.
func (p *process) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = false
	p.changed()
}

// ended waits for the end of a process that is held.
func (p *process) ended(ctx context.Context) {
	p.await(ctx, func() bool { return p.cmd == nil })
}

func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}
