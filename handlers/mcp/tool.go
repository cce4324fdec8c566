package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"candor/handlers/api/openapi"
	"candor/internal/form"
)

// A tool is an operation of the API.
type tool struct {
	operation    openapi.Operation
	method, path string            // as in the document
	status       int               // of success
	in           map[string]string // where a parameter goes: path, query or header
	hasBody      bool
	schema       json.RawMessage // of the arguments
}

// tools are all operations, in the document's order.
func (s *Server) tools() (out []tool, err error) {
	for _, path := range slices.Sorted(maps.Keys(s.Document.Paths)) {
		for method, o := range s.Document.Paths[path] {
			one := tool{operation: o, method: strings.ToUpper(method), path: path, in: map[string]string{}, hasBody: o.RequestBody != nil}
			one.status, _ = o.Success()
			if one.schema, err = s.arguments(&one); err != nil {
				return nil, fmt.Errorf("mcp: %s: %w", o.ID, err)
			}
			out = append(out, one)
		}
	}
	return out, nil
}

// idempotencyKey is the argument that names what a call does; agents write names like it.
const idempotencyKey = "idempotency_key"

// waits is a parameter that tools lack: a message that waits would keep its place.
const waits = "wait"

// arguments is the schema of a tool's arguments: the operation's parameters, and the
// members of its body beside them.
func (s *Server) arguments(t *tool) (json.RawMessage, error) {
	properties, required := map[string]*form.Schema{}, []string{}
	for _, p := range t.operation.Parameters {
		name := p.Name
		switch {
		case p.Name == "Idempotency-Key":
			name = idempotencyKey
		case p.In == "header", p.Name == waits:
			continue
		}
		schema := *p.Schema
		schema.Description = p.Description
		properties[name], t.in[name] = &schema, p.In
		if p.Required {
			required = append(required, name)
		}
	}
	if t.hasBody {
		body := s.Document.Resolve(t.operation.RequestBody.Content[echo.MIMEApplicationJSON].Schema)
		for name, schema := range body.Properties {
			if properties[name] != nil {
				return nil, fmt.Errorf("%s is a parameter and a member of the body", name)
			}
			properties[name] = schema
		}
		required = append(required, body.Required...)
	}
	slices.Sort(required)
	defs := map[string]json.RawMessage{}
	schema := map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	if text, err := json.Marshal(properties); err != nil {
		return nil, err
	} else if err := s.define(text, defs); err != nil {
		return nil, err
	}
	if len(defs) > 0 {
		schema["$defs"] = defs
	}
	text, err := json.Marshal(schema)
	return bytes.ReplaceAll(text, []byte(openapi.RefPrefix), []byte("#/$defs/")), err
}

var reference = regexp.MustCompile(`"` + openapi.RefPrefix + `(\w+)"`)

// longSchema is how long a schema may be that every agent reads, in bytes.
const longSchema = 4 << 10

// define adds the named schemas that the text refers to. A long one is left to the
// documentation.
func (s *Server) define(text []byte, defs map[string]json.RawMessage) error {
	for _, match := range reference.FindAllSubmatch(text, -1) {
		name := string(match[1])
		if defs[name] != nil {
			continue
		}
		definition, err := json.Marshal(s.Document.Components.Schemas[name])
		if len(definition) > longSchema {
			about := fmt.Sprintf("%s/docs/reference.md has its members, at %s.", s.BaseURL, name)
			definition, err = json.Marshal(form.Schema{Type: "object", Description: about})
		}
		if err != nil {
			return err
		}
		defs[name] = definition
		if err := s.define(defs[name], defs); err != nil {
			return err
		}
	}
	return nil
}

// notForTools leaves out what descriptions say of requests that tools don't send.
var notForTools = strings.NewReplacer("Unknown fields are ignored; null", "Null",
	" With `wait` a program hears of events within milliseconds, without a receiver.", "")

