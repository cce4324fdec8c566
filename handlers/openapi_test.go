package handlers_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// A description is the API's OpenAPI document, as the tested server serves it.
type description struct {
	once sync.Once
	doc  *openapi3.T
	err  error
}

// described is read once by the first test that needs it: it depends on the
// code alone, and every server of this package serves the same.
var described description

func (d *description) load(t testing.TB, h http.Handler) *openapi3.T {
	t.Helper()
	d.once.Do(func() {
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/v1/openapi.json", nil))
		d.doc, d.err = openapi3.NewLoader().LoadFromData(recorder.Body.Bytes())
	})
	if d.err != nil {
		t.Fatalf("OpenAPI document: %v", d.err)
	}
	return d.doc
}

// find returns the operation of a request, nil for what isn't documented.
func find(doc *openapi3.T, r *http.Request) (path string, item *openapi3.PathItem, operation *openapi3.Operation) {
	segments := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1"), "/")
	for path, item := range doc.Paths.Map() {
		pattern := strings.Split(path, "/")
		matches := slices.EqualFunc(pattern, segments, func(p, s string) bool { return p == s || strings.HasPrefix(p, "{") && s != "" })
		if matches {
			return path, item, item.GetOperation(r.Method)
		}
	}
	return "", nil, nil
}

// checkResponse holds a response of the API to the document and to what all
// responses have in common.
func (b *bench) checkResponse(r *http.Request, w *httptest.ResponseRecorder) {
	b.Helper()
	for _, name := range []string{"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if w.Header().Get(name) == "" {
			b.Errorf("%s %s: %d without %s", r.Method, r.URL.Path, w.Code, name)
		}
	}
	if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Cache-Control") != "no-store" {
		b.Errorf("%s %s: headers %v", r.Method, r.URL.Path, w.Header())
	}
	if r.URL.Path == "/v1/openapi.json" || r.Method == http.MethodHead {
		return
	}
	doc := described.load(b, b.handler)
	path, item, operation := find(doc, r)
	if operation == nil {
		schema := doc.Components.Schemas["ErrorBody"].Value
		if err := schema.VisitJSON(answer{b.TB, w}.object(), openapi3.EnableJSONSchema2020()); err != nil || w.Code < 400 {
			b.Errorf("%s %s: %d %s: %v", r.Method, r.URL.Path, w.Code, w.Body, err)
		}
		return
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: r, Route: &routers.Route{Spec: doc, Path: path, PathItem: item, Method: r.Method, Operation: operation},
		},
		Status: w.Code, Header: w.Header(), Body: io.NopCloser(bytes.NewReader(w.Body.Bytes())),
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true, MultiError: true,
			ExcludeResponseBody: w.Header().Get("Content-Type") != "application/json",
		},
	}
	if err := openapi3filter.ValidateResponse(b.Context(), input); err != nil {
		b.Errorf("%s %s: the answer %d isn't as documented: %v\n%s", r.Method, r.URL.Path, w.Code, err, w.Body)
	}
	if response := operation.Responses.Status(w.Code); response != nil && response.Value.Content.Get(w.Header().Get("Content-Type")) == nil {
		b.Errorf("%s %s: content type %s isn't documented for %d", r.Method, r.URL.Path, w.Header().Get("Content-Type"), w.Code)
	}
}

// TestDocument checks the document itself, its examples included.
func TestDocument(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.call(apiCall{method: http.MethodGet, path: "/openapi.json", key: anonymous}).status(http.StatusOK)
	doc, err := openapi3.NewLoader().LoadFromData(a.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation()); err != nil {
		t.Error(err)
	}
	if !doc.IsOpenAPI31OrLater() || doc.Servers[0].URL != baseURL+"/v1" {
		t.Errorf("version %s, servers %v", doc.OpenAPI, doc.Servers[0].URL)
	}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.Description == "" || operation.Summary == "" || operation.OperationID == "" {
				t.Errorf("%s %s isn't described", method, path)
			}
			for status, response := range operation.Responses.Map() {
				media := response.Value.Content.Get("application/json")
				if status[0] == '2' && status != "202" && media != nil && media.Example == nil {
					t.Errorf("%s %s: no example of %s", method, path, status)
				}
			}
		}
	}
	if len(doc.Webhooks) != 8 {
		t.Errorf("%d webhooks, want 8", len(doc.Webhooks))
	}
	for event, item := range doc.Webhooks {
		if item.Post.RequestBody.Value.Content.Get("application/json").Example == nil {
			t.Errorf("%s: no example", event)
		}
	}
}

// TestEveryRouteIsDocumented holds the routes to the contract's list.
func TestEveryRouteIsDocumented(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var got []string
	for path, item := range described.load(t, b.handler).Paths.Map() {
		for method := range item.Operations() {
			got = append(got, method+" "+path)
		}
	}
	slices.Sort(got)
	want := []string{
		"DELETE /sessions/{id}", "GET /billing/subscription", "GET /billing/usage", "GET /sessions", "GET /sessions/{id}",
		"GET /sessions/{id}/data", "GET /sessions/{id}/documents/{document_id}", "GET /sessions/{id}/pdf", "POST /sessions",
	}
	if !slices.Equal(got, want) {
		t.Errorf("documented: %q, want %q", got, want)
	}
}
