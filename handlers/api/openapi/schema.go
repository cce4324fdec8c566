package openapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"candor/internal/form"
)

// MaxExact is the largest whole number that every program reads exactly, 2^53 - 1. A
// format instead of it, int64, makes some generators use other types than for numbers.
const MaxExact = "9007199254740991"

// A JSONType makes the schema of a Go type.
type JSONType = func(*Schemas) *form.Schema

// Schemas are the named schemas of a document, made from Go types when first
// used.
type Schemas struct {
	Named map[string]*form.Schema
	types map[reflect.Type]JSONType
}

// NewSchemas returns an empty set. types describe the types whose fields don't
// show their JSON.
func NewSchemas(types map[reflect.Type]JSONType) *Schemas {
	return &Schemas{map[string]*form.Schema{}, types}
}

// Of describes a type's JSON.
func (s *Schemas) Of(t reflect.Type) *form.Schema {
	if own, ok := s.types[t]; ok {
		return own(s)
	}
	if t == reflect.TypeFor[time.Time]() {
		return &form.Schema{Type: "string", Format: "date-time"}
	}
	switch t.Kind() {
	case reflect.String:
		return &form.Schema{Type: "string"}
	case reflect.Bool:
		return &form.Schema{Type: "boolean"}
	case reflect.Int:
		return &form.Schema{Type: "integer"}
	case reflect.Int64:
		return &form.Schema{Type: "integer", Maximum: MaxExact}
	case reflect.Float64:
		return &form.Schema{Type: "number", Format: "double"}
	case reflect.Pointer:
		return nullable(s.Of(t.Elem()))
	case reflect.Slice:
		return &form.Schema{Type: "array", Items: s.Of(t.Elem())}
	case reflect.Map:
		return &form.Schema{Type: "object", Additional: s.Of(t.Elem())}
	case reflect.Interface:
		return &form.Schema{Type: "object"}
	case reflect.Struct:
		return s.Component(exported(t.Name()), func() *form.Schema { return s.Object(t) })
	}
	panic(fmt.Sprintf("openapi: no schema of %s", t))
}

// Component makes a schema once and returns a reference to it.
func (s *Schemas) Component(name string, schema func() *form.Schema) *form.Schema {
	if _, ok := s.Named[name]; !ok {
		s.Named[name] = nil // a type within itself is met by its name
		s.Named[name] = schema()
	}
	return &form.Schema{Ref: RefPrefix + name}
}

func exported(name string) string { return string(unicode.ToUpper(rune(name[0]))) + name[1:] }

// Object describes a struct. In a request, what isn't required may be absent
// or null; a response has every field that isn't marked omitempty.
func (s *Schemas) Object(t reflect.Type) *form.Schema {
	out := &form.Schema{Type: "object", Properties: map[string]*form.Schema{}}
	request := strings.HasSuffix(t.Name(), "Request")
	for _, f := range Fields(t) {
		name := JSONName(f)
		if name == "" {
			continue // a parameter
		}
		schema := s.leaf(f)
		switch {
		case request && f.Tag.Get("required") == "true", !request && !strings.Contains(f.Tag.Get("json"), ",omitempty"):
			out.Required = append(out.Required, name)
		case request && f.Type.Kind() != reflect.Pointer:
			schema = nullable(orNone(schema))
		case f.Type.Kind() == reflect.Pointer && !request:
			schema = tagged(s.Of(f.Type.Elem()), f)
		}
		schema.Sample = f.Tag.Get("sample") != ""
		out.Properties[name], out.Order = schema, append(out.Order, name)
	}
	return out
}

// orNone is the schema of an optional text, which "" leaves out, and spaces alone, too (D121).
func orNone(s *form.Schema) *form.Schema {
	if s.Type != "string" {
		return s
	}
	if s.Enum != nil {
		s.Enum = append(slices.Clone(s.Enum), "")
	}
	none := `""`
	if s.Enum == nil && s.Format == "" {
		none = `"" or only spaces`
	}
	s.Description += " " + none + " is the same as none."
	return s
}

