// Package auth is how staff users sign in to the dashboard: with a password, a
// second factor or a passkey, by a link of an email, and the session that
// follows. It also limits what anyone can post without being signed in.
package auth

import (
	"time"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/staff/attempts"
	staffauth "candor/internal/service/staff/auth"
)

// Config is what signing in needs.
type Config struct {
	Attempts  *attempts.Service
	StaffAuth *staffauth.Service

	Clock            domain.Clock
	Cookies          web.Cookies
	Notices          web.Notices       // of the dashboard
	SignedOutLimiter ratelimit.Limiter // of posts by anyone, by network
	RefusalDelay     time.Duration     // before a response that says to come back later; zero for none
	StrangersAtOnce  int               // posts of strangers that are worked on at a time
}

// Server holds the handlers of signing in.
type Server struct {
	Config
	store     *staffStore
	strangers chan struct{} // holds the posts that BoundStrangers works on
}

// New returns the pages before the dashboard.
func New(c Config) *Server {
	return &Server{Config: c, store: &staffStore{c.StaffAuth, c.Cookies}, strangers: make(chan struct{}, c.StrangersAtOnce)}
}
