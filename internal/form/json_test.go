package form_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"candor/internal/form"
)

const fullPets = `{"detail":{"breed":"\u003cpoodle\u003e","chip":"c@d.example"},"name":"Tom \"王\"","born":"1985-03-07","kind":"dog","cost":0.07,"share":0,"agreed":true,` +
	`"friends":[{"name":"Ann","species":"owl","cost":999999999999.99,"share":40},{"name":"Rex","species":"","cost":0,"share":0}],"total":0.14}`

func TestJSON(t *testing.T) {
	t.Parallel()
	s := new(pets).section()
	errs := s.Decode(values("name=Tom \"王\"", "born.day=7", "born.month=3", "born.year=1985", "kind=dog", "detail.breed=<poodle>",
		"detail.chip=c@d.example",
		"cost=.07", "share=0", "agreed=on", "friends.0.name=Ann", "friends.0.species=owl", "friends.0.cost=999999999999.99",
		"friends.0.share=40",
		"friends.1.name=Rex"))
	if len(errs) > 0 {
		t.Fatal([]form.Error(errs))
	}
	first, err := json.Marshal(s)
	if err != nil || string(first) != fullPets {
		t.Fatalf("written as %s, %v\nwant %s", first, err, fullPets)
	}
	back := new(pets).section()
	if err := json.Unmarshal(first, back); err != nil {
		t.Fatal(err)
	}
	if second, err := json.Marshal(back); err != nil || string(second) != fullPets {
		t.Errorf("came back as %s, %v\nwant %s", second, err, fullPets)
	}
	if errs := back.Validate(); len(errs) > 0 {
		t.Errorf("came back with errors: %v", errs)
	}
	empty, err := json.Marshal(new(pets).section())
	want := `{"detail":{"breed":"","chip":""},"name":"","born":"","kind":"","cost":0,"share":0,"agreed":false,"friends":[],"total":0}`
	if err != nil || string(empty) != want {
		t.Errorf("no answers are written as %s, %v\nwant %s", empty, err, want)
	}
}

func TestUnmarshalJSONOfOtherTimes(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{
		`{}`, `{"unknown":{"a":[1,null]},"friends":null,"detail":null}`, `{"detail":{},"friends":[],"total":"whatever"}`,
		`{"name":null,"born":null,"kind":null,"cost":null,"share":null,"agreed":null}`,
	} {
		s := new(pets).section()
		s.Decode(values("name=Tom", "kind=dog", "detail.breed=x", "cost=5", "share=7", "agreed=1", "born.day=1", "friends.0.name=Rex"))
		if err := json.Unmarshal([]byte(stored), s); err != nil {
			t.Errorf("%s: %v", stored, err)
			continue
		}
		s.Walk(func(path string, f form.Field) {
			if f.Kind != form.KindOutput && (!f.Value.Empty() || f.Value.ErrorMessage() != "") {
				t.Errorf("%s leaves an answer in %s", stored, path)
			}
		})
	}
	for _, stored := range []string{
		`[]`, `{"name":5}`, `{"cost":"5"}`, `{"cost":1.234}`, `{"share":1.5}`, `{"born":"7 March"}`, `{"agreed":"yes"}`,
		`{"detail":"x"}`, `{"friends":{}}`, `{"friends":[{"cost":true}]}`,
	} {
		if err := json.Unmarshal([]byte(stored), new(pets).section()); err == nil {
			t.Errorf("%s is read without an error", stored)
		}
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(new(pets).section().Schema())
	if err != nil {
		t.Fatal(err)
	}
	const amount = `"type":"number"`
	const cost = `"cost":{"type":"number","description":"Cost, dollars with at most two decimals.","format":"double","minimum":0,"maximum":999999999999.99}`
	const share = `"share":{"type":"integer","description":"Share.","minimum":0,"maximum":100}`
	want := `{"type":"object","title":"Pets","properties":{` +
		`"agreed":{"type":"boolean","description":"I agree."},` +
		`"born":{"description":"Born.","oneOf":[{"type":"string","format":"date","minLength":1},{"const":""}]},` +
		`"cost":{` + amount +
		`,"description":"Cost, dollars a year with at most two decimals.","format":"double","minimum":0,"maximum":999999999999.99},` +
		`"detail":{"type":"object","properties":{"breed":{"type":"string","description":"Breed.","maxLength":200},` +
		`"chip":{"description":"Chip.","oneOf":[{"type":"string","format":"email","maxLength":254,"minLength":1},{"const":""}]}},` +
		`"required":["breed","chip"]},` +
		`"friends":{"type":"array","title":"Friends","maxItems":50,"items":{"type":"object","properties":{` + cost + `,` +
		`"name":{"type":"string","description":"Name.","maxLength":200},` + share +
		`,"species":{"type":"string","description":"Species.","maxLength":200}},` +
		`"required":["name","species","cost","share"]}},` +
		`"kind":{"type":"string","description":"Kind.","enum":["dog","cat"]},` +
		`"name":{"type":"string","description":"Name.","maxLength":200},` + share + `,` +
		`"total":{` + amount + `,"description":"Total, dollars with at most two decimals.","format":"double"}},` +
		`"required":["detail","name","born","kind","cost","share","agreed","friends","total"]}`
	if string(got) != want {
		t.Errorf("schema\n%s\nwant\n%s", got, want)
	}
}

func FuzzCleanText(f *testing.F) {
	for _, seed := range []string{"", " a ", "e\u0301", "e\x00\u0301", "a\xffb", "\u2028", "👩‍👩‍👧", "שלום", " \u0301x",
		"\u1100\u1161\u11a8"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		clean, message := form.CleanText(typed, 200)
		if !utf8.ValidString(clean) {
			t.Fatalf("%q gives invalid UTF-8", typed)
		}
		again, second := form.CleanText(clean, 200)
		if again != clean {
			t.Fatalf("%q gives %q, and that %q", typed, clean, again)
		}
		if message == "" && second != "" {
			t.Fatalf("%q is accepted and then refused: %s", typed, second)
		}
	})
}