func (t *tool) described() *sdk.Tool {
	reads, destroys := t.method == http.MethodGet, t.method == http.MethodDelete || t.method == http.MethodPatch
	return &sdk.Tool{
		Name: t.operation.ID, Title: t.operation.Summary, Description: notForTools.Replace(t.operation.Description),
		InputSchema: t.schema,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: reads, DestructiveHint: &destroys, IdempotentHint: reads},
	}
}

// call sends the request that the arguments describe, and answers with its response.
func (s *Server) call(ctx context.Context, t tool, given json.RawMessage) (result *sdk.CallToolResult, err error) {
	outer, _ := ctx.Value(caller{}).(*http.Request)
	r, err := s.request(outer, t, given)
	if err != nil {
		return failed(err.Error()), nil //nolint:nilerr // the agent can mend it
	}
	a := &answer{status: http.StatusOK, header: http.Header{}}
	defer func() {
		// The SDK calls tools in goroutines, in which a panic would end the process.
		if v := recover(); v != nil {
			result, err = failed("The answer broke off. Try again."), nil
		}
	}()
	s.API.ServeHTTP(a, r)
	contentType, _, _ := strings.Cut(a.header.Get(echo.HeaderContentType), ";")
	switch {
	case a.tooLong:
		return failed(fmt.Sprintf("The answer has more than %d MiB. Get it with your key from %s.", maxAnswer>>20, r.URL)), nil
	case a.status != t.status:
		text := a.body.String()
		if wait := a.header.Get("Retry-After"); wait != "" {
			text += "Try again after " + wait + " seconds."
		}
		return failed(cmp.Or(text, http.StatusText(a.status))), nil
	case contentType == echo.MIMEApplicationJSON:
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: a.body.String()}}}, nil
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{
		Resource: &sdk.ResourceContents{URI: r.URL.String(), MIMEType: contentType, Blob: a.body.Bytes()},
	}}}, nil
}

func failed(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// passedOn are headers of the message that its call has, too: whose it is.
var passedOn = []string{echo.HeaderAuthorization, echo.HeaderXForwardedFor, "User-Agent"}

// request is the request to the API. What isn't known goes where the API refuses it.
func (s *Server) request(outer *http.Request, t tool, given json.RawMessage) (*http.Request, error) {
	arguments := map[string]json.RawMessage{}
	if err := json.Unmarshal(given, &arguments); len(given) > 0 && err != nil {
		return nil, fmt.Errorf("the arguments must be a JSON object")
	}
	path, query, header := t.path, url.Values{}, http.Header{}
	for name, value := range arguments {
		in := t.in[name]
		if in == "" && t.hasBody {
			continue
		}
		delete(arguments, name)
		text, err := textOf(name, value)
		switch {
		case err != nil:
			return nil, err
		case name == waits:
			return nil, fmt.Errorf("an agent's call doesn't wait: call it again later, without %s", waits)
		case string(value) == "null":
		case in == "path":
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(text))
		case in == "header":
			header.Set("Idempotency-Key", text)
		default:
			query.Set(name, text)
		}
	}
	if _, missing, found := strings.Cut(path, "{"); found || strings.Contains(path, "//") || strings.HasSuffix(path, "/") {
		name, _, _ := strings.Cut(missing, "}")
		return nil, fmt.Errorf("%s is required", cmp.Or(name, "an id in the address"))
	}
	var body []byte
	if t.hasBody {
		var err error
		if body, err = json.Marshal(arguments); err != nil {
			return nil, err
		}
		header.Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	}
	address := s.BaseURL + "/v1" + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(outer.Context(), t.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the address %s can’t be asked for", address)
	}
	r.Header, r.RemoteAddr, r.Host = header, outer.RemoteAddr, outer.Host
	for _, name := range passedOn {
		r.Header[name] = outer.Header[name]
	}
	r.Header.Set("Candor-Strict", "1")
	return r, nil
}

// textOf is a parameter as text.
func textOf(name string, value json.RawMessage) (text string, err error) {
	switch value[0] {
	case '{', '[':
		return "", fmt.Errorf("%s must be a text, a number or a truth", name)
	case '"':
		err = json.Unmarshal(value, &text)
		return text, err
	}
	return string(value), nil
}
