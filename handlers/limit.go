package handlers

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"candor/intake"
	"candor/views/dashboard"
)

// The headers of D30.
const (
	headerLimit     = "X-RateLimit-Limit"
	headerRemaining = "X-RateLimit-Remaining"
	headerReset     = "X-RateLimit-Reset"
	headerRetry     = "Retry-After"
)

// limit counts the request, says in headers what is left, and returns
// rate_limit_exceeded where nothing was (D30).
func (s *Server) limit(c echo.Context) error {
	quota := s.Limiter.Take(limitKey(requestOf(c).principal, c.RealIP()), s.Clock.Now())
	h := c.Response().Header()
	h.Set(headerLimit, strconv.Itoa(quota.Limit))
	h.Set(headerRemaining, strconv.Itoa(quota.Remaining))
	h.Set(headerReset, strconv.FormatInt(ceilUnix(quota.Reset), 10))
	if quota.Allowed {
		return nil
	}
	seconds := max(1, int(math.Ceil(quota.RetryAfter.Seconds())))
	h.Set(headerRetry, strconv.Itoa(seconds))
	return intake.Errorf(intake.CodeRateLimitExceeded, "Too many requests. Try again in %d seconds.", seconds)
}

// limitSignedOut counts a POST that anyone can make, by its network, before its
// body is read and before any work of the database. A browser in which a staff
// user signed in before is counted by that user: strangers who share its network
// take nothing from it.
func (s *Server) limitSignedOut(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		key := "network " + intake.Network(c.RealIP())
		if user := s.Service.KnownDevice(s.sentCookie(c, deviceCookie, dashboard.Root)); user != "" {
			key = "user " + user
		}
		quota := s.SignedOutLimiter.Take(key, s.Clock.Now())
		if quota.Allowed {
			return next(c)
		}
		wait := max(time.Second, quota.RetryAfter.Round(time.Second))
		return &intake.Error{
			Code: intake.CodeRateLimitExceeded, Message: fmt.Sprintf("There were too many attempts from your network. Try again in %.0f seconds.", wait.Seconds()),
			RetryAfter: wait,
		}
	}
}

// limitKey names the bucket of a request: the account and mode, or without a
// valid key the network.
func limitKey(p *intake.Principal, address string) string {
	if p != nil {
		mode := "test"
		if p.Livemode {
			mode = "live"
		}
		return "account " + p.AccountID.String() + " " + mode
	}
	return "address " + intake.Network(address)
}

func ceilUnix(t time.Time) int64 {
	seconds := t.Unix()
	if t.Nanosecond() > 0 {
		seconds++
	}
	return seconds
}
