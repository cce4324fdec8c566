package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"candor/handlers/api/openapi"
	"candor/internal/domain"
	"candor/internal/form"
)

// An api is the document as a program sees it: everything has a name, and no
// schema has a schema within itself.
type api struct {
	document   *openapi.Document
	objects    []object // by their names
	operations []operation
	events     []event
	envelope   object // of a webhook, whatever its event
}

// An object has fields in their order. One that requests send can lack what isn't
// required.
type object struct {
	name, doc string
	fields    []field
	sent      bool
}

type field struct {
	name, doc string // as in JSON
	of        shape
	required  bool
}

// A kind is what a value is.
type kind int

const (
	anything kind = iota // or one of several shapes
	text
	whole
	long
	number
	money
	truth
	moment
	list
	dictionary
	named // an object, or a list of values with a name
)

// A shape describes a value.
type shape struct {
	kind   kind
	null   bool     // or null
	values []string // of a text, nil if it is open
	name   string
	of     *shape  // items, values
	either []shape // of anything
}

type operation struct {
	id, doc, method string
	path            []string // the segments, as code: "sessions" with its quotes, or an argument
	args            []string // those of the path
	query           *object  // nil for none
	body            string   // the object's name, "" for none
	answer          string   // the object's name, "" for a file
	idempotent      bool     // takes an Idempotency-Key
	keyless         bool     // isn't sent one that the caller doesn't give
}

// An event is a webhook's name and the object of its data.
type event struct{ name, payload string }

// newAPI reads the document.
func newAPI(document *openapi.Document) (*api, error) {
	a := &api{document: document}
	for name, schema := range document.Objects() {
		if schema.Properties != nil {
			a.object(name, schema)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(document.Paths[path])) {
			o, err := a.operation(method, path, document.Paths[path][method])
			if err != nil {
				return nil, err
			}
			a.operations = append(a.operations, o)
		}
	}
	for _, info := range domain.EventTable {
		a.event(string(info.Type), document.Webhooks[string(info.Type)]["post"])
	}
	slices.SortFunc(a.objects, func(x, y object) int { return cmp.Compare(x.name, y.name) })
	for _, o := range a.operations {
		a.markSent(o.body)
	}
	return a, nil
}

func (a *api) object(name string, schema *form.Schema) {
	if slices.ContainsFunc(a.objects, func(o object) bool { return o.name == name }) {
		return // of one item, and of several
	}
	out := object{name: name, doc: cmp.Or(schema.Description, schema.Title)}
	order := schema.Order
	if order == nil {
		order = slices.Sorted(maps.Keys(schema.Properties))
	}
	for _, key := range order {
		if property, ok := schema.Properties[key]; ok { // a section given as prefill lacks some
			out.fields = append(out.fields, field{key, property.Description, a.shape(name+openapi.GoName(key), property),
				slices.Contains(schema.Required, key)})
		}
	}
	a.objects = append(a.objects, out)
}

// shape describes a schema; an object within it gets the name.
func (a *api) shape(name string, s *form.Schema) shape {
	switch {
	case s.Ref != "":
		return a.reference(strings.TrimPrefix(s.Ref, "#/components/schemas/"))
	case s.OneOf != nil:
		return a.oneOf(name, s.OneOf)
	case s.Const != nil:
		return shape{kind: text, values: []string{fmt.Sprint(s.Const)}}
	}
	kindName, null := s.Type, false
	if names, ok := s.Type.([]string); ok {
		kindName, null = names[0], true
	}
	out := shape{null: null}
	switch {
	case kindName == "string" && s.Format == "date-time":
		out.kind = moment
	case kindName == "string":
		out.kind, out.values = text, s.Enum
	case kindName == "boolean":
		out.kind = truth
	case kindName == "integer" && s.Maximum == openapi.MaxExact:
		out.kind = long
	case kindName == "integer":
		out.kind = whole
	case s.Money:
		out.kind = money
	case kindName == "number":
		out.kind = number
	case kindName == "array":
		of := a.shape(name, s.Items)
		out.kind, out.of = list, &of
	case s.Properties != nil:
		out.kind, out.name = named, name
		a.object(name, s)
	case s.Additional != nil:
		of := a.shape(name, s.Additional)
		out.kind, out.of = dictionary, &of
	}
	return out
}

