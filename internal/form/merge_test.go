package form_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"candor/internal/form"
)

func blankPets() *form.Section {
	s := new(pets).section()
	s.AsksWhatApplies = true
	return s
}

// opened is the page that both devices of a story open. The last friend is a blank one.
var opened = values("name=Ann", "born.day=1", "born.month=2", "born.year=2000", "cost=100", "cost.period=year", "has=friends",
	"friends.version=1", "friends.0.name=Cid", "friends.0.cost=5", "friends.1.name=Dot", "friends.2.name=")

// changed returns the inputs with changes such as "name=Bea, -cost".
func changed(of url.Values, changes string) url.Values {
	out := maps.Clone(of)
	for change := range strings.SplitSeq(changes, ", ") {
		name, _, _ := strings.Cut(strings.TrimPrefix(change, "-"), "=")
		out.Del(name)
		if !strings.HasPrefix(change, "-") && change != "" {
			out.Set(name, values(change).Get(name))
		}
	}
	return out
}

// stored returns the inputs as the section stores them.
func stored(inputs url.Values) url.Values {
	section := blankPets()
	section.Read(inputs)
	return section.Inputs()
}

// answers returns the stored answers of one field or list, or with "" of all.
func answers(stored url.Values, name string) string {
	out := url.Values{}
	for input, texts := range stored {
		if texts[0] != "" && !strings.HasSuffix(input, ".version") && (name == "" || input == name ||
			strings.HasPrefix(input, name+".")) {
			out[input] = texts
		}
	}
	return out.Encode()
}

// TestMergeStories lets device A change the page and save it, then device B, which opened
// the same page.
func TestMergeStories(t *testing.T) {
	t.Parallel()
	for story, s := range map[string]struct {
		a, b     string // what each changes
		sent     string // what B changed before, in a request without response
		script   bool   // B is a script that doesn't say what it replaces
		resolve  string // the button that B presses: "keep name" or "take name" after it saw A's answer, "union friends"
		stored   string // in the end, beside what was opened
		conflict string // is shown to B
	}{
		"A changes the name, B the cost":        {a: "name=Bea", b: "cost=200", stored: "name=Bea, cost=200"},
		"A changes the name, B nothing":         {a: "name=Bea", stored: "name=Bea"},
		"B changes the name, A nothing":         {b: "name=Bea", stored: "name=Bea"},
		"B clears the name, A changes the cost": {a: "cost=200", b: "name=", stored: "name=, cost=200"},
		"both change the name to the same":      {a: "name=Bea", b: "name=Bea", stored: "name=Bea"},
		"both change the name":                  {a: "name=Bea", b: "name=Cleo", stored: "name=Bea", conflict: "name"},
		"A changes the name, B clears it":       {a: "name=Bea", b: "name=", stored: "name=Bea", conflict: "name"},
		"A changes the name, B types a space":   {a: "name=Bea", b: "name= Ann ", stored: "name=Bea"},
		"A changes the day, B the month":        {a: "born.day=9", b: "born.month=9", stored: "born.day=9", conflict: "born"},
		"A changes the amount, B its period":    {a: "cost=900", b: "cost.period=month", stored: "cost=900", conflict: "cost"},
		"B is a script, which replaces A's":     {a: "name=Bea, cost=7", b: "cost=9", script: true, stored: "name=Ann, cost=9"},
		"B keeps its own name":                  {a: "name=Bea", b: "name=Cleo", resolve: "keep name", stored: "name=Cleo"},
		"B takes A's name": {a: "name=Bea, cost=7", b: "name=Cleo, share=5", resolve: "take name",
			stored: "name=Bea, cost=7, share=5"},
		"B's response was lost, and B types on":   {a: "name=Bea", sent: "name=Bea", b: "name=Beatrix", stored: "name=Beatrix"},
		"B's request was lost, and B types on":    {sent: "name=Bea", b: "name=Beatrix", stored: "name=Beatrix"},
		"B's response was lost, and B types back": {a: "name=Bea", sent: "name=Bea", stored: "name=Ann"},
		"B's request was lost, and A was quicker": {a: "name=Zoe", sent: "name=Bea", b: "name=Beatrix", stored: "name=Zoe",
			conflict: "name"},

		"A changes the first friend, B the second": {a: "friends.0.name=Cora", b: "friends.1.name=Dora",
			stored: "friends.0.name=Cora, friends.1.name=Dora"},
		"A changes a friend's name, B its cost": {a: "friends.0.name=Cora", b: "friends.0.cost=7",
			stored: "friends.0.name=Cora, friends.0.cost=7"},
		"both change the name of a friend": {a: "friends.0.name=Cora", b: "friends.0.name=Cleo", stored: "friends.0.name=Cora",
			conflict: "friends.0.name"},
		"both fill in the blank friend": {a: "friends.2.name=Eve", b: "friends.2.name=Fay", stored: "friends.2.name=Eve",
			conflict: "friends"},
		"both fill in the blank friend alike":     {a: "friends.2.name=Eve", b: "friends.2.name=Eve", stored: "friends.2.name=Eve"},
		"A removes a friend, B changes the cost":  {a: oneFriend, b: "cost=200", stored: oneFriend + ", cost=200"},
		"A removes a friend, B changes the other": {a: oneFriend, b: "friends.1.name=Dora", stored: oneFriend, conflict: "friends"},
		"A removes a friend, B wants all": {a: oneFriend, b: "friends.1.name=Dora", resolve: "union friends",
			stored: oneFriend + ", friends.1.name=Dora"},
		"A ticks details, B unticks friends":        {a: "has=detail", b: "has=none", stored: "has=detail, " + noFriend},
		"A changes the name, B says nothing of has": {a: "name=Bea", b: "-has", stored: "name=Bea"},
	} {
		t.Run(story, func(t *testing.T) {
			t.Parallel()
			theirs := changed(opened, s.a)
			edit := form.Edit{Ours: changed(opened, s.b), Bases: []url.Values{maps.Clone(opened)}}
			if s.sent != "" {
				edit.Bases = append(edit.Bases, changed(opened, s.sent))
			}
			if s.script {
				edit.Bases = nil
			}
			switch how, name, _ := strings.Cut(s.resolve, " "); how {
			case "union":
				edit.Union = name
			case "keep", "take":
				edit.Resolve(name, theirs, how == "take")
			}
			got := form.Merge(blankPets, edit, theirs)
			if conflict := strings.Join(got.Conflicts, ", "); conflict != s.conflict {
				t.Errorf("conflicts: %q, want %q", conflict, s.conflict)
			}
			if now, want := answers(stored(got.Store), ""), answers(stored(changed(opened, s.stored)), ""); now != want {
				t.Errorf("stored %s\nwant   %s", now, want)
			}
			for _, name := range got.Conflicts {
				if shown, base := answers(got.Show, name), answers(got.Base, name); shown != answers(stored(edit.Ours), name) ||
					base != answers(opened, name) {
					t.Errorf("shows %s in place of %s", shown, base)
				}
			}
		})
	}
}

