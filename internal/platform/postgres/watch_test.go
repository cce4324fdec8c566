package postgres

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"candor/internal/testkit"
)

// TestNewestTimelineCounts: the watch moves to the server of the newest timeline, cuts off
// the connections to others, and never goes back to a former primary that wakes up.
func TestNewestTimelineCounts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	booted, later := now.Add(-time.Hour), now.Add(time.Second)
	writes := func(timeline uint32) serverSign {
		return serverSign{writable: true, timeline: timeline, started: booted}
	}
	replica, silent := serverSign{started: booted}, serverSign{}
	for name, of := range map[string]struct {
		signs   func(saw func(address string, s serverSign, at time.Time))
		primary string
		refused []string
		cut     []string // of connections to a and b that were open before
	}{
		"one primary": {func(saw func(string, serverSign, time.Time)) {
			saw("a", writes(1), now)
			saw("b", replica, now)
		}, "a", []string{"b"}, nil},
		"no primary yet": {func(saw func(string, serverSign, time.Time)) {
			saw("a", silent, now)
			saw("b", replica, now)
		}, "", nil, nil},
		"a promotion beside a frozen primary": {func(saw func(string, serverSign, time.Time)) {
			saw("a", writes(1), now)
			saw("a", silent, now)
			saw("b", writes(2), now)
		}, "b", []string{"a"}, []string{"a"}},
		"the former primary wakes up": {func(saw func(string, serverSign, time.Time)) {
			saw("a", writes(1), now)
			saw("b", writes(2), now)
			saw("a", writes(1), later.Add(time.Hour))
		}, "b", []string{"a"}, []string{"a"}},
		"the former primary is a replica and is promoted": {func(saw func(string, serverSign, time.Time)) {
			saw("a", writes(1), now)
			saw("b", writes(2), now)
			saw("a", replica, now)
			saw("a", writes(3), now)
		}, "a", []string{"b"}, []string{"a", "b"}},
		"two that take writes on one timeline": {func(saw func(string, serverSign, time.Time)) {
			saw("a", writes(1), now)
			saw("b", writes(1), now)
		}, "a", []string{"b"}, nil},
		"the address leads to another server": {func(saw func(string, serverSign, time.Time)) {
			saw("a", writes(2), now)
			saw("a", serverSign{writable: true, timeline: 1, started: later}, now)
		}, "a", []string{"b"}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := NewServers()
			w := &Watch{all: all, timelines: map[string]uint32{"a": 0, "b": 0}, waits: map[waitingCommit]time.Time{}}
			open := map[string]*socket{}
			of.signs(func(address string, s serverSign, at time.Time) {
				for _, to := range []string{"a", "b"} {
					if open[to] == nil {
						here, there := net.Pipe()
						t.Cleanup(func() { _ = here.Close(); _ = there.Close() })
						open[to] = &socket{Conn: here, address: to, of: all}
						all.sockets[open[to]] = struct{}{}
					}
				}
				w.saw(address, s, at)
			})
			if w.primary.address != of.primary {
				t.Errorf("the primary is %q, want %q", w.primary.address, of.primary)
			}
			for _, address := range []string{"a", "b"} {
				if got, want := w.refusesAt(address, now), slices.Contains(of.refused, address); got != want {
					t.Errorf("%s is refused: %t, want %t", address, got, want)
				}
				if got, want := open[address].cut.Load(), slices.Contains(of.cut, address); got != want {
					t.Errorf("the connection to %s was cut off: %t, want %t", address, got, want)
				}
			}
			if w.refusesAt("c", now) {
				t.Error("a server that isn't watched, such as a pooler's, is refused")
			}
		})
	}
}

// TestCommitsAreLate: a commit is late once the same statement was seen to wait for long.
func TestCommitsAreLate(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w := &Watch{late: 5 * time.Second, waits: map[waitingCommit]time.Time{}}
	one, other := waitingCommit{1, now}, waitingCommit{2, now.Add(-time.Hour)}
	w.note([]waitingCommit{one}, now)
	w.note([]waitingCommit{one, other}, now.Add(4*time.Second))
	if c := w.CommitWaits(now.Add(4 * time.Second)); c.Waiting != 2 || c.Longest != 4*time.Second || c.Late {
		t.Errorf("after 4 s: %+v", c)
	}
	if c := w.CommitWaits(now.Add(6 * time.Second)); !c.Late {
		t.Errorf("after 6 s: %+v", c)
	}
	w.note([]waitingCommit{other}, now.Add(6*time.Second))
	if c := w.CommitWaits(now.Add(6 * time.Second)); c.Waiting != 1 || c.Late {
		t.Errorf("when that one is answered: %+v", c)
	}
}

// TestAcknowledgedCommitsAreForgotten: a watch that has lost its connection forgets the commits
// that waited once one that is tried is acknowledged; one that has it doesn't.
func TestAcknowledgedCommitsAreForgotten(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w := &Watch{late: 5 * time.Second, timelines: map[string]uint32{}, waits: map[waitingCommit]time.Time{}}
	sign := serverSign{writable: true, timeline: 1, started: now.Add(-time.Hour), waits: []waitingCommit{{1, now}}}
	w.saw("a", sign, now)
	w.saw("a", sign, now.Add(6*time.Second))
	w.Acknowledged(now.Add(7 * time.Second))
	if c := w.CommitWaits(now.Add(7 * time.Second)); !c.Late {
		t.Errorf("while the primary says that it waits: %+v", c)
	}
	w.saw("a", serverSign{}, now.Add(10*time.Second))
	if c := w.CommitWaits(now.Add(10 * time.Second)); !c.Late {
		t.Errorf("while nothing is known: %+v", c)
	}
	w.Acknowledged(now.Add(10 * time.Second))
	if c := w.CommitWaits(now.Add(10 * time.Second)); c.Late || c.Waiting != 0 {
		t.Errorf("after a commit that is acknowledged: %+v", c)
	}
}

// TestClientsThatLeave: a statement continues for a moment when its client leaves, and its
// connection is kept if it ends within that; at a deadline it is cut off at once.
func TestClientsThatLeave(t *testing.T) {
	t.Parallel()
	pair := func() *socket {
		here, there := net.Pipe()
		t.Cleanup(func() { _ = here.Close(); _ = there.Close() })
		return &socket{Conn: here, of: NewServers()}
	}
	gone, leave := context.WithCancel(t.Context())
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	ended, waits, expired := pair(), pair(), pair()
	release := ended.until(gone)
	waits.until(gone)
	leave()
	release()
	expired.until(late)
	testkit.Await(t, "both are cut off", func() bool { return waits.cut.Load() && expired.cut.Load() })
	if ended.cut.Load() {
		t.Error("a statement that has ended is cut off")
	}
}
