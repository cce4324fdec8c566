// Package handlers is the router of Candor's HTTP: every route is a line of the
// table in routes.go, every error becomes a response in errors.go. The
// applications behind the routes are packages of their own, which don't know
// each other: api, form, dashboard, dashboard/auth, docs and mcp. They share web. A handler
// decodes, calls a use case and renders; it holds no rules and no SQL.
package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/api"
	"candor/handlers/dashboard"
	"candor/handlers/dashboard/auth"
	"candor/handlers/docs"
	"candor/handlers/form"
	"candor/handlers/mcp"
	"candor/handlers/web"
	ledger "candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/platform/tracing"
	"candor/internal/service"
	"candor/internal/service/idempotency"
	"candor/internal/webhook"
	view "candor/views/dashboard"
	"candor/views/pdf"
)

// ProviderEvents reads what a payment provider sends: the body, its signature
// and the time of its arrival. The error is ledger.ErrSignature if it is
// forged.
type ProviderEvents interface {
	Event(ctx context.Context, payload []byte, signature string, now time.Time) (ledger.ProviderEvent, error)
}

// Config is what the server needs.
type Config struct {
	service.Services

	Logger           *slog.Logger
	Clock            domain.Clock
	BaseURL          string // without a slash at its end
	Development      bool   // cookies without Secure, no HSTS
	Remote           bool   // development also answers to IP addresses beyond loopback
	TrustedProxies   []netip.Prefix
	Limiter          ratelimit.Limiter           // of API requests, by account and mode, or by network
	Rate             ratelimit.Config            // that Limiter has, as the docs say it
	Schedule         webhook.Schedule            // of webhooks, as the docs say it
	RefusalDelay     time.Duration               // before a response that says to come back later; zero for none
	SignedOutLimiter ratelimit.Limiter           // of posts by anyone to the dashboard, by network
	StaffLimits      auth.Limits                 // of staff who are signed in
	PlacesEach       int                         // of an account's requests in each of its lines; 0 for the usual (D88)
	LinkLimiter      ratelimit.Limiter           // of posts to a form, by its link
	OpenedLimiter    ratelimit.Limiter           // of posts by browsers that opened their form, by network
	NetworkLimiter   ratelimit.Limiter           // of other posts to forms, and of wrong links, by network
	RequestTime      time.Duration               // for a request's body, and for each part of a response; zero: 30 s
	DatabaseTime     time.Duration               // that a request waits for the database in all; zero: domain.DatabasePatience
	AttemptWait      time.Duration               // that an attempt of a delivery is waited for; zero: it isn't (D99)
	Deprecated       []api.Deprecation           // nil: api.Deprecations (D123)
	StrangersAtOnce  int                         // posts by anyone that are worked on at a time; zero: 12
	CookieKeys       [][]byte                    // gorilla/sessions pairs, newest first
	Ready            func(context.Context) error // nil once the process can serve
	Version          string
	SecurityContact  string         // a URI, in security.txt; "" for none
	Fonts            *pdf.Fonts     // of invoices and of customers’ copies as PDF
	Stripe           ProviderEvents // nil if Stripe isn't set up
	// nil unless development stores emails: shown at /dev/mail
	DevMail  DevMail
	Answered func(method, route string, status int, took time.Duration) // called after each request; can be nil
	// called after each API request whose key is known; can be nil
	Called func(domain.APIRequest)
	Tracer *tracing.Tracer // nil for none
}

