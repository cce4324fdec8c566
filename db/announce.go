package db

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

// Waiting readers of events are woken by NOTIFY, in whichever process they wait. The
// notification follows the commit and is not part of it: transactions that notify
// commit one after another, which would halve the rate of events. If a process dies
// between the two, readers find the events when they look by themselves.

const (
	eventChannel = "candor_event"
	// announceTimeout bounds a NOTIFY. Those that come due until then are sent with
	// the next.
	announceTimeout = 5 * time.Second
	// The listener connects again after minReconnect, then ever later.
	minReconnect, maxReconnect = 100 * time.Millisecond, 10 * time.Second
	// listenerPing is how often the listener's connection is tried, so that a dead
	// one is noticed.
	listenerPing = 30 * time.Second
)

// Announce wakes those who wait for events of the scope, after the commit.
func (tx *Tx) Announce(scope domain.Scope) {
	tx.AfterCommit(func() { tx.announcer.add(scopeText(scope)) })
}

// scopeText names a scope in a notification.
func scopeText(scope domain.Scope) string {
	if scope.Livemode {
		return scope.AccountID.String() + " live"
	}
	return scope.AccountID.String() + " test"
}

// announcer sends notifications one after another. Scopes that come due
// during one are sent together.
type announcer struct {
	on      *Queries
	mu      sync.Mutex
	due     map[string]struct{}
	sending bool
	sent    sync.WaitGroup
}

func (a *announcer) add(scope string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.due == nil {
		a.due = map[string]struct{}{}
	}
	a.due[scope] = struct{}{}
	if !a.sending {
		a.sending = true
		a.sent.Go(a.send)
	}
}

func (a *announcer) send() {
	for {
		a.mu.Lock()
		scopes := slices.Collect(maps.Keys(a.due))
		a.due = nil
		a.sending = len(scopes) > 0
		a.mu.Unlock()
		if len(scopes) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), announceTimeout)
		// Nothing is lost with the notification, so its commit needn't reach the disk.
		_, _ = a.on.exec(ctx, `
			SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, scope) FROM unnest($2::text[]) scope`,
			eventChannel, pq.Array(scopes)) // if it fails, readers look by themselves
		cancel()
	}
}

// A listener has the process's one connection that hears announcements. It is opened
// for the first subscription and kept until the database is closed.
type listener struct {
	dsn  string
	mu   sync.Mutex
	on   *pq.Listener
	subs map[string]map[chan struct{}]struct{}
	done sync.WaitGroup
}

// Subscribe returns a channel that has a token when events of the scope may have been
// committed since the last one was taken. Read the events after subscribing. The
// subscription lasts until stop is called.
func (d *DB) Subscribe(scope domain.Scope) (wake <-chan struct{}, stop func()) {
	l := d.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.on == nil {
		l.on = pq.NewListener(l.dsn, minReconnect, maxReconnect, nil)
		l.done.Go(func() { l.hear(l.on) })
	}
	name, own := scopeText(scope), make(chan struct{}, 1)
	if l.subs[name] == nil {
		l.subs[name] = map[chan struct{}]struct{}{}
	}
	l.subs[name][own] = struct{}{}
	return own, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.subs[name], own)
		if len(l.subs[name]) == 0 {
			delete(l.subs, name)
		}
	}
}

// hear wakes subscribers until the listener is closed: all of them when the
// connection is there and when it is there again.
func (l *listener) hear(on *pq.Listener) {
	if on.Listen(eventChannel) != nil {
		return // it was closed first
	}
	l.wake("")
	ping := time.NewTicker(listenerPing)
	defer ping.Stop()
	for {
		select {
		case n, open := <-on.Notify:
			switch {
			case !open:
				return
			case n == nil:
				l.wake("")
			default:
				l.wake(n.Extra)
			}
		case <-ping.C:
			_ = on.Ping() // if it fails, the listener connects again
		}
	}
}

// wake wakes the subscribers of a scope, all for "".
func (l *listener) wake(scope string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	woken := l.subs
	if scope != "" {
		woken = map[string]map[chan struct{}]struct{}{scope: l.subs[scope]}
	}
	for _, subs := range woken {
		for own := range subs {
			select {
			case own <- struct{}{}:
			default: // it has a token already
			}
		}
	}
}

func (l *listener) close() {
	l.mu.Lock()
	on := l.on
	l.mu.Unlock()
	if on != nil {
		_ = on.Close() // only the second time fails
	}
	l.done.Wait()
}
