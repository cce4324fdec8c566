package db

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lib/pq"

	"candor/internal/testkit"
)

// A question that is asked while all statements run is answered by the next one, with
// all others that wait. Each gets its own answer.
func TestQuestionsAreGathered(t *testing.T) {
	t.Parallel()
	const busy = 3
	var statements atomic.Int64
	proceed := make(chan struct{})
	double := func(_ context.Context, questions []int) ([]*int, error) {
		statements.Add(1)
		<-proceed
		answers := make([]*int, len(questions))
		for i, q := range questions {
			if q%10 != 0 {
				answers[i] = new(int)
				*answers[i] = 2 * q
			}
		}
		return answers, nil
	}
	g := newGatherer(busy, double)
	g.long = time.Hour
	defer g.close()
	var askers sync.WaitGroup
	ask := func(question int) {
		askers.Go(func() {
			answer, err := g.ask(t.Context(), question)
			switch {
			case question%10 == 0 && !errors.Is(err, sql.ErrNoRows):
				t.Errorf("%d: error %v, want no rows", question, err)
			case question%10 != 0 && (err != nil || *answer != 2*question):
				t.Errorf("%d: answer %v, %v", question, answer, err)
			}
		})
	}
	for i := range busy {
		ask(1 + i)
		testkit.Await(t, "a statement to begin", func() bool { return int(statements.Load()) == 1+i })
	}
	const waiting = 40
	for i := range waiting {
		ask(100 + i)
	}
	testkit.Await(t, "all to ask", func() bool { return len(g.questions) == waiting })
	close(proceed)
	askers.Wait()
	// As each of the first statements ends, it takes all that wait.
	if got := int(statements.Load()); got > 2*busy {
		t.Errorf("%d statements, want at most %d", got, 2*busy)
	}
}

// A question whose data PostgreSQL refuses fails alone.
func TestRefusedQuestionsAreAlone(t *testing.T) {
	t.Parallel()
	entered, proceed := make(chan struct{}, mostGathered), make(chan struct{})
	g := newGatherer(1, func(_ context.Context, questions []int) ([]*int, error) {
		entered <- struct{}{}
		<-proceed
		if slices.Contains(questions, 3) {
			return nil, &pq.Error{Code: "23503"}
		}
		answers := make([]*int, len(questions))
		for i := range questions {
			answers[i] = &questions[i]
		}
		return answers, nil
	})
	g.long = time.Hour
	defer g.close()
	var askers sync.WaitGroup
	ask := func(question int) {
		askers.Go(func() {
			answer, err := g.ask(t.Context(), question)
			if refused := IsRefused(err); refused != (question == 3) || !refused && (err != nil || *answer != question) {
				t.Errorf("%d: answer %v, %v", question, answer, err)
			}
		})
	}
	ask(0)
	<-entered
	for i := range 5 {
		ask(1 + i)
	}
	testkit.Await(t, "all to ask", func() bool { return len(g.questions) == 5 })
	close(proceed)
	askers.Wait()
}

// A statement that waits for a lock doesn't hold up those who ask later, and who left
// before the statement began isn't asked for.
func TestLongStatementsAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []int
	proceed := make(chan struct{})
	g := newGatherer(1, func(_ context.Context, questions []int) ([]*int, error) {
		mu.Lock()
		seen = append(seen, questions...)
		mu.Unlock()
		if questions[0] == 0 {
			<-proceed
		}
		return []*int{&questions[0]}, nil
	})
	defer g.close()
	locked := make(chan error, 1)
	go func() { _, err := g.ask(t.Context(), 0); locked <- err }()
	testkit.Await(t, "the long statement", func() bool { mu.Lock(); defer mu.Unlock(); return len(seen) == 1 })
	left, leave := context.WithCancel(t.Context())
	leave()
	g.questions <- asked[int, int]{left, 1, make(chan answered[int], 1)}
	for i := range 3 { // the next ones too, once the first has been replaced
		if _, err := g.ask(t.Context(), 2+i); err != nil {
			t.Errorf("%d, asked while it runs: %v", 2+i, err)
		}
	}
	close(proceed)
	if err := <-locked; err != nil {
		t.Errorf("the long statement: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []int{0, 2, 3, 4}; !slices.Equal(seen, want) {
		t.Errorf("asked for %v, want %v", seen, want)
	}
}

// A statement is cut off when all who asked have left.
func TestGatheredStatementWithoutAskers(t *testing.T) {
	t.Parallel()
	entered, ended := make(chan struct{}), make(chan error)
	g := newGatherer(1, func(ctx context.Context, questions []int) ([]*int, error) {
		if questions[0] == 0 {
			entered <- struct{}{}
			<-entered
			return []*int{nil}, nil
		}
		entered <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})
	defer g.close()
	g.long = time.Hour
	go func() { _, _ = g.ask(t.Context(), 0) }() // until two wait
	<-entered
	one, leaveOne := context.WithCancel(t.Context())
	two, leaveTwo := context.WithCancel(t.Context())
	for _, ctx := range []context.Context{one, two} {
		go func() { _, _ = g.ask(ctx, 1) }()
	}
	testkit.Await(t, "two that wait", func() bool { return len(g.questions) == 2 })
	entered <- struct{}{}
	<-entered
	leaveOne()
	select {
	case err := <-ended:
		t.Fatalf("cut off although one waits: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	leaveTwo()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the statement ended with %v", err)
	}
}

func TestGathererFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("the database is away")
	entered, proceed := make(chan struct{}, mostGathered), make(chan struct{})
	g := newGatherer(2, func(context.Context, []int) ([]*int, error) {
		entered <- struct{}{}
		<-proceed
		return nil, broken
	})
	left, leave := context.WithCancel(t.Context())
	gone, failed := make(chan error, 1), make(chan error, 1)
	go func() { _, err := g.ask(left, 1); gone <- err }()
	<-entered
	go func() { _, err := g.ask(t.Context(), 2); failed <- err }()
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("who left while the statement ran: %v", err)
	}
	close(proceed)
	if err := <-failed; !errors.Is(err, broken) {
		t.Errorf("who stayed: %v, want %v", err, broken)
	}
	g.close()
	g.close() // as a DB may be closed twice
	if _, err := g.ask(t.Context(), 3); !errors.Is(err, sql.ErrConnDone) && !errors.Is(err, broken) {
		t.Errorf("after the end: %v", err)
	}
}
