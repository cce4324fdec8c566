// Package openapi makes an OpenAPI 3.1 document: its objects, and schemas from
// Go types by their tags. It knows no resource of the API.
package openapi

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"candor/internal/form"
)

// The objects of a document, with the fields that Candor uses.
type (
	// A Document is the whole description of an API.
	Document struct {
		OpenAPI    string                          `json:"openapi"`
		Info       Info                            `json:"info"`
		Servers    []Server                        `json:"servers"`
		Security   []map[string][]string           `json:"security"`
		Tags       []Tag                           `json:"tags"`
		Paths      map[string]map[string]Operation `json:"paths"`
		Webhooks   map[string]map[string]Operation `json:"webhooks"`
		Components Components                      `json:"components"`
		Errors     map[string]Example              `json:"-"` // of every code, also of those that no operation answers
	}
	// Info heads the document.
	Info struct {
		Title       string  `json:"title"`
		Version     string  `json:"version"`
		Summary     string  `json:"summary"`
		Description string  `json:"description"`
		Contact     Contact `json:"contact"`
		License     License `json:"license"`
	}
	// A Contact answers questions.
	Contact struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}
	// A License is the one of the API's software.
	License struct {
		Name       string `json:"name"`
		Identifier string `json:"identifier"` // SPDX
	}
	// A Server is where the API is.
	Server struct {
		URL      string `json:"url"`
		Internal bool   `json:"x-internal"` // OWASP's rules: whether only its owner reaches it
	}
	// A Tag groups operations.
	Tag struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	// An Operation is a method of a path, or a webhook.
	Operation struct {
		ID          string                `json:"operationId"`
		Tags        []string              `json:"tags"`
		Summary     string                `json:"summary"`
		Description string                `json:"description"`
		Deprecated  bool                  `json:"deprecated,omitempty"`
		Security    []map[string][]string `json:"security,omitempty"`
		Parameters  []Parameter           `json:"parameters,omitempty"`
		RequestBody *Body                 `json:"requestBody,omitempty"`
		Responses   map[string]Response   `json:"responses"`
		Permission  string                `json:"-"` // of the key, as words
	}
	// A Parameter is a part of the path, of the query, or a header.
	Parameter struct {
		Name        string       `json:"name"`
		In          string       `json:"in"`
		Description string       `json:"description"`
		Required    bool         `json:"required,omitempty"`
		Schema      *form.Schema `json:"schema"`
		Example     any          `json:"example,omitempty"` // in samples, too
	}
	// A Body is a request's body.
	Body struct {
		Required bool             `json:"required"`
		Content  map[string]Media `json:"content"`
	}
	// A Media is the content of a body of one content type.
	Media struct {
		Schema   *form.Schema       `json:"schema,omitempty"`
		Example  json.RawMessage    `json:"example,omitempty"`
		Examples map[string]Example `json:"examples,omitempty"`
	}
	// An Example is one of several, or a reference to it.
	Example struct {
		Ref     string `json:"$ref,omitempty"`
		Summary string `json:"summary,omitempty"`
		Value   any    `json:"value,omitempty"`
	}
	// A Response is that of one status.
	Response struct {
		Description string            `json:"description"`
		Headers     map[string]Header `json:"headers,omitempty"`
		Content     map[string]Media  `json:"content,omitempty"`
	}
	// A Header is one of a response, or a reference to it.
	Header struct {
		Ref         string       `json:"$ref,omitempty"`
		Description string       `json:"description,omitempty"`
		Required    bool         `json:"required,omitempty"`
		Schema      *form.Schema `json:"schema,omitempty"`
	}
	// Components are what the document refers to by name.
	Components struct {
		Schemas         map[string]*form.Schema   `json:"schemas"`
		Headers         map[string]Header         `json:"headers"`
		Examples        map[string]Example        `json:"examples"`
		SecuritySchemes map[string]SecurityScheme `json:"securitySchemes"`
	}
	// A SecurityScheme is a way to authenticate.
	SecurityScheme struct {
		Type        string `json:"type"`
		Scheme      string `json:"scheme"`
		Format      string `json:"bearerFormat"`
		Description string `json:"description"`
	}
)

// RefPrefix is what a reference to a named schema begins with.
const RefPrefix = "#/components/schemas/"

// Named returns the name of the schema that this one refers to.
func Named(schema *form.Schema) (string, bool) { return strings.CutPrefix(schema.Ref, RefPrefix) }

// Resolve follows a reference to a named schema.
func (d *Document) Resolve(schema *form.Schema) *form.Schema {
	if name, ok := Named(schema); ok {
		return d.Components.Schemas[name]
	}
	return schema
}

// Objects are the named schemas by their names. One object stands for those of which a value
// is one.
func (d *Document) Objects() iter.Seq2[string, *form.Schema] {
	parts := map[string]bool{}
	for _, schema := range d.Components.Schemas {
		for _, one := range schema.OneOf {
			name, _ := Named(one)
			parts[name] = true
		}
	}
	return func(yield func(string, *form.Schema) bool) {
		for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
			if !parts[name] && !yield(name, d.Object(name)) {
				return
			}
		}
	}
}

// Object is a named schema, or one object for those of which a value is one.
func (d *Document) Object(name string) *form.Schema {
	schema := d.Components.Schemas[name]
	return cmp.Or(schema.Common, schema)
}

// Success is the response without an error, and its status.
func (o Operation) Success() (status int, answer Response) {
	for _, text := range slices.Sorted(maps.Keys(o.Responses)) {
		answer := o.Responses[text]
		if media, ok := answer.Content["application/json"]; text[0] == '2' && (!ok || media.Examples == nil) {
			status, _ = strconv.Atoi(text)
			return status, answer
		}
	}
	return 0, Response{}
}
