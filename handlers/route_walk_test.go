package handlers_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers"
	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/testkit/harness"
)

// noEmails is an empty DevMail.
type noEmails struct{}

// Emails returns none.
func (noEmails) Emails() ([]mail.Message, error) { return nil, nil }

// noStripe takes nothing for signed.
type noStripe struct{}

// Event refuses.
func (noStripe) Event(context.Context, []byte, string, time.Time) (billing.ProviderEvent, error) {
	return billing.ProviderEvent{}, billing.ErrSignature
}

// table is everything that the router of a server leads to, as "GET /path".
func table(t *testing.T, handler http.Handler) (out []string) {
	t.Helper()
	router, ok := handler.(*echo.Echo)
	if !ok {
		t.Fatalf("the handler is a %T, want the router", handler)
	}
	for _, route := range router.Routes() {
		if route.Method != echo.RouteNotFound {
			out = append(out, route.Method+" "+route.Path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// everyRoute are the routes of a server for which everything is set up.
func everyRoute(h *harness.Harness, t *testing.T) []string {
	t.Helper()
	config := h.Config
	config.Development, config.DevMail, config.Stripe = true, noEmails{}, noStripe{}
	config.SecurityContact = "mailto:security@candor.example"
	handler, err := handlers.New(config)
	h.OK(err)
	return table(t, handler)
}

// routeClasses are the classes of all routes, as "GET /path".
func routeClasses() map[string]handlers.Class {
	out := map[string]handlers.Class{}
	for _, route := range handlers.Routes() {
		out[harness.RouteName(route)] = route.Class
	}
	return out
}

// TestEveryRouteIsInTheTable checks that nothing leads around the table of
// routes, which says of each whom it is for.
func TestEveryRouteIsInTheTable(t *testing.T) {
	t.Parallel()
	classes := routeClasses()
	routes := everyRoute(harness.New(t), t)
	for _, route := range routes {
		if classes[strings.Replace(route, "HEAD ", "GET ", 1)] == "" {
			t.Errorf("%s is not in the table of routes.go", route)
		}
	}
	for name := range classes {
		if !slices.Contains(routes, name) {
			t.Errorf("%s is in the table and isn't served", name)
		}
	}
}

var parameter = regexp.MustCompile(`:\w+`)

// foreignPosts are what browsers say of a form that another site's page posts.
func foreignPosts() map[string]http.Header {
	return map[string]http.Header{
		"another site's":           {"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}},
		"a sibling's":              {"Sec-Fetch-Site": {"same-site"}, "Origin": {"https://evil.candor.example"}},
		"of a sandbox":             {"Sec-Fetch-Site": {"cross-site"}, "Origin": {"null"}},
		"of an old browser":        {"Origin": {"https://evil.example"}},
		"of another port":          {"Origin": {harness.BaseURL + ":8443"}},
		"of an old browser's null": {"Origin": {"null"}},
	}
}

// TestEveryRouteIsClosed sends to each route of the router's own table what its
// class must refuse, with the cookies of a user who may do everything.
func TestEveryRouteIsClosed(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(c *handlers.Config) { c.Stripe = noStripe{} })
	owner, customer := h.Owner(), h.NewCustomer()
	customer.WantPage(customer.Get(""), http.StatusOK)
	ids := harness.Objects(h, h.TestScope())
	ids["session"], ids["id"], ids["mode"], ids["token"], ids["document_id"] = customer.ID.String(), customer.ID.String(), "test",
		"x", ids["document"]
	before, classes := h.Stored(), routeClasses()
	for _, route := range table(t, h.Handler) {
		method, path, _ := strings.Cut(route, " ")
		class := classes[strings.Replace(route, "HEAD ", "GET ", 1)]
		path = parameter.ReplaceAllStringFunc(path, func(name string) string { return ids[name[1:]] })
		send := func(header http.Header) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), method, harness.BaseURL+path, nil)
			r.Header = header.Clone()
			for _, cookies := range []map[string]string{owner.Cookies, customer.Cookies} {
				for name, value := range cookies {
					r.AddCookie(&http.Cookie{Name: name, Value: value})
				}
			}
			return h.Serve(r)
		}
		want, what := 0, ""
		switch class {
		case handlers.APIKey, handlers.Agent:
			want, what = http.StatusUnauthorized, "by a cookie"
		case handlers.Provider:
			want, what = http.StatusBadRequest, "unsigned"
		case handlers.Public:
			if method != http.MethodGet && method != http.MethodHead {
				t.Errorf("%s is public and isn't a page", route)
			}
		}
		if want != 0 {
			if got := send(http.Header{"Sec-Fetch-Site": {"same-origin"}}).Code; got != want {
				t.Errorf("%s %s: %d, want %d", route, what, got, want)
			}
		}
		if class == handlers.APIKey || class == handlers.Agent || class == handlers.Provider || method == http.MethodGet ||
			method == http.MethodHead {
			continue
		}
		for whose, header := range foreignPosts() {
			if class == handlers.Customer && strings.HasSuffix(whose, "null") {
				continue // such browsers say that of our own pages, too: see sameOrigin
			}
			if got := send(header).Code; got != http.StatusForbidden {
				t.Errorf("%s, a form %s: %d, want 403", route, whose, got)
			}
		}
	}
	h.WantStored(before)
	if answer := owner.Get("/dashboard/test"); answer.Code != http.StatusOK {
		t.Errorf("after all that, the owner is signed out: %d", answer.Code)
	}
	for _, path := range []string{"", "/income", "/documents", "/declaration", "/pdf"} {
		other := h.NewSession(h.TestScope(), domain.NewSession{})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, harness.BaseURL+"/f/"+other.ID.String()+path, nil)
		for name, value := range customer.Cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		if got := h.Serve(r).Code; got != http.StatusNotFound {
			t.Errorf("another session's form%s by a customer's cookie: %d, want 404", path, got)
		}
	}
}
