package web

import (
	"context"
	"math"
	"runtime"
	"time"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/platform/fairqueue"
)

const (
	// longestWait is how long a request waits for its place at most.
	longestWait = 10 * time.Second
	// busyRetry is the Retry-After of a request that waited in vain.
	busyRetry = 5 * time.Second
	// mostWaiting are more requests than the connections of many browsers.
	mostWaiting = 100
)

// A Line gives each account places of its own for its requests (D88).
type Line struct {
	places *fairqueue.Queue[domain.AccountID]
	busy   string // the text of a refusal
}

// NewLine returns a Line of so many places for each account, of which it has half a core's
// worth while other accounts come, so that it leaves them the rest. It refuses with busy.
func NewLine(each int, busy string) *Line {
	beside := min(each, max(1, runtime.GOMAXPROCS(0)/2))
	return &Line{fairqueue.New[domain.AccountID](fairqueue.Limits{Places: math.MaxInt, Each: each, Beside: beside,
		Waiting: mostWaiting}), busy}
}

// Enter waits until the account has a place for the request, unless it has had one. The
// request keeps it until it leaves, at the latest at its end. It is refused if it would
// wait too long.
func (l *Line) Enter(c echo.Context, account domain.AccountID) error {
	r, ctx := RequestOf(c), c.Request().Context()
	if r.entered {
		return nil
	}
	place, err := l.places.Join(account)
	if err != nil {
		return domain.Busy(l.busy, busyRetry)
	}
	if err := l.wait(ctx, place); err != nil {
		place.Leave()
		return err
	}
	r.entered, r.leave = true, place.Leave
	return nil
}

// wait returns nil once the place is granted.
func (l *Line) wait(ctx context.Context, place *fairqueue.Place[domain.AccountID]) error {
	select {
	case <-place.Granted():
		return nil // as most are at once, without a timer
	default:
	}
	timer := time.NewTimer(longestWait)
	defer timer.Stop()
	select {
	case <-place.Granted():
		return nil
	case <-timer.C:
		return domain.Busy(l.busy, busyRetry)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leave gives the request's place back, if it has one: before it only waits, or sends
// what was read. It may enter another line then.
func (r *Request) Leave() {
	if r.leave != nil {
		r.leave()
		r.leave, r.entered = nil, false
	}
}

// LeaveAtEnd is the middleware by which no request keeps a place.
func LeaveAtEnd(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		defer RequestOf(c).Leave()
		return next(c)
	}
}
