// Package dashboard is the pages of a partner's staff, a file an area. A page is
// a route of the router's table, a handler here and a template of
// views/dashboard.
package dashboard

import (
	"log/slog"

	"github.com/a-h/templ"

	"candor/handlers/dashboard/auth"
	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/accounts"
	"candor/internal/service/audit"
	"candor/internal/service/billing"
	"candor/internal/service/home"
	"candor/internal/service/keys"
	"candor/internal/service/live"
	"candor/internal/service/requestlog"
	"candor/internal/service/search"
	"candor/internal/service/sessions"
	"candor/internal/service/staff/attempts"
	staffauth "candor/internal/service/staff/auth"
	"candor/internal/service/staff/sso"
	"candor/internal/service/staff/team"
	"candor/internal/service/webhooks"
	"candor/views/pdf"
)

// Config is what the dashboard needs.
type Config struct {
	Accounts   *accounts.Service
	Attempts   *attempts.Service
	Audit      *audit.Service
	StaffAuth  *staffauth.Service
	Billing    *billing.Service
	Home       *home.Service
	Keys       *keys.Service
	Live       *live.Service
	RequestLog *requestlog.Service
	Search     *search.Service
	Sessions   *sessions.Service
	SSO        *sso.Service
	Team       *team.Service
	Webhooks   *webhooks.Service

	Logger  *slog.Logger
	Clock   domain.Clock
	BaseURL string // without a slash at its end
	Auth    *auth.Server
	Limiter ratelimit.Limiter // of sessions, by account and mode: the API's (D30)
	Pages   *web.Line         // of requests
	Exports *web.Line
	Notices web.Notices // with the texts of NoticeTexts
	Fonts   *pdf.Fonts  // of invoices as PDF
	// QuickStart are the commands of the docs' guide by their titles, with this key.
	QuickStart func(key string) (map[string]string, error)
	// FirstPage draws the first page of an account's forms, to be looked at, with what is
	// said of its colour.
	FirstPage func(account *domain.Account, words string) templ.Component
	// FormData makes what the API answers for a session's data.
	FormData func(*sessions.Submitted) any
}

// Server holds the dashboard's handlers.
type Server struct {
	Config
	routes map[string]*Route // by method and path, for the prompt
}

// New returns the dashboard.
func New(c Config) *Server {
	return &Server{Config: c, routes: map[string]*Route{}}
}