const (
	noFriend  = "friends.version=2, -friends.0.name, -friends.0.cost, -friends.1.name, -friends.2.name"
	oneFriend = noFriend + ", friends.0.name=Dot"
)

// A device has the page open, with what it would post.
type device struct {
	name  string
	page  url.Values
	bases []url.Values
}

// A service stores what its devices send, at random.
type service struct {
	*rand.Rand
	stored  url.Values
	devices []*device
	log     []string
}

func newService(seed uint64, stored url.Values) *service {
	s := &service{Rand: rand.New(rand.NewPCG(seed, 0)), stored: stored}
	for _, name := range []string{"A", "B"} {
		s.devices = append(s.devices, &device{name, maps.Clone(stored), []url.Values{stored}})
	}
	return s
}

func (s *service) types(d *device, input, text string) {
	d.page.Set(input, text)
	s.log = append(s.log, fmt.Sprintf("%s types %q into %s", d.name, text, input))
}

// send sends the page, and does what a button does to the friends. The request may get
// lost, then nothing is returned; or the response, then the page names one base more.
func (s *service) send(d *device, union string, button func(*form.List)) *form.Merged {
	sent := maps.Clone(d.page)
	fate := s.IntN(4)
	s.log = append(s.log, d.name+" sends its page: "+[]string{"request lost", "response lost", "saved", "saved"}[fate])
	if fate < 2 {
		defer func() { d.bases = append(d.bases, sent) }()
	}
	if fate == 0 {
		return nil
	}
	merged := form.Merge(blankPets, form.Edit{Ours: sent, Bases: d.bases, Union: union}, s.stored)
	section, shown := blankPets(), blankPets()
	section.Read(merged.Store)
	if button != nil && len(merged.Conflicts) == 0 {
		button(section.List("friends"))
	}
	s.stored = section.Inputs()
	if fate > 1 && len(merged.Conflicts) == 0 {
		d.page, d.bases = section.Inputs(), []url.Values{section.Inputs()}
	} else if fate > 1 {
		shown.Read(merged.Show)
		d.page, d.bases = shown.Inputs(), []url.Values{merged.Base}
	}
	return merged
}

// fail tells what led to it.
func (s *service) fail(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Fatalf("%s, after:\n%s", fmt.Sprintf(format, args...), strings.Join(s.log, "\n"))
}

// mostBases is above what a page names.
const mostBases = 6

