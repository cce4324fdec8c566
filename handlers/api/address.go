package api

import (
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
)

// Serves reports whether the request is for the API, an agent's or not, or for an address
// that the API is often looked for at.
func Serves(r *http.Request) bool { return addresses.MatchString(r.URL.Path) }

// addresses are those of the API, also without /v1, and below another version or a
// prefix that other APIs have.
var addresses = regexp.MustCompile(
	`^/+(mcp|api|rest|v[0-9.]+|sessions?|events?|billing/(subscription|usage)|openapi\.(json|ya?ml))(/|$)`)

// strayedPrefix is what an address of the API doesn't begin with.
var strayedPrefix = regexp.MustCompile(`^/((api|rest|v[0-9.]+)/)*`)

// An entrance says where the API is described.
type entrance struct {
	Name    string `json:"name"`
	Docs    string `json:"docs"`
	OpenAPI string `json:"openapi"`
}

// ServeRoot answers with where the API is described.
func (s *Server) ServeRoot(c echo.Context) error {
	return writeJSON(c, http.StatusOK, entrance{"Candor API", s.BaseURL + "/docs", s.BaseURL + "/v1/openapi.json"})
}

// cancelling is an address that other APIs have for it.
var cancelling = regexp.MustCompile(`/sessions?/[^/]+/cancel(led)?/?$`)

// somewhere says where an address that isn't there could have been meant to lead.
func (s *Server) somewhere(address string) string {
	if cancelling.MatchString(address) {
		return "There is nothing at this address. To cancel a session, send DELETE /v1/sessions/:id."
	}
	wanted := "/v1/" + strayedPrefix.ReplaceAllString(path.Clean("/"+address), "")
	if route := s.nearestRoute(strings.Split(wanted, "/")); route != "" {
		return "There is nothing at this address. Did you mean " + route + "?"
	}
	return "There is nothing at this address. The API's addresses are described at /docs/reference, and for programs in /v1/openapi.json."
}

// nearestRoute returns the pattern of the route that the segments of a path are
// meant for, "" for none.
func (s *Server) nearestRoute(segments []string) string {
	for _, route := range s.paths {
		pattern := strings.Split(route, "/")
		if len(pattern) == len(segments) && fits(pattern, segments) {
			return route
		}
	}
	return ""
}

func fits(pattern, segments []string) bool {
	for i, part := range pattern {
		if !strings.HasPrefix(part, ":") && segments[i] != part && nearest(segments[i], []string{part}) == "" &&
			!strings.Contains(segments[i], part) {
			return false
		}
	}
	return true
}

// takes says which methods an address takes, by the response's Allow header.
func takes(allow string) string {
	methods := slices.DeleteFunc(strings.Split(allow, ", "), func(method string) bool {
		return method == http.MethodOptions || method == ""
	})
	slices.Sort(methods)
	return "This address takes " + web.List(methods) + " only."
}

// kinds are the prefixes of ids that partners meet, and what they are of.
var kinds = map[string]string{
	"sess": "a session", "doc": "a document", "evt": "an event", "whd": "a webhook delivery", "whe": "a webhook endpoint",
	"key": "an API key", "acct": "an account", "req": "a request", "inv": "an invoice", "usr": "a staff user",
}

// unset are what is in an address if a program's variable was empty.
var unset = []string{"undefined", "null", "None", "nil", "NaN", "[object Object]", ":id", "{id}", "<id>", "<session_id>",
	"{session_id}", "$SESSION_ID"}

// notAnID says why a text is no id of the kind with the prefix.
func notAnID(prefix, text string) string {
	found, rest, _ := strings.Cut(text, "_")
	switch of, known := kinds[found]; {
	case slices.Contains(unset, text):
		return "The address has a placeholder for the id of " + kinds[prefix] + ". Put the id, " + prefix + "_…, in its place."
	case known && found != prefix:
		return "This is the id of " + of + ". The id of " + kinds[prefix] + " begins with " + prefix + "_."
	case known && len(rest) != 26:
		return "This id is cut off or too long: " + prefix + "_ is followed by 26 characters."
	}
	return "This is not the id of " + kinds[prefix] + ", which is " + prefix + "_ and 26 small letters and digits."
}

// errNoSession is domain.ErrSessionNotFound for who has a key.
var errNoSession = domain.Errorf(domain.CodeSessionNotFound,
	"There is no session with this id in this account and mode. A test key sees test sessions only, a live key live ones.")
