package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"candor/handlers/api/openapi"
	"candor/handlers/docs/samples"
	"candor/internal/domain"
	"candor/internal/form"
	view "candor/views/docs"
)

func (s *Server) reference(mine *view.Mine) (templ.Component, error) {
	r, err := s.referencePage(mine)
	return view.Reference(r), err
}

func (s *Server) referencePage(mine *view.Mine) (view.ReferencePage, error) {
	r := view.ReferencePage{
		Page: view.Page{Title: "API reference", Current: view.ReferenceURL, Mine: mine}, BaseURL: s.BaseURL,
		Intro: strings.Split(s.document.Info.Description, "\n\n"),
	}
	for _, name := range slices.Sorted(maps.Keys(s.document.Components.Headers)) {
		r.Headers = append(r.Headers, view.Field{ID: "header-" + name, Name: name,
			Doc: s.document.Components.Headers[name].Description})
	}
	var err error
	if r.Groups, err = s.groups(mine); err != nil {
		return r, err
	}
	if r.Events, r.Webhook, err = s.events(); err != nil {
		return r, err
	}
	if r.Errors, err = s.errorCodes(r.Groups); err != nil {
		return r, err
	}
	r.Objects = s.objects()
	r.Contents = referenceContents(r)
	return r, nil
}

// groups are the endpoints by their tags, in the order of the tags and then of
// the paths.
func (s *Server) groups(mine *view.Mine) ([]view.Group, error) {
	var out []view.Group
	for _, tag := range s.document.Tags {
		group := view.Group{ID: strings.ReplaceAll(strings.ToLower(tag.Name), " ", "-"), Name: tag.Name, Doc: tag.Description}
		for _, path := range slices.Sorted(maps.Keys(s.document.Paths)) {
			for _, method := range slices.SortedFunc(maps.Keys(s.document.Paths[path]), func(a, b string) int {
				return -cmp.Compare(a, b)
			}) {
				o := s.document.Paths[path][method]
				if o.Tags[0] != tag.Name {
					continue
				}
				e, err := s.endpoint(strings.ToUpper(method), path, o, mine)
				if err != nil {
					return nil, err
				}
				group.Endpoints = append(group.Endpoints, e)
			}
		}
		if group.Endpoints != nil {
			out = append(out, group)
		}
	}
	return out, nil
}

func (s *Server) endpoint(method, path string, o openapi.Operation, mine *view.Mine) (view.Endpoint, error) {
	e := view.Endpoint{
		ID: o.ID, Method: method, Path: "/v1" + path, Summary: o.Summary, Permission: o.Permission,
		Doc: strings.TrimSuffix(o.Description, " The key needs "+o.Permission+"."),
	}
	for _, p := range o.Parameters {
		e.Params = append(e.Params, s.parameter(o.ID, p))
	}
	if o.RequestBody != nil {
		for _, media := range o.RequestBody.Content {
			e.Body = s.fields(o.ID, s.document.Resolve(media.Schema), true)
		}
	}
	status, answer := o.Success()
	e.Status = strconv.Itoa(status)
	media, isJSON := answer.Content["application/json"]
	if isJSON {
		e.Returns = s.words(media.Schema)
		text, err := pretty(media.Example)
		if err != nil {
			return e, err
		}
		e.Answer = &view.Code{ID: o.ID + "-response", Language: "json", Name: "Response", Text: text}
	} else {
		for i, kind := range slices.Sorted(maps.Keys(answer.Content)) {
			if i > 0 {
				e.Returns = append(e.Returns, view.Word{Text: ", "})
			}
			e.Returns = append(e.Returns, view.Word{Text: kind, Code: true})
		}
	}
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		for _, one := range o.Responses[status].Content {
			e.ErrorCodes = append(e.ErrorCodes, slices.Sorted(maps.Keys(one.Examples))...)
		}
	}
	for _, one := range samples.All(s.request(method, path, o, mine)) {
		e.Samples = append(e.Samples, view.Code{ID: o.ID + "-" + one.ID, Language: one.ID, Name: one.Language, Text: one.Code})
	}
	return e, nil
}

// request is the operation as its samples send it: with what its description
// gives a sample value, and of its body what is required or marked.
func (s *Server) request(method, path string, o openapi.Operation, mine *view.Mine) samples.Request {
	query := url.Values{}
	status, answer := o.Success()
	r := samples.Request{Method: method, Status: status, BaseURL: s.BaseURL, Operation: o.ID}
	for _, p := range o.Parameters {
		value := exampleOf(p)
		switch p.In {
		case "path":
			if mine != nil && mine.SessionID != "" && strings.HasPrefix(value, "sess_") {
				value = mine.SessionID
			}
			path = strings.Replace(path, "{"+p.Name+"}", value, 1)
			r.Args = append(r.Args, value)
		case "query":
			if r.Takes = true; p.Example != nil {
				query.Set(p.Name, value)
				r.Query = append(r.Query, samples.Member{Name: p.Name, Value: jsonOf(p.Example)})
			}
		}
	}
	r.URL = s.BaseURL + "/v1" + path
	if len(query) > 0 {
		r.URL += "?" + query.Encode()
	}
	if o.RequestBody != nil {
		media := o.RequestBody.Content["application/json"]
		r.Members = sampleBody(s.document.Resolve(media.Schema), media.Example)
		r.Body = joined(r.Members)
		r.BodyType, _ = openapi.Named(media.Schema)
	}
	if _, isJSON := answer.Content["application/json"]; !isJSON {
		r.File = "download"
		if kinds := slices.Collect(maps.Keys(answer.Content)); len(kinds) == 1 {
			r.File += "." + kinds[0][strings.LastIndex(kinds[0], "/")+1:]
		}
	}
	return r
}

