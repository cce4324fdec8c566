package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
)

// HeaderRetry is the header that says how many seconds to wait before a retry.
const HeaderRetry = "Retry-After"

// TooMany returns rate_limit_exceeded if the quota was used up.
func TooMany(quota ratelimit.Quota) error {
	if quota.Allowed {
		return nil
	}
	wait := max(time.Second, quota.RetryAfter)
	return &domain.Error{Code: domain.CodeRateLimitExceeded, Message: "There were too many requests in a short time.",
		RetryAfter: wait}
}

// AccountBucket names the bucket of an account and mode, which the API and sessions that
// staff create share (D30).
func AccountBucket(scope domain.Scope) string {
	mode := "test"
	if scope.Livemode {
		mode = "live"
	}
	return "account " + scope.AccountID.String() + " " + mode
}

// HoldBack is the middleware that delays responses that say to come back later. A
// program that asks again at once on 40 connections would otherwise get 8,000 such
// responses a second and leave no core to anyone else. Waiting costs only the
// connection, which is open anyway.
func HoldBack(delay time.Duration) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			err := next(c)
			status, wait := c.Response().Status, c.Response().Header().Get(HeaderRetry) != ""
			if own, ok := errors.AsType[*domain.Error](err); ok {
				status, wait = own.Code.Status(), wait || own.RetryAfter > 0
			}
			if delay > 0 && wait && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
				pause(c.Request().Context(), delay)
			}
			return err
		}
	}
}

// pause waits, unless the request ends. It doesn't count as the request's duration.
func pause(ctx context.Context, delay time.Duration) {
	start, timer := time.Now(), time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	RequestIn(ctx).Waited += time.Since(start)
}
