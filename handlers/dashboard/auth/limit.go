package auth

import (
	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
)

// visitorsRemembered is how many signed-in browsers a process remembers.
const visitorsRemembered = 10_000

// Limits are what staff who are signed in can do (D88).
type Limits struct {
	Person  ratelimit.Limiter // requests
	Account ratelimit.Limiter // requests; of a network, too, whose cookies no process knows
	Changes ratelimit.Limiter // by person and action
	Exports ratelimit.Limiter // by person and file
}

// Complete reports whether there is a limiter for each of them.
func (l Limits) Complete() bool {
	return l.Person != nil && l.Account != nil && l.Changes != nil && l.Exports != nil
}

// visitor is who had a cookie lately. It opens nothing.
type visitor struct {
	staff   domain.StaffID
	account domain.AccountID
}

// A bucket is what a request takes a token of.
type bucket struct {
	ratelimit.Limiter
	key  string
	text string // of a refusal
}

// An Action is what a limit counts besides requests, and where it waits; the zero value
// does neither.
type Action struct {
	ratelimit.Limiter
	Name string
	Line *web.Line
}

// enter waits for a place for the visitor's action.
func (a Action) enter(c echo.Context, v visitor) error {
	if a.Line == nil {
		return nil
	}
	return a.Line.Enter(c, v.account)
}

// buckets are those of a visitor who does something.
func (s *Server) buckets(v visitor, does Action) []bucket {
	all := []bucket{
		{s.Limits.Person, "staff " + v.staff.String(), "You have asked for very many pages in a short time."},
		{s.Limits.Account, "staff of " + v.account.String(), "Your team has asked for very many pages in a short time."},
	}
	if does.Limiter != nil {
		all = append(all, bucket{does.Limiter, "staff " + v.staff.String() + " " + does.Name,
			"You have done this very often in a short time."})
	}
	return all
}

// Admit is Session for a request that counts. A browser that is known by its cookie is
// refused, or waits, before the database is asked for its session; one whose cookie no one
// knows is refused so, too, if its network has tried too many. It admits no one by itself:
// each request that it lets through is looked up.
func (s *Server) Admit(c echo.Context, does Action) (*domain.StaffSession, error) {
	cookie, err := c.Cookie(s.store.cookieName())
	if err != nil || cookie.Value == "" {
		return s.Session(c)
	}
	now, hash := s.Clock.Now(), string(domain.HashToken(cookie.Value))
	network := bucket{s.Limits.Account, "unknown cookies " + domain.Network(c.RealIP()),
		"There were too many requests from your network in a short time."}
	if v, known := s.visitors.Get(hash); known {
		for _, b := range s.buckets(v, does) {
			if err := b.refusal(b.Peek(b.key, now)); err != nil {
				return nil, err
			}
		}
		if err := does.enter(c, v); err != nil {
			return nil, err
		}
	} else if err := network.refusal(network.Peek(network.key, now)); err != nil {
		return nil, err
	}
	session, err := s.Session(c)
	if err != nil {
		return nil, err
	}
	if session == nil {
		s.visitors.Remove(hash)
		return nil, network.refusal(network.Take(network.key, now))
	}
	v := visitor{session.ID, session.AccountID}
	s.visitors.Add(hash, v)
	for _, b := range s.buckets(v, does) {
		if err := b.refusal(b.Take(b.key, now)); err != nil {
			return nil, err
		}
	}
	return session, does.enter(c, v)
}

// refusal says how long to wait, nil if the quota allows the request.
func (b bucket) refusal(quota ratelimit.Quota) error {
	if quota.Allowed {
		return nil
	}
	return domain.Busy(b.text, quota.RetryAfter)
}
