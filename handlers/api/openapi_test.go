package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/testkit/harness"
)

// TestMismatch makes sure that the check of every response finds faults.
func TestMismatch(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	created := h.Post("/sessions", harness.ValidBody).WantStatus(http.StatusCreated)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.RecordEvent(session, domain.SectionCompletedPayload{SessionID: session.ID, Section: "income"})
	feed := h.Get("/events").WantStatus(http.StatusOK).Body.String()
	doc := harness.Described.Load(t, h.Handler)
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
		"no limit header": {"/sessions", `{"data":[],"pagination":{"page":1,"per_page":20,"total":0,"total_pages":0}}`,
			"X-RateLimit-Limit", 200},
		"no fault":             {"/sessions", `{"data":[],"pagination":{"page":1,"per_page":20,"total":0,"total_pages":0}}`, "", 200},
		"another event's data": {"/events", strings.Replace(feed, `"section"`, `"sektion"`, 1), "", 200},
		"no fault, an event":   {"/events", feed, "", 200},
	} {
		r := h.Request(harness.Call{Method: http.MethodGet, Path: test.path})
		path, item, operation := harness.FindOperation(doc, r)
		w := httptest.NewRecorder()
		maps.Copy(w.Header(), created.Header())
		w.Header().Set("ETag", `W/"x"`)
		w.Header().Del(test.drop)
		w.WriteHeader(test.status)
		_, err := w.WriteString(test.body)
		h.OK(err)
		if err := harness.Mismatch(doc, path, item, operation, r, w); (err == nil) != strings.HasPrefix(name, "no fault") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWebhookSchemas holds the described webhooks to the bodies that are sent,
// and to their examples.
func TestWebhookSchemas(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{ReferenceID: "R1"})
	h.Complete(session.ID)
	var events []domain.Event
	h.OK(h.DB.Raw().SelectContext(h.Context(), &events,
		`SELECT id, account_id, livemode, session_id, type, body, created_at FROM event`))
	for _, info := range domain.EventTable {
		event, err := domain.NewEvent(h.TestScope(), info.Example.SessionID, 1, info.Example.Data, harness.StartTime)
		h.OK(err)
		events = append(events, *event)
	}
	at := form.At(harness.StartTime)
	for _, payload := range []domain.Payload{
		domain.CompletedPayload{SessionID: session.ID, CompletedAt: at, FormType: domain.FinancialStatement},
		domain.PDFReadyPayload{SessionID: session.ID, PDFURL: harness.BaseURL},
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
		event, err := domain.NewEvent(h.TestScope(), id, 1, payload, harness.StartTime)
		h.OK(err)
		events = append(events, *event)
	}
	doc := harness.Described.Load(t, h.Handler)
	seen := map[string]bool{}
	for _, event := range events {
		seen[string(event.Type)] = true
		media := doc.Webhooks[string(event.Type)].Post.RequestBody.Value.Content.Get("application/json")
		var body any
		h.OK(json.Unmarshal(event.Body, &body))
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
	h := harness.New(t)
	a := h.Do(harness.Call{Method: http.MethodGet, Path: "/openapi.json", Key: harness.NoKey}).WantStatus(http.StatusOK)
	doc, err := openapi3.NewLoader().LoadFromData(a.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation()); err != nil {
		t.Error(err)
	}
	if !doc.IsOpenAPI31OrLater() || doc.Servers[0].URL != harness.BaseURL+"/v1" {
		t.Errorf("version %s, servers %v", doc.OpenAPI, doc.Servers[0].URL)
	}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.Description == "" || operation.Summary == "" || operation.OperationID == "" {
				t.Errorf("%s %s isn't described", method, path)
			}
			for status, response := range operation.Responses.Map() {
				media := response.Value.Content.Get("application/json")
				if media != nil && media.Example == nil && len(media.Examples) == 0 {
					t.Errorf("%s %s: no example of %s", method, path, status)
				}
				for _, name := range []string{"X-Request-Id", "X-RateLimit-Limit", "Candor-Ignored"} {
					if response.Value.Headers[name] == nil {
						t.Errorf("%s %s: %s isn't among the headers of %s", method, path, name, status)
					}
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

// TestDocumentSuitsGenerators: ogen knows no anyOf of objects, hey-api's zod makes bigint of
// int64, and an event's name says what its data are (D120).
func TestDocumentSuitsGenerators(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	text := h.Do(harness.Call{Method: http.MethodGet, Path: "/openapi.json", Key: harness.NoKey}).Body.String()
	for _, unwanted := range []string{`"anyOf"`, `"int64"`} {
		if strings.Contains(text, unwanted) {
			t.Errorf("the document has %s", unwanted)
		}
	}
	union := harness.Described.Load(t, h.Handler).Components.Schemas["FeedEvent"].Value
	names := map[string]string{}
	for _, one := range union.OneOf {
		event, _ := one.Value.Properties["event"].Value.Const.(string)
		names[event] = one.Ref
	}
	for _, info := range domain.EventTable {
		ref := names[string(info.Type)]
		if ref == "" || union.Discriminator.Mapping[string(info.Type)].Ref != ref {
			t.Errorf("%s is %q in the list, %v in the mapping", info.Type, ref, union.Discriminator.Mapping)
		}
	}
}

// TestDocumentAsYAML reads the document as YAML: it is the same.
func TestDocumentAsYAML(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	read := func(path string) string {
		a := h.Do(harness.Call{Method: http.MethodGet, Path: path, Key: harness.NoKey}).WantStatus(http.StatusOK)
		document, err := openapi3.NewLoader().LoadFromData(a.Body.Bytes())
		h.OK(err)
		text, err := json.Marshal(document)
		h.OK(err)
		return string(text)
	}
	if read("/openapi.json") != read("/openapi.yaml") {
		t.Error("the document as YAML is another one")
	}
}

// TestDocumentIsCached asks for the document as a browser's page does, and again
// with the tag of the first answer.
func TestDocumentIsCached(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	get := func(header ...string) harness.Answer {
		r := h.Request(harness.Call{Method: http.MethodGet, Path: "/openapi.json", Key: harness.NoKey})
		for pair := range slices.Chunk(header, 2) {
			r.Header.Set(pair[0], pair[1])
		}
		return harness.AnswerOf(t, h.Serve(r))
	}
	if refused := get("Accept-Encoding", "br, gzip;q=0"); refused.Header().Get("Content-Encoding") != "" {
		t.Errorf("compressed for who refuses it: %v", refused.Header())
	}
	plain, packed := get().WantStatus(http.StatusOK), get("Accept-Encoding", "gzip").WantStatus(http.StatusOK)
	if plain.Header().Get("Access-Control-Allow-Origin") != "*" || plain.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("headers %v", plain.Header())
	}
	unpacked, err := gzip.NewReader(packed.Body)
	h.OK(err)
	text, err := io.ReadAll(unpacked)
	h.OK(err)
	if !bytes.Equal(text, plain.Body.Bytes()) || packed.Header().Get("Content-Type") != "application/json" {
		t.Errorf("compressed, it is another document: %v", packed.Header())
	}
	for _, a := range []harness.Answer{plain, packed} {
		again := get("If-None-Match", a.Header().Get("ETag"), "Accept-Encoding", a.Header().Get("Content-Encoding")).
			WantStatus(http.StatusNotModified)
		if again.Body.Len() > 0 {
			t.Errorf("%d bytes with 304", again.Body.Len())
		}
	}
	get("If-None-Match", `"another"`).WantStatus(http.StatusOK)
}

// TestEverythingIsDescribed checks that no field or parameter is left to be
// guessed at.
func TestEverythingIsDescribed(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	doc := harness.Described.Load(t, h.Handler)
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
		if property.Value.Description == "" && property.Value.Title == "" && property.Value.Properties == nil &&
			property.Value.Items == nil {
			t.Errorf("%s isn't described", at)
		}
		describedAll(t, at, property.Value)
		if property.Value.Items != nil {
			describedAll(t, at+"[]", property.Value.Items.Value)
		}
	}
}

// TestEveryRouteIsDocumented holds the document to the routes, read from what the server answers.
func TestEveryRouteIsDocumented(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	var got []string
	for path, item := range harness.Described.Load(t, h.Handler).Paths.Map() {
		for method := range item.Operations() {
			got = append(got, method+" "+path)
		}
	}
	slices.Sort(got)
	var want []string
	parameter := regexp.MustCompile(`:(\w+)`)
	for _, route := range harness.RoutesOf(handlers.APIKey) {
		name, _ := strings.CutPrefix(route.Path, "/v1")
		want = append(want, route.Method+" "+parameter.ReplaceAllString(name, "{$1}"))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("documented: %q, want %q", got, want)
	}
}
