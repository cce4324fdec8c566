package db

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
	"candor/internal/platform/postgres"
)

// Readers that wait for events, and pages that follow changes, are woken by NOTIFY, in
// whichever process they wait. The notification follows the commit and is not part of
// it: transactions that notify commit one after another, which would halve the rate of
// events. If a process dies between the two, readers find the changes when they look by
// themselves.

const (
	// eventChannel tells at once that a scope has new events. changeChannel tells what
	// else changed, a process every changePause at most: session creation is the
	// hottest write, and people don't see a fifth of a second.
	eventChannel  = "candor_event"
	changeChannel = "candor_change"
	changePause   = 200 * time.Millisecond
	// announcedSessions is how many sessions a notification names. If more changed, it
	// names none, which stands for any.
	announcedSessions = 20
	// announceTimeout bounds a NOTIFY. Those that come due until then are sent with
	// the next.
	announceTimeout = 5 * time.Second
	// The listener connects again after minReconnect, then ever later. A failover
	// takes some seconds: pages should follow soon after it.
	minReconnect, maxReconnect = 100 * time.Millisecond, 2 * time.Second
	// listenerPing is how often the listener's connection is tried, so that a dead
	// one is noticed.
	listenerPing = 30 * time.Second
	// rememberedScopes bounds what is remembered of the times of changes.
	rememberedScopes = 10_000
	// clockSkew is how far the clocks of two web processes may differ.
	clockSkew = 100 * time.Millisecond
)

// Announce tells those who follow the scope what changed, after the commit: something
// of the session, or of no session or of any if it is nil.
func (tx *Tx) Announce(scope domain.Scope, topics domain.Topics, session *domain.SessionID) {
	tx.AfterCommit(func() { tx.announcers.add(scope, topics, session) })
}

// announcers are a process's announcers of both channels.
type announcers struct {
	events, changes announcer
	end             func() // ends the pauses; it can be called twice
}

func newAnnouncers(on *Queries) *announcers {
	over := make(chan struct{})
	return &announcers{
		end:     sync.OnceFunc(func() { close(over) }),
		events:  announcer{on: on, channel: eventChannel, over: over},
		changes: announcer{on: on, channel: changeChannel, pause: changePause, over: over},
	}
}

func (a *announcers) add(scope domain.Scope, topics domain.Topics, session *domain.SessionID) {
	if topics&domain.EventRecorded != 0 {
		a.events.add(scope, 0, nil)
	}
	if topics &^= domain.EventRecorded; topics != 0 {
		a.changes.add(scope, topics, session)
	}
}

// close waits for what is being sent.
func (a *announcers) close() {
	a.end()
	a.events.sent.Wait()
	a.changes.sent.Wait()
}

// announcer sends notifications one after another, with a pause between them. Changes
// that come due until then are sent together.
type announcer struct {
	on      *Queries
	channel string
	pause   time.Duration
	over    chan struct{} // closed when the process ends; no pause is made then
	mu      sync.Mutex
	due     map[domain.Scope]*change
	sending bool
	sent    sync.WaitGroup
}

// change is what changed in a scope.
type change struct {
	topics   domain.Topics
	sessions map[domain.SessionID]struct{} // none: any
	any      bool
}

func (c *change) add(topics domain.Topics, session *domain.SessionID) {
	c.topics |= topics
	switch {
	case session == nil || len(c.sessions) == announcedSessions:
		c.any, c.sessions = true, nil
	case !c.any:
		if c.sessions == nil {
			c.sessions = map[domain.SessionID]struct{}{}
		}
		c.sessions[*session] = struct{}{}
	}
}

func (a *announcer) add(scope domain.Scope, topics domain.Topics, session *domain.SessionID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.due == nil {
		a.due = map[domain.Scope]*change{}
	}
	if a.due[scope] == nil {
		a.due[scope] = &change{}
	}
	a.due[scope].add(topics, session)
	if !a.sending {
		a.sending = true
		a.sent.Go(a.send)
	}
}

func (a *announcer) send() {
	for {
		a.mu.Lock()
		due := a.due
		a.due = nil
		a.sending = len(due) > 0
		a.mu.Unlock()
		if len(due) == 0 {
			return
		}
		var payloads []string
		for scope, c := range due {
			payloads = append(payloads, notification(scope, c))
		}
		ctx, cancel := context.WithTimeout(context.Background(), announceTimeout)
		// Nothing is lost with the notification, so its commit needn't reach the disk.
		_, _ = a.on.exec(ctx, `
			SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, payload) FROM unnest($2::text[]) payload`,
			a.channel, pq.Array(payloads)) // if it fails, readers look by themselves
		cancel()
		if a.pause > 0 {
			select {
			case <-time.After(a.pause):
			case <-a.over:
			}
		}
	}
}

// notification is what is sent: the account, the mode, and of changes the topics and
// the sessions. heard reads it.
func notification(scope domain.Scope, c *change) string {
	words := []string{scope.AccountID.String(), "test"}
	if scope.Livemode {
		words[1] = "live"
	}
	if c.topics != 0 {
		words = append(words, strings.Join(c.topics.Names(), ","))
	}
	for id := range c.sessions {
		words = append(words, id.String())
	}
	return strings.Join(words, " ")
}

