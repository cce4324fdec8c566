package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"candor/handlers/api/openapi"
	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/simulator"
	"candor/internal/statement"
)

// A request struct's fields say by a tag where they come from: path, query or
// json (the body). enum, min, max and default are obeyed for query
// parameters; the body's rules are the domain's, and there the tags only
// describe them. required makes a body field's absence an error.

// requestFields are the fields of a request struct by where they come from, looked up once.
type requestFields struct{ path, query, body []requestField }

// requestField is a field and its name in a request.
type requestField struct {
	name string
	reflect.StructField
}

func fieldsOf(request reflect.Type) (all requestFields) {
	for _, f := range openapi.Fields(request) {
		if name, ok := f.Tag.Lookup("path"); ok {
			all.path = append(all.path, requestField{name, f})
		}
		if name, ok := f.Tag.Lookup("query"); ok {
			all.query = append(all.query, requestField{name, f})
		}
		if name := openapi.JSONName(f); name != "" {
			all.body = append(all.body, requestField{name, f})
		}
	}
	return all
}

// decodeParameters fills the fields tagged path and query. It reports all
// invalid ones at once (D10, D25).
func decodeParameters(c echo.Context, fields requestFields, into any) error {
	target := reflect.ValueOf(into).Elem()
	query, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		return domain.Errorf(domain.CodeInvalidRequest, "The query string is malformed. Percent-encode its names and values.")
	}
	for _, f := range fields.path {
		target.FieldByIndex(f.Index).SetString(c.Param(f.name))
	}
	_, errs := noteUnknown(c, "", query, fields.query)
	for _, f := range fields.query {
		if message := decodeParameter(target.FieldByIndex(f.Index), f.StructField, query[f.name]); message != "" {
			errs = append(errs, form.Error{Field: f.name, Message: f.name + " " + message + "."})
		}
	}
	return web.Invalid(errs)
}

// decodeParameter sets a field to a query parameter, or returns what the
// parameter must be.
func decodeParameter(field reflect.Value, f reflect.StructField, values []string) (message string) {
	tag, enum := f.Tag, openapi.Enum(f)
	if len(values) == 0 {
		value, ok := tag.Lookup("default")
		if !ok {
			return ""
		}
		values = []string{value}
	}
	if len(values) > 1 {
		return "must be given once"
	}
	value := values[0]
	switch {
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return "must be text without control characters"
	case tag.Get("empty") != "allowed" && value == "":
		return "must not be empty"
	case enum != nil && !slices.Contains(enum, value):
		return "must be one of " + strings.Join(enum, ", ")
	}
	switch field.Interface().(type) {
	case *time.Time:
		return setTime(field, value)
	case *string:
		field.Set(reflect.ValueOf(&value))
		return ""
	}
	switch field.Kind() {
	case reflect.Int:
		return setInt(field, tag, value)
	case reflect.Bool:
		field.SetBool(value == "true")
	default:
		field.SetString(value)
	}
	return ""
}

var wholeNumber = regexp.MustCompile(`^-?[0-9]+$`)

func setInt(field reflect.Value, tag reflect.StructTag, value string) (message string) {
	least, _ := strconv.ParseInt(tag.Get("min"), 10, 64)
	most, _ := strconv.ParseInt(tag.Get("max"), 10, 64)
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || !wholeNumber.MatchString(value) || n < least || n > most {
		return fmt.Sprintf("must be a whole number from %d to %d", least, most)
	}
	field.SetInt(n)
	return ""
}

