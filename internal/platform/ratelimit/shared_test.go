package ratelimit_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/internal/platform/ratelimit"
	"candor/internal/testkit"
	"candor/internal/testkit/redistest"
)

// observer counts what a Redis reports.
type observer struct {
	shared atomic.Bool
	alone  atomic.Int64
}

func (o *observer) LimitsShared(shared bool) { o.shared.Store(shared) }
func (o *observer) CountedAlone()            { o.alone.Add(1) }

// process is a process's view of a Redis.
type process struct {
	*ratelimit.Redis
	observer
	logs testkit.LogBuffer
}

func dial(t testing.TB, url string) *process {
	t.Helper()
	p := &process{}
	hide := func(key string) string {
		sum := sha256.Sum256([]byte(key))
		return hex.EncodeToString(sum[:])
	}
	var err error
	if p.Redis, err = ratelimit.Dial(url, hide, p, slog.New(slog.NewTextHandler(&p.logs, nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func (p *process) limiter(t testing.TB, c ratelimit.Config) ratelimit.Limiter {
	t.Helper()
	l, err := p.Limiter("test", c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// d30 is the API's limit.
var d30 = ratelimit.Config{PerMinute: 100, Burst: 200, Keys: 1000}

// TestSharedNumbers takes by two processes from one bucket, which has D30's numbers
// at each step, whichever process answers.
func TestSharedNumbers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	limiters := []ratelimit.Limiter{dial(t, server.URL).limiter(t, d30), dial(t, server.URL).limiter(t, d30)}
	began := time.Now()
	for i := 1; i <= 210; i++ {
		q := limiters[i%2].Take("network 192.0.2.0", start)
		// Tokens that came since the first request: at least and at most.
		least := float64(max(0, 200-i))
		most := least + time.Since(began).Seconds()/0.6
		wait := q.Reset.Sub(start).Seconds() / 0.6
		if i <= 200 && !q.Allowed {
			t.Fatalf("request %d is refused: %+v", i, q)
		}
		if !q.Allowed {
			least, most = 0, 1
			if q.RetryAfter <= 0 || q.RetryAfter > 600*time.Millisecond || math.Abs(q.RetryAfter.Seconds()/0.6+199-wait) > 0.001 {
				t.Errorf("request %d: retry after %s, reset %s", i, q.RetryAfter, q.Reset.Sub(start))
			}
		}
		if q.Limit != 100 || float64(q.Remaining) < math.Floor(max(least-100, 0)) || float64(q.Remaining) > max(most-100, 0) ||
			wait > 200-least+0.001 || wait < 200-most-0.001 {
			t.Errorf("request %d after %s: %+v, want %v to %v tokens", i, time.Since(began), q, least, most)
		}
	}
	for _, key := range server.Keys() {
		if strings.Contains(key, "192") || strings.Contains(key, "network") {
			t.Errorf("Redis has the key %s", key)
		}
	}
}

// TestSharedByManyAtOnce takes side by side.
func TestSharedByManyAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const slow = 20 // of a bucket that gains a token in three seconds
	var allowed atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	var alone int64
	for range 3 {
		p := dial(t, server.URL)
		l := p.limiter(t, ratelimit.Config{PerMinute: 20, Burst: slow, Keys: 10})
		for range 4 {
			group.Go(func() {
				for range 25 {
					if l.Take("a", start).Allowed {
						allowed.Add(1)
					}
				}
			})
		}
		group.Wait()
		alone += p.alone.Load()
	}
	gained := int64(time.Since(began)/(3*time.Second)) + 1
	if n := allowed.Load(); alone == 0 && (n < slow || n > slow+gained) {
		t.Errorf("%d of 300 are allowed, want %d", n, slow)
	}
}

// TestEmptyBucketCostsNothing counts what a flood asks of Redis: nothing until the
// bucket has a token again.
func TestEmptyBucketCostsNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := dial(t, server.URL)
	l := p.limiter(t, ratelimit.Config{PerMinute: 60, Burst: 1, Keys: 10})
	if q := l.Peek("a", start); !q.Allowed {
		t.Errorf("a full bucket: %+v", q)
	}
	l.Take("a", start)
	if q := l.Take("a", start); q.Allowed || q.RetryAfter <= 0 {
		t.Fatalf("an empty bucket: %+v", q)
	}
	server.Kill()
	for range 1000 {
		q := l.Take("a", start)
		if peeked := l.Peek("a", start); q.Allowed || peeked.Allowed && p.alone.Load() == 0 {
			break // a second has passed
		}
	}
	if n := p.alone.Load(); n > 1 {
		t.Errorf("%d requests beyond the limit asked Redis", n)
	}
}

// TestRedisThatEnds kills Redis, and then lets it accept connections and answer
// nothing. Each process counts what it lets through, no request waits, and there is
// one warning a minute. Then they share again.
func TestRedisThatEnds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	one, two := dial(t, server.URL), dial(t, server.URL)
	a, b := one.limiter(t, d30), two.limiter(t, d30)
	take := func(l ratelimit.Limiter, key string, n int) (allowed int) {
		for range n {
			if l.Take(key, time.Now()).Allowed {
				allowed++
			}
		}
		return allowed
	}
	first150 := time.Now()
	take(a, "a", 150)
	for _, fail := range []struct {
		name       string
		begin, end func()
	}{{"killed", server.Kill, server.Restart}, {"paused", server.Pause, server.Resume}} {
		name := fail.name
		fail.begin()
		began := time.Now()
		first, second := take(a, name, 300), take(b, name, 300)
		took := time.Since(began)
		if took > 10*time.Second { // each waits 100 ms once; the rest is for a busy machine
			t.Errorf("%s: 600 requests took %s", name, took)
		}
		most := 210 + int(took.Seconds()/0.6)
		if first < 200 || first > most || second < 200 || second > most || one.alone.Load() == 0 || one.shared.Load() {
			t.Errorf("%s: %d and %d are allowed, want 200 by each process", name, first, second)
		}
		if name == "killed" {
			if n := take(a, "a", 100); n > 60+int(time.Since(first150).Seconds()/0.6) {
				t.Errorf("%d more are allowed by a process that let 150 through, want 50", n)
			}
		}
		fail.end()
		for _, p := range []*process{one, two} {
			testkit.Await(t, "the limits are shared", p.shared.Load)
		}
		if total := take(a, name+" again", 150) + take(b, name+" again", 150); total < 200 || total > 215 {
			t.Errorf("%s and back: %d are allowed by both, want 200", name, total)
		}
	}
	if logs := one.logs.String(); strings.Count(logs, "level=WARN") != 1 || strings.Count(logs, "share their rate limits") != 1 {
		t.Errorf("want one warning and one return:\n%s", logs)
	}
}

// TestRedisThatIsntThere starts without Redis.
func TestRedisThatIsntThere(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p := dial(t, fmt.Sprintf("rediss://:hidden@%s/0", listener.Addr()))
	if q := p.limiter(t, d30).Take("a", start); !q.Allowed || q.Remaining != 99 || p.shared.Load() {
		t.Errorf("%+v", q)
	}
	testkit.Await(t, "a warning", func() bool { return strings.Contains(p.logs.String(), "level=WARN") })
	if strings.Contains(p.logs.String(), "hidden") {
		t.Errorf("the log has the password:\n%s", p.logs.String())
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"redis://localhost", "redis://:p@h:6380/2", "rediss://u:p%40@redis.example:6379",
		"unix:///run/redis.sock"} {
		if err := ratelimit.CheckURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"localhost:6379", "http://:hidden@h", "redis://", "redis://:hid/den@h", "redis://u:hidden@h/x",
		"unix://", "redis://h?hidden=1"} {
		if err := ratelimit.CheckURL(bad); err == nil || strings.Contains(err.Error(), "hid") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
