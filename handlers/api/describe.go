package api

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"candor/handlers/api/openapi"
	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// info heads the description of the API at an address.
func info(baseURL string) openapi.Info {
	return openapi.Info{
		Title: "Candor", Version: "1",
		Summary: "Collect a financial statement from your customer.",
		Contact: openapi.Contact{Name: "Candor", URL: baseURL}, License: openapi.License{Name: "MIT", Identifier: "MIT"},
		Description: "Create a session, give its session_url to your customer, and receive events by webhook while the form is filled in. " +
			"After completion, fetch the data as JSON and as a PDF.\n\n" +
			"Money in form data is a number of Australian dollars with at most two decimals; amounts in billing events are whole cents. " +
			"Timestamps are ISO 8601, UTC. New fields are added without notice: ignore those you don’t know. " +
			"Spaces around customer_email, customer_name, reference_id and the texts of prefill are removed. HEAD is answered like GET, without a body. JSON above 1 KB is compressed for clients that accept gzip.",
	}
}

var tags = []openapi.Tag{
	{Name: "Sessions", Description: "One session is one customer’s form."},
	{Name: "Form data", Description: "What a customer submitted."},
	{Name: "Billing", Description: "Your subscription and usage."},
	{Name: "Webhooks", Description: "What we send to you."},
	{Name: "Webhook endpoints", Description: "Where we send it."},
	{Name: "Test mode", Description: "Play the customer and the passing of time, with a test key."},
}

// examples holds a request and a response of each operation, by operation id.
//
//go:embed examples/*.json
var examples embed.FS

