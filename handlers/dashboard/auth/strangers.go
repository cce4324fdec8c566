package auth

import (
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	view "candor/views/dashboard"
)

// LimitSignedOut is the middleware that counts posts that anyone can make, by
// network, before their body is read and before any work of the database. A
// browser in which a staff user has signed in before is counted by that user,
// so that strangers in its network use up nothing of it.
func (s *Server) LimitSignedOut(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		key := "network " + domain.Network(c.RealIP())
		if user := s.knownUser(c); user != "" {
			key = "user " + user
		}
		quota := s.SignedOutLimiter.Take(key, s.Clock.Now())
		if quota.Allowed {
			return next(c)
		}
		s.Attempts.Observer.SignInAttempted(domain.AttemptLimited)
		return domain.Busy("There were too many attempts from your network.", quota.RetryAfter)
	}
}

// knownUser names the staff user who last signed in with the browser, "" for
// none.
func (s *Server) knownUser(c echo.Context) string { return s.StaffAuth.KnownDevice(s.device(c)) }

func (s *Server) device(c echo.Context) string {
	return s.Cookies.Value(c, deviceCookie, view.Root)
}

// isStranger reports whether a post is of a browser that isn't known, or is about the
// address of another user than have signed in in it.
func (s *Server) isStranger(c echo.Context) bool {
	if email := c.FormValue("email"); email != "" {
		return !s.StaffAuth.KnownFor(s.device(c), email)
	}
	return s.knownUser(c) == ""
}

// BoundStrangers is the middleware that bounds how many posts of strangers are
// worked on at a time and rejects further ones, so that a flood from many
// networks doesn't take the database's connections. It comes after the body was
// read: a slow sender takes no place.
func (s *Server) BoundStrangers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !s.isStranger(c) {
			return next(c)
		}
		select {
		case s.strangers <- struct{}{}:
			leave := sync.OnceFunc(func() { <-s.strangers })
			defer leave()
			c.Set(placeKey, leave)
			return next(c)
		default:
			s.Attempts.Observer.SignInAttempted(domain.AttemptShed)
			return &domain.Error{
				Code: domain.CodeServiceUnavailable, Message: "Candor is busy. Try again in a few seconds.", RetryAfter: busyRetry,
			}
		}
	}
}

// placeKey is where a request has the function that gives its place among the strangers back.
const placeKey = "stranger's place"

// giveBackPlace gives the request's place among the strangers back, if it has one: before it waits
// for others and not for Candor.
func giveBackPlace(c echo.Context) {
	if leave, ok := c.Get(placeKey).(func()); ok {
		leave()
	}
}

// busyRetry is the Retry-After of a post that BoundStrangers rejects.
const busyRetry = 5 * time.Second
