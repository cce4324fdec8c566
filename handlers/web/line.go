package web

import (
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
type Line = fairqueue.Queue[domain.AccountID]

// NewLine returns a Line of so many places for each account, of which it has half a core's
// worth while other accounts come, so that it leaves them the rest.
func NewLine(each int) *Line {
	beside := min(each, max(1, runtime.GOMAXPROCS(0)/2))
	return fairqueue.New[domain.AccountID](fairqueue.Limits{Places: math.MaxInt, Each: each, Beside: beside, Waiting: mostWaiting})
}

// InLine serves a request when its account has a place for it. It is refused, with text,
// if it would wait too long.
func InLine(c echo.Context, line *Line, account domain.AccountID, text string, serve func() error) error {
	place, err := line.Join(account)
	if err != nil {
		return Busy(text, busyRetry)
	}
	r, ctx := RequestOf(c), c.Request().Context()
	r.leave = place.Leave
	defer r.Leave()
	timer := time.NewTimer(longestWait)
	defer timer.Stop()
	select {
	case <-place.Granted():
		return serve()
	case <-timer.C:
		return Busy(text, busyRetry)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leave gives the request's place back, if it has one: before it only waits, or sends
// what was read.
func (r *Request) Leave() {
	if r.leave != nil {
		r.leave()
		r.leave = nil
	}
}
