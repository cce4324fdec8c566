package handlers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
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
// request that is admitted is authenticated.
func (s *Server) limitEarly(c echo.Context) error {
	r, now := requestOf(c), s.Clock.Now()
	key, err := bearer(c.Request().Header)
	if err != nil || !domain.WellFormedAPIKey(key) {
		return nil //nolint:nilerr // authenticate refuses it, without the database
	}
	if caller, known := s.callers.Get(domain.HashAPIKey(key)); known {
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
	return domain.Errorf(domain.CodeRateLimitExceeded, "Too many requests. Try again in %d seconds.", seconds)
}

// limitSignedOut counts a POST that anyone can make, by its network, before its
// body is read and before any work of the database. A browser in which a staff
// user signed in before is counted by that user: strangers who share its network
// take nothing from it.
func (s *Server) limitSignedOut(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		key := "network " + domain.Network(c.RealIP())
		if user := s.knownUser(c); user != "" {
			key = "user " + user
		}
		quota := s.SignedOutLimiter.Take(key, s.Clock.Now())
		if quota.Allowed {
			err := next(c)
			var own *domain.Error
			if c.Response().Header().Get(headerRetry) != "" || errors.As(err, &own) && own.RetryAfter > 0 {
				s.holdBack(c.Request().Context())
			}
			return err
		}
		s.Service.Observer.SignInAttempted(domain.AttemptLimited)
		wait := max(time.Second, quota.RetryAfter.Round(time.Second))
		s.holdBack(c.Request().Context())
		return &domain.Error{
			Code: domain.CodeRateLimitExceeded, Message: fmt.Sprintf("There were too many attempts from your network. Try again in %.0f seconds.", wait.Seconds()),
			RetryAfter: wait,
		}
	}
}

// limitForms counts what is posted to forms by its network, before anything of
// it is read.
func (s *Server) limitForms(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Method == http.MethodPost {
			if err := tooMany(s.NetworkLimiter.Take("post "+domain.Network(c.RealIP()), s.Clock.Now())); err != nil {
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
	return &domain.Error{Code: domain.CodeRateLimitExceeded, Message: "There were too many requests in a short time.", RetryAfter: wait}
}

// knownUser names the staff user who signed in last in the browser, "" for a
// stranger's.
func (s *Server) knownUser(c echo.Context) string {
	return s.Service.KnownDevice(s.sentCookie(c, deviceCookie, dashboard.Root))
}

// boundStrangers works on so many posts of strangers at once and refuses
// further ones, so that a flood from many networks doesn't take the database's
// connections. It stands behind the reading of the body: a slow one takes no place.
func (s *Server) boundStrangers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.knownUser(c) != "" {
			return next(c)
		}
		select {
		case s.strangers <- struct{}{}:
			defer func() { <-s.strangers }()
			return next(c)
		default:
			s.Service.Observer.SignInAttempted(domain.AttemptShed)
			return &domain.Error{
				Code: domain.CodeServiceUnavailable, Message: "Candor is busy. Try again in a few seconds.", RetryAfter: busyRetry,
			}
		}
	}
}

// busyRetry is when a post is worth sending again for which there was no place.
const busyRetry = 5 * time.Second

// holdBack delays the answer to a request that is told to come back later. A
// program that asks again at once on 40 connections would otherwise get 8,000
// such answers a second and leave no core to anyone else. Waiting takes no more
// than the connection, which is open anyway.
func (s *Server) holdBack(ctx context.Context) {
	if s.RefusalDelay == 0 {
		return
	}
	timer := time.NewTimer(s.RefusalDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// limitKey names the bucket of a request: the account and mode, or without a
// valid key the network.
func limitKey(p *domain.Principal, address string) string {
	if p != nil {
		mode := "test"
		if p.Livemode {
			mode = "live"
		}
		return "account " + p.AccountID.String() + " " + mode
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
