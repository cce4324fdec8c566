package web

import (
	"time"

	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
)

// HeaderRetry is the header that says how many seconds to wait before a retry.
const HeaderRetry = "Retry-After"

// A Limiter counts requests by a key, such as an account or a network (D30). It
// is safe for concurrent use.
type Limiter interface {
	Take(key string, now time.Time) ratelimit.Quota
	// Peek is Take without taking.
	Peek(key string, now time.Time) ratelimit.Quota
}

// TooMany returns rate_limit_exceeded if the quota was used up.
func TooMany(quota ratelimit.Quota) error {
	if quota.Allowed {
		return nil
	}
	wait := max(time.Second, quota.RetryAfter)
	return &domain.Error{Code: domain.CodeRateLimitExceeded, Message: "There were too many requests in a short time.", RetryAfter: wait}
}
