package handlers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// schemas are the named schemas of the document, made from Go types as they
// are met.
type schemas map[string]*form.Schema

// of describes a type's JSON.
func (c schemas) of(t reflect.Type) *form.Schema {
	switch t {
	case reflect.TypeFor[form.Timestamp](), reflect.TypeFor[time.Time]():
		return &form.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[domain.SessionID]():
		return &form.Schema{Type: "string", Pattern: "^sess_[0-7][0-9a-hjkmnp-tv-z]{25}$"}
	case reflect.TypeFor[domain.EventID]():
		return &form.Schema{Type: "string", Pattern: "^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$"}
	case reflect.TypeFor[domain.DeliveryID]():
		return &form.Schema{Type: "string", Pattern: "^whd_[0-7][0-9a-hjkmnp-tv-z]{25}$"}
	case reflect.TypeFor[eventData]():
		either := &form.Schema{}
		for _, event := range domain.EventTable {
			either.AnyOf = append(either.AnyOf, c.of(reflect.TypeOf(event.Example.Data)))
		}
		either.AnyOf = append(either.AnyOf, c.of(reflect.TypeFor[domain.ErasedPayload]()))
		return either
	case reflect.TypeFor[statement.Cents]():
		return &form.Schema{Type: "number"}
	case reflect.TypeFor[domain.Metadata]():
		return &form.Schema{Type: "object", MaxProps: 10, Additional: &form.Schema{Type: []string{"string", "number", "boolean"}, MaxLength: 500}}
	case reflect.TypeFor[*statement.Statement]():
		return c.named("FormData", func() *form.Schema {
			return statement.DataSchema(c.of(reflect.TypeFor[statement.Summary]()), c.of(reflect.TypeFor[[]statement.Document]()))
		})
	}
	switch t.Kind() {
	case reflect.String:
		return &form.Schema{Type: "string"}
	case reflect.Bool:
		return &form.Schema{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		return &form.Schema{Type: "integer"}
	case reflect.Float64:
		return &form.Schema{Type: "number"}
	case reflect.Pointer:
		return nullable(c.of(t.Elem()))
	case reflect.Slice:
		return &form.Schema{Type: "array", Items: c.of(t.Elem())}
	case reflect.Map:
		return &form.Schema{Type: "object", Additional: c.of(t.Elem())}
	case reflect.Interface:
		return &form.Schema{Type: "object"}
	case reflect.Struct:
		return c.named(exported(t.Name()), func() *form.Schema { return c.object(t) })
	}
	panic(fmt.Sprintf("handlers: no schema of %s", t))
}

// named makes a schema once and returns a reference to it.
func (c schemas) named(name string, schema func() *form.Schema) *form.Schema {
	if _, ok := c[name]; !ok {
		c[name] = nil // a type within itself is met by its name
		c[name] = schema()
	}
	return &form.Schema{Ref: "#/components/schemas/" + name}
}

func exported(name string) string { return string(unicode.ToUpper(rune(name[0]))) + name[1:] }

// object describes a struct. In a request, what isn't required may be absent
// or null; a response has every field that isn't marked omitempty.
func (c schemas) object(t reflect.Type) *form.Schema {
	out := &form.Schema{Type: "object", Properties: map[string]*form.Schema{}}
	request := strings.HasSuffix(t.Name(), "Request")
	for _, f := range fieldsOf(t) {
		name := jsonName(f)
		schema := c.leaf(f)
		switch {
		case request && f.Tag.Get("required") == "true", !request && !strings.Contains(f.Tag.Get("json"), ",omitempty"):
			out.Required = append(out.Required, name)
		case request && f.Type.Kind() != reflect.Pointer:
			schema = nullable(schema)
		case f.Type.Kind() == reflect.Pointer && !request:
			schema = c.tagged(c.of(f.Type.Elem()), f.Tag)
		}
		out.Properties[name] = schema
	}
	return out
}

// leaf describes a struct's field with what its tags add.
func (c schemas) leaf(f reflect.StructField) *form.Schema {
	_, inQuery := f.Tag.Lookup("query")
	if inQuery && f.Type.Kind() == reflect.Pointer {
		return c.tagged(c.of(f.Type.Elem()), f.Tag)
	}
	return c.tagged(c.of(f.Type), f.Tag)
}

func (c schemas) tagged(s *form.Schema, tag reflect.StructTag) *form.Schema {
	s.Description = tag.Get("doc")
	s.Format = cmp.Or(tag.Get("format"), s.Format)
	s.Minimum, s.Maximum = json.Number(tag.Get("min")), json.Number(tag.Get("max"))
	if n, err := strconv.Atoi(tag.Get("maxLength")); err == nil {
		s.MaxLength = n
	}
	if enum := tag.Get("enum"); enum != "" && s.Type != "boolean" {
		s.Enum = strings.Split(enum, ",")
	}
	if text, ok := tag.Lookup("default"); ok {
		s.Default = text
		if s.Type != "string" {
			s.Default = json.RawMessage(text)
		}
	}
	return s
}

// nullable is the schema with null beside it.
func nullable(s *form.Schema) *form.Schema {
	name, ok := s.Type.(string)
	if !ok || s.Enum != nil {
		return &form.Schema{Description: s.Description, AnyOf: []*form.Schema{s, {Type: "null"}}}
	}
	s.Type = []string{name, "null"}
	return s
}
