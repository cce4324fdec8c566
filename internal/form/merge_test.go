package form_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"testing"

	"candor/internal/form"
)

func blankPets() *form.Section {
	p := pets{}
	return p.section()
}

func TestMergeByField(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		typed, stored url.Values
		was           []url.Values
		name          string // stored afterwards
		collides      bool
	}{
		"changed here":                  {values("name=B"), values("name=A"), []url.Values{values("name=A")}, "B", false},
		"changed elsewhere":             {values("name=A"), values("name=B"), []url.Values{values("name=A")}, "B", false},
		"changed to the same":           {values("name=B"), values("name=B"), []url.Values{values("name=A")}, "B", false},
		"changed to other answers":      {values("name=B"), values("name=C"), []url.Values{values("name=A")}, "C", true},
		"cleared here":                  {values("name="), values("name=A"), []url.Values{values("name=A")}, "", false},
		"cleared here, changed there":   {values("name="), values("name=B"), []url.Values{values("name=A")}, "B", true},
		"the same after tidying":        {values("name= A "), values("name=B"), []url.Values{values("name=A")}, "B", false},
		"a lost response, stored":       {values("name=C"), values("name=B"), []url.Values{values("name=A"), values("name=B")}, "C", false},
		"a lost response, not stored":   {values("name=C"), values("name=A"), []url.Values{values("name=A"), values("name=B")}, "C", false},
		"typed back after it":           {values("name=A"), values("name=B"), []url.Values{values("name=A"), values("name=B")}, "A", false},
		"a lost response, third answer": {values("name=C"), values("name=D"), []url.Values{values("name=A"), values("name=B")}, "D", true},
		"nothing said":                  {values("name=B"), values("name=C"), nil, "B", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := form.Merge(blankPets, form.Edit{Typed: test.typed, Was: test.was}, test.stored)
			if got.Store.Get("name") != test.name || slices.Contains(got.Collisions, "name") != test.collides {
				t.Errorf("stored %q, collisions %v; want %q, %t", got.Store.Get("name"), got.Collisions, test.name, test.collides)
			}
			if test.collides && (got.Show.Get("name") != test.typed.Get("name") || got.Was.Get("name") != test.was[0].Get("name")) {
				t.Errorf("shows %q in place of %q", got.Show.Get("name"), got.Was.Get("name"))
			}
		})
	}
}

// TestMergeKeepsDatesWhole checks that no date is made of two.
func TestMergeKeepsDatesWhole(t *testing.T) {
	t.Parallel()
	was := values("born.day=1", "born.month=2", "born.year=2000")
	typed, stored := maps.Clone(was), maps.Clone(was)
	typed.Set("born.day", "9")
	stored.Set("born.month", "9")
	got := form.Merge(blankPets, form.Edit{Typed: typed, Was: []url.Values{was}}, stored)
	if got.Store.Get("born.day") != "1" || got.Store.Get("born.month") != "9" || !slices.Equal(got.Collisions, []string{"born"}) {
		t.Errorf("stored %v, collisions %v", got.Store, got.Collisions)
	}
}

// TestMergeOfFullLists merges lists as long as they get.
func TestMergeOfFullLists(t *testing.T) {
	t.Parallel()
	edit, stored := fullLists()
	got := form.Merge(blankPets, edit, stored)
	if len(got.Collisions) > 0 || got.Store.Get("friends.7.name") != "Ann" || got.Store.Get("friends.8.name") != "Bea" {
		t.Errorf("collisions %v, names %q and %q", got.Collisions, got.Store.Get("friends.7.name"), got.Store.Get("friends.8.name"))
	}
}

func BenchmarkMergeOfFullLists(b *testing.B) {
	edit, stored := fullLists()
	for b.Loop() {
		form.Merge(blankPets, edit, stored)
	}
}

// fullLists is an edit of one item and another one's change elsewhere.
func fullLists() (edit form.Edit, stored url.Values) {
	was := values("friends.version=v")
	for i := range form.MaxListItems {
		was.Set(fmt.Sprintf("friends.%d.name", i), fmt.Sprint("Friend ", i))
	}
	typed, stored := maps.Clone(was), maps.Clone(was)
	typed.Set("friends.7.name", "Ann")
	stored.Set("friends.8.name", "Bea")
	return form.Edit{Typed: typed, Was: []url.Values{was}}, stored
}
