package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"
	"github.com/labstack/echo/v4"

	"candor/internal/form"
	"candor/internal/statement"
)

// headerIgnored lists what a request has that its endpoint doesn't know: a structured
// field (RFC 9651), of tokens and, if a name is none, display strings, as in
//
//	Candor-Ignored: customerName;nearest=customer_name, colour, %"gr%c3%b6%c3%9fe"
const headerIgnored = "Candor-Ignored"

// nearestParameter stands between an unknown name and the known one that is nearest.
const nearestParameter = ";nearest="

// ignoredMost is how many names the header has at most.
const ignoredMost = 10

// longestName is how much of a name is told, in bytes: ten of them fit into a header.
const longestName = 40

// plainName is a name that the header has as it is, and that can be near to a known one.
var plainName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.\-]*$`)

// shortened is a name as it is told.
func shortened(name string) string {
	if len(name) <= longestName {
		return name
	}
	return strings.ToValidUTF8(name[:longestName], "") + "…"
}

// headerStrict is the header by which a request asks to be refused if it has an unknown
// name (D97).
const headerStrict = "Candor-Strict"

// ignored are the unknown names of a request, in order.
type ignored []unknownName

// An unknownName is a name that no field has.
type unknownName struct {
	Name    string `json:"name" doc:"The field or query parameter as the request has it."`
	Nearest string `json:"nearest,omitempty" doc:"The known name that is nearest to it; absent where none is near."`
}

// untold stands for a name that isn't told: of a query's parameter without a value, which may
// be one itself, or in the log.
const untold = "…"

// refusal is what is wrong with the name in a strict request.
func (n unknownName) refusal() string {
	name := n.Name
	if name != untold && !plainName.MatchString(name) {
		name = strconv.Quote(name)
	}
	if n.Nearest != "" {
		return name + " isn’t known here. Did you mean " + n.Nearest + "?"
	}
	return name + " isn’t known here. Leave it out."
}

// noteUnknown names in the response's header what the query or the body has and no field
// does. If the request is strict, they are its errors, too. prefix is before all names.
func noteUnknown[V any](c echo.Context, prefix string, members map[string]V, fields []requestField) (told ignored,
	errs form.Errors) {
	told, others := unknownNames(prefix, members, fields)
	noteIgnored(c.Response().Header(), told)
	switch c.Request().Header.Get(headerStrict) {
	case "":
		return told, nil
	case "1":
	default:
		return told, form.Errors{{Field: headerStrict, Message: headerStrict +
			" must be 1. Leave the header out if unknown names are to be ignored."}}
	}
	if others {
		told = append(told, unknownName{Name: untold})
	}
	for _, n := range told[:min(len(told), ignoredMost)] {
		errs = append(errs, form.Error{Field: n.Name, Message: n.refusal()})
	}
	return told, errs
}

// unknownNames lists the names of a request's members that no field has, and reports
// whether there are others that aren't told.
func unknownNames[V any](prefix string, members map[string]V, fields []requestField) (told ignored, others bool) {
	var unknown, missing []string
	for name, value := range members {
		values, inQuery := any(value).([]string)
		switch {
		case slices.ContainsFunc(fields, func(f requestField) bool { return f.name == name }):
		case inQuery && len(values) == 1 && values[0] == "":
			others = true
		default:
			unknown = append(unknown, shortened(name))
		}
	}
	if unknown == nil {
		return nil, others
	}
	for _, f := range fields {
		if _, given := members[f.name]; !given {
			missing = append(missing, f.name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		n := unknownName{Name: prefix + name}
		if near := nearest(name, missing); near != "" && plainName.MatchString(name) {
			n.Nearest = prefix + near
		}
		told = append(told, n)
	}
	return told, others
}

// mistypedMost is how many letters of a name that is meant are mistyped at most. With more
// of them a name could tell something else: what is near is logged (D90).
const mistypedMost = 2

// nearest returns the name that was meant, "" if none is near: the same but for
// case, - and _, or with a third of it mistyped at most, or a part of it.
func nearest(name string, known []string) (best string) {
	name = plain(name)
	least := min(len(name)/3, mistypedMost) + 1
	for _, one := range known {
		distance := levenshtein.ComputeDistance(name, plain(one))
		if len(name) > 3 && strings.Contains(plain(one), name) {
			distance = min(distance, 1)
		}
		if distance < least {
			best, least = one, distance
		}
	}
	return best
}

func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// meant returns the unknown name that is nearest to a known one, "" for none.
func (ns ignored) meant(known string) string {
	for _, n := range ns {
		if n.Nearest == known {
			return n.Name
		}
	}
	return ""
}

// noteIgnored names what is ignored in the response's header, after what it names
// already: a request can have a query and a body.
func noteIgnored(h http.Header, names ignored) {
	var out []string
	if before := h.Get(headerIgnored); before != "" {
		out = strings.Split(before, ", ")
	}
	for _, n := range names {
		item := item(n.Name)
		if n.Nearest != "" {
			item += nearestParameter + n.Nearest
		}
		out = append(out, item)
	}
	if len(out) > 0 {
		h.Set(headerIgnored, strings.Join(out[:min(len(out), ignoredMost)], ", "))
	}
}

// item is a name as the header has it. A display string could have more characters as they
// are, but then a comma could be within it.
func item(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	var b strings.Builder
	for _, one := range []byte(name) {
		if plainName.Match([]byte{'a', one}) {
			b.WriteByte(one)
		} else {
			fmt.Fprintf(&b, "%%%02x", one)
		}
	}
	return `%"` + b.String() + `"`
}

// ignoredIn reads what noteIgnored named.
func ignoredIn(h http.Header) (out ignored) {
	if all := h.Get(headerIgnored); all != "" {
		for item := range strings.SplitSeq(all, ", ") {
			name, nearest, _ := strings.Cut(item, nearestParameter)
			if shown, is := strings.CutPrefix(name, `%"`); is {
				name, _ = url.PathUnescape(strings.TrimSuffix(shown, `"`)) // item wrote it
			}
			out = append(out, unknownName{name, nearest})
		}
	}
	return out
}

