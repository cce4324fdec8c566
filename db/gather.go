package db

import (
	"context"
	"database/sql"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"candor/internal/domain"
	"candor/internal/platform/tracing"
)

// mostGathered is how many questions one statement answers.
const mostGathered = 64

// longStatement is the time after which a statement doesn't keep the next from running.
const longStatement = 20 * time.Millisecond

// gatherers are those of a DB. A new session waits for the disk, so one statement at once
// takes the most with it. The others keep each processor busy with one.
type gatherers struct {
	principals      *gatherer[[]byte, principalRow]
	keysAndSessions *gatherer[keyAndSession, keyAndSessionRow]
	newSessions     *gatherer[newSession, insertedSession]
}

func newGatherers(d *DB) gatherers {
	processors := runtime.GOMAXPROCS(0)
	return gatherers{
		newGatherer(processors, d.principals), newGatherer(processors, d.keysAndSessions), newGatherer(1, d.insertNewSessions),
	}
}

func (g gatherers) close() {
	g.principals.close()
	g.keysAndSessions.close()
	g.newSessions.close()
}

// A gatherer answers questions that are asked at the same time by one statement: most of
// the time of a small one is its way to PostgreSQL and back, in both processes, and of a
// small change its commit (ADR 38). Some statements run at once, and a question waits only
// while all of them do. It is answered after it was asked, as if it were asked alone.
type gatherer[Q, A any] struct {
	run       gathering[Q, A]
	long      time.Duration // longStatement, but in tests
	questions chan asked[Q, A]
	stop      chan struct{}
	stopping  sync.Once
}

// gathering returns the answer to each question at its place, nil for none.
type gathering[Q, A any] func(context.Context, []Q) ([]*A, error)

type asked[Q, A any] struct {
	ctx      context.Context // of who asks
	question Q
	answer   chan<- answered[A]
}

type answered[A any] struct {
	answer *A // nil if there is none
	err    error
}

func newGatherer[Q, A any](atOnce int, run gathering[Q, A]) *gatherer[Q, A] {
	g := &gatherer[Q, A]{run: run, long: longStatement, questions: make(chan asked[Q, A], mostGathered), stop: make(chan struct{})}
	for range atOnce {
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
	patient, end := domain.Patiently(ctx)
	defer end()
	answer, err = g.askUntil(patient, question)
	return answer, inTime(ctx, patient, err)
}

func (g *gatherer[Q, A]) askUntil(ctx context.Context, question Q) (*A, error) {
	answers := make(chan answered[A], 1) // the statement doesn't wait for who has gone
	select {
	case g.questions <- asked[Q, A]{ctx, question, answers}:
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

// work ends when the gatherer does. If a statement takes long, perhaps behind a lock,
// another goroutine takes its place.
func (g *gatherer[Q, A]) work() {
	for {
		select {
		case <-g.stop:
			return
		case first := <-g.questions:
			runtime.Gosched() // for requests that have come and haven't asked yet
			replacement := time.AfterFunc(g.long, g.work)
			g.answer(g.gather(first))
			if !replacement.Stop() {
				return
			}
		}
	}
}

// gather returns the question and those that wait, without those whose askers have left.
func (g *gatherer[Q, A]) gather(first asked[Q, A]) (all []asked[Q, A]) {
	for next, more := first, true; more; {
		if next.ctx.Err() == nil {
			all = append(all, next)
		}
		if len(all) == mostGathered {
			break
		}
		select {
		case next = <-g.questions:
		default:
			more = false
		}
	}
	return all
}

// answer is cut off only when all of those who asked have left. If PostgreSQL refuses the
// data of one, nothing has happened, and each question is asked alone.
func (g *gatherer[Q, A]) answer(all []asked[Q, A]) {
	if len(all) == 0 {
		return
	}
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	var left atomic.Int32
	questions := make([]Q, len(all))
	for i, one := range all {
		questions[i] = one.question
		defer context.AfterFunc(one.ctx, func() {
			if int(left.Add(1)) == len(all) {
				leave()
			}
		})()
	}
	answers, err := g.run(ctx, questions)
	if len(all) > 1 && IsRefused(err) {
		for i := range all {
			g.answer(all[i : i+1])
		}
		return
	}
	for i, one := range all {
		got := answered[A]{err: err}
		if err == nil {
			got.answer = answers[i]
		}
		one.answer <- got
	}
}
