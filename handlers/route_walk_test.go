package handlers_test

import (
	"context"
	"errors"
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
)

// doorCases are the routes of the dashboard that are not for those who are
// signed in alone.
var doorCases = []string{
	"GET /dashboard", "GET /dashboard/sign-in", "POST /dashboard/sign-in", "GET /dashboard/sign-in/code", "POST /dashboard/sign-in/code",
	"POST /dashboard/sign-in/passkey", "POST /dashboard/sign-in/passkey/answer", "GET /dashboard/forgot", "POST /dashboard/forgot",
	"GET /dashboard/sign-up", "POST /dashboard/sign-up", "GET /dashboard/letter-sent", "GET /dashboard/reset", "POST /dashboard/reset",
	"GET /dashboard/reset/:token", "GET /dashboard/verify", "POST /dashboard/verify", "GET /dashboard/verify/:token", "GET /dashboard/invitation",
	"POST /dashboard/invitation", "GET /dashboard/invitation/:token", "GET /dashboard/confirm", "POST /dashboard/confirm", "POST /dashboard/confirm/cancel", "POST /dashboard/sign-out",
}

// publicCases are the routes that tell everybody the same.
var publicCases = []string{
	"GET /", "GET /healthz", "GET /readyz", "GET /static/*", "GET /brand/:file", "GET /logo/:file", "GET /v1/openapi.json", "GET /dev/mail",
}

// providerCases are the routes that take what a payment provider has signed.
var providerCases = []string{"POST /billing/stripe"}

// routeClasses say of a route whether it is of the class. TestEveryRouteIsClosed
// says what each class asks of whoever comes.
var routeClasses = map[string]func(route string) bool{
	"staff":    func(route string) bool { _, ok := walkCases[route]; return ok },
	"door":     func(route string) bool { return slices.Contains(doorCases, route) },
	"public":   func(route string) bool { return slices.Contains(publicCases, route) },
	"provider": func(route string) bool { return slices.Contains(providerCases, route) },
	"API": func(route string) bool {
		return strings.Contains(route, " /v1/") && !slices.Contains(publicCases, route)
	},
	"customer's form": func(route string) bool { return strings.Contains(route, " /f/:session") },
}

// noLetters is an empty DevMail.
type noLetters struct{}

// Letters returns none.
func (noLetters) Emails() ([]mail.Message, error) { return nil, nil }

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
func (b *bench) everyRoute(t *testing.T) []string {
	t.Helper()
	config := b.config
	config.Development, config.DevMail, config.Stripe = true, noLetters{}, noStripe{}
	handler, err := handlers.New(config)
	b.ok(err)
	return table(t, handler)
}

// classOf is the class of a route, "" for none; two are an error.
func classOf(t *testing.T, route string) string {
	t.Helper()
	route = strings.Replace(route, "HEAD ", "GET ", 1) // what the page says without its content
	var of []string
	for class, has := range routeClasses {
		if has(route) {
			of = append(of, class)
		}
	}
	switch len(of) {
	case 0:
		t.Errorf("%s is in no class: if it is for staff who are signed in, it belongs into staffRoutes and walkCases; if they needn't be, into doorCases;\n"+
			"if it tells everybody the same, into publicCases; what changes something by a cookie goes below /dashboard or /f/:session, by a key below /v1", route)
		return ""
	case 1:
		return of[0]
	}
	t.Errorf("%s is in %d classes, %q: take it out of all but one", route, len(of), of)
	return ""
}

