package form

import (
	"net/url"
	"slices"
)

// HasInput is the input with the kinds that the customer says to have, or
// HasNone alone (D56).
const (
	HasInput = "has"
	HasNone  = "none"
)

// Kind is the group's value in HasInput: the name of its list, or its own. It
// is "" if the group is always shown.
func (g Group) Kind() string {
	if g.List != nil {
		return g.List.Name
	}
	return g.Name
}

// Has reports whether the customer has the kind: ticked, or with answers.
func (s *Section) Has(kind string) bool {
	if slices.Contains(s.has, kind) {
		return true
	}
	return slices.ContainsFunc(s.Groups, func(g Group) bool { return g.Kind() == kind && g.Answered() })
}

// kinds are the values of HasInput; none if the section doesn't ask.
func (s *Section) kinds() []string {
	if !s.AsksWhatApplies {
		return nil
	}
	out := []string{HasNone}
	for _, g := range s.Groups {
		if g.Kind() != "" {
			out = append(out, g.Kind())
		}
	}
	return out
}

// Untick takes back that the customer has the kind.
func (s *Section) Untick(kind string) {
	s.has = slices.DeleteFunc(s.has, func(k string) bool { return k == kind })
}

// TickNone ticks HasNone if the section asks what applies and nothing is
// answered: it was completed like that.
func (s *Section) TickNone() {
	if s.AsksWhatApplies && !s.anyAnswered() {
		s.has = []string{HasNone}
	}
}

func (s *Section) readKinds(values url.Values) {
	s.has = nil
	for _, kind := range values[HasInput] {
		if slices.Contains(s.kinds(), kind) && !slices.Contains(s.has, kind) {
			s.has = append(s.has, kind)
		}
	}
}

// validateTick returns what is wrong with the tick of the group's kind. Answers without any
// tick are those of a client that knows the fields (D56).
func (s *Section) validateTick(g Group) Errors {
	kind := g.Kind()
	ticked := slices.Contains(s.has, kind)
	switch {
	case !s.AsksWhatApplies || kind == "" || ticked == g.Answered():
	case ticked:
		return Errors{newError(kind, Wording{Text: "Fill it in, or untick {label}", Label: g.Title})}
	case len(s.has) > 0:
		return Errors{newError(kind, Wording{Text: "Tick {label}, or clear what you entered there", Label: g.Title})}
	}
	return nil
}

func (s *Section) anyAnswered() bool {
	return slices.ContainsFunc(s.Groups, func(g Group) bool { return g.Kind() != "" && g.Answered() })
}

// Answered reports whether anything was typed into the group.
func (g Group) Answered() bool {
	if g.List == nil {
		return !blank(g.Fields)
	}
	for i := range g.List.Len() {
		if !blank(g.List.Item(i)) {
			return true
		}
	}
	return false
}
