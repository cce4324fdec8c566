package handlers

import (
	"net/http"

	"candor/internal/domain"
	"candor/internal/service"
	"candor/views/dashboard"
)

// A StaffRoute is what tests know of a route of the dashboard.
type StaffRoute struct {
	Method, Path string
	May          domain.Capability
	Action       string // what the prompt for the password says it is for; "" if there is none
}

// StaffRoutes are the routes for those who are signed in, paths with :mode.
func StaffRoutes() []StaffRoute {
	var out []StaffRoute
	for _, r := range (&Server{Config: Config{Service: &service.Service{}}}).staffRoutes() {
		out = append(out, StaffRoute{r.method, "/dashboard/:mode" + r.path, r.may, r.action()})
	}
	return out
}

// NewWithConfirmedLogo is New, but storing a logo asks for the password: no
// other route that takes a file does.
func NewWithConfirmedLogo(c Config) (http.Handler, error) {
	s, e, err := newServer(c)
	if err != nil {
		return nil, err
	}
	route := &staffRoute{http.MethodPost, logoPath, domain.ManageAccount, s.setLogo, []staffOption{shared, confirmed("change the logo")}}
	e.POST(dashboard.Root+"/:mode"+logoPath, s.staffPage(route), s.sameOriginOnly)
	return e, nil
}

// LocalPath is localPath.
func LocalPath(path string) string { return localPath(path) }

// CSVSafe is csvSafe.
func CSVSafe(cells []string) []string { return csvSafe(cells) }
