package api

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"

	"candor/internal/form"
	"candor/internal/statement"
)

// headerIgnored lists what a request has that its endpoint doesn't know: a
// structured field (RFC 9651), as in
//
//	Candor-Ignored: customerName;nearest=customer_name, colour
const headerIgnored = "Candor-Ignored"

// ignoredMost is how many names the header has at most.
const ignoredMost = 10

// plainName is a name that is told. Others can be anything a client
// typed, such as a customer's.
var plainName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.\-]{0,39}$`)

// ignored are the unknown names of a request, in order, each with the known name
// that is nearest, "" for none.
type ignored []struct{ name, nearest string }

// unknownNames lists the names of a request's members that no field has.
func unknownNames[V any](members map[string]V, fields []requestField) ignored {
	var unknown, missing []string
	for name := range members {
		if !slices.ContainsFunc(fields, func(f requestField) bool { return f.name == name }) && plainName.MatchString(name) {
			unknown = append(unknown, name)
		}
	}
	if unknown == nil {
		return nil
	}
	for _, f := range fields {
		if _, given := members[f.name]; !given {
			missing = append(missing, f.name)
		}
	}
	slices.Sort(unknown)
	var out ignored
	for _, name := range unknown {
		out = append(out, struct{ name, nearest string }{name, nearest(name, missing)})
	}
	return out
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
		if n.nearest == known {
			return n.name
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
		item := n.name
		if n.nearest != "" {
			item += ";nearest=" + n.nearest
		}
		out = append(out, item)
	}
	if len(out) > 0 {
		h.Set(headerIgnored, strings.Join(out[:min(len(out), ignoredMost)], ", "))
	}
}

// loggedIgnored is what the log keeps of the header: the names by which a known one was
// meant, and the number of the others, which can be anything that a client typed (D90).
func loggedIgnored(header string) string {
	var near []string
	others := 0
	for item := range strings.SplitSeq(header, ", ") {
		switch {
		case strings.Contains(item, ";nearest="):
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
	for _, request := range []reflect.Type{reflect.TypeFor[createSessionRequest](), reflect.TypeFor[advanceSessionRequest](), reflect.TypeFor[createTestEventRequest]()} {
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
