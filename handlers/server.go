// Package handlers is Candor's HTTP: the /v1 API, the customer's form, the
// partner's dashboard, static files and health. A handler decodes, calls the service and renders; it holds
// no rules and no SQL. Every route stands in routes.go, and every error becomes
// a response in errors.go.
package handlers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/labstack/echo/v4"

	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service"
	"candor/views/pdf"
)

// A Limiter counts requests of whoever key stands for (D30). It is safe for
// concurrent use.
type Limiter interface {
	Take(key string, now time.Time) ratelimit.Quota
	// Peek is Take without taking.
	Peek(key string, now time.Time) ratelimit.Quota
}

// ProviderEvents reads what a payment provider sends: the body, its signature
// and when it came. The error is billing.ErrSignature where it is forged.
type ProviderEvents interface {
	Event(ctx context.Context, payload []byte, signature string, now time.Time) (billing.ProviderEvent, error)
}

// Config is what the server needs.
type Config struct {
	Service          *service.Service
	Logger           *slog.Logger
	Clock            domain.Clock
	BaseURL          string // without a slash at its end
	Development      bool   // cookies without Secure, no HSTS
	Remote           bool   // development also answers to IP addresses beyond loopback
	TrustedProxies   []netip.Prefix
	Limiter          Limiter
	RefusalDelay     time.Duration               // before an answer that says to come back later; zero for none
	SignedOutLimiter Limiter                     // of what anyone can post without being signed in, by network
	LinkLimiter      Limiter                     // of what is posted to a form, by its link
	NetworkLimiter   Limiter                     // of what is posted to forms, and of wrong links, by network
	RequestTime      time.Duration               // to send a request's body, and to take each part of an answer; 0: 30 s
	StrangersAtOnce  int                         // posts of theirs that are worked on; zero: 12
	CookieKeys       [][]byte                    // gorilla/sessions pairs, newest first
	Ready            func(context.Context) error // nil once the process can serve
	Version          string
	Fonts            *pdf.Fonts                                                 // of invoices as PDF
	Stripe           ProviderEvents                                             // nil where Stripe isn't set up
	DevMail          DevMail                                                    // nil unless development stores emails: shown at /dev/mail
	Answered         func(method, route string, status int, took time.Duration) // called after each request; can be nil
	Called           func(domain.APIRequest)                                    // called after each API request whose key is known; can be nil
}

// Server holds the handlers; New makes one.
type Server struct {
	Config
	access    *formAccess
	staff     *staffStore
	strangers chan struct{}    // holds the posts that boundStrangers works on
	assets    map[string]asset // built files by their name

	callers *lru.Cache[[sha256.Size]byte, domain.Principal] // of keys that were valid lately, by hash
}

// New returns the handler of all routes.
func New(c Config) (http.Handler, error) {
	_, e, err := newServer(c)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// newServer returns a server and the router of all its routes.
func newServer(c Config) (*Server, *echo.Echo, error) {
	switch {
	case c.Service == nil, c.Logger == nil, c.Clock == nil, c.Limiter == nil, c.SignedOutLimiter == nil, c.LinkLimiter == nil, c.NetworkLimiter == nil, c.Ready == nil:
		return nil, nil, errors.New("handlers: Service, Logger, Clock, all limiters and Ready must be set")
	case c.BaseURL == "" || strings.HasSuffix(c.BaseURL, "/"):
		return nil, nil, fmt.Errorf("handlers: base URL %q must be an address without a slash at its end", c.BaseURL)
	}
	if c.Answered == nil {
		c.Answered = func(string, string, int, time.Duration) {}
	}
	if c.RequestTime == 0 {
		c.RequestTime = requestTime
	}
	if c.Called == nil {
		c.Called = func(domain.APIRequest) {}
	}
	if c.StrangersAtOnce == 0 {
		c.StrangersAtOnce = 12
	}
	s := &Server{Config: c, strangers: make(chan struct{}, c.StrangersAtOnce), staff: &staffStore{service: c.Service, secure: !c.Development}}
	var err error
	if s.callers, err = lru.New[[sha256.Size]byte, domain.Principal](callersRemembered); err != nil {
		return nil, nil, err
	}
	if s.access, err = newFormAccess(c); err != nil {
		return nil, nil, err
	}
	if s.assets, err = loadAssets(); err != nil {
		return nil, nil, err
	}
	e := echo.New()
	e.HideBanner = true
	e.HidePort = true
	e.IPExtractor = addressOf(c.TrustedProxies)
	e.HTTPErrorHandler = s.answerError
	if err := s.routes(e); err != nil {
		return nil, nil, err
	}
	return s, e, nil
}

// addressOf returns how a client's address is found: the connection's, or
// behind trusted proxies the last X-Forwarded-For entry that none of them is.
func addressOf(proxies []netip.Prefix) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	options := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, prefix := range proxies {
		options = append(options, echo.TrustIPRange(ipNet(prefix)))
	}
	return echo.ExtractIPFromXFFHeader(options...)
}
