package form

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Merging edits
//
// A customer has a section open twice: on a phone and a computer, or in a tab that was
// forgotten. Each page sends all inputs of its form, also those that were not touched there.
// Storing them as they come would undo what the other page saved. So each post is a
// three-way merge, as in version control:
//
//   - ours are the inputs as the page sends them;
//   - theirs are the inputs that are stored now, by whichever page saved last;
//   - base are the inputs as they were when the page last agreed with what is stored. The
//     page has them in its hidden input "was", so the server keeps no history.
//
// What is merged. The unit is what has one meaning by itself: a field with all its inputs.
// A date made of the day of one device and the month of another is a day that no one
// typed, and so is an amount with a period that was chosen for another. A unit is known by
// the path of its field. Texts are compared as they are stored, so a space or a comma is no
// change; a choice that the page started with is no answer, and loses to one.
//
//	ours = theirs          that
//	only theirs changed    theirs
//	only ours changed      ours; cleared is an answer, too
//	both changed           a conflict
//
// Ticks of what the customer has are units as well (D56). A tick has two values, so two
// changes of one are the same change: ticks never conflict. Unticking hides the questions
// below, so their answers are taken for cleared.
//
// Rows of lists. A row has no identity but its position: pages work without script, and
// the contract numbers rows (D47). A number means the same row on two sides only if no row
// was added, removed or moved between them. That is what a list's version says: it changes
// with each such change. While ours, base and theirs have one version, rows are matched by
// number and merged field by field, except that a row which was blank and is filled in on
// both sides is two rows. With different versions no rule about contents is safe: two
// accounts at one bank look alike, and a wrong match puts a balance under another account.
// Then the list is one unit: it is taken whole from the side that changed it, or conflicts.
//
// What becomes of a conflict. Theirs stays stored, because another page was told that it
// is. Ours stays on the page beside it, and the base of that unit stays what it was, so
// that each later post of the page finds the same conflict until the customer resolves it:
// keep ours, take theirs (Edit.Resolve), or, of a list, have the rows of both (Edit.Union).
// Units without conflict are stored at once; one conflict holds up nothing else.
//
// Several bases. A request whose response was lost may have been stored or not. The page
// then sends each state that it sent since as a further base. Theirs is unchanged if it
// equals any of them, because the page itself put it there; ours is unchanged only if it
// equals all of them, or typing an old answer again would do nothing. A request that arrives
// after a later one of its page, in which the old answer was typed again, looks like an
// edit; so a page sends one at a time.
//
// An input outside fields and lists needs a line of its own here. What a page asked for as
// shared (Section.Sharing) is current only if it is on both sides. The tick that the amounts
// are right is ours, unless amounts of theirs come that our page didn't have. Two devices that
// edit one list after one of them pressed Continue conflict: completed answers have the version
// of their content.
//
// So, whatever the order of the posts: a unit that one device changed is stored as that
// device left it; a post never changes a unit that its page didn't; what was typed is
// stored, or on its page in a conflict that has a name. TestMergeKeepsEveryEdit tries it.

// An Edit is what a page sends of a section.
type Edit struct {
	Ours url.Values
	// Bases are the inputs that Ours replaces: those that the page knows to be stored, then
	// those that it sent since. With none, Ours replaces everything (D47).
	Bases []url.Values
	// Union names a list whose conflict ends: rows that were added or changed here follow
	// the stored ones.
	Union string
}