func (a *api) reference(name string) shape {
	s := a.document.Object(name)
	if s.Properties != nil || s.Enum != nil {
		return shape{kind: named, name: name}
	}
	return a.shape(name, s)
}

// oneOf describes one of several schemas. null and "" make no shape of their own.
func (a *api) oneOf(name string, schemas []*form.Schema) shape {
	var out []shape
	null, empty := false, false
	for _, s := range schemas {
		switch {
		case s.Type == "null":
			null = true
		case s.Const == "":
			empty = true
		default:
			out = append(out, a.shape(name, s))
		}
	}
	if len(out) > 1 {
		return shape{kind: anything, null: null, either: out}
	}
	out[0].null = out[0].null || null
	if empty && out[0].values != nil {
		out[0].values = append(slices.Clone(out[0].values), "")
	}
	return out[0]
}

func (a *api) operation(method, path string, o openapi.Operation) (operation, error) {
	// With a key attemptDelivery doesn't wait for its attempt, and twice does no harm.
	out := operation{id: o.ID, keyless: o.ID == "attemptDelivery", doc: o.Summary + ". " + o.Description,
		method: strings.ToUpper(method)}
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		name, isArgument := strings.CutPrefix(segment, "{")
		if !isArgument {
			out.path = append(out.path, strconv.Quote(segment))
			continue
		}
		name = strings.TrimSuffix(name, "}")
		first, rest, _ := strings.Cut(name, "_")
		out.path, out.args = append(out.path, first+openapi.GoName(rest)), append(out.args, first+openapi.GoName(rest))
	}
	params := object{name: openapi.GoName(o.ID) + "Params", doc: "what " + o.ID + " can be asked for.", sent: true}
	for _, p := range o.Parameters {
		switch {
		case p.In == "query":
			params.fields = append(params.fields, field{p.Name, p.Description, a.shape(params.name, p.Schema), p.Required})
		case p.Name == "Idempotency-Key":
			out.idempotent = true
		}
	}
	if params.fields != nil {
		out.query = &params
	}
	if o.RequestBody != nil {
		out.body = a.reference(strings.TrimPrefix(o.RequestBody.Content["application/json"].Schema.Ref, "#/components/schemas/")).name
	}
	for status, answer := range o.Responses {
		media, isJSON := answer.Content["application/json"]
		if status[0] == '2' && isJSON && media.Examples == nil {
			out.answer = a.shape("", media.Schema).name
		}
	}
	if out.answer == "" && method != "get" {
		return out, fmt.Errorf("%s answers with no object", o.ID)
	}
	return out, nil
}

// event notes a webhook. The envelope is that of the event with most fields.
func (a *api) event(name string, o openapi.Operation) {
	schema := *o.RequestBody.Content["application/json"].Schema
	a.events = append(a.events, event{name, a.shape("", schema.Properties["data"]).name})
	if len(schema.Properties) <= len(a.envelope.fields) {
		return
	}
	a.envelope = object{name: "WebhookEvent", doc: "the body of a webhook."}
	for _, key := range schema.Order {
		property, of := schema.Properties[key], shape{}
		switch key {
		case "event":
			of = shape{kind: named, name: "EventType"}
		case "data":
		default:
			of = a.shape("", property)
		}
		a.envelope.fields = append(a.envelope.fields, field{key, property.Description, of, key != "session_id"})
	}
}

// markSent notes that requests send the object, and what is in it.
func (a *api) markSent(name string) {
	i, found := slices.BinarySearchFunc(a.objects, name, func(o object, name string) int { return cmp.Compare(o.name, name) })
	if !found || a.objects[i].sent {
		return
	}
	a.objects[i].sent = true
	for _, f := range a.objects[i].fields {
		for of := &f.of; of != nil; of = of.of {
			a.markSent(of.name)
		}
	}
}
