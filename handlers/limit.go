package handlers

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"candor/intake"
	"candor/ratelimit"
	"candor/views/dashboard"
)

// The headers of D30.
const (
	headerLimit     = "X-RateLimit-Limit"
	headerRemaining = "X-RateLimit-Remaining"
	headerReset     = "X-RateLimit-Reset"
	headerRetry     = "Retry-After"
)

// limit counts the request and answers what is left (D30).
func (s *Server) limit(c echo.Context) error {
	return answerQuota(c, s.Limiter.Take(limitKey(requestOf(c).principal, c.RealIP()), s.Clock.Now()))
}

// callersRemembered is how many valid keys a process remembers.
const callersRemembered = 10_000

// limitEarly refuses a request with an API key before the database is asked for
// the key, if it would be refused afterwards: a key that was valid lately if its
// account's bucket is empty; another key if its network's bucket is empty and
// the network has tried too many such keys. It never lets anyone in: each
// request that goes on is authenticated.
func (s *Server) limitEarly(c echo.Context) error {
	r, now := requestOf(c), s.Clock.Now()
	key, err := bearer(c.Request().Header)
	if err != nil || !intake.WellFormedAPIKey(key) {
		return nil //nolint:nilerr // authenticate refuses it, without the database
	}
	if caller, known := s.callers.Get(intake.HashAPIKey(key)); known {
		quota := s.Limiter.Peek(limitKey(&caller, ""), now)
		if quota.Allowed {
			return nil
		}
		r.caller = &caller
		return answerQuota(c, quota)
	}
	network := limitKey(nil, c.RealIP())
	quota := s.Limiter.Peek(network, now)
	if quota.Allowed || s.Limiter.Take("unknown key, "+network, now).Allowed {
		return nil
	}
	return answerQuota(c, quota)
}

// answerQuota says in headers what is left, and returns rate_limit_exceeded if
// nothing was.
func answerQuota(c echo.Context, quota ratelimit.Quota) error {
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

// limitForms counts what is posted to forms by its network, before anything of
// it is read.
func (s *Server) limitForms(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Method == http.MethodPost {
			if err := tooMany(s.NetworkLimiter.Take("post "+intake.Network(c.RealIP()), s.Clock.Now())); err != nil {
				return err
			}
		}
		return next(c)
	}
}

// tooMany is rate_limit_exceeded if the quota was used up.
func tooMany(quota ratelimit.Quota) error {
	if quota.Allowed {
		return nil
	}
	wait := max(time.Second, quota.RetryAfter)
	return &intake.Error{Code: intake.CodeRateLimitExceeded, Message: "There were too many requests in a short time.", RetryAfter: wait}
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
