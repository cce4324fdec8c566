package db

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"candor/internal/testkit"
)

// A question that is asked while all statements run is answered by the next one, with
// all others that wait. Each gets its own answer.
func TestQuestionsAreGathered(t *testing.T) {
	t.Parallel()
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
	g := newGatherer(double)
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
	busy := runtime.GOMAXPROCS(0)
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

func TestGathererFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("the database is away")
	entered, proceed := make(chan struct{}, mostGathered), make(chan struct{})
	g := newGatherer(func(context.Context, []int) ([]*int, error) {
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
