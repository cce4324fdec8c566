package handlers

import (
	"candor/intake"
	"candor/service"
)

// A StaffRoute is what tests know of a route of the dashboard.
type StaffRoute struct {
	Method, Path string
	May          intake.Capability
	Confirmed    bool
}

// StaffRoutes are the routes for those who are signed in, paths with :mode.
func StaffRoutes() []StaffRoute {
	var out []StaffRoute
	for _, r := range (&Server{Config: Config{Service: &service.Service{}}}).staffRoutes() {
		out = append(out, StaffRoute{r.method, "/dashboard/:mode" + r.path, r.may, r.has(confirmed)})
	}
	return out
}

// LocalPath is localPath.
func LocalPath(path string) string { return localPath(path) }

// CSVSafe is csvSafe.
func CSVSafe(cells []string) []string { return csvSafe(cells) }