// heard reads a notification. What another release may send besides is left out.
func heard(channel, payload string) (scope domain.Scope, c change, ok bool) {
	words := strings.Fields(payload)
	if len(words) < 2 {
		return scope, c, false
	}
	account, err := domain.ParseAccountID(words[0])
	scope = domain.Scope{AccountID: account, Livemode: words[1] == "live"}
	if channel == eventChannel {
		return scope, change{topics: domain.EventRecorded, any: true}, err == nil
	}
	if len(words) == 2 {
		return scope, c, false
	}
	c.topics, c.any = domain.TopicsNamed(strings.Split(words[2], ",")), len(words) == 3
	c.sessions = map[domain.SessionID]struct{}{}
	for _, word := range words[3:] {
		if id, err := domain.ParseSessionID(word); err == nil {
			c.sessions[id] = struct{}{}
		}
	}
	return scope, c, err == nil
}

// A listener has the process's one connection that hears announcements. It is opened
// for the first subscription and kept until the database is closed.
type listener struct {
	dsn  string
	dial *postgres.CutOffDialer
	mu   sync.Mutex
	on   *pq.Listener
	subs map[domain.Scope]map[*Subscription]struct{}
	done sync.WaitGroup

	// Since when it has heard everything, and when a scope's topics changed last.
	since   time.Time
	changed map[domain.Scope]map[domain.Topics]time.Time
}

func newListener(dsn string, servers *postgres.Servers) *listener {
	return &listener{dsn: dsn, dial: servers.CutOffDialer(), subs: map[domain.Scope]map[*Subscription]struct{}{}}
}

// A Subscription hears of changes until it is stopped.
type Subscription struct {
	// Wake has a token when something may have changed since the last Take.
	Wake <-chan struct{}

	listener *listener
	scope    domain.Scope
	topics   domain.Topics
	session  *domain.SessionID
	wake     chan struct{}
	due      domain.Topics // under the listener's lock
}

// Subscribe subscribes to topics of the scope, if a session is given to changes of that
// session alone. Read what is followed after subscribing, or say since when: what has
// changed since then is due at once. Zero: nothing is.
func (d *DB) Subscribe(scope domain.Scope, topics domain.Topics, session *domain.SessionID, since time.Time) *Subscription {
	l := d.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.on == nil {
		l.on = pq.NewDialListener(l.dial, l.dsn, minReconnect, maxReconnect, nil)
		l.done.Go(func() { l.hear(l.on) })
	}
	s := &Subscription{listener: l, scope: scope, topics: topics, session: session, wake: make(chan struct{}, 1)}
	s.Wake = s.wake
	if l.subs[scope] == nil {
		l.subs[scope] = map[*Subscription]struct{}{}
	}
	l.subs[scope][s] = struct{}{}
	if !since.IsZero() {
		s.add(l.changedSince(scope, since.Add(-clockSkew)))
	}
	return s
}

// Take returns what changed since the last Take.
func (s *Subscription) Take() domain.Topics {
	s.listener.mu.Lock()
	defer s.listener.mu.Unlock()
	due := s.due
	s.due = 0
	return due
}

// Stop ends the subscription.
func (s *Subscription) Stop() {
	l := s.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.subs[s.scope], s)
	if len(l.subs[s.scope]) == 0 {
		delete(l.subs, s.scope)
	}
}

func (s *Subscription) add(topics domain.Topics) {
	if topics &= s.topics; topics == 0 {
		return
	}
	s.due |= topics
	select {
	case s.wake <- struct{}{}:
	default: // it has a token already
	}
}

// hear wakes subscribers until the listener is closed: all of them when the
// connection is there and when it is there again.
func (l *listener) hear(on *pq.Listener) {
	if on.Listen(eventChannel) != nil || on.Listen(changeChannel) != nil {
		return // it was closed first
	}
	l.wakeAll()
	ping := time.NewTicker(listenerPing)
	defer ping.Stop()
	for {
		select {
		case n, open := <-on.Notify:
			switch {
			case !open:
				return
			case n == nil:
				l.wakeAll()
			default:
				if scope, c, ok := heard(n.Channel, n.Extra); ok {
					l.tell(scope, c)
				}
			}
		case <-ping.C:
			_ = on.Ping() // if it fails, the listener connects again
		}
	}
}

// wakeAll wakes everyone: announcements may have been missed.
func (l *listener) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since, l.changed = time.Now(), nil
	for subs := range maps.Values(l.subs) {
		for s := range subs {
			s.add(domain.AllTopics)
		}
	}
}

// tell wakes those who follow what changed.
func (l *listener) tell(scope domain.Scope, c change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remember(scope, c.topics)
	for s := range l.subs[scope] {
		if s.session != nil && !c.any {
			if _, ok := c.sessions[*s.session]; !ok {
				continue
			}
		}
		s.add(c.topics)
	}
}

func (l *listener) remember(scope domain.Scope, topics domain.Topics) {
	if len(l.changed) >= rememberedScopes {
		l.since, l.changed = time.Now(), nil
	}
	if l.changed == nil {
		l.changed = map[domain.Scope]map[domain.Topics]time.Time{}
	}
	if l.changed[scope] == nil {
		l.changed[scope] = map[domain.Topics]time.Time{}
	}
	for _, info := range domain.TopicTable {
		if topics&info.Topic != 0 {
			l.changed[scope][info.Topic] = time.Now()
		}
	}
}

// changedSince are the topics that may have changed in the scope since then.
func (l *listener) changedSince(scope domain.Scope, since time.Time) (out domain.Topics) {
	if l.since.IsZero() || since.Before(l.since) {
		return domain.AllTopics
	}
	for topic, at := range l.changed[scope] {
		if at.After(since) {
			out |= topic
		}
	}
	return out
}

func (l *listener) close() {
	l.mu.Lock()
	on := l.on
	l.mu.Unlock()
	l.dial.CutOff()
	if on != nil {
		_ = on.Close() // only the second time fails
	}
	l.done.Wait()
}
