package doc

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service"
	"candor/internal/service/sessions"
)

var update = flag.Bool("update", false, "rewrite the generated blocks of contract.md")

// TestContractDocument compares the generated blocks of contract.md with the
// OpenAPI document that the API serves. -update rewrites them.
func TestContractDocument(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("contract.md")
	if err != nil {
		t.Fatal(err)
	}
	c := contract{openAPI(t)}
	text := string(page)
	for name, block := range map[string]string{
		"endpoints": c.endpoints(), "details": c.details(), "objects": c.objects(), "errors": errorCodes(), "events": c.events(),
		"webhook headers": c.webhookHeaders(), "response headers": c.responseHeaders(),
	} {
		begin, end := "<!-- generated: "+name+" -->\n", "<!-- end of "+name+" -->\n"
		head, rest, found := strings.Cut(text, begin)
		old, tail, ended := strings.Cut(rest, end)
		switch {
		case !found || !ended:
			t.Errorf("contract.md has no block %q", name)
		case old != "\n"+block+"\n\n" && !*update:
			t.Errorf("block %q of contract.md differs from the API; update it with: go test ./doc -run TestContractDocument -update", name)
		}
		text = head + begin + "\n" + block + "\n\n" + end + tail
	}
	if *update && !t.Failed() {
		if err := os.WriteFile("contract.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// openAPI returns the API's document as a server without a database serves it.
func openAPI(t *testing.T) *openapi3.T {
	t.Helper()
	limiter, err := ratelimit.New(ratelimit.Config{PerMinute: 1, Burst: 10, Keys: 1})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := handlers.New(handlers.Config{
		Services: service.Services{Sessions: &sessions.Service{}},
		Logger:   slog.New(slog.NewTextHandler(io.Discard, nil)), Clock: domain.SystemClock, BaseURL: "https://candor.example",
		Limiter: limiter, SignedOutLimiter: limiter, LinkLimiter: limiter, OpenedLimiter: limiter, NetworkLimiter: limiter,
		Ready: func(context.Context) error { return nil }, CookieKeys: [][]byte{make([]byte, 32), make([]byte, 32)},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://candor.example/v1/openapi.json", nil))
	document, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	if err != nil {
		t.Fatalf("status %d: %v", w.Code, err)
	}
	return document
}

// A contract writes parts of the OpenAPI document as Markdown.
type contract struct{ doc *openapi3.T }

// An endpoint is a method and a path of the API.
type endpoint struct {
	method, path string
	*openapi3.Operation
}

// all lists the endpoints by tag, path and method.
func (c contract) all() (out []endpoint) {
	for path, item := range c.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			out = append(out, endpoint{method, "/v1" + path, operation})
		}
	}
	order := map[string]int{}
	for i, tag := range c.doc.Tags {
		order[tag.Name] = i
	}
	slices.SortFunc(out, func(a, b endpoint) int {
		return cmp.Or(cmp.Compare(order[a.Tags[0]], order[b.Tags[0]]), cmp.Compare(a.path, b.path), -cmp.Compare(a.method, b.method))
	})
	return out
}

var keyNeeds = regexp.MustCompile(` The key needs (.+)\.$`)

func (c contract) endpoints() string {
	var rows [][]string
	for _, e := range c.all() {
		needs := keyNeeds.FindStringSubmatch(e.Description)[1]
		rows = append(rows, []string{"`" + e.method + " " + e.path + "`", e.Summary, needs})
	}
	return table([]string{"Endpoint", "Purpose", "Permission"}, rows)
}

func (c contract) details() string {
	var out []string
	for _, e := range c.all() {
		out = append(out, "### "+e.method+" "+e.path, keyNeeds.ReplaceAllString(e.Description, ""))
		var rows [][]string
		for _, p := range e.Parameters {
			rows = append(rows, []string{"`" + p.Value.Name + "`", p.Value.In, values(p.Value.Schema), p.Value.Description})
		}
		if rows != nil {
			out = append(out, table([]string{"Parameter", "In", "Value", "Meaning"}, rows))
		}
		if e.RequestBody != nil {
			body := e.RequestBody.Value.Content.Get("application/json").Schema
			out = append(out, "Request body:", table([]string{"Field", "Value", "Required", "Meaning"}, fields(body.Value, "", true)))
		}
		responses := e.Responses.Map()
		for _, status := range slices.Sorted(maps.Keys(responses)) {
			if status[0] != '2' || status == "202" {
				continue
			}
			var kinds []string
			for kind, media := range responses[status].Value.Content {
				if media.Schema.Ref != "" {
					kind = link(media.Schema)
				}
				kinds = append(kinds, kind)
			}
			slices.Sort(kinds)
			out = append(out, "Response "+status+": "+strings.Join(kinds, ", ")+".")
		}
		var codes []string
		for _, e := range errorsOf(e.Operation) {
			codes = append(codes, "`"+e.code+"` "+e.status)
		}
		out = append(out, "Errors: "+strings.Join(codes, ", ")+".")
	}
	return strings.Join(out, "\n\n")
}

// objects describes what responses and events contain.
func (c contract) objects() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c.doc.Components.Schemas)) {
		if !strings.HasSuffix(name, "Request") && c.doc.Components.Schemas[name].Value.Type.Is("object") {
			out = append(out, "### "+name, table([]string{"Field", "Value", "Meaning"}, fields(c.doc.Components.Schemas[name].Value, "", false)))
		}
	}
	return strings.Join(out, "\n\n")
}

