// Package ratelimit counts requests in token buckets, one for each key: in memory,
// or in Redis for several processes. It must not know what a key stands for or what
// a request is.
package ratelimit

import (
	"fmt"
	"math"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// A Limiter counts requests by a key, such as an account or a network (D30). It is
// safe for concurrent use.
type Limiter interface {
	// Take takes a token from key's bucket, if there is one.
	Take(key string, now time.Time) Quota
	// Peek returns what Take would, but for the token that it would take. Of a bucket
	// that processes share it knows only whether it was empty lately.
	Peek(key string, now time.Time) Quota
}

// Quota is what a key may still do after a request.
type Quota struct {
	Allowed    bool
	Limit      int           // requests a minute, the refill
	Remaining  int           // what is left of Limit; at 0 the rest of the burst can still be there
	Reset      time.Time     // when the bucket is full again, unless more is taken
	RetryAfter time.Duration // when refused: until a request would be allowed
}

// Config sizes the buckets of a Limiter.
type Config struct {
	PerMinute int // tokens refilled a minute
	Burst     int // tokens of a full bucket
	Keys      int // buckets kept; the longest unused one is forgotten first
}

// SignedOut is the limit of what anyone can post without being signed in, for a
// network that a whole office can share. Further limits stand behind it.
var SignedOut = Config{PerMinute: 30, Burst: 60, Keys: 100_000}

// FormLink is the limit of what one form's link can post. What is typed is saved at
// most every 800 ms.
var FormLink = Config{PerMinute: 120, Burst: 240, Keys: 100_000}

// Opened is how many times as much a network can post to forms that its browsers
// opened by their links. Someone who types saves about 20 times a minute: with 600 a
// minute for anyone, it is enough for 300 of them behind one address.
const Opened = 10

// StaffPerson is the limit of a person's requests to the dashboard (D88).
func StaffPerson(perMinute int) Config {
	return Config{PerMinute: perMinute, Burst: max(1, perMinute/2), Keys: 100_000}
}

// StaffAccount is the limit of the requests of all staff of an account.
func StaffAccount(perMinute int) Config {
	return Config{PerMinute: 3 * perMinute, Burst: perMinute, Keys: 100_000}
}

// StaffChange and StaffExport are the limits of what a person does with one button of
// the dashboard, and of one kind of file that they export (D88).
var (
	StaffChange = Config{PerMinute: 60, Burst: 60, Keys: 100_000}
	StaffExport = Config{PerMinute: 12, Burst: 12, Keys: 100_000}
)

// Memory is a set of token buckets of this process. It is safe for concurrent
// use, and its memory is bounded.
type Memory struct {
	config  Config
	mu      sync.Mutex // makes one bucket of two first requests
	buckets *lru.Cache[string, *rate.Limiter]
}

// New returns an empty Memory.
func New(c Config) (*Memory, error) {
	if c.PerMinute < 1 || c.Burst < 1 || c.Keys < 1 {
		return nil, fmt.Errorf("ratelimit: %+v: all three must be at least 1", c)
	}
	buckets, err := lru.New[string, *rate.Limiter](c.Keys)
	if err != nil {
		return nil, fmt.Errorf("ratelimit: %w", err)
	}
	return &Memory{config: c, buckets: buckets}, nil
}

// Take takes a token from key's bucket at now, if there is one.
func (m *Memory) Take(key string, now time.Time) Quota {
	bucket := m.bucket(key)
	return m.quota(bucket, bucket.AllowN(now, 1), now)
}

// Peek returns what Take would, but for the token that it would take.
func (m *Memory) Peek(key string, now time.Time) Quota {
	bucket := m.bucket(key)
	return m.quota(bucket, bucket.TokensAt(now) >= 1, now)
}

func (m *Memory) quota(bucket *rate.Limiter, allowed bool, now time.Time) Quota {
	return m.config.quota(bucket.TokensAt(now), allowed, now)
}

// quota says what a bucket with that many tokens means for its key.
func (c Config) quota(tokens float64, allowed bool, now time.Time) Quota {
	q := Quota{Allowed: allowed, Limit: c.PerMinute}
	q.Remaining = min(max(int(math.Floor(tokens))-max(c.Burst-q.Limit, 0), 0), q.Limit)
	q.Reset = now.Add(c.refill(float64(c.Burst) - tokens))
	if !q.Allowed {
		q.RetryAfter = c.refill(1 - tokens)
	}
	return q
}

func (m *Memory) bucket(key string) *rate.Limiter {
	if bucket, ok := m.buckets.Get(key); ok {
		return bucket
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if bucket, ok := m.buckets.Get(key); ok {
		return bucket
	}
	bucket := rate.NewLimiter(rate.Limit(float64(m.config.PerMinute)/time.Minute.Seconds()), m.config.Burst)
	m.buckets.Add(key, bucket)
	return bucket
}

// refill is how long it takes to gain that many tokens.
func (c Config) refill(tokens float64) time.Duration {
	return time.Duration(max(tokens, 0) * float64(time.Minute) / float64(c.PerMinute))
}