// Resolve ends the conflict of the named field: ours replaces what the customer has seen
// of theirs, and with take it becomes that.
func (e Edit) Resolve(name string, seen url.Values, take bool) {
	sides := e.Bases
	if take {
		sides = append(slices.Clone(sides), e.Ours)
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

// A Merged is an edit merged with what is stored.
type Merged struct {
	Store url.Values // to store
	Show  url.Values // Store, with ours of each conflict
	Base  url.Values // of the page's next edit: Store, with the base of each conflict
	// Conflicts are the names of the fields and lists in conflict. Pages call each a
	// collision, in attributes that scripts of open pages read.
	Conflicts []string
	Changed   bool // Store has answers that weren't stored
}

// add adds inputs that are the same to store, to show and as a base.
func (m *Merged) add(inputs url.Values) {
	for _, out := range []url.Values{m.Store, m.Show, m.Base} {
		maps.Copy(out, inputs)
	}
}

// version gives the list a version.
func (m *Merged) version(list, version string) {
	m.add(url.Values{list + versionInput: {version}})
}

type merge struct {
	ours, theirs *side
	bases        []*side // the newest last
	union        string
	taken        bool // theirs has an answer that our page didn't
	out          *Merged
}

// Merge merges an edit with theirs, the stored inputs of its section. blank returns the
// section without answers.
func Merge(blank func() *Section, edit Edit, theirs url.Values) *Merged {
	out := &Merged{Store: url.Values{}, Show: url.Values{}, Base: url.Values{}}
	section := blank()
	if len(edit.Bases) == 0 {
		out.Changed = true
		out.add(edit.Ours)
		out.add(url.Values{SharingInput: {section.Sharing}})
		for _, g := range section.Groups {
			if g.List != nil {
				out.version(g.List.Name, rand.Text())
			}
		}
		return out
	}
	m := &merge{theirs: read(blank(), theirs), union: edit.Union, out: out}
	for _, base := range edit.Bases {
		m.bases = append(m.bases, read(blank(), base))
	}
	m.ours = read(section, m.unticked(section, edit.Ours))
	m.kinds()
	for _, g := range section.Groups {
		for _, f := range g.Fields {
			m.unit(f.Name)
		}
		if g.List != nil {
			m.list(g.List)
		}
	}
	m.sharing()
	return out
}

// A side is the answers of ours, of theirs or of a base.
type side struct {
	section *Section
	answers map[string]url.Values // the inputs of each field that has an answer, by its path
	periods map[string]url.Values // of amounts without an answer: a period can be chosen first
	texts   map[string]string     // the answer of a field or list to compare; "" for none and for a preset
	items   map[string][]string   // the answers of each item of a list to compare
}

func read(section *Section, values url.Values) *side {
	s := &side{section, map[string]url.Values{}, map[string]url.Values{}, map[string]string{}, map[string][]string{}}
	section.Read(values)
	section.Walk(func(path string, f Field) {
		switch typed := f.Typed(path); {
		case !f.Asked():
		case answered(typed):
			s.answers[path] = typed
			if !f.isPreset() {
				s.texts[path] = f.Typed(f.Name).Encode() // an item's has no number
			}
		case f.Kind == KindMoney:
			s.periods[path] = typed
		}
	})
	for _, g := range section.Groups {
		for i := 0; g.List != nil && i < g.List.Len(); i++ {
			item := ""
			for _, f := range g.List.Item(i) {
				if text := s.texts[g.List.Input(i, f)]; text != "" {
					item += "&" + text
				}
			}
			s.items[g.List.Name] = append(s.items[g.List.Name], item)
		}
		if g.List != nil {
			s.texts[g.List.Name] = fmt.Sprintf("%q", s.items[g.List.Name])
		}
	}
	return s
}

// isPreset reports whether the answer is what the page starts with.
func (f Field) isPreset() bool {
	input := f.Value.Input("")
	return f.Preset != "" && (input == f.Preset || input == PresetInput)
}

// answered is false for blank inputs: the period of an amount that isn't there (D53) is no
// answer.
func answered(inputs url.Values) bool {
	for name, values := range inputs {
		if values[0] != "" && !strings.HasSuffix(name, ".period") {
			return true
		}
	}
	return false
}

// of returns the side's inputs of a field, or of all items of a list.
func (s *side) of(name string) url.Values {
	l := s.section.List(name)
	if l == nil {
		return s.answers[name]
	}
	out := url.Values{}
	l.inputs(out)
	return out
}

// unticked returns ours without the answers of kinds that were unticked, which the page
// hides (D56). A post without any tick says nothing about kinds.
func (m *merge) unticked(section *Section, ours url.Values) url.Values {
	section.readKinds(ours)
	rest := maps.Clone(ours)
	for _, g := range section.Groups {
		kind := g.Kind()
		had := slices.ContainsFunc(m.bases, func(base *side) bool { return base.section.Has(kind) })
		if kind == "" || len(section.has) == 0 || slices.Contains(section.has, kind) || !had {
			continue
		}
		maps.DeleteFunc(rest, func(input string, _ []string) bool {
			return g.List != nil && inputOf(g.List.Name, input) ||
				slices.ContainsFunc(g.Fields, func(f Field) bool { return inputOf(f.Name, input) })
		})
	}
	return rest
}

// sharing merges what amounts were asked for, after all else.
func (m *merge) sharing() {
	ours, theirs := m.ours.section, m.theirs.section
	sharing, checked := ours.TypedSharing(), ""
	if theirs.Outdated {
		sharing = theirs.TypedSharing()
	}
	if ours.Checked && !m.taken {
		checked = ours.CheckedFor()
	}
	m.out.Changed = m.out.Changed || sharing != theirs.TypedSharing() || (checked != "") != theirs.Checked
	m.out.add(url.Values{SharingInput: {sharing}, CheckedInput: {checked}})
}

// kinds merges the ticks of what the customer has one by one.
func (m *merge) kinds() {
	var out []string
	for _, kind := range m.ours.section.kinds() {
		ours, theirs := m.ours.section.Has(kind), m.theirs.section.Has(kind)
		if slices.ContainsFunc(m.bases, func(base *side) bool { return base.section.Has(kind) != ours }) {
			m.out.Changed = m.out.Changed || ours != theirs
			theirs = ours
		}
		if theirs {
			out = append(out, kind)
		}
	}
	if len(out) > 1 {
		out = slices.DeleteFunc(out, func(kind string) bool { return kind == HasNone })
	}
	m.out.add(url.Values{HasInput: out})
}

// winner returns the side whose answer of the unit stays, nil for a conflict.
func (m *merge) winner(name string) *side {
	ours, theirs := m.ours.texts[name], m.theirs.texts[name]
	oursChanged, theirsChanged := false, true
	for _, base := range m.bases {
		oursChanged = oursChanged || ours != base.texts[name]
		theirsChanged = theirsChanged && theirs != base.texts[name]
	}
	switch {
	case ours == theirs && m.ours.answers[name] == nil && m.theirs.answers[name] != nil:
		return m.theirs // a preset that was chosen elsewhere
	case ours == theirs:
		return m.ours
	case !oursChanged:
		m.taken = true
		return m.theirs
	case !theirsChanged:
		m.out.Changed = true
		return m.ours
	}
	return nil
}

// unit merges a field.
func (m *merge) unit(name string) {
	winner := m.winner(name)
	if winner == nil {
		m.conflict(name)
		return
	}
	m.out.add(winner.of(name))
	if winner.answers[name] == nil {
		maps.Copy(m.out.Show, m.ours.periods[name])
	}
}

func (m *merge) conflict(name string) {
	m.taken = true
	m.out.Conflicts = append(m.out.Conflicts, name)
	maps.Copy(m.out.Store, m.theirs.of(name))
	maps.Copy(m.out.Show, m.ours.of(name))
	maps.Copy(m.out.Base, m.bases[0].of(name))
}

// list merges a list: whole if one side changed it, else by field.
func (m *merge) list(ours *List) {
	theirs := m.theirs.section.List(ours.Name)
	switch winner := m.winner(ours.Name); {
	case winner != nil:
		m.out.add(winner.of(ours.Name))
		m.out.version(ours.Name, theirs.Version)
	case m.sameItems(ours.Name):
		longer := ours
		if theirs.Len() > ours.Len() {
			longer = theirs
		}
		for i := range longer.Len() {
			for _, f := range longer.Item(i) {
				m.unit(longer.Input(i, f))
			}
			m.out.add(url.Values{longer.path(i): {""}}) // keeps the place of an item without answers
		}
		m.out.version(ours.Name, theirs.Version)
	case m.union == ours.Name:
		m.unite(ours)
	default:
		m.conflict(ours.Name)
	}
}

// sameItems reports whether a number means the same item of the list on all sides.
func (m *merge) sameItems(name string) bool {
	ours, theirs, base := m.ours.items[name], m.theirs.items[name], m.bases[0].items[name]
	version := m.theirs.section.List(name).Version
	if slices.ContainsFunc(append(slices.Clone(m.bases), m.ours), func(s *side) bool {
		return s.section.List(name).Version != version
	}) {
		return false
	}
	for i := range min(len(ours), len(theirs)) {
		isNew := i >= len(base) || base[i] == ""
		if isNew && ours[i] != "" && theirs[i] != "" && ours[i] != theirs[i] {
			return false
		}
	}
	return true
}

// unite keeps their items and puts those after them that were added or changed here.
func (m *merge) unite(ours *List) {
	m.out.Changed = true
	m.out.add(m.theirs.of(ours.Name))
	next := len(m.theirs.items[ours.Name])
	known := slices.Concat([]string{""}, m.theirs.items[ours.Name], m.bases[0].items[ours.Name])
	for i, item := range m.ours.items[ours.Name] {
		if slices.Contains(known, item) || next == mostItems {
			continue
		}
		for _, f := range ours.Item(i) {
			m.out.add(f.Typed(ours.Name + "." + strconv.Itoa(next) + "." + f.Name))
		}
		next++
	}
	m.out.version(ours.Name, rand.Text())
}
