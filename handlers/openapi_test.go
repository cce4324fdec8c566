package handlers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"candor/internal/domain"
	"candor/internal/form"
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
		r := httptest.NewRequest(http.MethodGet, "/v1/openapi.json", nil)
		r.RemoteAddr = "[2001:db8:ffff::1]:1" // it counts against the limit of no address that a test counts
		h.ServeHTTP(recorder, r)
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
	if err := mismatch(doc, path, item, operation, r, w); err != nil {
		b.Errorf("%s %s: the answer %d isn't as documented: %v\n%s", r.Method, r.URL.Path, w.Code, err, w.Body)
	}
}

// mismatch is how a response differs from what is documented, nil for none.
func mismatch(doc *openapi3.T, path string, item *openapi3.PathItem, operation *openapi3.Operation, r *http.Request, w *httptest.ResponseRecorder) error {
	contentType := w.Header().Get("Content-Type")
	if response := operation.Responses.Status(w.Code); response != nil && response.Value.Content.Get(contentType) == nil {
		return fmt.Errorf("content type %q isn't documented for %d", contentType, w.Code)
	}
	return openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: r, Route: &routers.Route{Spec: doc, Path: path, PathItem: item, Method: r.Method, Operation: operation},
		},
		Status: w.Code, Header: w.Header(), Body: io.NopCloser(bytes.NewReader(w.Body.Bytes())),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true, ExcludeResponseBody: contentType != "application/json"},
	})
}

