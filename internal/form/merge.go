package form

import (
	"crypto/rand"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// An Edit is what a page sends of a section: every input as it is now, and as
// it was when the page last agreed with what is stored.
type Edit struct {
	Typed url.Values
	// Was are the inputs that Typed replaces. There are two after a request
	// whose response the page doesn't know: those before it and those in it.
	// With none, Typed replaces everything (D47).
	Was []url.Values
	// Join names a list whose collision ends: items that were added or changed
	// here follow the stored ones.
	Join string
}

// Settle ends the collision of the named field: the edit replaces what the
// customer has seen of it, and with take it becomes that.
func (e Edit) Settle(name string, seen url.Values, take bool) {
	sides := e.Was
	if take {
		sides = append(slices.Clone(sides), e.Typed)
	}
	for _, side := range sides {
		maps.DeleteFunc(side, func(input string, _ []string) bool { return inputOf(name, input) })
		for input, values := range seen {
			if inputOf(name, input) {
				side[input] = values
			}
		}
	}
}

// inputOf reports whether the input is one of the named field's or list's.
func inputOf(name, input string) bool {
	return input == name || strings.HasPrefix(input, name+".")
}

// A Merged is an edit brought together with what is stored.
type Merged struct {
	Store url.Values // to store
	Show  url.Values // Store, with what was typed for each collision
	Was   url.Values // what the next edit of the page replaces
	// Collisions are the names of the fields and lists that were changed both
	// here and elsewhere. Store keeps what is stored of them.
	Collisions []string
	Changed    bool // Store has answers that weren't stored
}

// Merge brings an edit together with the stored inputs of a section, field by
// field. blank returns the section without answers. Items are numbered by
// position, so a list whose items were added or removed elsewhere is merged as
// one field.
func Merge(blank func() *Section, edit Edit, stored url.Values) *Merged {
	if len(edit.Was) == 0 {
		return overwrite(blank(), edit.Typed)
	}
	m := &merge{join: edit.Join, typed: readSide(blank, edit.Typed, Field.Typed), stored: readSide(blank, stored, Field.kept)}
	m.out = &Merged{Store: url.Values{}, Show: url.Values{}, Was: url.Values{}}
	for _, was := range edit.Was {
		m.was = append(m.was, readSide(blank, was, Field.kept))
	}
	if rest := m.untick(edit.Typed); len(rest) < len(edit.Typed) {
		m.typed = readSide(blank, rest, Field.Typed)
	}
	m.kinds()
	for _, g := range m.typed.section.Groups {
		for _, f := range g.Fields {
			m.field(f.Name)
		}
		if g.List != nil {
			m.list(g.List.Name)
		}
	}
	return m.out
}

// overwrite takes what was typed for all there is.
func overwrite(section *Section, typed url.Values) *Merged {
	out := url.Values{}
	maps.Copy(out, typed)
	for _, g := range section.Groups {
		if g.List != nil {
			out.Set(g.List.Name+versionInput, rand.Text())
		}
	}
	return &Merged{Store: out, Show: out, Was: out, Changed: true}
}

// untick returns what was typed without the answers of kinds that were unticked, which
// the page then hides (D56). A post without any tick says nothing about kinds.
func (m *merge) untick(typed url.Values) url.Values {
	rest, has := maps.Clone(typed), m.typed.section.has
	for _, g := range m.typed.section.Groups {
		kind := g.Kind()
		if kind == "" || len(has) == 0 || slices.Contains(has, kind) || !slices.ContainsFunc(m.was, func(was *side) bool { return was.section.Has(kind) }) {
			continue
		}
		maps.DeleteFunc(rest, func(input string, _ []string) bool {
			return g.List != nil && inputOf(g.List.Name, input) || slices.ContainsFunc(g.Fields, func(f Field) bool { return inputOf(f.Name, input) })
		})
	}
	return rest
}

// kinds merges the ticks of what the customer has one by one (D56).
func (m *merge) kinds() {
	var out []string
	for _, kind := range m.typed.section.kinds() {
		has, stored := m.typed.section.Has(kind), m.stored.section.Has(kind)
		here := slices.ContainsFunc(m.was, func(was *side) bool { return was.section.Has(kind) != has })
		m.out.Changed = m.out.Changed || here && has != stored
		if has && here || stored && !here {
			out = append(out, kind)
		}
	}
	if len(out) > 1 {
		out = slices.DeleteFunc(out, func(kind string) bool { return kind == HasNone })
	}
	for _, values := range []url.Values{m.out.Store, m.out.Show, m.out.Was} {
		values[HasInput] = out
	}
}

type merge struct {
	typed, stored *side
	was           []*side // the newest last
	join          string
	out           *Merged
}

// A side is a section's inputs by the name of their field. Fields that aren't
// asked or have no answer have none.
type side struct {
	section *Section
	typed   func(Field, string) url.Values
	fields  map[string]url.Values
	blank   map[string]url.Values // of amounts without an answer: a period can be chosen first
	texts   map[string]string     // the inputs of a field or a whole list as one text; "" for a preset
}

// readSide reads the inputs of one side. typed returns a field's: an input that is too long
// to keep is typed, but neither stored nor known to be (D85).
func readSide(blank func() *Section, values url.Values, typed func(Field, string) url.Values) *side {
	s := &side{section: blank(), typed: typed, fields: map[string]url.Values{}, blank: map[string]url.Values{}, texts: map[string]string{}}
	s.section.Read(values)
	s.section.Walk(func(path string, f Field) {
		switch inputs := typed(f, path); {
		case !f.Asked():
		case answered(inputs):
			s.fields[path] = inputs
			if !f.isPreset() {
				s.texts[path] = inputs.Encode()
			}
		case f.Kind == KindMoney:
			s.blank[path] = inputs
		}
	})
	for _, g := range s.section.Groups {
		if g.List != nil {
			s.texts[g.List.Name] = s.listText(g.List)
		}
	}
	return s
}

// isPreset reports whether the answer is what the page starts with.
func (f Field) isPreset() bool {
	input := f.Value.Input("")
	return f.Preset != "" && (input == f.Preset || input == PresetInput)
}

// answered is false for blank inputs: the period of an amount that isn't there
// (D53) is no answer.
func answered(inputs url.Values) bool {
	for name, values := range inputs {
		if values[0] != "" && !strings.HasSuffix(name, ".period") {
			return true
		}
	}
	return false
}

func (s *side) listText(l *List) string {
	text := []string{strconv.Itoa(l.Len())}
	for i := range l.Len() {
		for _, f := range l.Item(i) {
			text = append(text, s.texts[l.Input(i, f)])
		}
	}
	return strings.Join(text, "\n")
}

// items are the inputs of each item of the list as one text, "" for a blank
// one.
func (s *side) items(name string) []string {
	var out []string
	l := s.section.List(name)
	for i := range l.Len() {
		text := ""
		for _, f := range l.Item(i) {
			if inputs := s.typed(f, f.Name); f.Asked() && answered(inputs) && !f.isPreset() {
				text += "&" + inputs.Encode()
			}
		}
		out = append(out, text)
	}
	return out
}

// put puts the inputs of a field, or of all items of a list, into out.
func (s *side) put(out url.Values, name string) {
	if l := s.section.List(name); l != nil {
		l.inputs(out, s.typed)
		return
	}
	maps.Copy(out, s.fields[name])
}

func (m *merge) field(name string) {
	if from := m.decide(name); from != nil {
		m.keep(name, from, from, from)
		if from.fields[name] == nil {
			maps.Copy(m.out.Show, m.typed.blank[name])
		}
		return
	}
	m.out.Collisions = append(m.out.Collisions, name)
	m.keep(name, m.stored, m.typed, m.was[0])
}

func (m *merge) keep(name string, store, show, was *side) {
	store.put(m.out.Store, name)
	show.put(m.out.Show, name)
	was.put(m.out.Was, name)
}

// decide returns the side whose answer stays, nil if both have changed it.
func (m *merge) decide(name string) *side {
	typed, stored := m.typed.texts[name], m.stored.texts[name]
	here, elsewhere := false, true
	for _, was := range m.was {
		here = here || typed != was.texts[name]
		elsewhere = elsewhere && stored != was.texts[name]
	}
	switch {
	case typed == stored && m.typed.fields[name] == nil && m.stored.fields[name] != nil:
		return m.stored // a preset that was chosen elsewhere
	case typed == stored:
		return m.typed
	case here && !elsewhere:
		m.out.Changed = true
		return m.typed
	case !here:
		return m.stored
	}
	return nil
}

func (m *merge) list(name string) {
	own := m.typed.section.List(name)
	switch from := m.decide(name); {
	case from != nil:
		m.keep(name, from, from, from)
		m.sign(name, m.stored.section.List(name).Version)
	case m.sameItems(name):
		longer := own
		if l := m.stored.section.List(name); l.Len() > own.Len() {
			longer = l
		}
		for i := range longer.Len() {
			for _, f := range longer.Item(i) {
				m.field(longer.Input(i, f))
			}
			m.number(longer, i)
		}
		m.sign(name, own.Version)
	case m.join == name:
		m.joinItems(name)
	default:
		m.field(name)
	}
}

// number keeps the place of an item without answers.
func (m *merge) number(l *List, i int) {
	for _, out := range []url.Values{m.out.Store, m.out.Show, m.out.Was} {
		out.Set(l.path(i), "")
	}
}

func (m *merge) sign(name, version string) {
	for _, out := range []url.Values{m.out.Store, m.out.Show, m.out.Was} {
		out.Set(name+versionInput, version)
	}
}

// sameItems reports whether a number means the same item of the list on all
// sides. An item that was blank before and is filled in on both is two items.
func (m *merge) sameItems(name string) bool {
	typed, stored, was := m.typed.items(name), m.stored.items(name), m.was[0].items(name)
	for _, s := range append([]*side{m.typed}, m.was...) {
		if s.section.List(name).Version != m.stored.section.List(name).Version {
			return false
		}
	}
	for i := range min(len(typed), len(stored)) {
		if (i >= len(was) || was[i] == "") && typed[i] != "" && stored[i] != "" && typed[i] != stored[i] {
			return false
		}
	}
	return true
}

// joinItems keeps the stored items and puts those after them that were added
// or changed here.
func (m *merge) joinItems(name string) {
	m.keep(name, m.stored, m.stored, m.stored)
	m.out.Changed = true
	own, next := m.typed.section.List(name), m.stored.section.List(name).Len()
	known := slices.Concat([]string{""}, m.stored.items(name), m.was[0].items(name))
	for i, item := range m.typed.items(name) {
		if slices.Contains(known, item) || next == mostItems {
			continue
		}
		for _, f := range own.Item(i) {
			inputs := f.Typed(name + "." + strconv.Itoa(next) + "." + f.Name)
			maps.Copy(m.out.Store, inputs)
			maps.Copy(m.out.Show, inputs)
			maps.Copy(m.out.Was, inputs)
		}
		next++
	}
	m.sign(name, rand.Text())
}
