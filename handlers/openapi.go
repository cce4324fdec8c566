package handlers

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/form"
)

// An operationDoc is what an endpoint's types can't say of it.
type operationDoc struct {
	id          string
	tag         string
	summary     string
	description string
	errors      []domain.Code // beyond those that any endpoint can answer
	files       []string      // content types of a response that isn't JSON
}

// The objects of an OpenAPI 3.1 document, as far as this one has them.
type (
	openAPI struct {
		OpenAPI    string                         `json:"openapi"`
		Info       openAPIInfo                    `json:"info"`
		Servers    []openAPIServer                `json:"servers"`
		Security   []map[string][]string          `json:"security"`
		Tags       []openAPITag                   `json:"tags"`
		Paths      map[string]map[string]openAPIO `json:"paths"`
		Webhooks   map[string]map[string]openAPIO `json:"webhooks"`
		Components openAPIComponents              `json:"components"`
	}
	openAPIInfo struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Summary     string `json:"summary"`
		Description string `json:"description"`
	}
	openAPIServer struct {
		URL string `json:"url"`
	}
	openAPITag struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	openAPIO struct {
		ID          string                     `json:"operationId"`
		Tags        []string                   `json:"tags"`
		Summary     string                     `json:"summary"`
		Description string                     `json:"description"`
		Security    []map[string][]string      `json:"security,omitempty"`
		Parameters  []openAPIParameter         `json:"parameters,omitempty"`
		RequestBody *openAPIBody               `json:"requestBody,omitempty"`
		Responses   map[string]openAPIResponse `json:"responses"`
	}
	openAPIParameter struct {
		Name        string       `json:"name"`
		In          string       `json:"in"`
		Description string       `json:"description"`
		Required    bool         `json:"required,omitempty"`
		Schema      *form.Schema `json:"schema"`
	}
	openAPIBody struct {
		Required bool                    `json:"required"`
		Content  map[string]openAPIMedia `json:"content"`
	}
	openAPIMedia struct {
		Schema  *form.Schema    `json:"schema,omitempty"`
		Example json.RawMessage `json:"example,omitempty"`
	}
	openAPIResponse struct {
		Description string                   `json:"description"`
		Headers     map[string]openAPIHeader `json:"headers,omitempty"`
		Content     map[string]openAPIMedia  `json:"content,omitempty"`
	}
	openAPIHeader struct {
		Ref         string       `json:"$ref,omitempty"`
		Description string       `json:"description,omitempty"`
		Required    bool         `json:"required,omitempty"`
		Schema      *form.Schema `json:"schema,omitempty"`
	}
	openAPIComponents struct {
		Schemas         map[string]*form.Schema    `json:"schemas"`
		Headers         map[string]openAPIHeader   `json:"headers"`
		SecuritySchemes map[string]openAPISecurity `json:"securitySchemes"`
	}
	openAPISecurity struct {
		Type        string `json:"type"`
		Scheme      string `json:"scheme"`
		Description string `json:"description"`
	}
)

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

// serveDescription serves the API's OpenAPI document, to everyone.
func (s *Server) serveDescription(e *echo.Echo, operations []operation) error {
	document, err := describe(s.BaseURL, operations)
	if err != nil {
		return fmt.Errorf("handlers: describe the API: %w", err)
	}
	text, err := encode(document)
	if err != nil {
		return fmt.Errorf("handlers: describe the API: %w", err)
	}
	e.Match(read, "/v1/openapi.json", func(c echo.Context) error { return writeBody(c, http.StatusOK, text) })
	return nil
}

// describe makes the OpenAPI document of the operations.
func describe(baseURL string, operations []operation) (*openAPI, error) {
	c := schemas{}
	out := &openAPI{
		OpenAPI: "3.1.0", Info: info, Servers: []openAPIServer{{URL: baseURL + "/v1"}}, Tags: tags,
		Security: []map[string][]string{{"apiKey": {}}},
		Paths:    map[string]map[string]openAPIO{},
	}
	for _, op := range operations {
		path := parameterInPath.ReplaceAllString(strings.TrimPrefix(op.path, "/v1"), "{$1}")
		if out.Paths[path] == nil {
			out.Paths[path] = map[string]openAPIO{}
		}
		object, err := c.operation(op)
		if err != nil {
			return nil, err
		}
		out.Paths[path][strings.ToLower(op.method)] = object
	}
	var err error
	out.Webhooks, err = c.webhooks()
	out.Components = openAPIComponents{Schemas: c, Headers: commonHeaders(), SecuritySchemes: map[string]openAPISecurity{
		"apiKey": {Type: "http", Scheme: "bearer", Description: "An API key of the dashboard, candor_test_… or candor_live_…. Use it on your servers only."},
	}}
	return out, err
}

var parameterInPath = regexp.MustCompile(`:([a-z_]+)`)