func TestEveryRouteHasAClass(t *testing.T) {
	t.Parallel()
	routes := newBench(t).everyRoute(t)
	for _, route := range routes {
		classOf(t, route)
	}
	for name := range walkCases {
		if !slices.Contains(routes, name) {
			t.Errorf("%s is in walkCases and is no route", name)
		}
	}
	for _, name := range slices.Concat(doorCases, publicCases, providerCases) {
		if !slices.Contains(routes, name) {
			t.Errorf("%s is in a list of routes and is none", name)
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
		"of another port":          {"Origin": {baseURL + ":8443"}},
		"of an old browser's null": {"Origin": {"null"}},
	}
}

// TestEveryRouteIsClosed sends to each route of the router's own table what its
// class must refuse, with the cookies of somebody who may do everything.
func TestEveryRouteIsClosed(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *handlers.Config) { c.Stripe = noStripe{} })
	owner, customer := b.owner(), b.newCustomer()
	customer.page(customer.get(""), http.StatusOK)
	ids := walkObjects(b, b.testScope())
	ids["session"], ids["id"], ids["mode"], ids["token"], ids["document_id"] = customer.id.String(), customer.id.String(), "test", "x", ids["document"]
	before := b.stored()
	for _, route := range table(t, b.handler) {
		method, path, _ := strings.Cut(route, " ")
		class := classOf(t, route)
		path = parameter.ReplaceAllStringFunc(path, func(name string) string { return ids[name[1:]] })
		send := func(header http.Header) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), method, baseURL+path, nil)
			r.Header = header.Clone()
			for _, cookies := range []map[string]string{owner.cookies, customer.cookies} {
				for name, value := range cookies {
					r.AddCookie(&http.Cookie{Name: name, Value: value})
				}
			}
			return b.serve(r)
		}
		want, what := 0, ""
		switch class {
		case "API":
			want, what = http.StatusUnauthorized, "by a cookie"
		case "provider":
			want, what = http.StatusBadRequest, "unsigned"
		case "public":
			if method != http.MethodGet && method != http.MethodHead {
				t.Errorf("%s is public and isn't a page", route)
			}
		}
		if want != 0 {
			if got := send(http.Header{"Sec-Fetch-Site": {"same-origin"}}).Code; got != want {
				t.Errorf("%s %s: %d, want %d", route, what, got, want)
			}
		}
		if class == "API" || class == "provider" || method == http.MethodGet || method == http.MethodHead {
			continue
		}
		for whose, header := range foreignPosts() {
			if class == "customer's form" && strings.HasSuffix(whose, "null") {
				continue // such browsers say that of our own pages, too: see sameOrigin
			}
			if got := send(header).Code; got != http.StatusForbidden {
				t.Errorf("%s, a form %s: %d, want 403", route, whose, got)
			}
		}
	}
	b.wantStored(before)
	if answer := owner.get("/dashboard/test"); answer.Code != http.StatusOK {
		t.Errorf("after all that, the owner is signed out: %d", answer.Code)
	}
	for _, path := range []string{"", "/income", "/documents", "/declaration", "/pdf"} {
		other := b.newSession(b.testScope(), domain.NewSession{})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, baseURL+"/f/"+other.ID.String()+path, nil)
		for name, value := range customer.cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		if got := b.serve(r).Code; got != http.StatusNotFound {
			t.Errorf("another session's form%s by a customer's cookie: %d, want 404", path, got)
		}
	}
}

// stored is what each table holds, in one hash; when somebody was last seen is
// left out.
func (b *bench) stored() map[string]string {
	b.Helper()
	var tables []string
	b.ok(b.db.Raw().SelectContext(b.Context(), &tables, `
		SELECT table_name FROM information_schema.tables
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT IN ('staff_session', 'river_leader', 'river_queue')`))
	if len(tables) < 20 {
		b.Fatal(errors.New("not all tables are looked at"))
	}
	out := map[string]string{}
	for _, name := range tables {
		out[name] = one[string](b, `SELECT count(*) || ' rows, ' || md5(coalesce(string_agg(t::text, chr(10) ORDER BY t::text), '')) FROM `+name+` t`)
	}
	return out
}

// wantStored fails where a table holds something else than before.
func (b *bench) wantStored(before map[string]string) {
	b.Helper()
	for name, now := range b.stored() {
		if now != before[name] {
			b.Errorf("the table %s has changed: %s, before %s", name, now, before[name])
		}
	}
}
