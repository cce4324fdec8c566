package form_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/internal/form"
)

// pets is a small form with every kind of field, conditions and a list.
type pets struct {
	name    string
	born    time.Time
	kind    string
	breed   string // asked of dogs only
	chip    string // asked if a breed was given
	cost    form.Cents
	share   int
	agreed  bool
	friends []*friend
}

type friend struct {
	name, species string
	cost          form.Cents
	share         int
}

func (p *pets) section() *form.Section {
	breed := form.Text(&p.breed, "detail.breed", "Breed")
	breed.When = func() bool { return p.kind == "dog" }
	chip := form.Email(&p.chip, "detail.chip", "Chip")
	chip.When = func() bool { return p.breed != "" }
	return &form.Section{Name: "pets", Title: "Pets", Groups: []form.Group{
		{Name: "detail", Fields: []form.Field{breed, chip}}, // before the question they depend on
		{Fields: []form.Field{
			form.Text(&p.name, "name", "Name"),
			form.PastDate(&p.born, "born", "Born", time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)).NotRequired(),
			form.Choice(&p.kind, "kind", "Kind", []form.Option{{Code: "dog", Label: "Dog"}, {Code: "cat", Label: "Cat"}}),
			form.Money(&p.cost, "cost", "Cost", form.Yearly),
			form.Percent(&p.share, "share", "Share").NotRequired(),
			form.Checkbox(&p.agreed, "agreed", "I agree").NotRequired(),
		}},
		{List: form.ListOf(&p.friends, "friends", "Friends", "friend", (*friend).fields)},
		{Fields: []form.Field{form.Total(func() form.Cents { return p.cost * 2 }, "total", "Total", form.Once)}},
	}}
}

func (f *friend) fields() []form.Field {
	species := form.Text(&f.species, "species", "Species")
	species.When = func() bool { return f.name != "Rex" }
	return []form.Field{
		form.Text(&f.name, "name", "Name"),
		species,
		form.Money(&f.cost, "cost", "Cost", form.Once),
		form.Percent(&f.share, "share", "Share").NotRequired(),
	}
}

// values returns what a browser posts, from "name=text" pairs.
func values(pairs ...string) url.Values {
	v := url.Values{}
	for _, pair := range pairs {
		name, text, _ := strings.Cut(pair, "=")
		v.Add(name, text)
	}
	return v
}