func (c schemas) operation(op operation) (openAPIO, error) {
	out := openAPIO{
		ID: op.doc.id, Tags: []string{op.doc.tag}, Summary: op.doc.summary, Description: op.doc.description + " The key needs " + op.needs.String() + ".",
		Parameters: c.parameters(op.request), Responses: map[string]openAPIResponse{},
	}
	if op.method == http.MethodPost {
		request, err := c.json(op.doc.id+".request", c.of(op.request))
		if err != nil {
			return out, err
		}
		out.RequestBody = &openAPIBody{Required: true, Content: request}
		out.Parameters = append(out.Parameters, openAPIParameter{
			Name: headerIdempotencyKey, In: "header", Description: "1 to 255 printable characters. The same key within 24 hours gets the same answer.",
			Schema: &form.Schema{Type: "string", MinLength: 1, MaxLength: 255},
		})
	}
	success := openAPIResponse{Description: op.doc.summary + ": done.", Headers: headerRefs(responseHeaders)}
	var err error
	if op.doc.files == nil {
		success.Content, err = c.json(op.doc.id+".response", c.of(op.response))
	} else {
		success.Content = map[string]openAPIMedia{}
		for _, contentType := range op.doc.files {
			success.Content[contentType] = openAPIMedia{}
		}
		success.Headers["Content-Disposition"] = openAPIHeader{Description: "inline or attachment, and the file's name.", Required: true, Schema: &form.Schema{Type: "string"}}
	}
	if op.method == http.MethodPost {
		success.Headers[headerReplayed] = openAPIHeader{Ref: "#/components/headers/" + headerReplayed}
	}
	out.Responses[strconv.Itoa(op.status)] = success
	c.addErrors(&out, op)
	return out, err
}

// json is the content of a JSON body.
func (c schemas) json(exampleName string, schema *form.Schema) (map[string]openAPIMedia, error) {
	text, err := example(exampleName)
	return map[string]openAPIMedia{echo.MIMEApplicationJSON: {Schema: schema, Example: text}}, err
}

// parameters describes the fields tagged path and query.
func (c schemas) parameters(request reflect.Type) []openAPIParameter {
	var out []openAPIParameter
	for _, f := range fieldsOf(request) {
		for _, in := range []string{"path", "query"} {
			if name, ok := f.Tag.Lookup(in); ok {
				schema := c.leaf(f)
				schema.Description = ""
				out = append(out, openAPIParameter{Name: name, In: in, Description: f.Tag.Get("doc"), Required: in == "path", Schema: schema})
			}
		}
	}
	return out
}

// addErrors describes the errors of an operation: one response a status, with
// all codes that it can carry.
func (c schemas) addErrors(out *openAPIO, op operation) {
	codes := append([]domain.Code{domain.CodeInvalidRequest, domain.CodeUnauthorized, domain.CodeInvalidAPIKey, domain.CodeRateLimitExceeded, domain.CodeInternal}, op.doc.errors...)
	switch {
	case slices.Contains(op.needs, domain.BillingRead):
		codes = append(codes, domain.CodeBillingAccessDenied)
	default:
		codes = append(codes, domain.CodeForbidden)
	}
	if op.method == http.MethodPost {
		codes = append(codes, domain.CodePayloadTooLarge, domain.CodeRequestTimeout, domain.CodeUnsupportedMediaType, domain.CodeIdempotencyInProgress, domain.CodeIdempotencyKeyReused, domain.CodeServiceUnavailable)
	}
	slices.Sort(codes)
	byStatus := map[int][]domain.CodeInfo{}
	for _, code := range codes {
		byStatus[code.Status()] = append(byStatus[code.Status()], code.Info())
	}
	for status, infos := range byStatus {
		var codes, lines []string
		retry := true
		for _, info := range infos {
			codes = append(codes, string(info.Code))
			lines = append(lines, fmt.Sprintf("`%s`: %s", info.Code, info.Meaning))
			retry = retry && info.Retry
		}
		response := openAPIResponse{
			Description: strings.Join(lines, "\n\n"), Headers: headerRefs(responseHeaders),
			Content: map[string]openAPIMedia{echo.MIMEApplicationJSON: {Schema: c.errorWith(codes)}},
		}
		if retry {
			response.Headers[headerRetry] = openAPIHeader{Ref: "#/components/headers/" + headerRetry}
		}
		if op.method == http.MethodPost && keepsAnswer(status) {
			response.Headers[headerReplayed] = openAPIHeader{Ref: "#/components/headers/" + headerReplayed}
		}
		out.Responses[strconv.Itoa(status)] = response
	}
}

// errorWith is the error body with one of the codes.
func (c schemas) errorWith(codes []string) *form.Schema {
	body := c.of(reflect.TypeFor[errorBody]())
	return &form.Schema{Ref: body.Ref, Properties: map[string]*form.Schema{
		"error": {Properties: map[string]*form.Schema{"code": {Enum: codes}}},
	}}
}

// responseHeaders are on every response of the API.
var responseHeaders = []string{"X-Request-Id", headerLimit, headerRemaining, headerReset}

func headerRefs(names []string) map[string]openAPIHeader {
	out := map[string]openAPIHeader{}
	for _, name := range names {
		out[name] = openAPIHeader{Ref: "#/components/headers/" + name}
	}
	return out
}

func commonHeaders() map[string]openAPIHeader {
	number := &form.Schema{Type: "integer", Minimum: "0"}
	return map[string]openAPIHeader{
		"X-Request-Id":  {Description: "Names this request in our logs; tell us when you ask about it.", Required: true, Schema: &form.Schema{Type: "string"}},
		headerLimit:     {Description: "Requests a minute, the standard rate.", Required: true, Schema: number},
		headerRemaining: {Description: "Requests left now, at most X-RateLimit-Limit.", Required: true, Schema: number},
		headerReset:     {Description: "Unix second at which X-RateLimit-Remaining is X-RateLimit-Limit again.", Required: true, Schema: number},
		headerRetry:     {Description: "Seconds to wait before the next try.", Required: true, Schema: &form.Schema{Type: "integer", Minimum: "1"}},
		headerReplayed:  {Description: "true where this is the kept answer to an earlier request with the same Idempotency-Key.", Schema: &form.Schema{Type: "string", Const: "true"}},
	}
}