// TestMergeKeepsEveryEdit lets two devices type into fields and send their pages in any
// order, over a connection that loses requests and responses.
func TestMergeKeepsEveryEdit(t *testing.T) {
	t.Parallel()
	fields := []string{"name", "born", "cost", "share", "agreed", "friends.0.name", "friends.0.cost", "friends.1.name"}
	parts := map[string][]string{"born": {".day", ".month"}, "cost": {"", ".period"}}
	texts := map[string][]string{"cost": {"7", "8"}, "cost.period": {"week", "year"}, "agreed": {"", "true"}}
	for seed := range uint64(200) {
		s := newService(seed, opened)
		typed := map[string]bool{} // "A name"
		for range s.IntN(40) {
			turn := s.IntN(2)
			d, other := s.devices[turn], s.devices[1-turn]
			if s.IntN(3) > 0 && len(d.bases) < mostBases {
				field := pick(s, fields)
				input := field + pick(s, append(parts[field], "")[:max(1, len(parts[field]))])
				s.types(d, input, pick(s, append(texts[input], "", "3", "4")[:max(2, len(texts[input]))]))
				typed[d.name+" "+field] = true
				continue
			}
			before, sent := s.stored, stored(d.page)
			merged := s.send(d, "", nil)
			if merged == nil {
				continue
			}
			show := stored(merged.Show)
			for _, field := range fields {
				here, there := typed[d.name+" "+field], typed[other.name+" "+field]
				now, conflict := answers(s.stored, field), slices.Contains(merged.Conflicts, field)
				switch {
				case !here && now != answers(before, field):
					s.fail(t, "%s changed %s from %s to %s, which it didn't type", d.name, field, answers(before, field), now)
				case here && !there && now != answers(sent, field):
					s.fail(t, "only %s typed %s, and %s is stored", d.name, answers(sent, field), now)
				case now != answers(before, field) && now != answers(sent, field):
					s.fail(t, "%s is stored, which is neither %s nor %s", now, answers(before, field), answers(sent, field))
				case conflict != (answers(show, field) != now) || conflict && !(here && there):
					s.fail(t, "%s: %s is stored and %s shown to %s; conflicts: %q", field, now, answers(show, field), d.name, merged.Conflicts)
				}
			}
		}
	}
}

func pick(s *service, of []string) string { return of[s.IntN(len(of))] }

// TestMergeKeepsEveryRow lets two devices add, remove and change rows. Each text is typed
// once, and begins with the name of the row that it was typed for.
func TestMergeKeepsEveryRow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		s := newService(seed, values("friends.version=1", "friends.0.name=1 first", "friends.1.name=2 first", "friends.2.name="))
		once := map[string]bool{} // was stored
		for step := range s.IntN(40) {
			d := s.devices[s.IntN(2)]
			page := blankPets()
			page.Read(d.page)
			rows := page.List("friends").Len()
			if s.IntN(2) > 0 && rows > 0 && len(d.bases) < mostBases {
				row := fmt.Sprintf("friends.%d.", s.IntN(rows))
				name, _, named := strings.Cut(cmp.Or(d.page.Get(row+"name"), d.page.Get(row+"species")), " ")
				if !named {
					name = fmt.Sprint(d.name, step)
				}
				s.types(d, row+pick(s, []string{"name", "species"}), fmt.Sprintf("%s %d", name, step))
				continue
			}
			var button func(*form.List)
			union := ""
			switch version := d.page.Get("friends.version"); s.IntN(4) {
			case 0:
				s.log = append(s.log, d.name+" adds a row")
				button = func(l *form.List) { l.Add() }
			case 1:
				s.log = append(s.log, d.name+" removes the first row")
				button = func(l *form.List) {
					if l.Version == version {
						l.Remove(0)
					}
				}
			case 2:
				s.log = append(s.log, d.name+" wants the rows of both")
				union = "friends"
			}
			before, bases, sent := texts(s.stored), d.bases, texts(d.page)
			merged := s.send(d, union, button)
			if merged == nil {
				continue
			}
			after, shown, seen := texts(merged.Store), texts(merged.Show), texts(bases...)
			for text := range before {
				if !after[text] && (!seen[text] || sent[text]) {
					s.fail(t, "%s removed %q, which it didn't change", d.name, text)
				}
			}
			for text := range sent {
				if known := texts(bases[0])[text] || once[text]; !known && !after[text] && (!shown[text] || len(merged.Conflicts) == 0) {
					s.fail(t, "%q, which %s typed, is lost", text, d.name)
				}
			}
			maps.Copy(once, after)
			for input, name := range s.stored {
				species := s.stored.Get(strings.TrimSuffix(input, "name") + "species")
				if row, _, _ := strings.Cut(name[0], " "); row != "" && species != "" && !strings.HasPrefix(species, row+" ") &&
					strings.HasSuffix(input, ".name") {
					s.fail(t, "%q and %q are one row", name[0], species)
				}
			}
		}
	}
}

// texts are those of the friends.
func texts(of ...url.Values) map[string]bool {
	out := map[string]bool{}
	for _, inputs := range of {
		for _, text := range inputs {
			if strings.Contains(text[0], " ") {
				out[text[0]] = true
			}
		}
	}
	return out
}

// BenchmarkMergeOfFullLists changes one item here and another one elsewhere.
func BenchmarkMergeOfFullLists(b *testing.B) {
	base := values("friends.version=v")
	for i := range form.MaxListItems {
		base.Set(fmt.Sprintf("friends.%d.name", i), fmt.Sprint("Friend ", i))
	}
	edit := form.Edit{Ours: changed(base, "friends.7.name=Ann"), Bases: []url.Values{base}}
	theirs := changed(base, "friends.8.name=Bea")
	for b.Loop() {
		form.Merge(blankPets, edit, theirs)
	}
}
