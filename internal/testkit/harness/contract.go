package harness

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
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
	Source []byte // as it was served
	once   sync.Once
	doc    *openapi3.T
	err    error
}

// Described is read once by the first test that needs it: it depends on the
// code alone, and every server of this package serves the same.
var Described description

func (d *description) Load(t testing.TB, h http.Handler) *openapi3.T {
	t.Helper()
	d.once.Do(func() {
		recorder := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/openapi.json", nil)
		r.RemoteAddr = "[2001:db8:ffff::1]:1" // it counts against the limit of no address that a test counts
		h.ServeHTTP(recorder, r)
		d.Source = recorder.Body.Bytes()
		d.doc, d.err = openapi3.NewLoader().LoadFromData(d.Source)
	})
	if d.err != nil {
		t.Fatalf("OpenAPI document: %v", d.err)
	}
	return d.doc
}

// FindOperation returns the operation of a request, nil for what isn't documented.
func FindOperation(doc *openapi3.T, r *http.Request) (path string, item *openapi3.PathItem, operation *openapi3.Operation) {
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

// Watch gets every documented response that CheckContract checks, if it isn't nil.
var Watch func(testing.TB, *http.Request, *httptest.ResponseRecorder)

// CheckContract holds a response of the API to the document and to what all
// responses have in common.
func (h *Harness) CheckContract(r *http.Request, w *httptest.ResponseRecorder) {
	h.Helper()
	for _, name := range []string{"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if w.Header().Get(name) == "" {
			h.Errorf("%s %s: %d without %s", r.Method, r.URL.Path, w.Code, name)
		}
	}
	description := r.URL.Path == "/v1/openapi.json" || r.URL.Path == "/v1/openapi.yaml"
	if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Cache-Control") != "no-store" && !description {
		h.Errorf("%s %s: headers %v", r.Method, r.URL.Path, w.Header())
	}
	if description || r.URL.Path == "/v1" || r.Method == http.MethodHead {
		return
	}
	doc := Described.Load(h, h.Handler)
	path, item, operation := FindOperation(doc, r)
	if operation == nil {
		schema := doc.Components.Schemas["ErrorBody"].Value
		if err := schema.VisitJSON(AnswerOf(h.TB, w).Object(), openapi3.EnableJSONSchema2020()); err != nil || w.Code < 400 {
			h.Errorf("%s %s: %d %s: %v", r.Method, r.URL.Path, w.Code, w.Body, err)
		}
		return
	}
	kind := kindOf(r.Method+" "+path, w)
	if _, known := documented.Load(kind); known {
		return
	}
	if Watch != nil {
		Watch(h.TB, r, w)
	}
	if err := Mismatch(doc, path, item, operation, r, w); err != nil {
		h.Errorf("%s %s: the answer %d isn't as documented: %v\n%s", r.Method, r.URL.Path, w.Code, err, w.Body)
		return
	}
	documented.Store(kind, true)
}

// documented are the kinds of answers that were compared with the document, and are as it
// says. Comparing takes longer than answering, and most answers are like one before.
var documented sync.Map

// anyValue is what answers of a kind differ in: ids, times, what is left of a limit, and
// the tag of all that.
var anyValue = regexp.MustCompile(
	`_[0-7][0-9a-hjkmnp-tv-z]{25}\b|\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\b|X-Ratelimit-\w+: \d+\b|Etag: W/"[\w-]+"`)

// kindOf is the whole of an operation's answer, but for what it differs in from others.
func kindOf(operation string, w *httptest.ResponseRecorder) [sha256.Size]byte {
	var answer bytes.Buffer
	fmt.Fprintln(&answer, operation, w.Code)
	_ = w.Header().Write(&answer) // a buffer takes all
	answer.Write(w.Body.Bytes())
	return sha256.Sum256(anyValue.ReplaceAll(answer.Bytes(), []byte("*")))
}

// undocumented are headers of any answer over HTTP, and those by which browsers are careful.
var undocumented = regexp.MustCompile(`^(Content-(Type|Length|Encoding)|Vary|Cache-Control|.*-Policy|Access-Control-.*|Strict-Transport-Security|` +
	`X-(Frame|Content-Type)-Options)$`)

// Mismatch is how a response differs from what is documented, nil for none.
func Mismatch(doc *openapi3.T, path string, item *openapi3.PathItem, operation *openapi3.Operation, r *http.Request,
	w *httptest.ResponseRecorder) error {
	contentType := w.Header().Get("Content-Type")
	if w.Code == http.StatusNotModified && operation.Responses.Status(w.Code) != nil && w.Body.Len() == 0 {
		return nil
	}
	if response := operation.Responses.Status(w.Code); response != nil && response.Value.Content.Get(contentType) == nil {
		return fmt.Errorf("content type %q isn't documented for %d", contentType, w.Code)
	}
	if response := operation.Responses.Status(w.Code); response != nil {
		var body struct{ Error struct{ Code string } }
		_ = json.Unmarshal(w.Body.Bytes(), &body) // if it isn't JSON, the schema says so
		if code := body.Error.Code; code != "" && response.Value.Content.Get(contentType).Examples[code] == nil {
			return fmt.Errorf("code %s isn't documented for %d", code, w.Code)
		}
		for name := range w.Header() {
			known := func(documented string) bool { return strings.EqualFold(documented, name) }
			if !slices.ContainsFunc(slices.Collect(maps.Keys(response.Value.Headers)), known) && !undocumented.MatchString(name) {
				return fmt.Errorf("the header %s isn't documented for %d", name, w.Code)
			}
		}
	}
	return openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: r, Route: &routers.Route{Spec: doc, Path: path, PathItem: item, Method: r.Method, Operation: operation},
		},
		Status: w.Code, Header: w.Header(), Body: io.NopCloser(bytes.NewReader(w.Body.Bytes())),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true,
			ExcludeResponseBody: contentType != "application/json"},
	})
}
