package fairqueue

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestInvariants takes random steps of random keys and checks what the package promises
// after each.
func TestInvariants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(300) {
			tryAll(t, seed)
		}
	})
}

func tryAll(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	limits := Limits{Places: 1 + r.IntN(12), Each: 1 + r.IntN(6), Waiting: 1 + r.IntN(4)}
	limits.Beside = r.IntN(limits.Each + 1)
	q, keys := New[int](limits), 1+r.IntN(8)
	var held []*Place[int]
	came := map[int]time.Time{}
	for step := range 300 {
		q.mu.Lock()
		before, wereFree, waited := counts(q), q.free, slices.Clone(q.waiting)
		q.mu.Unlock()
		action := r.IntN(6)
		switch {
		case action == 5:
			<-time.After(time.Duration(r.IntN(1500)) * time.Millisecond)
			synctest.Wait()
		case action == 0 && len(waited) > 0:
			i := r.IntN(len(waited))
			waited[i].Leave()
			waited = slices.Delete(waited, i, i+1)
		case action <= 2 && len(held) > 0:
			i := r.IntN(len(held))
			before[held[i].key]--
			wereFree++
			held[i].Leave()
			held = slices.Delete(held, i, i+1)
		default:
			key := r.IntN(keys)
			if p, err := q.Join(key); err == nil {
				waited, came[key] = append(waited, p), time.Now()
			}
		}
		most := func(key int) int {
			for other, at := range came {
				if other != key && limits.Beside > 0 && time.Since(at) < lately {
					return limits.Beside
				}
			}
			return limits.Each
		}
		granted := slices.DeleteFunc(slices.Clone(waited), func(t *Place[int]) bool { return !isGranted(t) })
		held = append(held, granted...)
		if action == 5 {
			granted = nil // at several times
		}
		q.mu.Lock()
		problem := wrong(q, held, waited, granted, before, wereFree, most)
		q.mu.Unlock()
		if problem != "" {
			t.Fatalf("seed %d, step %d, %+v: %s; %d free, taken %v", seed, step, limits, problem, q.free, q.taken)
		}
	}
	<-time.After(lately) // the last timer
	synctest.Wait()
	for len(q.waiting) > 0 {
		q.waiting[0].Leave()
	}
	for _, all := range q.taken {
		for _, p := range slices.Clone(all) {
			p.Leave()
		}
	}
	if q.free != limits.Places || len(q.taken)+len(q.waiting) != 0 {
		t.Fatalf("seed %d: %d of %d places are free at the end, taken %v, %d wait", seed, q.free, limits.Places, q.taken,
			len(q.waiting))
	}
}

func counts(q *Queue[int]) map[int]int {
	n := map[int]int{}
	for key, places := range q.taken {
		n[key] = len(places)
	}
	return n
}

func isGranted(t *Place[int]) bool {
	select {
	case <-t.granted:
		return true
	default:
		return false
	}
}

// wrong is the invariant that does not hold, "" for none. When the places were granted,
// waited waited, and before and wereFree were taken and free.
func wrong(q *Queue[int], held, waited, granted []*Place[int], before map[int]int, wereFree int, most func(int) int) string {
	taken, waiting := map[int]int{}, map[int]int{}
	for _, t := range held {
		taken[t.key]++
	}
	for _, t := range q.waiting {
		waiting[t.key]++
	}
	switch {
	case !maps.Equal(taken, counts(q)) || q.free != q.limits.Places-len(held):
		return "places are lost"
	case q.free < 0:
		return "more places than there are"
	}
	for key, n := range taken {
		if n > q.limits.Each || n > before[key] && n > most(key) {
			return "more than the most of a key"
		}
		if n > before[key] && n > 1 && n-1 >= wereFree {
			return "a key took a place while no more were free than it had"
		}
	}
	for key, n := range waiting {
		if n > q.limits.Waiting {
			return "more than Waiting of a key"
		}
		if taken[key] < min(most(key), q.free) {
			return "one waits who could have a place"
		}
	}
	if len(granted) == 1 {
		first := granted[0]
		for i, t := range waited {
			if t != first && before[t.key] < min(most(t.key), wereFree) && (before[t.key] < before[first.key] ||
				before[t.key] == before[first.key] && i < slices.Index(waited, first)) {
				return "one who came before, or whose key had fewer places, waits on"
			}
		}
	}
	return ""
}

// TestTurns: equals have their turn as they came, and a key without a place comes first.
func TestTurns(t *testing.T) {
	t.Parallel()
	q := New[string](Limits{Places: 2, Each: 2, Waiting: 3})
	join := func(key string) *Place[string] {
		got, err := q.Join(key)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	many, other := join("many"), join("other")
	again, first, second := join("many"), join("first"), join("second")
	other.Leave()
	if len(q.waiting) != 2 || len(q.taken["first"]) != 1 {
		t.Fatalf("after a place is free, taken %v", q.taken)
	}
	first.Leave()
	if len(q.taken["second"]) != 1 {
		t.Fatalf("after two, taken %v", q.taken)
	}
	second.Leave()
	if len(q.taken["many"]) != 1 || len(q.waiting) != 1 {
		t.Fatalf("the last place went to who had one: taken %v", q.taken)
	}
	many.Leave()
	<-again.granted
}

// TestManyKeysLeaveOne: one key has at most Each, and a key that has none finds a place
// while few keys use all they can.
func TestManyKeysLeaveOne(t *testing.T) {
	t.Parallel()
	q := New[int](Limits{Places: 24, Each: 8, Waiting: 64})
	for key, want := range []int{8, 8, 4, 2, 1, 1, 0} {
		for range 20 {
			if _, err := q.Join(key); err != nil {
				t.Fatal(err)
			}
		}
		if len(q.taken[key]) != want {
			t.Errorf("key %d has %d places, want %d", key, len(q.taken[key]), want)
		}
		for i, p := range q.taken[0] {
			if got, want := p.Crowded(), q.free < 6 && i > 0; got != want {
				t.Errorf("place %d is told to make haste with %d free: %v", i, q.free, got)
			}
		}
	}
}

func TestWaitingIsBounded(t *testing.T) {
	t.Parallel()
	q := New[int](Limits{Places: 1, Each: 1, Waiting: 2})
	for i := range 4 {
		if _, err := q.Join(1); errors.Is(err, ErrFull) != (i > 2) {
			t.Errorf("number %d: %v", i, err)
		}
	}
	if _, err := q.Join(2); err != nil {
		t.Errorf("another key: %v", err)
	}
}

// TestConcurrentUse: a place that is granted while its wait ends is not lost.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	q := New[int](Limits{Places: 3, Each: 2, Waiting: 1000})
	var work sync.WaitGroup
	for i := range 200 {
		work.Go(func() {
			p, err := q.Join(i % 5)
			if err != nil {
				t.Error(err)
				return
			}
			if i%3 > 0 {
				<-p.Granted()
			}
			p.Leave()
		})
	}
	work.Wait()
	if q.free != 3 || len(q.taken)+len(q.waiting) != 0 {
		t.Errorf("%d free, taken %v, %d wait", q.free, q.taken, len(q.waiting))
	}
}