func TestDecodeReportsInPageOrder(t *testing.T) {
	t.Parallel()
	s := new(pets).section()
	got := s.Decode(values("kind=dog", "cost=-1", "friends.3.name=", "friends.3.cost=5", "friends.7.name=Tom",
		"friends.7.species=cat", "friends.7.share=x"))
	want := form.Errors{
		{Field: "detail.breed", Message: "Enter breed", Wording: form.Wording{Text: "Enter {label}", Label: "Breed"}},
		{Field: "name", Message: "Enter name", Wording: form.Wording{Text: "Enter {label}", Label: "Name"}},
		{Field: "cost", Message: "Cost must be $0 or more", Wording: form.Wording{Text: "{label} must be $0 or more", Label: "Cost"}},
		{Field: "friends.0.name", Message: "Friend 1: enter name", Wording: form.Wording{Text: "Enter {label}", Label: "Name",
			Item: "friend", Number: 1}},
		{Field: "friends.0.species", Message: "Friend 1: enter species", Wording: form.Wording{Text: "Enter {label}", Label: "Species",
			Item: "friend", Number: 1}},
		{
			Field: "friends.1.share", Message: "Friend 2: share must be a whole number from 0 to 100",
			Wording: form.Wording{Text: "{label} must be a whole number from 0 to 100", Label: "Share", Item: "friend", Number: 2},
		},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if got.For("name") != "Enter name" || got.For("born") != "" {
		t.Errorf("For gives %q and %q", got.For("name"), got.For("born"))
	}
	if text := got.Error(); text != "answers that need attention: 6" {
		t.Errorf("Error() = %q", text)
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	var text string
	for _, tt := range []struct {
		field form.Field
		want  string
	}{
		{form.Text(&text, "f", "Full name"), "Enter full name"},
		{form.Text(&text, "f", "ABN of the trust"), "Enter ABN of the trust"},
		{form.Text(&text, "f", "Épargne"), "Enter épargne"},
		{form.Text(&text, "f", ""), "Enter "},
		{form.Text(&text, "f", "Full name").Asks("Enter your full name").Hints("As on your licence."), "Enter your full name"},
	} {
		if got := message(tt.field, ""); got != tt.want {
			t.Errorf("%q asks %q, want %q", tt.field.Label, got, tt.want)
		}
	}
}

// TestAskedOnPage checks that a question of our page is required of a person, and that
// a script that doesn't know it completes the section (D47, D78).
func TestAskedOnPage(t *testing.T) {
	t.Parallel()
	var name, colour string
	bound := func(fromPage bool) *form.Section {
		colours := []form.Option{{Code: "red", Label: "Red"}}
		return &form.Section{FromPage: fromPage, Groups: []form.Group{{Fields: []form.Field{
			form.Text(&name, "name", "Name"), form.Choice(&colour, "colour", "Colour", colours).RequiredOnPage(),
		}}}}
	}
	if errs := bound(false).Decode(values("name=Rex")); len(errs) > 0 {
		t.Errorf("a script that leaves the question out: %v", errs)
	}
	if errs := bound(true).Decode(values("name=Rex")); errs.For("colour") != "Select colour" || len(errs) != 1 {
		t.Errorf("a person who leaves the question out: %v", errs)
	}
	if errs := bound(false).Decode(values("name=Rex", "colour=blue")); errs.For("colour") == "" {
		t.Error("a script's answer that isn't one of the options is taken")
	}
	draft := bound(false)
	draft.Read(values("name=Rex"))
	if gaps := draft.Gaps(); len(gaps) != 1 || gaps[0].Input != "colour" {
		t.Errorf("the hub names %v of a draft, want the question", gaps)
	}
}

func TestUnasked(t *testing.T) {
	t.Parallel()
	p := pets{}
	s := p.section()
	typed := values("name=Tom", "kind=cat", "detail.breed=poodle", "detail.chip=c@d.example", "friends.0.name=Rex",
		"friends.0.species=dog")
	if errs := s.Decode(typed); len(errs) > 0 {
		t.Fatalf("unasked questions are complained of: %v", errs)
	}
	if p.breed != "" || p.chip != "" || p.friends[0].species != "" {
		t.Errorf("answers no longer asked are kept: %q, %q, %q", p.breed, p.chip, p.friends[0].species)
	}
	for _, name := range []string{"detail.breed", "detail.chip", "friends.0.species", "total"} {
		if s.Inputs().Has(name) {
			t.Errorf("the draft has an input %s, which isn't asked", name)
		}
	}
	typed.Set("kind", "dog")
	if errs := s.Decode(typed); len(errs) > 0 || p.breed != "poodle" || p.chip != "c@d.example" {
		t.Errorf("asked again: %q, %q, %v", p.breed, p.chip, errs)
	}
	typed.Set("detail.chip", "12")
	if msg := s.Decode(typed).For("detail.chip"); msg != "Chip must be in the correct format, like name@example.com" {
		t.Errorf("an asked question's bad answer: %q", msg)
	}
}

func TestRedisplay(t *testing.T) {
	t.Parallel()
	typed := values("name= Tom\x00my ", "born.day=31", "born.month=febr", "born.year=1985", "kind=fish", "cost=1,50",
		"cost.period=month", "share=lots", "agreed=true",
		"friends.0.name=Rex", "friends.0.cost=$12.345", "friends.0.share=101")
	first := new(pets).section()
	if errs := first.Decode(typed); len(errs) == 0 {
		t.Fatal("nothing is complained of")
	}
	draft := first.Inputs()
	want := values("name=Tom\x00my", "born.day=31", "born.month=febr", "born.year=1985", "kind=fish", "cost=1,50",
		"cost.period=month", "share=lots", "agreed=true",
		"friends.0.name=Rex", "friends.0.cost=$12.345", "friends.0.share=101")
	if !reflect.DeepEqual(draft, want) {
		t.Errorf("redisplayed as %v\nwant %v", draft, want)
	}
	second := new(pets).section()
	second.Read(draft)
	if again := second.Inputs(); !reflect.DeepEqual(again, draft) {
		t.Errorf("a draft comes back as %v\nwant %v", again, draft)
	}
	for _, e := range second.Validate() {
		if e.Field == "cost" && e.Message == "Cost must have a point before the cents, like 1,250.50" {
			return
		}
	}
	t.Error("a draft's bad amount is no longer complained of")
}

func TestInputsOfStoredAnswers(t *testing.T) {
	t.Parallel()
	s := new(pets).section()
	s.Decode(values("name=old", "cost=bad", "share=bad", "born.day=1"))
	stored := `{"name":"Tom","born":"1985-03-07","kind":"cat","cost":1250.5,"share":0,"agreed":true,"friends":[{"name":"Rex","cost":0,"share":40}]}`
	if err := json.Unmarshal([]byte(stored), s); err != nil {
		t.Fatal(err)
	}
	if errs := s.Validate(); len(errs) > 0 {
		t.Errorf("stored answers are complained of: %v", errs)
	}
	want := values("name=Tom", "born.day=7", "born.month=3", "born.year=1985", "kind=cat", "cost=1,250.50", "cost.period=year",
		"share=0", "agreed=true",
		"friends.0.name=Rex", "friends.0.cost=", "friends.0.share=40")
	if got := s.Inputs(); !reflect.DeepEqual(got, want) {
		t.Errorf("stored answers are put into the inputs as %v\nwant %v", got, want)
	}
}

func TestListGapsAndBlanks(t *testing.T) {
	t.Parallel()
	typed := values("friends.2.name=", "friends.2.cost=", "friends.4.name=Ann", "friends.4.species=owl", "friends.11.name=Bea",
		"friends.11.species=cow",
		"friends.011.name=x", "friends.+4.name=x", "friends.-1.name=x", "friends.x.name=x", "friends.5=x", "friends=x",
		"friendship.1.name=x",
		"friends.99999999999999999999.name=x")
	names := func(p *pets) string {
		var out []string
		for _, f := range p.friends {
			out = append(out, f.name)
		}
		return strings.Join(out, ",")
	}
	read, decoded := pets{}, pets{}
	s := read.section()
	s.Read(typed)
	if got := names(&read); got != ",Ann,Bea" {
		t.Errorf("Read gives %q, want the blank item kept in its place", got)
	}
	draft := pets{}
	draft.section().Read(s.Inputs())
	if got := names(&draft); got != ",Ann,Bea" {
		t.Errorf("a draft comes back as %q, want the blank item kept", got)
	}
	decoded.section().Decode(typed)
	if got := names(&decoded); got != "Ann,Bea" {
		t.Errorf("Decode gives %q, want the blank item dropped", got)
	}
}

func TestListLimit(t *testing.T) {
	t.Parallel()
	post := func(items, blanks int) url.Values {
		v := values("name=Tom", "kind=cat")
		for i := range items + blanks {
			v.Set(fmt.Sprintf("friends.%d.name", i), "")
		}
		for i := blanks; i < items+blanks; i++ {
			v.Set(fmt.Sprintf("friends.%d.name", i), "Rex")
		}
		return v
	}
	p := pets{}
	s := p.section()
	if errs := s.Decode(post(50, 10)); len(errs) > 0 || len(p.friends) != 50 {
		t.Errorf("50 items and 10 blank ones: %d, %v", len(p.friends), errs)
	}
	if _, ok := s.List("friends").Add(); ok || len(p.friends) != 50 || !s.List("friends").Full() {
		t.Error("a full list can be added to")
	}
	want := form.Errors{{
		Field: "friends", Message: "Friends: enter at most 50, and combine the smallest ones",
		Wording: form.Wording{Text: "{label}: enter at most 50, and combine the smallest ones", Label: "Friends"},
	}}
	for items, shown := range map[int]int{51: 51, 100: 100, 1000: 100} {
		if errs := s.Decode(post(items, 1)); !slices.Equal(errs, want) || len(p.friends) != shown {
			t.Errorf("%d items: %d, %v; want %d, %v", items, len(p.friends), errs, shown, want)
		}
	}
	if errs := s.Decode(post(1, 0)); len(errs) > 0 {
		t.Errorf("one item after too many: %v", errs)
	}
}

func TestListAddRemove(t *testing.T) {
	t.Parallel()
	p := pets{}
	s := p.section()
	s.Read(values("friends.0.name=Ann", "friends.0.cost=1,5", "friends.1.name=Bea", "friends.1.cost=2,5", "friends.2.name=Cid",
		"friends.2.share=x"))
	l := s.List("friends")
	if i, ok := l.Add(); i != 3 || !ok || l.Len() != 4 {
		t.Fatalf("Add gives %d, %t and %d items", i, ok, l.Len())
	}
	if l.Remove(4) || l.Remove(-1) || !l.Remove(0) || !l.Remove(1) {
		t.Fatal("Remove doesn't tell items from none")
	}
	inputs := s.Inputs()
	want := values("friends.0.name=Bea", "friends.0.species=", "friends.0.cost=2,5", "friends.0.share=",
		"friends.1.name=", "friends.1.species=", "friends.1.cost=", "friends.1.share=")
	maps.DeleteFunc(inputs, func(name string, _ []string) bool {
		return !strings.HasPrefix(name, "friends.") || name == "friends.version"
	})
	if !reflect.DeepEqual(inputs, want) {
		t.Errorf("left over: %v\nwant %v", inputs, want)
	}
	if p.friends[0].name != "Bea" || len(p.friends) != 2 {
		t.Errorf("the answers hold %d items, the first %q", len(p.friends), p.friends[0].name)
	}
	if name := l.Input(1, l.Item(1)[2]); name != "friends.1.cost" {
		t.Errorf("Input = %q", name)
	}
	if s.List("enemies") != nil {
		t.Error("there is a list of enemies")
	}
}

func TestItemFieldsLeavesTheListAlone(t *testing.T) {
	t.Parallel()
	p := pets{}
	l := p.section().List("friends")
	if got := len(l.ItemFields()); got != 4 || p.friends != nil {
		t.Errorf("%d fields, and the list is now %v", got, p.friends)
	}
}

// TestDraftsKeepWhatIsTooLong checks that nothing that was typed is lost (D85): how long a
// draft can be is how long a form can be.
func TestDraftsKeepWhatIsTooLong(t *testing.T) {
	t.Parallel()
	var name, bank string
	var paid form.Cents
	section := &form.Section{Groups: []form.Group{{Fields: []form.Field{
		form.Text(&name, "name", "Name"), form.LongText(&bank, "bank", "Bank"), form.Money(&paid, "paid", "Paid", form.Once),
	}}}}
	long := strings.Repeat("ü", 1_000_000)
	errs := section.Decode(url.Values{"name": {long}, "bank": {"  " + long}, "paid": {strings.Repeat("7", 1_000_000)},
		"other": {long}})
	if len(errs) != 3 {
		t.Errorf("%d errors, want 3: %v", len(errs), errs)
	}
	if name != long || bank != long {
		t.Errorf("%d and %d bytes are shown again, want all %d", len(name), len(bank), len(long))
	}
	inputs := section.Inputs()
	for input, want := range map[string]string{"name": long, "bank": long, "paid": strings.Repeat("7", 1_000_000)} {
		if got := inputs.Get(input); got != want {
			t.Errorf("%s keeps %d bytes, want %d", input, len(got), len(want))
		}
	}
	if inputs.Has("other") {
		t.Error("an input that the form hasn't is kept")
	}
	decomposed := strings.Repeat("u\u0308\u0304", 200) // one character each after normalisation
	section.Decode(url.Values{"name": {decomposed}})
	if want := strings.Repeat("ǖ", 200); name != want {
		t.Errorf("a name of 200 letters is kept as %d bytes, want %d", len(name), len(want))
	}
}
