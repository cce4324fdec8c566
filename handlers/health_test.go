package handlers_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"candor/handlers"
	"candor/internal/testkit/harness"
	"candor/static"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	down := errors.New("no database at 10.1.2.3")
	for name, test := range map[string]struct {
		path   string
		ready  error
		status int
	}{
		"alive":                {"/healthz", nil, http.StatusOK},
		"alive while unready":  {"/healthz", down, http.StatusOK},
		"ready":                {"/readyz", nil, http.StatusOK},
		"not ready":            {"/readyz", down, http.StatusServiceUnavailable},
		"no such static file":  {"/static/nothing.css", nil, http.StatusNotFound},
		"no listing of static": {"/static/", nil, http.StatusNotFound},
		"no such page":         {"/nothing", nil, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, func(c *handlers.Config) { c.Ready = func(context.Context) error { return test.ready } })
			r := h.Serve(httptest.NewRequest(http.MethodGet, test.path, nil))
			if r.Code != test.status || strings.Contains(r.Body.String(), "10.1.2.3") {
				t.Errorf("%s answers %d %s, want %d", test.path, r.Code, r.Body, test.status)
			}
		})
	}
}

// During an upgrade a page of the other release asks for a file that this one has with
// another hash. It gets this one's, and no cache keeps that.
func TestFilesOfAnotherRelease(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for path, status := range map[string]int{
		"/static/app-00000000.css": http.StatusOK, "/static/icon-ZZZZZZZZ.svg": http.StatusOK,
		"/static/nothing-00000000.css": http.StatusNotFound, "/static/app.css": http.StatusNotFound,
		"/static/-00000000.css": http.StatusNotFound,
	} {
		r := h.Serve(httptest.NewRequest(http.MethodGet, path, nil))
		if r.Code != status || r.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s answers %d with Cache-Control %q, want %d and no-store", path, r.Code, r.Header().Get("Cache-Control"), status)
		}
		if own := h.Serve(httptest.NewRequest(http.MethodGet, static.URL("app.css"), nil)); path == "/static/app-00000000.css" &&
			own.Body.String() != r.Body.String() {
			t.Error("it isn't this release's file")
		}
	}
}

func TestNewRefusesIncompleteConfig(t *testing.T) {
	t.Parallel()
	if _, err := handlers.New(handlers.Config{BaseURL: harness.BaseURL}); err == nil {
		t.Error("New accepts a configuration without a service")
	}
}
