// Package dashboard is the pages of a partner's staff, a file an area. A page is
// a route of the router's table, a handler here and a template of
// views/dashboard.
package dashboard

import (
	"log/slog"

	"candor/handlers/dashboard/auth"
	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/service"
	"candor/internal/service/sessions"
	"candor/views/pdf"
)

// Config is what the dashboard needs.
type Config struct {
	Service *service.Services
	Logger  *slog.Logger
	Clock   domain.Clock
	BaseURL string // without a slash at its end
	Auth    *auth.Server
	Notices web.Notices // with the texts of NoticeTexts
	Fonts   *pdf.Fonts  // of invoices as PDF
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
