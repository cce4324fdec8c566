package docs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"candor/handlers/api/openapi"
	"candor/internal/form"
	view "candor/views/docs"
)

// The schemas whose values have entries of their own.
const (
	errorCodeSchema = "ErrorCode"
	eventTypeSchema = "EventType"
)

// names are an object's fields in the order in which they were described.
func names(schema *form.Schema) []string {
	out := slices.Clone(schema.Order)
	if out == nil {
		out = slices.Clone(schema.Required)
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return slices.DeleteFunc(out, func(name string) bool { return schema.Properties[name] == nil })
}

// fields describes the fields of an object. Only a request's say which are
// required.
func (s *Server) fields(of string, schema *form.Schema, request bool) (out []view.Field) {
	for _, name := range names(schema) {
		f := s.field(of, name, schema.Properties[name])
		f.Required = request && slices.Contains(schema.Required, name)
		out = append(out, f)
	}
	return out
}

func (s *Server) field(of, name string, schema *form.Schema) view.Field {
	f := view.Field{ID: of + "-" + name, Name: name, Doc: schema.Description, Type: s.words(schema), Limits: limits(schema)}
	if f.Doc == "" {
		f.Doc = schema.Title
	}
	switch {
	case schema.Properties != nil:
		f.Fields = s.fields(f.ID, schema, false)
	case schema.Items != nil && schema.Items.Properties != nil:
		f.Fields = s.fields(f.ID, schema.Items, false)
	}
	return f
}

// words says what a value is.
func (s *Server) words(schema *form.Schema) []view.Word {
	if name, ok := openapi.Named(schema); ok {
		switch name {
		case errorCodeSchema:
			return []view.Word{{Text: "an error code", URL: "#errors"}}
		case eventTypeSchema:
			return []view.Word{{Text: "an event type", URL: "#events"}}
		}
		return []view.Word{{Text: name, URL: "#" + objectID(name)}}
	}
	var out []view.Word
	switch {
	case schema.OneOf != nil:
		for i, one := range schema.OneOf {
			if i > 0 {
				out = append(out, view.Word{Text: " or "})
			}
			out = append(out, s.words(one)...)
		}
	case schema.Enum != nil:
		for i, value := range schema.Enum {
			if i > 0 {
				out = append(out, view.Word{Text: ", "})
			}
			out = append(out, view.Word{Text: cmp.Or(value, `""`), Code: true})
		}
	case schema.Const != nil:
		out = []view.Word{{Text: cmp.Or(fmt.Sprint(schema.Const), `""`), Code: true}}
	case schema.Items != nil:
		out = append([]view.Word{{Text: "array of "}}, s.words(schema.Items)...)
		if _, ok := schema.Items.Type.(string); ok && schema.Items.Enum == nil {
			out = append(out, view.Word{Text: "s"})
		}
	case schema.Additional != nil:
		out = append([]view.Word{{Text: "object, each value "}}, s.words(schema.Additional)...)
	default:
		out = []view.Word{{Text: typeName(schema)}}
	}
	return out
}

func typeName(schema *form.Schema) string {
	var all []string
	switch t := schema.Type.(type) {
	case string:
		all = []string{t}
	case []string:
		all = t
	default:
		return "any"
	}
	out := strings.Join(all, " or ")
	if schema.Format != "" && slices.Contains(all, "string") { // a number's is for generators
		out += ", " + schema.Format
	}
	return out
}

// maxNamed is the largest limit that anyone comes near.
const maxNamed = 1_000_000

// limits says what a value must keep to.
func limits(schema *form.Schema) string {
	var out []string
	most, err := schema.Maximum.Int64()
	switch {
	case schema.Minimum == "":
	case schema.Maximum == "" || err == nil && most > maxNamed:
		out = append(out, "at least "+string(schema.Minimum))
	default:
		out = append(out, string(schema.Minimum)+" to "+string(schema.Maximum))
	}
	if schema.MaxLength > 0 {
		out = append(out, fmt.Sprintf("at most %d characters", schema.MaxLength))
	}
	if schema.MaxItems > 0 {
		out = append(out, fmt.Sprintf("at most %d items", schema.MaxItems))
	}
	if schema.MaxProps > 0 {
		out = append(out, fmt.Sprintf("at most %d keys", schema.MaxProps))
	}
	switch value := schema.Default.(type) {
	case nil:
	case json.RawMessage:
		out = append(out, "default "+string(value))
	default:
		out = append(out, fmt.Sprint("default ", value))
	}
	return strings.Join(out, ", ")
}