type apiError struct{ code, status string }

var codeMeaning = regexp.MustCompile("(?m)^`([a-z_]+)`: ")

// errorsOf lists the errors of an endpoint by status and code.
func errorsOf(o *openapi3.Operation) (out []apiError) {
	responses := o.Responses.Map()
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		for _, match := range codeMeaning.FindAllStringSubmatch(*responses[status].Value.Description, -1) {
			out = append(out, apiError{match[1], status})
		}
	}
	return out
}

func errorCodes() string {
	var rows [][]string
	for _, info := range domain.CodeTable {
		rows = append(rows, []string{"`" + string(info.Code) + "`", strconv.Itoa(info.Status), info.Meaning})
	}
	return table([]string{"Code", "Status", "Meaning"}, rows)
}

// events describes the webhooks' data, in the order of the feed's filter.
func (c contract) events() string {
	var out []string
	types := c.doc.Paths.Find("/events").Get.Parameters.GetByInAndName("query", "type").Schema.Value.Enum
	for _, value := range types {
		name := value.(string)
		post := c.doc.Webhooks[name].Post
		data := post.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties["data"]
		out = append(out, "### "+name, post.Summary+".", table([]string{"Field of data", "Value", "Meaning"}, fields(data.Value, "", false)))
	}
	return strings.Join(out, "\n\n")
}

func (c contract) webhookHeaders() string {
	var rows [][]string
	for _, p := range c.doc.Webhooks[string(domain.SessionCompleted)].Post.Parameters {
		rows = append(rows, []string{"`" + p.Value.Name + "`", p.Value.Description})
	}
	return table([]string{"Header", "Meaning"}, rows)
}

func (c contract) responseHeaders() string {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(c.doc.Components.Headers)) {
		rows = append(rows, []string{"`" + name + "`", c.doc.Components.Headers[name].Value.Description})
	}
	return table([]string{"Header", "Meaning"}, rows)
}

// fields lists the fields of an object, those of unnamed objects in it by path.
func fields(s *openapi3.Schema, prefix string, required bool) (rows [][]string) {
	names := slices.Clone(s.Required)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		p := s.Properties[name]
		row := []string{"`" + prefix + name + "`", values(p)}
		if required {
			row = append(row, map[bool]string{true: "yes"}[slices.Contains(s.Required, name)])
		}
		rows = append(rows, append(row, cmp.Or(p.Value.Description, p.Value.Title)))
		switch {
		case p.Ref != "":
		case p.Value.Properties != nil:
			rows = append(rows, fields(p.Value, prefix+name+".", required)...)
		case p.Value.Items != nil && p.Value.Items.Ref == "":
			rows = append(rows, fields(p.Value.Items.Value, prefix+name+"[].", required)...)
		}
	}
	return rows
}

// values says what a field can hold.
func values(s *openapi3.SchemaRef) string {
	switch {
	case s.Ref != "":
		return link(s)
	case s.Value.Items != nil && s.Value.Items.Ref != "":
		return "array of " + link(s.Value.Items)
	case len(s.Value.AnyOf)+len(s.Value.OneOf) > 0:
		var all []string
		for _, one := range append(s.Value.AnyOf, s.Value.OneOf...) {
			all = append(all, values(one))
		}
		return strings.Join(all, " or ")
	case len(s.Value.Enum) > 0:
		var all []string
		for _, value := range s.Value.Enum {
			if value != nil && value != "" {
				all = append(all, fmt.Sprintf("`%v`", value))
			}
		}
		return strings.Join(all, ", ")
	}
	var out []string
	if s.Value.Type != nil {
		out = append(out, strings.Join(s.Value.Type.Slice(), " or "))
	}
	if s.Value.Format != "" && s.Value.Type.Includes("string") { // a number's is for generators
		out = append(out, s.Value.Format)
	}
	switch most := s.Value.Max; {
	case s.Value.Min == nil:
	case most == nil || *most > 1e6: // no one comes near it
		out = append(out, fmt.Sprintf("at least %v", *s.Value.Min))
	default:
		out = append(out, fmt.Sprintf("%v to %v", *s.Value.Min, *most))
	}
	if s.Value.MaxLength != nil {
		out = append(out, fmt.Sprintf("at most %d characters", *s.Value.MaxLength))
	}
	if s.Value.Default != nil {
		out = append(out, fmt.Sprintf("default `%v`", s.Value.Default))
	}
	return strings.Join(out, ", ")
}

// link leads to an object's description.
func link(s *openapi3.SchemaRef) string {
	name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	switch name {
	case "":
		return "object"
	case "ErrorCode":
		return "[an error code](#errors)"
	case "EventType":
		return "[an event](#events)"
	}
	return "[" + name + "](#" + strings.ToLower(name) + ")"
}

func table(head []string, rows [][]string) string {
	var out strings.Builder
	line := func(cells []string) {
		for _, cell := range cells {
			out.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		out.WriteString("|\n")
	}
	line(head)
	line(slices.Repeat([]string{"---"}, len(head)))
	for _, row := range rows {
		line(row)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
