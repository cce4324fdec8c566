package openapi

import (
	"encoding/json"

	"candor/internal/form"
)

// The objects of an OpenAPI 3.1 document, as far as this one has them.
type (
	Document struct {
		OpenAPI    string                          `json:"openapi"`
		Info       Info                            `json:"info"`
		Servers    []Server                        `json:"servers"`
		Security   []map[string][]string           `json:"security"`
		Tags       []Tag                           `json:"tags"`
		Paths      map[string]map[string]Operation `json:"paths"`
		Webhooks   map[string]map[string]Operation `json:"webhooks"`
		Components Components                      `json:"components"`
	}
	Info struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Summary     string `json:"summary"`
		Description string `json:"description"`
	}
	Server struct {
		URL string `json:"url"`
	}
	Tag struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	Operation struct {
		ID          string                `json:"operationId"`
		Tags        []string              `json:"tags"`
		Summary     string                `json:"summary"`
		Description string                `json:"description"`
		Security    []map[string][]string `json:"security,omitempty"`
		Parameters  []Parameter           `json:"parameters,omitempty"`
		RequestBody *Body                 `json:"requestBody,omitempty"`
		Responses   map[string]Response   `json:"responses"`
	}
	Parameter struct {
		Name        string       `json:"name"`
		In          string       `json:"in"`
		Description string       `json:"description"`
		Required    bool         `json:"required,omitempty"`
		Schema      *form.Schema `json:"schema"`
	}
	Body struct {
		Required bool             `json:"required"`
		Content  map[string]Media `json:"content"`
	}
	Media struct {
		Schema  *form.Schema    `json:"schema,omitempty"`
		Example json.RawMessage `json:"example,omitempty"`
	}
	Response struct {
		Description string            `json:"description"`
		Headers     map[string]Header `json:"headers,omitempty"`
		Content     map[string]Media  `json:"content,omitempty"`
	}
	Header struct {
		Ref         string       `json:"$ref,omitempty"`
		Description string       `json:"description,omitempty"`
		Required    bool         `json:"required,omitempty"`
		Schema      *form.Schema `json:"schema,omitempty"`
	}
	Components struct {
		Schemas         map[string]*form.Schema   `json:"schemas"`
		Headers         map[string]Header         `json:"headers"`
		SecuritySchemes map[string]SecurityScheme `json:"securitySchemes"`
	}
	SecurityScheme struct {
		Type        string `json:"type"`
		Scheme      string `json:"scheme"`
		Description string `json:"description"`
	}
)
