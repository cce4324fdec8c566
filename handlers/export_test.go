package handlers

import (
	"net/http"

	"candor/handlers/dashboard"
	"candor/internal/domain"
)

// NewWithConfirmedLogo is New, but storing a logo asks for the password: no
// other route that takes a file does.
func NewWithConfirmedLogo(c Config) (http.Handler, error) {
	s, e, err := newServer(c)
	if err != nil {
		return nil, err
	}
	route := &dashboard.Route{
		Method: http.MethodPost, Path: "/settings/logo", May: domain.ManageAccount, Serve: s.dashboard.SetLogo,
		Options: []dashboard.Option{dashboard.Shared, dashboard.Confirmed("change the logo")},
	}
	e.POST(dashboard.Prefix+route.Path, s.dashboard.Handler(route), s.origins.Staff)
	return e, nil
}
