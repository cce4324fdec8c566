package statement_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
)

// FuzzDecode posts arbitrary input to each section.
func FuzzDecode(f *testing.F) {
	for i, name := range statement.SectionNames {
		f.Add(byte(i), statementtest.Values(name).Encode())
		f.Add(byte(i), "")
	}
	f.Add(byte(2),
		"real_property.3.address=x&real_property.3.ownership_percentage=101&vehicles.0.value=1,5&vehicles.0.description=%00%ff&investments.9.=1")
	f.Add(byte(0),
		"full_name=e%00%CC%81&date_of_birth.day=29&date_of_birth.month=feb&date_of_birth.year=1985&address.state=%00&phone=%E2%80%AA0412%C2%A0345")
	f.Fuzz(func(t *testing.T, section byte, body string) {
		values, err := url.ParseQuery(body)
		if err != nil {
			return
		}
		name := statement.SectionNames[int(section)%statement.SectionsTotal]
		if name == statement.DocumentsSection {
			return
		}
		s := new(statement.Statement).Section(name, statementtest.Now())
		errs := s.Decode(values)
		named := map[string]bool{}
		s.Walk(func(path string, f form.Field) { named[path] = f.Asked() })
		named[form.HasInput] = s.AsksWhatApplies
		for _, g := range s.Groups {
			named[g.Kind()] = true
		}
		for _, e := range errs {
			if !named[e.Field] || e.Message == "" || strings.HasSuffix(e.Message, " ") {
				t.Fatalf("%+v names no input, or says nothing", e)
			}
		}
		checkDraft(t, s, name)
		if len(errs) == 0 {
			checkStored(t, s, name)
		}
	})
}

func checkDraft(t *testing.T, s *form.Section, name string) {
	draft := s.Inputs()
	for input := range draft {
		if text := draft.Get(input); strings.ToValidUTF8(text, "") != text {
			t.Fatalf("the draft's %s can't be stored: %q", input, text)
		}
	}
	again := new(statement.Statement).Section(name, statementtest.Now())
	again.Read(draft)
	if got := again.Inputs(); !reflect.DeepEqual(got, draft) {
		t.Fatalf("a draft comes back as %v, want %v", got, draft)
	}
}

func checkStored(t *testing.T, s *form.Section, name string) {
	first, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	stored := new(statement.Statement).Section(name, statementtest.Now())
	if err := json.Unmarshal(first, stored); err != nil {
		t.Fatalf("%s can't be read: %v", first, err)
	}
	if second, err := json.Marshal(stored); err != nil || !bytes.Equal(first, second) {
		t.Fatalf("%s came back as %s, %v", first, second, err)
	}
	if errs := stored.Validate(); len(errs) > 0 {
		t.Fatalf("%s came back with errors: %v", first, []form.Error(errs))
	}
	posted := new(statement.Statement).Section(name, statementtest.Now())
	if errs := posted.Decode(stored.Inputs()); len(errs) > 0 {
		t.Fatalf("%s is refused when posted again: %v", first, []form.Error(errs))
	}
	if third, err := json.Marshal(posted); err != nil || !bytes.Equal(first, third) {
		t.Fatalf("%s posted again is %s, %v", first, third, err)
	}
}

// fullLists returns an assets section with fifty typical items in each list.
func fullLists(b *testing.B) *form.Section {
	b.Helper()
	values := url.Values{}
	for name, typed := range statementtest.Values(statement.AssetsSection) {
		list, rest, _ := strings.Cut(name, ".")
		if number, field, _ := strings.Cut(rest, "."); number == "0" {
			for i := range form.MaxListItems {
				values[list+"."+strconv.Itoa(i)+"."+field] = typed
			}
		}
	}
	section := new(statement.Statement).Section(statement.AssetsSection, statementtest.Now())
	if errs := section.Decode(values); len(errs) > 0 {
		b.Fatal([]form.Error(errs))
	}
	return section
}

func BenchmarkUnmarshalAssets(b *testing.B) {
	for name, section := range map[string]*form.Section{
		"full lists":    fullLists(b),
		"longest texts": statementtest.Long().Section(statement.AssetsSection, statementtest.Now()),
	} {
		raw, err := json.Marshal(section)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if err := json.Unmarshal(raw, new(statement.Statement).Section(statement.AssetsSection, statementtest.Now())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeAssets(b *testing.B) {
	values := fullLists(b).Inputs()
	b.ReportAllocs()
	for b.Loop() {
		if errs := new(statement.Statement).Section(statement.AssetsSection, statementtest.Now()).Decode(values); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

func BenchmarkMarshalLong(b *testing.B) {
	s := statementtest.Long()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := json.Marshal(s); err != nil {
			b.Fatal(err)
		}
	}
}
