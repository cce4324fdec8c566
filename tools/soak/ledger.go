package main

import (
	"net/url"
	"sync"
)

// ledger keeps what was acknowledged, how requests were answered, and what was
// violated.
type ledger struct {
	mu         sync.Mutex
	sessions   []*session
	byID       map[string]*session
	requests   map[string]map[string]int // by kind and answer
	violations map[string][]string       // details by kind
	counted    map[string]bool           // kinds of violations that the report has
	redelivers int                       // acknowledged
}

func newLedger() *ledger {
	return &ledger{byID: map[string]*session{}, requests: map[string]map[string]int{}, violations: map[string][]string{},
		counted: map[string]bool{}}
}

// session is what one customer and the partner know of a session.
type session struct {
	ID        string
	Reference string
	Link      string // path
	Email     string
	Name      string
	Partner   *partner
	Fate      fate

	mu        sync.Mutex
	answers   map[string]url.Values // by section, as acknowledged last
	tried     map[string]bool       // sections with an answer that wasn't acknowledged
	documents map[string][]byte     // acknowledged, by SHA-256 in hex
	sent      map[string]bool       // SHA-256 of all that were sent
	end       string                // acknowledged: completed, cancelled, expired; "" for none
	tries     bool                  // an end was asked for and not acknowledged
	simulated bool                  // Candor made the answers up
}

// fate is what a session is meant for.
type fate string

const (
	completes fate = "completes"
	simulates fate = "simulates" // completed by the API, with made-up answers
	cancels   fate = "cancels"
	expires   fate = "expires"
	advances  fate = "advances" // expired by the API
	waits     fate = "waits"    // is left as it is
)

// acknowledge keeps a new session.
func (l *ledger) acknowledge(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID[s.ID] != nil {
		l.violations["sessions with one id"] = append(l.violations["sessions with one id"], s.ID)
	}
	l.sessions = append(l.sessions, s)
	l.byID[s.ID] = s
}

// answered counts a request.
func (l *ledger) answered(kind, answer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.requests[kind] == nil {
		l.requests[kind] = map[string]int{}
	}
	l.requests[kind][answer]++
}

// violate keeps what must not happen.
func (l *ledger) violate(kind, detail string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.violations[kind] = append(l.violations[kind], detail)
}

func (l *ledger) all() []*session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*session(nil), l.sessions...)
}

// ends sets the acknowledged end of a session.
func (s *session) ends(as string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = as
}

// asks notes that an end was asked for, which may happen without an answer.
func (s *session) asks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries = true
}
