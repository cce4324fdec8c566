// Package fairqueue shares places among keys, such as accounts: who has many waits
// for who has few. It must not know what a key stands for or what is done in a place.
//
// After each call, which TestInvariants checks:
//
//  1. At most Places are taken, and at most Each by one key; none is granted to a key
//     that has Beside or more while another key came within a second.
//  2. A key took a place only while more were free than it had. So it never takes the
//     last one unless it has none.
//  3. No one waits who could have a place.
//  4. A place went to the key that had the fewest of those that could have it, and of equal
//     ones to who came first.
//  5. At most Waiting of a key wait.
//  6. Who left, or no longer waits, leaves nothing behind.
package fairqueue

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// Limits of a Queue.
type Limits struct {
	Places  int // that can be taken at once
	Each    int // of them by one key
	Beside  int // of them by one key while others came lately; 0 for Each
	Waiting int // of one key, at least 1
}

// lately is how long a key that came counts as one that others leave room for.
const lately = time.Second

// ErrFull says that too many of a key wait.
var ErrFull = errors.New("fairqueue: too many wait")

// Queue hands out places. It is safe for concurrent use.
type Queue[K comparable] struct {
	limits  Limits
	mu      sync.Mutex
	free    int
	taken   map[K][]*Place[K] // by the keys that have one, oldest first
	waiting []*Place[K]       // in the order in which they came

	last, other arrival[K] // the last to come, and the last of another key than that
}

type arrival[K comparable] struct {
	key K
	at  time.Time // zero for none
}

// Place is a place, or the wait for one.
type Place[K comparable] struct {
	queue   *Queue[K]
	key     K
	granted chan struct{}
}

// New returns a Queue whose places are free.
func New[K comparable](l Limits) *Queue[K] {
	return &Queue[K]{limits: l, free: l.Places, taken: map[K][]*Place[K]{}}
}

// Join asks for a place of key. The caller calls Leave once, whether it was granted or
// not. Errors: ErrFull.
func (q *Queue[K]) Join(key K) (*Place[K], error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := 0
	for _, p := range q.waiting {
		if p.key == key {
			waiting++
		}
	}
	if waiting >= q.limits.Waiting {
		return nil, ErrFull
	}
	if key != q.last.key {
		q.other = q.last
	}
	q.last = arrival[K]{key, time.Now()}
	p := &Place[K]{q, key, make(chan struct{})}
	q.waiting = append(q.waiting, p)
	q.grant()
	if q.limits.Beside > 0 && len(q.waiting) > 0 {
		for _, came := range []arrival[K]{q.last, q.other} { // once it isn't lately, others may have Each
			if left := lately - time.Since(came.at); left > 0 {
				time.AfterFunc(left, q.grantAgain)
			}
		}
	}
	return p, nil
}

// Granted is closed once the place may be used.
func (p *Place[K]) Granted() <-chan struct{} { return p.granted }

// Leave gives a place back, or ends the wait for it.
func (p *Place[K]) Leave() {
	q := p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, p); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return
	}
	q.free++
	q.taken[p.key] = slices.DeleteFunc(q.taken[p.key], func(other *Place[K]) bool { return other == p })
	if len(q.taken[p.key]) == 0 {
		delete(q.taken, p.key)
	}
	q.grant()
}

// Crowded reports whether its user should make haste: fewer than a quarter of the places
// are free, and its key has an older one.
func (p *Place[K]) Crowded() bool {
	q := p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.free < q.limits.Places/4 && slices.Index(q.taken[p.key], p) > 0
}

// grant gives places to who waits as long as someone may have one.
func (q *Queue[K]) grant() {
	for {
		next := -1
		for i, p := range q.waiting {
			has := len(q.taken[p.key])
			if has < min(q.most(p.key), q.free) && (next < 0 || has < len(q.taken[q.waiting[next].key])) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		p := q.waiting[next]
		q.waiting = slices.Delete(q.waiting, next, next+1)
		q.free--
		q.taken[p.key] = append(q.taken[p.key], p)
		close(p.granted)
	}
}

func (q *Queue[K]) grantAgain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.grant()
}

// most is how many places a key may have now.
func (q *Queue[K]) most(key K) int {
	others := q.last
	if others.key == key {
		others = q.other
	}
	if q.limits.Beside > 0 && time.Since(others.at) < lately {
		return q.limits.Beside
	}
	return q.limits.Each
}
