// Package auth is how staff users sign in to the dashboard: with a password, a
// second factor or a passkey, by a link of an email, and the session that
// follows. It also limits what anyone can post without being signed in.
package auth

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/staff/attempts"
	staffauth "candor/internal/service/staff/auth"
	"candor/internal/service/staff/sso"
)

// Config is what signing in needs.
type Config struct {
	Attempts  *attempts.Service
	StaffAuth *staffauth.Service
	SSO       *sso.Service

	Clock            domain.Clock
	Cookies          web.Cookies
	Notices          web.Notices       // of the dashboard
	SignedOutLimiter ratelimit.Limiter // of posts by anyone, by network
	Limits           Limits            // of staff who are signed in
	StrangersAtOnce  int               // posts of strangers that are worked on at a time
}

// Server holds the handlers of signing in.
type Server struct {
	Config
	store     *staffStore
	strangers chan struct{} // holds the posts that BoundStrangers works on
	visitors  *lru.Cache[string, visitor]
}

// New returns the pages before the dashboard.
func New(c Config) (*Server, error) {
	visitors, err := lru.New[string, visitor](visitorsRemembered)
	if err != nil {
		return nil, err
	}
	return &Server{Config: c, store: &staffStore{c.StaffAuth, c.Cookies}, strangers: make(chan struct{}, c.StrangersAtOnce),
		visitors: visitors}, nil
}
