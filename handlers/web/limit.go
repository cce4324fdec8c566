package web

import (
	"context"
	"time"

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
	return &domain.Error{Code: domain.CodeRateLimitExceeded, Message: "There were too many requests in a short time.", RetryAfter: wait}
}

// HoldBack delays a response that says to come back later. A program that asks
// again at once on 40 connections would otherwise get 8,000 such responses a
// second and leave no core to anyone else. Waiting costs only the connection,
// which is open anyway.
func HoldBack(ctx context.Context, delay time.Duration) {
	if delay == 0 {
		return
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