// leaf describes a struct's field with what its tags add.
func (s *Schemas) leaf(f reflect.StructField) *form.Schema {
	_, inQuery := f.Tag.Lookup("query")
	if inQuery && f.Type.Kind() == reflect.Pointer {
		return tagged(s.Of(f.Type.Elem()), f)
	}
	return tagged(s.Of(f.Type), f)
}

func tagged(s *form.Schema, f reflect.StructField) *form.Schema {
	tag := f.Tag
	s.Description = tag.Get("doc")
	s.Format, s.Pattern = cmp.Or(tag.Get("format"), s.Format), cmp.Or(tag.Get("pattern"), s.Pattern)
	s.Minimum, s.Maximum = json.Number(tag.Get("min")), cmp.Or(json.Number(tag.Get("max")), s.Maximum)
	if n, err := strconv.Atoi(tag.Get("maxLength")); err == nil {
		s.MaxLength = n
	}
	if n, err := strconv.Atoi(tag.Get("maxItems")); err == nil {
		s.MaxItems = n
	}
	if s.Type == "string" {
		s.Enum = Enum(f)
	}
	if text, ok := tag.Lookup("default"); ok {
		s.Default = text
		if s.Type != "string" {
			s.Default = json.RawMessage(text)
		}
	}
	return s
}

// nullable is the schema that allows null, too.
func nullable(s *form.Schema) *form.Schema {
	name, ok := s.Type.(string)
	if !ok || s.Enum != nil {
		return &form.Schema{Description: s.Description, OneOf: []*form.Schema{s, {Type: "null"}}}
	}
	s.Type = []string{name, "null"}
	return s
}

// Fields lists a struct's fields, those of embedded structs in their place.
func Fields(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
}

// JSONName returns a field's name in JSON, "" if its tag has none.
func JSONName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// Enum lists the values of a field: those in its enum tag, else those that its
// type lists by an Enum method. It returns nil if the field is open; the tag "-"
// opens a field whose type lists values.
func Enum(f reflect.StructField) []string {
	if tag, ok := f.Tag.Lookup("enum"); ok {
		if tag == "-" {
			return nil
		}
		return strings.Split(tag, ",")
	}
	if listing, ok := reflect.Zero(f.Type).Interface().(interface{ Enum() []string }); ok && f.Type.Kind() == reflect.String {
		return listing.Enum()
	}
	return nil
}

// sample is the value that samples give a parameter, nil if they leave it out.
func sample(f reflect.StructField, s *form.Schema) any {
	text, ok := f.Tag.Lookup("sample")
	switch {
	case !ok:
		return nil
	case s.Type == "string":
		return text
	}
	return json.RawMessage(text)
}

// lineInQuery is text of a query: not blank, and without control characters.
const lineInQuery = `^[^\x00-\x1F\x7F-\x9F]*\S[^\x00-\x1F\x7F-\x9F]*$`

// Parameters describes the fields tagged path and query.
func (s *Schemas) Parameters(request reflect.Type) []Parameter {
	var out []Parameter
	for _, f := range Fields(request) {
		for _, in := range []string{"path", "query"} {
			if name, ok := f.Tag.Lookup(in); ok {
				schema := s.leaf(f)
				schema.Description = ""
				if in == "query" && schema.Type == "string" && schema.Enum == nil && schema.Pattern == "" && schema.Format == "" {
					schema.Pattern = lineInQuery
				}
				out = append(out, Parameter{Name: name, In: in, Description: f.Tag.Get("doc"), Required: in == "path", Schema: schema,
					Example: sample(f, schema)})
			}
		}
	}
	return out
}

// initialisms are written in capitals in Go's names.
var initialisms = map[string]bool{"id": true, "url": true, "pdf": true, "sha256": true, "ip": true, "api": true}

// GoName is a name of the document as an exported one of the SDK for Go: session_url is
// SessionURL.
func GoName(name string) string {
	var out strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '.' || r == '-' }) {
		if initialisms[word] {
			out.WriteString(strings.ToUpper(word))
		} else {
			out.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return out.String()
}