// TestMismatch makes sure that the check of every response finds faults.
func TestMismatch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	created := b.post("/sessions", validBody).status(http.StatusCreated)
	doc := described.load(t, b.handler)
	for name, test := range map[string]struct {
		path, body, drop string
		status           int
	}{
		"progress missing":     {"/sessions/" + unknownSession, created.Body.String(), "", 200},
		"undocumented status":  {"/billing/usage", `{"error":{"code":"session_completed","message":"x"}}`, "", 409},
		"code of another call": {"/billing/usage", `{"error":{"code":"session_not_completed","message":"x"}}`, "", 400},
		"error without code":   {"/billing/usage", `{"error":{"message":"x"}}`, "", 400},
		"a wrong type":         {"/sessions", `{"data":[],"pagination":{"page":"1","per_page":20,"total":0,"total_pages":0}}`, "", 200},
		"null for an array":    {"/sessions", `{"data":null,"pagination":{"page":1,"per_page":20,"total":0,"total_pages":0}}`, "", 200},
		"no limit header":      {"/sessions", `{"data":[],"pagination":{"page":1,"per_page":20,"total":0,"total_pages":0}}`, "X-RateLimit-Limit", 200},
		"no fault":             {"/sessions", `{"data":[],"pagination":{"page":1,"per_page":20,"total":0,"total_pages":0}}`, "", 200},
	} {
		r := b.request(apiCall{method: http.MethodGet, path: test.path})
		path, item, operation := find(doc, r)
		w := httptest.NewRecorder()
		maps.Copy(w.Header(), created.Header())
		w.Header().Del(test.drop)
		w.WriteHeader(test.status)
		_, err := w.WriteString(test.body)
		b.ok(err)
		if err := mismatch(doc, path, item, operation, r, w); (err == nil) != (name == "no fault") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWebhookSchemas holds the described webhooks to the bodies that are sent,
// and to their examples.
func TestWebhookSchemas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.newSession(b.testScope(), domain.NewSession{ReferenceID: "R1"})
	b.complete(session.ID)
	var events []domain.Event
	b.ok(b.db.Raw().SelectContext(b.Context(), &events, `SELECT id, account_id, livemode, session_id, type, body, created_at FROM event`))
	for _, info := range domain.EventTable {
		event, err := domain.NewEvent(b.testScope(), info.Example.SessionID, 1, info.Example.Data, startTime)
		b.ok(err)
		events = append(events, *event)
	}
	at := form.At(startTime)
	for _, payload := range []domain.Payload{
		domain.CompletedPayload{SessionID: session.ID, CompletedAt: at, FormType: domain.FinancialStatement},
		domain.PDFReadyPayload{SessionID: session.ID, PDFURL: baseURL},
		domain.ExpiredPayload{SessionID: session.ID, ExpiredAt: at},
		domain.ExpiredPayload{SessionID: session.ID, ExpiredAt: at, LastActivityAt: &at},
		domain.InvoicePaidPayload{InvoiceID: "inv_1", Currency: "AUD", PeriodStart: at, PeriodEnd: at},
		domain.InvoicePaymentFailedPayload{InvoiceID: "inv_1"},
		domain.SubscriptionCancelledPayload{EffectiveDate: at},
	} {
		id := &session.ID
		if strings.Contains(fmt.Sprintf("%T", payload), "Invoice") || strings.Contains(fmt.Sprintf("%T", payload), "Subscription") {
			id = nil
		}
		event, err := domain.NewEvent(b.testScope(), id, 1, payload, startTime)
		b.ok(err)
		events = append(events, *event)
	}
	doc := described.load(t, b.handler)
	seen := map[string]bool{}
	for _, event := range events {
		seen[string(event.Type)] = true
		media := doc.Webhooks[string(event.Type)].Post.RequestBody.Value.Content.Get("application/json")
		var body any
		b.ok(json.Unmarshal(event.Body, &body))
		for _, value := range []any{body, media.Example} {
			if err := media.Schema.Value.VisitJSON(value, openapi3.EnableJSONSchema2020(), openapi3.MultiErrors()); err != nil {
				t.Errorf("%s: %v", event.Type, err)
			}
		}
		object := body.(map[string]any)
		delete(object, "livemode")
		if err := media.Schema.Value.VisitJSON(object, openapi3.EnableJSONSchema2020()); err == nil {
			t.Errorf("%s: a body without livemode passes", event.Type)
		}
	}
	if len(seen) != len(doc.Webhooks) {
		t.Errorf("checked %d events of %d", len(seen), len(doc.Webhooks))
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
	if len(doc.Webhooks) != len(domain.EventTable) {
		t.Errorf("%d webhooks, want %d", len(doc.Webhooks), len(domain.EventTable))
	}
	for event, item := range doc.Webhooks {
		if item.Post.RequestBody.Value.Content.Get("application/json").Example == nil {
			t.Errorf("%s: no example", event)
		}
	}
}

// TestEverythingIsDescribed checks that no field or parameter is left to be
// guessed at.
func TestEverythingIsDescribed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	doc := described.load(t, b.handler)
	for name, schema := range doc.Components.Schemas {
		describedAll(t, name, schema.Value)
	}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for _, parameter := range operation.Parameters {
				if parameter.Value.Description == "" {
					t.Errorf("%s %s: %s isn't described", method, path, parameter.Value.Name)
				}
			}
			for status, response := range operation.Responses.Map() {
				for line := range strings.SplitSeq(*response.Value.Description, "\n") {
					if strings.HasSuffix(line, ": ") {
						t.Errorf("%s %s: %s: %q has no meaning", method, path, status, line)
					}
				}
			}
		}
	}
}

func describedAll(t *testing.T, at string, schema *openapi3.Schema) {
	t.Helper()
	for name, property := range schema.Properties {
		at := at + "." + name
		if property.Value.Description == "" && property.Value.Title == "" && property.Value.Properties == nil && property.Value.Items == nil {
			t.Errorf("%s isn't described", at)
		}
		describedAll(t, at, property.Value)
		if property.Value.Items != nil {
			describedAll(t, at+"[]", property.Value.Items.Value)
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
		"DELETE /sessions/{id}", "GET /billing/subscription", "GET /billing/usage", "GET /events", "GET /sessions", "GET /sessions/{id}",
		"GET /sessions/{id}/data", "GET /sessions/{id}/documents/{document_id}", "GET /sessions/{id}/pdf", "POST /sessions",
	}
	if !slices.Equal(got, want) {
		t.Errorf("documented: %q, want %q", got, want)
	}
}