// setTime reads an RFC 3339 time from the year 1. A time after 9998 becomes the
// end of that year: lists add a day, and the result must have four digits.
func setTime(field reflect.Value, value string) (message string) {
	t, err := time.Parse(time.RFC3339, value)
	t = t.UTC()
	if t.Year() >= 9999 {
		t = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if err != nil || t.Year() < 1 {
		return "must be a date and time such as 2026-11-20T03:04:05Z (a + is written %2B)"
	}
	field.Set(reflect.ValueOf(&t))
	return ""
}

// decodeBody fills the fields tagged json from a JSON object. null is the same
// as an absent field; unknown fields are ignored and named, or refused (D97). It reports
// all missing fields and wrong types at once (D25).
func decodeBody(c echo.Context, body []byte, fields []requestField, into any) error {
	members, err := parseObject(body)
	if err != nil {
		return err
	}
	d := bodyDecoder{c: c}
	d.members("", members, fields, reflect.ValueOf(into).Elem())
	return web.Invalid(d.errs)
}

// A bodyDecoder collects what is wrong with a body.
type bodyDecoder struct {
	c    echo.Context
	errs form.Errors
}

// members fills the fields of one object. prefix is before their names: "", or the object's
// path and a point.
func (d *bodyDecoder) members(prefix string, members map[string]json.RawMessage, fields []requestField, into reflect.Value) {
	unknown, errs := noteUnknown(d.c, prefix, members, fields)
	d.errs = append(d.errs, errs...)
	for _, f := range fields {
		path := prefix + f.name
		message := d.member(path, into.FieldByIndex(f.Index), f.Tag, members[f.name])
		if message == "" {
			continue
		}
		if other := unknown.meant(path); other != "" && members[f.name] == nil {
			message += "; the body has " + other + " instead"
		}
		d.refuse(path, message)
	}
}

func (d *bodyDecoder) refuse(path, message string) {
	d.errs = append(d.errs, form.Error{Field: path, Message: path + " " + message + "."})
}

// object is members of what should be an object.
func (d *bodyDecoder) object(path string, raw json.RawMessage, into reflect.Value) {
	var members map[string]json.RawMessage
	if message := decodeAs(raw, '{', &members, "must be an object"); message != "" {
		d.refuse(path, message)
		return
	}
	d.members(path+".", members, fieldsOf(into.Type()).body, into)
}

// member sets a field to a member of the body, or returns what the member must be, unless it
// has refused a part of it.
func (d *bodyDecoder) member(path string, field reflect.Value, tag reflect.StructTag, raw json.RawMessage) (message string) {
	if raw == nil || string(raw) == "null" {
		if tag.Get("required") == "true" {
			return "is required"
		}
		return ""
	}
	switch into := field.Addr().Interface().(type) {
	case *string, **string, *domain.Language, *simulator.Goal, *simulator.BillingType:
		return decodeAs(raw, '"', into, "must be a string")
	case **[]domain.EventType:
		return decodeAs(raw, '[', into, `must be an array of events’ names, such as ["session.completed"]`)
	case **bool, *bool:
		if json.Unmarshal(raw, into) != nil {
			return "must be true or false, without quotes"
		}
		return ""
	case *rawPrefill:
		noteShare(d.c, path, raw)
		return decodeAs(raw, '{', (*json.RawMessage)(into), "must be an object")
	case **deliverOption:
		*into = &deliverOption{}
		d.object(path, raw, field.Elem())
		return ""
	case *asks:
		var items []json.RawMessage
		message := decodeAs(raw, '[', &items,
			`must be a list such as [{"section": "documents", "note": "The June payslip is missing a page."}]`)
		*into = make(asks, len(items))
		for i, item := range items[:min(len(items), statement.SectionsTotal)] { // a longer one is refused
			d.object(fmt.Sprintf("%s.%d", path, i), item, field.Index(i))
		}
		return message
	case **int:
		if raw[0] == '"' {
			return "must be a whole number, without quotes"
		}
		whole := form.Plain(string(raw))
		if !wholeNumber.MatchString(whole) {
			return "must be a whole number"
		}
		n, _ := strconv.Atoi(whole) // one too large for an int becomes the largest
		*into = &n
		return ""
	case *domain.Metadata:
		return decodeAs(raw, '{', into, "must be an object")
	}
	panic(fmt.Sprintf("handlers: no decoding of %s in a body", field.Type()))
}

func decodeAs(raw json.RawMessage, first byte, into any, message string) string {
	if raw[0] != first || json.Unmarshal(raw, into) != nil {
		return message
	}
	return ""
}
