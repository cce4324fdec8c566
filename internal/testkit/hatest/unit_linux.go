package hatest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// restartPause is systemd's RestartSec.
const restartPause = 100 * time.Millisecond

// A unit is a program that is started again when it ends, as systemd does.
type unit struct {
	log     string
	command func(context.Context) *exec.Cmd

	mu     sync.Mutex
	cmd    *exec.Cmd // nil while it doesn't run
	held   bool      // it isn't started again
	change *sync.Cond
}

// startUnit starts a program, which gets the signal last at the test's end.
func startUnit(t testing.TB, log string, last syscall.Signal, command func(context.Context) *exec.Cmd) *unit {
	t.Helper()
	u := &unit{log: log, command: command}
	u.change = sync.NewCond(&u.mu)
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(ended)
		runtime.LockOSThread() // Linux signals a child when the thread that started it ends
		for u.await(ctx) {
			u.run(ctx, last)
			select {
			case <-ctx.Done():
			case <-time.After(restartPause):
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		u.hold(last)
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			u.signal(syscall.SIGKILL)
			<-ended
		}
		if t.Failed() {
			if text, err := os.ReadFile(log); err == nil {
				lines := strings.Split(string(text), "\n")
				t.Logf("%s ends with:\n%s", filepath.Base(log), strings.Join(lines[max(0, len(lines)-30):], "\n"))
			}
		}
	})
	return u
}

// await waits until the program may start; false at the test's end.
func (u *unit) await(ctx context.Context) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.held && ctx.Err() == nil {
		u.change.Wait()
	}
	return ctx.Err() == nil
}

// run runs the program to its end.
func (u *unit) run(ctx context.Context, last syscall.Signal) {
	log, err := os.OpenFile(u.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer func() { _ = log.Close() }() // the program has its own
	cmd := u.command(context.WithoutCancel(ctx))
	cmd.Stdout, cmd.Stderr = log, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = last
	u.mu.Lock()
	err = cmd.Start()
	if err == nil {
		u.cmd = cmd
	}
	u.mu.Unlock()
	if err != nil {
		_, _ = log.WriteString(err.Error() + "\n") // the test fails for want of the program
		return
	}
	_ = cmd.Wait() // it is started again, whatever it says
	u.mu.Lock()
	u.cmd = nil
	u.mu.Unlock()
}

func (u *unit) signal(s syscall.Signal) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.cmd != nil {
		_ = u.cmd.Process.Signal(s) // it may end at this moment
	}
}

// hold ends the program until release.
func (u *unit) hold(s syscall.Signal) {
	u.mu.Lock()
	u.held = true
	u.change.Broadcast()
	u.mu.Unlock()
	u.signal(s)
}

// ended reports whether a program that is held has ended.
func (u *unit) ended() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.held && u.cmd == nil
}

func (u *unit) release() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.held = false
	u.change.Broadcast()
}
