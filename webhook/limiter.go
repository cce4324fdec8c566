package webhook

import (
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// breakAfter is how many failures in a row make a destination suspect.
	breakAfter = 3
	// suspectFor is how long after its last failure a destination that isn't
	// called stays suspect.
	suspectFor = time.Hour
	// maxSuspects bounds the memory; the longest unused are forgotten first.
	maxSuspects = 4096
)

// Outcome tells a Limiter how an attempt went.
type Outcome int

const (
	// OutcomeUnknown leaves the state of the destination as it was: no
	// connection was tried, or the attempt was interrupted.
	OutcomeUnknown Outcome = iota
	// OutcomeAnswered means that the receiver was there, whatever it said.
	OutcomeAnswered
	// OutcomeUnreachable means that it could not be connected to or did not
	// answer in time.
	OutcomeUnreachable
)

// Limiter bounds the concurrent attempts per destination (scheme, host and
// port) within one process, so that a dead or slow receiver can't take all
// workers (D39). A destination that was unreachable several times in a row gets
// one attempt at a time until it answers. It is safe for concurrent use.
type Limiter struct {
	perDestination int
	now            func() time.Time

	mu       sync.Mutex
	active   map[string]int
	suspects *simplelru.LRU[string, failureRun]
}

// failureRun counts failures of a destination that came without an answer
// between them.
type failureRun struct {
	count int
	last  time.Time
}

// NewLimiter returns a Limiter that allows perDestination concurrent attempts,
// at least 1, and reads the time from now.
func NewLimiter(perDestination int, now func() time.Time) *Limiter {
	suspects, err := simplelru.NewLRU[string, failureRun](maxSuspects, nil)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &Limiter{
		perDestination: max(perDestination, 1),
		now:            now,
		active:         map[string]int{},
		suspects:       suspects,
	}
}

// TryAcquire takes a slot of the destination of rawURL. If there is one, ok is
// true and the caller must call release with the outcome once the attempt is
// over; further calls of release do nothing. It never waits.
func (l *Limiter) TryAcquire(rawURL string) (release func(Outcome), ok bool) {
	key := destination(rawURL)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active[key] >= l.limit(key) {
		return nil, false
	}
	l.active[key]++
	var once sync.Once
	return func(outcome Outcome) { once.Do(func() { l.release(key, outcome) }) }, true
}

// limit needs l.mu.
func (l *Limiter) limit(key string) int {
	run, found := l.suspects.Get(key)
	if found && l.now().Sub(run.last) > suspectFor {
		l.suspects.Remove(key)
		return l.perDestination
	}
	if run.count >= breakAfter {
		return 1
	}
	return l.perDestination
}

func (l *Limiter) release(key string, outcome Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active[key]--
	if l.active[key] == 0 {
		delete(l.active, key)
	}
	switch outcome {
	case OutcomeAnswered:
		l.suspects.Remove(key)
	case OutcomeUnreachable:
		run, _ := l.suspects.Get(key)
		l.suspects.Add(key, failureRun{count: run.count + 1, last: l.now()})
	case OutcomeUnknown:
	}
}

// destination returns scheme, host and port in one spelling. All URLs that
// can't be read share one.
func destination(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	port := strings.TrimLeft(u.Port(), "0")
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
