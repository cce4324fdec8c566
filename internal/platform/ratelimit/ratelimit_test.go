package ratelimit_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/internal/platform/ratelimit"
)

var start = time.Date(2026, 11, 20, 3, 4, 5, 0, time.UTC)

func standard(t *testing.T) *ratelimit.Memory {
	t.Helper()
	m, err := ratelimit.New(ratelimit.Config{PerMinute: 100, Burst: 200, Keys: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestBurstAndRefill follows one bucket through D30's numbers: 200 at once,
// then 100 a minute.
func TestBurstAndRefill(t *testing.T) {
	t.Parallel()
	m := standard(t)
	for i := 1; i <= 200; i++ {
		q := m.Take("a", start)
		left := 200 - i
		want := ratelimit.Quota{Allowed: true, Limit: 100, Remaining: max(left-100, 0),
			Reset: start.Add(time.Duration(i) * 600 * time.Millisecond)}
		if q != want {
			t.Fatalf("request %d: %+v, want %+v", i, q, want)
		}
	}
	q := m.Take("a", start)
	if q.Allowed || q.Remaining != 0 || q.RetryAfter != 600*time.Millisecond || !q.Reset.Equal(start.Add(2*time.Minute)) {
		t.Errorf("request 201: %+v", q)
	}
	if q := m.Take("a", start.Add(599*time.Millisecond)); q.Allowed {
		t.Errorf("allowed before a token is refilled: %+v", q)
	}
	for i := range 300 {
		at := start.Add(time.Duration(i+1) * 600 * time.Millisecond)
		if q := m.Take("a", at); !q.Allowed {
			t.Fatalf("at the standard rate, request %d is refused: %+v", i, q)
		}
		if q := m.Take("a", at); q.Allowed {
			t.Fatalf("above the standard rate, request %d is allowed: %+v", i, q)
		}
	}
	allowed := 0
	for range 300 {
		if m.Take("a", start.Add(time.Hour)).Allowed {
			allowed++
		}
	}
	if allowed != 200 {
		t.Errorf("after an hour's rest %d are allowed at once, want 200", allowed)
	}
}

func TestKeysAreSeparate(t *testing.T) {
	t.Parallel()
	m := standard(t)
	for range 250 {
		m.Take("a", start)
	}
	if q := m.Take("b", start); !q.Allowed || q.Remaining != 99 {
		t.Errorf("another key: %+v", q)
	}
}

// TestConcurrentTakes makes sure that requests side by side share one bucket.
func TestConcurrentTakes(t *testing.T) {
	t.Parallel()
	m := standard(t)
	var allowed atomic.Int64
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for range 50 {
				if m.Take("a", start).Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	group.Wait()
	if allowed.Load() != 200 {
		t.Errorf("%d of 1,000 are allowed, want 200", allowed.Load())
	}
}

// TestMemoryIsBounded makes sure that keys beyond the bound are forgotten,
// the longest unused first.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m, err := ratelimit.New(ratelimit.Config{PerMinute: 2, Burst: 2, Keys: 10})
	if err != nil {
		t.Fatal(err)
	}
	m.Take("busy", start)
	for i := range 1000 {
		m.Take(fmt.Sprint(i), start)
		if i == 0 {
			m.Take("busy", start)
		}
		if i%5 == 0 && m.Take("busy", start).Allowed {
			t.Fatal("a key in use is forgotten")
		}
	}
	if q := m.Take("0", start); q.Remaining != 1 {
		t.Errorf("the longest unused key is remembered: %+v", q)
	}
}

func TestNewRefusesNonsense(t *testing.T) {
	t.Parallel()
	for _, c := range []ratelimit.Config{{}, {PerMinute: 1, Burst: 1}, {PerMinute: 1, Keys: 1}, {Burst: 1, Keys: 1},
		{PerMinute: -1, Burst: 1, Keys: 1}} {
		if _, err := ratelimit.New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

// TestWorkingSpeed: who works as fast as they can is never refused: for an hour five
// requests a second, with four live pages of two parts that look once a second, and the
// same button once a second; at first ten seconds' worth at once.
func TestWorkingSpeed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config    ratelimit.Config
		perSecond int
	}{
		{ratelimit.StaffPerson(1200), 5 + 4*2}, {ratelimit.StaffAccount(1200), 4 * (5 + 4*2)}, {ratelimit.StaffChange, 1},
	} {
		m, err := ratelimit.New(c.config)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 * c.perSecond {
			if !m.Take("jo", start).Allowed {
				t.Errorf("%+v: request %d at once is refused", c.config, i+1)
			}
		}
		for second := range 3600 {
			for range c.perSecond {
				if !m.Take("jo", start.Add(time.Duration(second)*time.Second)).Allowed {
					t.Fatalf("%+v: refused after %d seconds", c.config, second)
				}
			}
		}
	}
}