// server holds the applications and what is common to them.
type server struct {
	Config
	api       *api.Server
	form      *form.Server
	auth      *auth.Server
	docs      *docs.Server
	mcp       *mcp.Server
	dashboard *dashboard.Server
	origins   web.Origins
	assets    map[string]*web.Asset // built files by their name
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
func newServer(c Config) (*server, *echo.Echo, error) {
	switch {
	case c.Sessions == nil, c.Logger == nil, c.Clock == nil, c.Limiter == nil, c.SignedOutLimiter == nil, c.LinkLimiter == nil,
		c.OpenedLimiter == nil, c.NetworkLimiter == nil, !c.StaffLimits.Complete(), c.Ready == nil:
		return nil, nil, errors.New("handlers: the use cases, Logger, Clock, all limiters and Ready must be set")
	case c.BaseURL == "" || strings.HasSuffix(c.BaseURL, "/"):
		return nil, nil, fmt.Errorf("handlers: base URL %q must be an address without a slash at its end", c.BaseURL)
	}
	if c.Answered == nil {
		c.Answered = func(string, string, int, time.Duration) {}
	}
	if c.RequestTime == 0 {
		c.RequestTime = 30 * time.Second
	}
	if c.DatabaseTime == 0 {
		c.DatabaseTime = domain.DatabasePatience
	}
	if c.Called == nil {
		c.Called = func(domain.APIRequest) {}
	}
	if c.StrangersAtOnce == 0 {
		c.StrangersAtOnce = 12
	}
	if c.Deprecated == nil {
		c.Deprecated = api.Deprecations
	}
	s := &server{Config: c}
	if err := s.wire(); err != nil {
		return nil, nil, err
	}
	e := echo.New()
	e.HideBanner = true
	e.HidePort = true
	e.IPExtractor = addressOf(c.TrustedProxies)
	e.HTTPErrorHandler = s.answerError
	if err := s.register(e); err != nil {
		return nil, nil, err
	}
	return s, e, nil
}

// wire makes the applications, each with what it needs.
func (s *server) wire() (err error) {
	calls, pages := cmp.Or(s.PlacesEach, callsAtOnce), cmp.Or(s.PlacesEach, pagesAtOnce())
	cookies := web.Cookies{Secure: !s.Development}
	notices := web.Notices{Cookies: cookies, Path: view.Root, Texts: dashboard.NoticeTexts, Undone: dashboard.NoticesUndone}
	if s.origins, err = web.NewOrigins(s.BaseURL); err != nil {
		return fmt.Errorf("handlers: %w", err)
	}
	if s.assets, err = loadAssets(); err != nil {
		return err
	}
	if s.api, err = api.New(api.Config{
		Billing: s.Billing, Idempotency: s.Idempotency, Keys: s.Keys, Sessions: s.Sessions, Simulator: s.Simulator,
		Webhooks: s.Webhooks,
		Clock:    s.Clock, BaseURL: s.BaseURL, Limiter: s.Limiter, Line: web.NewLine(calls,
			"Other requests of this account are still being worked on."),
		AttemptWait: s.AttemptWait, Deprecated: s.Deprecated,
	}); err != nil {
		return err
	}
	if s.form, err = form.New(form.Config{
		Accounts: s.Accounts, Forms: s.Forms, Sessions: s.Sessions,
		Clock: s.Clock, Cookies: cookies, CookieKeys: s.CookieKeys, Fonts: s.Fonts, LinkLimiter: s.LinkLimiter,
		OpenedLimiter: s.OpenedLimiter, NetworkLimiter: s.NetworkLimiter,
	}); err != nil {
		return err
	}
	if s.auth, err = auth.New(auth.Config{
		Attempts: s.Attempts, StaffAuth: s.StaffAuth, SSO: s.SSO,
		Clock: s.Clock, Cookies: cookies, Notices: notices,
		SignedOutLimiter: s.SignedOutLimiter, Limits: s.StaffLimits, StrangersAtOnce: s.StrangersAtOnce,
	}); err != nil {
		return err
	}
	s.docs = docs.New(docs.Config{
		Keys: s.Keys, Sessions: s.Sessions, Staff: s.auth.Session,
		BaseURL: s.BaseURL, Rate: s.Rate, Schedule: s.Schedule, MaxBody: api.MaxBody, CallsAtOnce: calls,
		IdempotencyWindow: idempotency.Window,
	})
	s.mcp = mcp.New(mcp.Config{
		Texts: s.docs.Texts, Read: s.docs.Read, BaseURL: s.BaseURL, Version: s.Version, MaxBody: api.MaxBody,
		Line: web.NewLine(messagesAtOnce, "Other agents of this account are still being answered."),
	})
	s.dashboard = dashboard.New(dashboard.Config{
		Accounts: s.Accounts, Attempts: s.Attempts, Audit: s.Audit, StaffAuth: s.StaffAuth, Billing: s.Billing, Home: s.Home,
		Keys: s.Keys, Live: s.Live, RequestLog: s.RequestLog, Search: s.Search, Sessions: s.Sessions, SSO: s.SSO, Team: s.Team,
		Webhooks: s.Webhooks,
		Logger:   s.Logger, Clock: s.Clock, BaseURL: s.BaseURL, Auth: s.auth, Limiter: s.Limiter,
		Pages:   web.NewLine(pages, "Your team’s other requests are still being worked on."),
		Exports: web.NewLine(pages/2, "Other exports of your team are still running."),
		Notices: notices, Fonts: s.Fonts, FormData: api.SubmittedData, QuickStart: s.docs.QuickStart,
		FirstPage: s.form.Preview,
	})
	return nil
}

// callsAtOnce are the places of an account for its API requests while no other account
// comes: four in five of the usual connections to the database.
const callsAtOnce = 16

// messagesAtOnce are the places of an account for messages of agents.
const messagesAtOnce = 4

// pagesAtOnce are the places of an account for its pages, of which exports have half as
// many of their own.
func pagesAtOnce() int { return min(max(2, runtime.GOMAXPROCS(0)), 4) }

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

func ipNet(prefix netip.Prefix) *net.IPNet {
	prefix = prefix.Masked()
	return &net.IPNet{
		IP:   net.IP(prefix.Addr().AsSlice()),
		Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen()),
	}
}