func example(name string) (json.RawMessage, error) {
	text, err := examples.ReadFile("examples/" + name + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Describe makes the OpenAPI document of the routes. It is encoded and compressed when it
// is first asked for: most processes of tests don't serve it.
func (s *Server) Describe(routes []Route) (err error) {
	for _, r := range routes {
		s.paths = append(s.paths, r.Path)
	}
	if s.Document, err = s.describe(routes); err != nil {
		return fmt.Errorf("api: describe the API: %w", err)
	}
	return nil
}

// ServeDocument answers with the API's OpenAPI document, to pages of any origin,
// too.
func (s *Server) ServeDocument() echo.HandlerFunc {
	return s.serveDocument(echo.MIMEApplicationJSON, func(text []byte) ([]byte, error) { return text, nil })
}

// ServeYAML is ServeDocument in YAML (RFC 9512).
func (s *Server) ServeYAML() echo.HandlerFunc {
	return s.serveDocument("application/yaml", openapi.YAML)
}

func (s *Server) serveDocument(contentType string, write func([]byte) ([]byte, error)) echo.HandlerFunc {
	document := sync.OnceValues(func() (*web.Asset, error) {
		text, err := encode(s.Document)
		if err == nil {
			text, err = write(text)
		}
		if err != nil {
			return nil, fmt.Errorf("api: encode the description: %w", err)
		}
		return web.NewAsset(text)
	})
	return func(c echo.Context) error {
		asset, err := document()
		if err != nil {
			return err
		}
		h := c.Response().Header()
		h.Set(echo.HeaderContentType, contentType)
		h.Set(echo.HeaderCacheControl, "no-cache")
		h.Set(echo.HeaderAccessControlAllowOrigin, "*")
		return asset.Serve(c, "")
	}
}

// A description collects what a document names while it is made.
type description struct {
	*openapi.Schemas
	baseURL string
	errors  map[string]openapi.Example // an error body of each code that an operation can answer
}

// describe makes the OpenAPI document of the routes.
func (s *Server) describe(routes []Route) (*openapi.Document, error) {
	baseURL := s.BaseURL
	d := description{openapi.NewSchemas(jsonTypes), baseURL, map[string]openapi.Example{}}
	out := &openapi.Document{
		OpenAPI: "3.1.0", Info: info(baseURL), Servers: []openapi.Server{{URL: baseURL + "/v1"}}, Tags: tags,
		Security: []map[string][]string{{"apiKey": {}}},
		Paths:    map[string]map[string]openapi.Operation{},
	}
	for _, r := range routes {
		path := parameterInPath.ReplaceAllString(strings.TrimPrefix(r.Path, "/v1"), "{$1}")
		if out.Paths[path] == nil {
			out.Paths[path] = map[string]openapi.Operation{}
		}
		object, err := d.operation(r)
		if err != nil {
			return nil, err
		}
		if end := s.deprecation(r.Method, r.Path); end != nil {
			object.Deprecated = true
			object.Description += end.String()
		}
		out.Paths[path][strings.ToLower(r.Method)] = object
	}
	out.Errors = map[string]openapi.Example{}
	for _, info := range domain.CodeTable {
		out.Errors[string(info.Code)] = d.errorExample(info)
	}
	var err error
	out.Webhooks, err = d.webhooks()
	out.Components = openapi.Components{Schemas: d.Named, Headers: commonHeaders(), Examples: d.errors,
		SecuritySchemes: map[string]openapi.SecurityScheme{
			"apiKey": {Type: "http", Scheme: "bearer", Format: "candor_(test|live)_[0-9A-Za-z]{38}",
				Description: "An API key of the dashboard, candor_test_… or candor_live_…. Use it on your servers only."},
		}}
	return out, err
}

// jsonTypes describe types whose fields don't show their JSON.
var jsonTypes = map[reflect.Type]openapi.JSONType{
	reflect.TypeFor[domain.SessionID]():  id("sess"),
	reflect.TypeFor[domain.EventID]():    id("evt"),
	reflect.TypeFor[domain.DeliveryID](): id("whd"),
	reflect.TypeFor[domain.EndpointID](): id("whe"),
	reflect.TypeFor[domain.Code]():       errorCode,
	reflect.TypeFor[domain.EventType]():  eventType,
	reflect.TypeFor[eventData]():         anyEventData,
	reflect.TypeFor[feedEvent]():         anyFeedEvent,
	reflect.TypeFor[form.Timestamp](): func(*openapi.Schemas) *form.Schema {
		return &form.Schema{Type: "string", Format: "date-time"}
	},
	reflect.TypeFor[statement.Cents](): func(*openapi.Schemas) *form.Schema { return form.DollarSchema() },
	reflect.TypeFor[domain.Metadata](): metadata,
	reflect.TypeFor[rawPrefill](): func(s *openapi.Schemas) *form.Schema {
		return s.Component("Prefill", statement.PrefillSchema)
	},
	reflect.TypeFor[*statement.Statement](): func(s *openapi.Schemas) *form.Schema {
		return s.Component("FormData", func() *form.Schema {
			return statement.DataSchema(s.Of(reflect.TypeFor[statement.Summary]()), s.Of(reflect.TypeFor[[]statement.Document]()),
				s.Of(reflect.TypeFor[[]statement.Confirmation]()))
		})
	},
}

func id(prefix string) openapi.JSONType {
	return func(*openapi.Schemas) *form.Schema {
		return &form.Schema{Type: "string", Pattern: "^" + prefix + "_[0-7][0-9a-hjkmnp-tv-z]{25}$"}
	}
}

// metadata lists the types of a value one by one, because generators know no
// list of types.
func metadata(s *openapi.Schemas) *form.Schema {
	return &form.Schema{
		Type: "object", MaxProps: domain.MaxMetadataKeys,
		PropNames: &form.Schema{Type: "string", MinLength: 1, MaxLength: domain.MaxMetadataKey},
		Additional: s.Component("MetadataValue", func() *form.Schema {
			return &form.Schema{OneOf: []*form.Schema{{Type: "string", MaxLength: domain.MaxMetadataValue},
				{Type: "number", Format: "double"}, {Type: "boolean"}}}
		}),
	}
}

func errorCode(s *openapi.Schemas) *form.Schema {
	return s.Component("ErrorCode", func() *form.Schema {
		out := &form.Schema{Type: "string",
			Description: "What a program can tell errors apart by. Codes are added: handle one that you don’t know by its HTTP status."}
		for _, info := range domain.CodeTable {
			out.Enum = append(out.Enum, string(info.Code))
		}
		return out
	})
}

func eventType(s *openapi.Schemas) *form.Schema {
	return s.Component("EventType", func() *form.Schema {
		return &form.Schema{Type: "string", Enum: domain.EventType("").Enum(),
			Description: "The name of an event. More are added: ignore those that you don’t know."}
	})
}

func anyEventData(s *openapi.Schemas) *form.Schema {
	either := &form.Schema{}
	for _, event := range domain.EventTable {
		either.OneOf = append(either.OneOf, s.Of(reflect.TypeOf(event.Example.Data)))
	}
	either.OneOf = append(either.OneOf, s.Of(reflect.TypeFor[domain.ErasedPayload]()))
	return either
}

// anyFeedEvent has an object for each type of event, so that the name says which data there
// are (D120).
func anyFeedEvent(s *openapi.Schemas) *form.Schema {
	return s.Component("FeedEvent", func() *form.Schema {
		t := reflect.TypeFor[feedEvent]()
		out := &form.Schema{Description: "An event, by its name.", Common: s.Object(t),
			By: &form.Discriminator{Field: "event", Refs: map[string]string{}}}
		for _, event := range domain.EventTable {
			one := s.Component(openapi.GoName(string(event.Type))+"Event", func() *form.Schema {
				data := s.Of(reflect.TypeOf(event.Example.Data))
				if event.AboutSession() {
					data = &form.Schema{OneOf: []*form.Schema{data, s.Of(reflect.TypeFor[domain.ErasedPayload]())}}
				}
				return narrowed(s.Object(t), event, data)
			})
			out.OneOf, out.By.Refs[string(event.Type)] = append(out.OneOf, one), one.Ref
		}
		return out
	})
}

// narrowed is the schema of an event of any type as that of one type.
func narrowed(object *form.Schema, event domain.EventInfo, data *form.Schema) *form.Schema {
	members := object.Properties
	members["event"] = &form.Schema{Type: "string", Const: string(event.Type), Description: members["event"].Description}
	data.Description = members["data"].Description
	members["data"] = data
	if event.Type != domain.SessionPDFReady {
		delete(members, "pdf_sha256")
	}
	if !event.AboutSession() {
		delete(members, "session_id")
		return object
	}
	object.Required = append(object.Required, "session_id")
	slices.Sort(object.Required)
	return object
}

var parameterInPath = regexp.MustCompile(`:([a-z_]+)`)

func (d description) operation(r Route) (openapi.Operation, error) {
	about := r.Endpoint.description
	if r.Endpoint.test {
		about += " A live key gets 404."
	}
	out := openapi.Operation{
		ID: r.Endpoint.id, Tags: []string{r.Endpoint.tag}, Summary: r.Endpoint.summary, Description: about + " The key needs " +
			r.Needs.String() + ".",
		Parameters: d.Parameters(r.Endpoint.request), Permission: r.Needs.String(), Responses: map[string]openapi.Response{},
	}
	if len(fieldsOf(r.Endpoint.request).body) > 0 {
		request, err := d.json(r.Endpoint.id+".request", d.Of(r.Endpoint.request))
		if err != nil {
			return out, err
		}
		out.RequestBody = &openapi.Body{Required: true, Content: request}
	}
	if r.Method == http.MethodPost {
		out.Parameters = append(out.Parameters, openapi.Parameter{
			Name: headerIdempotencyKey, In: "header",
			Description: "1 to 255 printable ASCII characters. The same key within 24 hours gets the same answer.",
			Schema:      &form.Schema{Type: "string", MinLength: 1, MaxLength: 255, Pattern: "^[!-~]([ -~]*[!-~])?$"},
		})
	}
	// Where there is nothing else to name, a parameter would only change the generated clients.
	if slices.ContainsFunc(out.Parameters, func(p openapi.Parameter) bool { return p.In != "path" }) {
		out.Parameters = append(out.Parameters, openapi.Parameter{
			Name: headerStrict, In: "header",
			Description: "1 refuses the request if it has a field or query parameter that the address doesn’t know. Without it, those are ignored and named in Candor-Ignored.",
			Schema:      &form.Schema{Type: "string", Enum: []string{"1"}},
		})
	}
	success := openapi.Response{Description: r.Endpoint.summary + ": done.", Headers: headerRefs(responseHeaders)}
	var err error
	if r.Endpoint.files == nil {
		success.Content, err = d.json(r.Endpoint.id+".response", d.Of(r.Endpoint.response))
	} else {
		success.Content = map[string]openapi.Media{}
		for _, contentType := range r.Endpoint.files {
			success.Content[contentType] = openapi.Media{Schema: &form.Schema{Type: "string", Format: "binary"}}
		}
		success.Headers[echo.HeaderContentDisposition] = openapi.Header{Description: "inline or attachment, and the file’s name.",
			Required: true, Schema: &form.Schema{Type: "string"}}
		success.Headers["Accept-Ranges"] = openapi.Header{Description: "A part can be asked for by `Range`.",
			Required: true, Schema: &form.Schema{Type: "string", Const: "bytes"}}
	}
	if r.Method == http.MethodPost {
		success.Headers[headerReplayed] = openapi.Header{Ref: "#/components/headers/" + headerReplayed}
	}
	if r.Method == http.MethodGet {
		success.Headers["ETag"] = openapi.Header{Ref: "#/components/headers/ETag"}
		out.Responses["304"] = openapi.Response{
			Description: "Nothing has changed since the answer whose `ETag` is in the request’s `If-None-Match`.",
			Headers:     maps.Clone(success.Headers)}
		delete(out.Responses["304"].Headers, echo.HeaderContentDisposition)
		delete(out.Responses["304"].Headers, "Accept-Ranges")
	}
	out.Responses[strconv.Itoa(r.Endpoint.status)] = success
	if r.Endpoint.files != nil {
		part := success
		part.Description = "The part that the request’s `Range` asks for."
		part.Headers = maps.Clone(success.Headers)
		part.Headers["Content-Range"] = openapi.Header{Ref: "#/components/headers/Content-Range"}
		out.Responses["206"] = part
	}
	d.addErrors(&out, r)
	return out, err
}

// json is the content of a JSON body.
func (d description) json(exampleName string, schema *form.Schema) (map[string]openapi.Media, error) {
	text, err := example(exampleName)
	return map[string]openapi.Media{echo.MIMEApplicationJSON: {Schema: schema, Example: text}}, err
}

// addErrors describes the errors of an operation: one response a status, with
// all codes that have it.
func (d description) addErrors(out *openapi.Operation, r Route) {
	codes := append([]domain.Code{domain.CodeInvalidRequest, domain.CodeUnauthorized, domain.CodeInvalidAPIKey, domain.CodeForbidden,
		domain.CodeRateLimitExceeded, domain.CodeServiceUnavailable, domain.CodeInternal}, r.Endpoint.errors...)
	if slices.Contains(r.Needs, domain.BillingRead) {
		codes = append(codes, domain.CodeBillingAccessDenied)
	}
	if r.Method == http.MethodPost || r.Method == http.MethodPatch {
		codes = append(codes, domain.CodePayloadTooLarge, domain.CodeRequestTimeout, domain.CodeUnsupportedMediaType)
	}
	if r.Method == http.MethodPost {
		codes = append(codes, domain.CodeIdempotencyInProgress, domain.CodeIdempotencyKeyReused)
	}
	if r.Endpoint.test {
		codes = append(codes, domain.CodeNotFound)
	}
	slices.Sort(codes)
	codes = slices.Compact(codes)
	byStatus := map[int][]domain.CodeInfo{}
	for _, code := range codes {
		byStatus[code.Status()] = append(byStatus[code.Status()], code.Info())
	}
	for status, infos := range byStatus {
		var lines []string
		examples := map[string]openapi.Example{}
		// ogen has one type for all responses of a status with the same headers, so 409 is the
		// same everywhere.
		always, some := status != http.StatusConflict, false
		for _, info := range infos {
			d.errors[string(info.Code)] = d.errorExample(info)
			examples[string(info.Code)] = openapi.Example{Ref: "#/components/examples/" + string(info.Code)}
			lines = append(lines, fmt.Sprintf("`%s`: %s", info.Code, info.Meaning))
			always, some = always && info.Retry, some || info.Retry
		}
		response := openapi.Response{
			Description: strings.Join(lines, "\n\n"), Headers: headerRefs(responseHeaders),
			Content: map[string]openapi.Media{echo.MIMEApplicationJSON: {Schema: d.Of(reflect.TypeFor[errorBody]()), Examples: examples}},
		}
		if status == http.StatusUnauthorized {
			response.Headers[echo.HeaderWWWAuthenticate] = openapi.Header{Ref: "#/components/headers/" + echo.HeaderWWWAuthenticate}
		}
		if status == http.StatusRequestedRangeNotSatisfiable {
			response.Headers["Content-Range"] = openapi.Header{Ref: "#/components/headers/Content-Range"}
		}
		switch {
		case always:
			response.Headers[web.HeaderRetry] = openapi.Header{Ref: "#/components/headers/" + web.HeaderRetry}
		case some:
			header := commonHeaders()[web.HeaderRetry]
			header.Required, header.Description = false, header.Description+" Only with a code that waiting helps."
			response.Headers[web.HeaderRetry] = header
		}
		if r.Method == http.MethodPost && keepsAnswer(status) {
			response.Headers[headerReplayed] = openapi.Header{Ref: "#/components/headers/" + headerReplayed}
		}
		out.Responses[strconv.Itoa(status)] = response
	}
}

func (d description) errorExample(info domain.CodeInfo) openapi.Example {
	failed := &domain.Error{Code: info.Code, Message: info.Meaning}
	if field, ok := exampleFields[info.Code]; ok {
		failed.Message, failed.Fields = "", form.Errors{field}
	}
	return openapi.Example{Summary: string(info.Code), Value: newErrorBody(d.baseURL, failed, nil)}
}

// exampleFields are invalid fields, by the code that they lead to.
var exampleFields = map[domain.Code]form.Error{
	domain.CodeInvalidRequest:  {Field: "customer_email", Message: "customer_email is required."},
	domain.CodeInvalidFormType: {Field: "form_type", Rule: form.Rule{Code: "form_type"}},
	domain.CodeInvalidEmail:    {Field: "customer_email", Rule: form.Rule{Code: form.RuleEmail}},
	domain.CodeValidation: {Field: "expires_in_days", Rule: form.Rule{Code: form.RuleRange, Min: 1,
		Max: domain.MaxExpiresInDays}},
}

// responseHeaders are on every response of the API, the last one if there is something to
// name.
var responseHeaders = []string{"X-Request-Id", headerLimit, headerRemaining, headerReset, headerIgnored}

func headerRefs(names []string) map[string]openapi.Header {
	out := map[string]openapi.Header{}
	for _, name := range names {
		out[name] = openapi.Header{Ref: "#/components/headers/" + name}
	}
	return out
}

func commonHeaders() map[string]openapi.Header {
	number := &form.Schema{Type: "integer", Minimum: "0"}
	return map[string]openapi.Header{
		"X-Request-Id": {Description: "Names this request in our logs; tell us when you ask about it.", Required: true,
			Schema: &form.Schema{Type: "string"}},
		headerLimit: {Description: "Requests a minute, the standard rate.", Required: true, Schema: number},
		headerRemaining: {
			Description: "Requests left of X-RateLimit-Limit. At 0 a burst of as many again is let through before 429.", Required: true,
			Schema: number},
		headerReset: {Description: "Unix second at which X-RateLimit-Remaining is X-RateLimit-Limit again.",
			Required: true, Schema: number},
		echo.HeaderWWWAuthenticate: {Description: "How to authenticate.", Required: true, Schema: &form.Schema{Type: "string",
			Const: wwwAuthenticate}},
		web.HeaderRetry: {Description: "Seconds to wait before the next try.", Required: true,
			Schema: &form.Schema{Type: "integer", Minimum: "1"}},
		"ETag": {
			Description: "Names this state of the answer. Send it as If-None-Match to be told 304 while it is the same.", Required: true,
			Schema: &form.Schema{Type: "string"}},
		"Content-Range": {Description: "Which bytes these are, of how many; `bytes */` and how many if they are none.", Required: true,
			Schema: &form.Schema{Type: "string"}},
		headerIgnored: {
			Description: "The fields or query parameters that the request has and the address doesn’t know, at most 10, each with the known name that is nearest to it: `customerName;nearest=customer_name, colour`. A structured field (RFC 9651): a name that is no token is a display string, `%\"gr%c3%b6%c3%9fe\"` for größe.", Schema: &form.Schema{Type: "string"}},
		headerReplayed: {
			Description: "true where this is the kept answer to an earlier request with the same Idempotency-Key.",
			Schema:      &form.Schema{Type: "string", Const: "true"}},
	}
}
