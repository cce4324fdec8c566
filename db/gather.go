package db

import (
	"context"
	"database/sql"
	"runtime"
	"sync"

	"candor/internal/platform/tracing"
)

// mostGathered is how many questions one statement answers.
const mostGathered = 64

// A gatherer answers questions that are asked at the same time by one statement: most of
// the time of a small one is its way to PostgreSQL and back, in both processes (ADR 38).
// As many statements run at once as there are processors, and a question waits only while
// all of them do. It is read after it was asked, as if it were asked alone.
type gatherer[Q, A any] struct {
	run       gathering[Q, A]
	questions chan asked[Q, A]
	stop      chan struct{}
	stopping  sync.Once
}

// gathering returns the answer to each question at its place, nil for none.
type gathering[Q, A any] func(context.Context, []Q) ([]*A, error)

type asked[Q, A any] struct {
	question Q
	answer   chan<- answered[A]
}

type answered[A any] struct {
	answer *A // nil if there is none
	err    error
}

func newGatherer[Q, A any](run gathering[Q, A]) *gatherer[Q, A] {
	g := &gatherer[Q, A]{run: run, questions: make(chan asked[Q, A], mostGathered), stop: make(chan struct{})}
	for range runtime.GOMAXPROCS(0) {
		go g.work() // until close
	}
	return g
}

// close ends the gatherer, once or more often. A statement on its way ends by itself.
func (g *gatherer[Q, A]) close() { g.stopping.Do(func() { close(g.stop) }) }

// ask returns the answer to a question, or sql.ErrNoRows.
func (g *gatherer[Q, A]) ask(ctx context.Context, question Q) (answer *A, err error) {
	_, step := tracing.Step(ctx, caller)
	defer func() { step.End(hasFailed(err)) }()
	answers := make(chan answered[A], 1) // the statement doesn't wait for who has gone
	select {
	case g.questions <- asked[Q, A]{question, answers}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-g.stop:
		return nil, sql.ErrConnDone
	}
	select {
	case got := <-answers:
		if got.err == nil && got.answer == nil {
			return nil, sql.ErrNoRows
		}
		return got.answer, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-g.stop:
		return nil, sql.ErrConnDone
	}
}

func (g *gatherer[Q, A]) work() {
	for {
		select {
		case <-g.stop:
			return
		case first := <-g.questions:
			runtime.Gosched() // for requests that have come and haven't asked yet
			g.answer(g.gather(first))
		}
	}
}

// gather returns the question and those that wait.
func (g *gatherer[Q, A]) gather(first asked[Q, A]) []asked[Q, A] {
	all := []asked[Q, A]{first}
	for len(all) < mostGathered {
		select {
		case next := <-g.questions:
			all = append(all, next)
		default:
			return all
		}
	}
	return all
}

// answer isn't cut off when one of those who asked leaves.
func (g *gatherer[Q, A]) answer(all []asked[Q, A]) {
	questions := make([]Q, len(all))
	for i, one := range all {
		questions[i] = one.question
	}
	answers, err := g.run(context.Background(), questions)
	for i, one := range all {
		got := answered[A]{err: err}
		if err == nil {
			got.answer = answers[i]
		}
		one.answer <- got
	}
}