// jsonOf is an example as JSON.
func jsonOf(example any) json.RawMessage {
	if text, ok := example.(string); ok {
		return json.RawMessage(strconv.Quote(text))
	}
	value, _ := example.(json.RawMessage)
	return value
}

// sampleBody is the part of an example that samples send.
func sampleBody(schema *form.Schema, example json.RawMessage) (out []samples.Member) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(example, &all); err != nil {
		return nil
	}
	for _, name := range names(schema) {
		value, ok := all[name]
		if ok && (schema.Properties[name].Sample || slices.Contains(schema.Required, name)) {
			out = append(out, samples.Member{Name: name, Value: value})
		}
	}
	return out
}

func joined(members []samples.Member) json.RawMessage {
	var parts []string
	for _, m := range members {
		parts = append(parts, strconv.Quote(m.Name)+": "+string(m.Value))
	}
	return json.RawMessage("{" + strings.Join(parts, ", ") + "}")
}

func (s *Server) parameter(of string, p openapi.Parameter) view.Field {
	f := s.field(of, p.Name, p.Schema)
	f.Doc, f.Required = p.Description, p.Required
	if p.In == "header" {
		f.Type = append(f.Type, view.Word{Text: ", header"})
	}
	return f
}

// events describes the webhooks, in the order of the table, and their headers.
func (s *Server) events() (out []view.Event, headers []view.Field, err error) {
	for _, info := range domain.EventTable {
		o, ok := s.document.Webhooks[string(info.Type)]["post"]
		if !ok {
			return nil, nil, fmt.Errorf("docs: the document has no webhook %s", info.Type)
		}
		media := o.RequestBody.Content["application/json"]
		text, err := pretty(media.Example)
		if err != nil {
			return nil, nil, err
		}
		name := string(info.Type)
		data := s.document.Resolve(media.Schema).Properties["data"]
		out = append(out, view.Event{
			Name: name, Summary: o.Summary, Doc: info.When, Fields: s.fields("event-"+name, s.document.Resolve(data), false),
			Example: view.Code{ID: "event-" + name + "-body", Language: "json", Name: "Body", Text: text},
		})
		if headers == nil {
			for _, p := range o.Parameters {
				headers = append(headers, view.Field{ID: "webhook-header-" + p.Name, Name: p.Name, Doc: p.Description})
			}
		}
	}
	return out, headers, nil
}

// errorCodes describes every error, with the endpoints that answer with it.
func (s *Server) errorCodes(groups []view.Group) ([]view.ErrorCode, error) {
	by := map[string][]view.Link{}
	for _, group := range groups {
		for _, e := range group.Endpoints {
			for _, code := range e.ErrorCodes {
				by[code] = append(by[code], view.Link{Title: e.Path, URL: "#" + e.ID, Method: e.Method, Code: true})
			}
		}
	}
	var out []view.ErrorCode
	for _, info := range domain.CodeTable {
		code := string(info.Code)
		example, err := json.MarshalIndent(s.document.Errors[code].Value, "", "  ")
		if err != nil {
			return nil, err
		}
		out = append(out, view.ErrorCode{
			Code: code, Status: strconv.Itoa(info.Status), Meaning: info.Meaning, Remedy: info.Remedy, Retry: info.Retry,
			Endpoints: by[code],
			Example:   view.Code{ID: "error-" + code + "-body", Language: "json", Name: "Body", Text: string(example)},
		})
	}
	return out, nil
}

// objects are the named schemas but for bodies of requests, which their
// endpoints describe.
func (s *Server) objects() (out []view.Object) {
	for name, schema := range s.document.Objects() {
		if strings.HasSuffix(name, "Request") {
			continue
		}
		o := view.Object{ID: objectID(name), Name: name, Doc: schema.Description}
		if name != errorCodeSchema && name != eventTypeSchema { // described one by one
			o.Values = schema.Enum
		}
		if schema.Properties != nil {
			o.Fields = s.fields(name, schema, false)
		}
		out = append(out, o)
	}
	return out
}

func objectID(name string) string { return "object-" + name }

func pretty(text json.RawMessage) (string, error) {
	var b bytes.Buffer
	err := json.Indent(&b, bytes.TrimSpace(text), "", "  ")
	return b.String(), err
}

func referenceContents(r view.ReferencePage) []view.Chapter {
	out := []view.Chapter{{Title: "Authentication", URL: "#authentication"}, {Title: "Response headers", URL: "#headers"}}
	for _, group := range r.Groups {
		chapter := view.Chapter{Title: group.Name, URL: "#" + group.ID}
		for _, e := range group.Endpoints {
			chapter.Links = append(chapter.Links, view.Link{Title: e.Summary, URL: "#" + e.ID, Method: e.Method})
		}
		out = append(out, chapter)
	}
	events := view.Chapter{Title: "Events", URL: "#events", Folded: true}
	for _, e := range r.Events {
		events.Links = append(events.Links, view.Link{Title: e.Name, URL: "#event-" + e.Name, Code: true})
	}
	errs := view.Chapter{Title: "Errors", URL: "#errors", Folded: true}
	for _, e := range r.Errors {
		errs.Links = append(errs.Links, view.Link{Title: e.Code, URL: "#error-" + e.Code, Code: true})
	}
	objects := view.Chapter{Title: "Objects", URL: "#objects", Folded: true}
	for _, o := range r.Objects {
		objects.Links = append(objects.Links, view.Link{Title: o.Name, URL: "#" + o.ID, Code: true})
	}
	return append(out, events, errs, objects)
}