// loggedIgnored is what the log keeps of the header: the names by which a known one was
// meant, and the number of the others, which can be anything that a client typed (D90).
func loggedIgnored(header string) string {
	var near []string
	others := 0
	for item := range strings.SplitSeq(header, ", ") {
		switch {
		case strings.Contains(item, nearestParameter):
			near = append(near, item)
		case item != "":
			others++
		}
	}
	if others > 0 {
		near = append(near, fmt.Sprintf("*;others=%d", others))
	}
	return strings.Join(near, ", ")
}

// noteShare names a couple's share among answers that are given: like a total it is ignored
// (D78), so that data can be given again, but who makes answers up may expect it to count.
func noteShare(c echo.Context, path string, raw json.RawMessage) {
	var given struct {
		Expenses struct{ Share *json.RawMessage }
	}
	if json.Unmarshal(raw, &given) == nil && given.Expenses.Share != nil {
		noteIgnored(c.Response().Header(), ignored{{Name: path + "." + statement.ExpensesSection + "." + statement.ShareInput}})
	}
}

// memberNames are the names of all members of bodies and of answers in them.
var memberNames = sync.OnceValue(func() (out []string) {
	var walk func(*form.Schema)
	walk = func(s *form.Schema) {
		if s == nil {
			return
		}
		for name, member := range s.Properties {
			out = append(out, name)
			walk(member)
		}
		walk(s.Items)
	}
	walk(statement.PrefillSchema())
	for _, request := range []reflect.Type{reflect.TypeFor[createSessionRequest](), reflect.TypeFor[deliverOption](),
		reflect.TypeFor[askItem](), reflect.TypeFor[advanceSessionRequest](), reflect.TypeFor[createTestEventRequest]()} {
		for _, f := range fieldsOf(request).body {
			out = append(out, f.name)
		}
	}
	return append(out, statement.ShareInput)
})

// isLogged reports whether the log may name a member: it or one that is near is known.
func isLogged(name string) bool {
	return slices.Contains(memberNames(), name) || plainName.MatchString(name) && nearest(name, memberNames()) != ""
}
