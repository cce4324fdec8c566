package api

import (
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
)

// The headers of D30.
const (
	headerLimit     = "X-RateLimit-Limit"
	headerRemaining = "X-RateLimit-Remaining"
	headerReset     = "X-RateLimit-Reset"
)

// limit counts the request and sets the headers of its quota (D30). The call in an agent's
// message was counted with it (D114).
func (s *Server) limit(c echo.Context) error {
	if message := web.RequestOf(c).Within; message != nil && message.Call() {
		return nil
	}
	return answerQuota(c, s.Limiter.Take(limitKey(web.RequestOf(c).Principal, c.RealIP()), s.Clock.Now()))
}

// admitEarly does before the database is asked for the request's key what can be done
// without: a key that was valid lately waits in its account's line, or is refused if the
// account's bucket is empty; another key is refused if its network's bucket is empty and
// the network has tried too many such keys. It admits no one by itself: each request that
// it passes on is authenticated.
func (s *Server) admitEarly(c echo.Context) error {
	r, now := web.RequestOf(c), s.Clock.Now()
	key, err := bearer(c.Request().Header)
	if err != nil || !domain.WellFormedAPIKey(key) || web.RequestOf(c).Within != nil {
		return nil //nolint:nilerr // authenticate refuses it, without the database
	}
	if caller, known := s.callers.Get(domain.HashAPIKey(key)); known {
		quota := s.Limiter.Peek(limitKey(&caller, ""), now)
		limited := answerQuota(c, quota)
		if quota.Allowed {
			return s.Line.Enter(c, caller.AccountID)
		}
		r.Caller = &caller
		return limited
	}
	network := limitKey(nil, c.RealIP())
	quota := s.Limiter.Peek(network, now)
	if quota.Allowed || s.Limiter.Take("unknown key, "+network, now).Allowed {
		return nil
	}
	return answerQuota(c, quota)
}

// answerQuota sets the headers of the quota, and returns rate_limit_exceeded if
// it was used up.
func answerQuota(c echo.Context, quota ratelimit.Quota) error {
	h := c.Response().Header()
	h.Set(headerLimit, strconv.Itoa(quota.Limit))
	h.Set(headerRemaining, strconv.Itoa(quota.Remaining))
	h.Set(headerReset, strconv.FormatInt(ceilUnix(quota.Reset), 10))
	if quota.Allowed {
		return nil
	}
	return domain.Busy("Too many requests.", quota.RetryAfter)
}

// limitKey names the bucket of a request: the account and mode, or without a
// valid key the network.
func limitKey(p *domain.Principal, address string) string {
	if p != nil {
		return web.AccountBucket(p.Scope)
	}
	return "address " + domain.Network(address)
}

func ceilUnix(t time.Time) int64 {
	seconds := t.Unix()
	if t.Nanosecond() > 0 {
		seconds++
	}
	return seconds
}
