package statement_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
)

// TestJSON compares the data object with the contract, member by member and in
// order.
func TestJSON(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*statement.Statement{"full.json": statementtest.Full(), "sparse.json": statementtest.Sparse()} {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := json.Indent(&got, raw, "", "  "); err != nil {
			t.Fatal(err)
		}
		got.WriteByte('\n')
		testkit.Golden(t, filepath.Join("testdata", name), got.Bytes())
	}
}

func TestSectionsComeBackFromJSON(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*statement.Statement{
		"full": statementtest.Full(), "sparse": statementtest.Sparse(), "long": statementtest.Long(), "empty": {},
	} {
		back := statement.Statement{Documents: s.Documents}
		for _, section := range s.Sections(statementtest.Now()) {
			raw, err := section.Stored()
			if err != nil {
				t.Fatal(err)
			}
			stored := back.Section(section.Name, statementtest.Now())
			if err := json.Unmarshal(raw, stored); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			back.KeepEntered(stored)
			if errs := stored.Validate(); len(errs) > 0 && name != "empty" {
				t.Errorf("%s %s comes back with errors: %v", name, section.Name, []form.Error(errs))
			}
		}
		first, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := json.Marshal(&back); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s comes back as %s, %v\nwant %s", name, second, err, first)
		}
	}
}

func TestExamples(t *testing.T) {
	t.Parallel()
	full := statementtest.Full()
	for _, section := range full.Sections(statementtest.Now()) {
		inputs := 0
		section.Walk(func(path string, f form.Field) {
			if !f.Asked() {
				return
			}
			for _, part := range f.Parts() {
				if values := statementtest.Values(section.Name); strings.HasSuffix(part, ".period") && !values.Has(path+part) {
					continue // the field's own
				}
				inputs++
				if f.Value.Input(strings.TrimPrefix(part, ".")) == "" {
					t.Errorf("Full leaves %s of %s empty", path+part, section.Name)
				}
			}
		})
		if values := statementtest.Values(section.Name); len(values) != inputs {
			t.Errorf("Values(%s) has %d inputs, the section %d", section.Name, len(values), inputs)
		}
	}
	if statementtest.Values(statement.DocumentsSection) != nil || statementtest.Values("x") != nil {
		t.Error("there are values for sections without fields")
	}
	long := statementtest.Long()
	for _, section := range long.Sections(statementtest.Now()) {
		section.Walk(func(path string, f form.Field) {
			limit := f.Value.Schema().MaxLength
			if got := len([]rune(f.Value.Input(""))); (f.Kind == form.KindText || f.Kind == form.KindEmail) && got < limit-1 {
				t.Errorf("%s of Long is %d characters of %d", path, got, limit)
			}
		})
	}
	if len(long.Assets.Investments) != form.MaxListItems || len(long.Documents) != statement.MaxDocuments {
		t.Errorf("Long has %d investments and %d documents", len(long.Assets.Investments), len(long.Documents))
	}
}

func TestPercentage(t *testing.T) {
	t.Parallel()
	want := []int{0, 14, 29, 43, 57, 71, 86, 100}
	for completed, percentage := range want {
		if got := statement.Percentage(completed); got != percentage {
			t.Errorf("Percentage(%d) = %d, want %d", completed, got, percentage)
		}
	}
}

// A share of 0 % that was answered is one wherever the statement is read, on the pages that
// are signed and after: the whole value isn't the customer's.
func TestNoShareIsAShare(t *testing.T) {
	t.Parallel()
	s := new(statement.Statement)
	if err := s.Read(statement.AssetsSection, []byte(`{"real_property": [{"address": "5 King St", "ownership": "joint",
		"ownership_percentage": 0, "current_value": 900000}]}`)); err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Section(statement.AssetsSection, time.Time{}).List("real_property").Item(0) {
		if part, how, ok := f.Part(); f.Name == "current_value" && (part != 0 || how != "$900,000.00 × 0%" || !ok) {
			t.Errorf("the part is %s, %q, %t", part, how, ok)
		}
	}
}

func TestSectionNames(t *testing.T) {
	t.Parallel()
	want := []string{"personal_details", "income", "assets", "liabilities", "expenses", "documents", "declaration"}
	if got := statement.SectionNames[:]; !slices.Equal(got, want) {
		t.Fatalf("sections %v, want %v", got, want)
	}
	s := new(statement.Statement)
	for i, name := range want {
		if got := statement.SectionNumber(name); got != i+1 {
			t.Errorf("SectionNumber(%s) = %d, want %d", name, got, i+1)
		}
		if statement.Title(name) == "" {
			t.Errorf("%s has no title", name)
		}
		section := s.Section(name, time.Time{})
		if (section == nil) != (name == statement.DocumentsSection) {
			t.Errorf("Section(%s) = %v", name, section)
		}
		if section != nil && section.Name != name {
			t.Errorf("Section(%s) is called %s", name, section.Name)
		}
	}
	if statement.SectionNumber("x") != 0 || s.Section("x", time.Time{}) != nil || statement.Title("x") != "" {
		t.Error("there is a section x")
	}
	if got := statement.DocumentCategory("tax_return").Label(); got != "Tax return" {
		t.Errorf("label of tax_return = %q", got)
	}
}

// TestMessages reads every message once, as a customer could see it.
func TestMessages(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	s := new(statement.Statement)
	for _, section := range s.Sections(statementtest.Now()) {
		for _, g := range section.Groups {
			if g.List != nil {
				g.List.Add()
			}
		}
		report := func(errs form.Errors) {
			for _, e := range errs {
				got.WriteString(section.Name + " " + e.Field + ": " + e.Message + "\n")
			}
		}
		report(section.Validate())
		section.Walk(func(_ string, f form.Field) {
			bad := "?\x00"
			if f.BelowZero != "" {
				bad = "-1"
			}
			f.Value.Parse(func(string) string { return bad })
		})
		report(section.Validate())
	}
	testkit.Golden(t, "testdata/messages.txt", []byte(got.String()))
}

// TestNoFloats keeps binary floating point out of both packages (D18).
func TestNoFloats(t *testing.T) {
	t.Parallel()
	float := regexp.MustCompile(`\bfloat(32|64)\b|ParseFloat|\.Float64\(`)
	for _, pattern := range []string{"*.go", "../form/*.go", "statementtest/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if hit := float.Find(source); hit != nil && !strings.HasSuffix(file, "_test.go") {
				t.Errorf("%s uses %s", file, hit)
			}
		}
	}
}

// TestPresetAccount reads a bank account whose kind was left as the page started it,
// one of which a script says nothing, and one that is blank.
func TestPresetAccount(t *testing.T) {
	t.Parallel()
	decode := func(kind ...string) (*statement.Statement, *form.Section, form.Errors) {
		s := new(statement.Statement)
		section := s.Section(statement.AssetsSection, statementtest.Now())
		return s, section, section.Decode(url.Values{
			"has": {"bank_accounts"}, "bank_accounts.0.institution": {"ING"}, "bank_accounts.0.balance": {"1"},
			"bank_accounts.0.account_type": kind,
			"bank_accounts.1.account_type": {form.PresetInput},
		})
	}
	s, section, errs := decode(form.PresetInput)
	if len(errs) > 0 || len(s.Assets.BankAccounts) != 1 || s.Assets.BankAccounts[0].AccountType != "transaction" ||
		len(section.Gaps()) > 0 {
		t.Errorf("as the page started it: %v, %d accounts, gaps %v", errs, len(s.Assets.BankAccounts), section.Gaps())
	}
	if _, _, errs := decode(); errs.For("bank_accounts.0.account_type") == "" {
		t.Errorf("without a kind: %v", errs)
	}
	draft := new(statement.Statement).Section(statement.AssetsSection, statementtest.Now())
	draft.Read(url.Values{"has": {"bank_accounts"}, "bank_accounts.0.institution": {"ING"}, "bank_accounts.0.balance": {"1"},
		"bank_accounts.0.account_type": {form.PresetInput}})
	if gaps := draft.Gaps(); len(gaps) > 0 {
		t.Errorf("a draft's gaps: %v", gaps)
	}
}

// TestLeftIsMoreThanADefault leaves for later what the page fills in.
func TestLeftIsMoreThanADefault(t *testing.T) {
	t.Parallel()
	const kind, share = "bank_accounts.0.account_type", "real_property.0.ownership_percentage"
	blank := func() *form.Section {
		return new(statement.Statement).Section(statement.AssetsSection, statementtest.Now())
	}
	left := url.Values{
		"has": {"bank_accounts", "real_property"}, "bank_accounts.0.institution": {"ING"}, kind: {form.PresetInput},
		"real_property.0.address": {"1 First St"}, "real_property.0.ownership": {"sole"},
	}
	was := maps.Clone(left)
	left.Set(kind+form.LaterInput, "true")
	left.Set(share+form.LaterInput, "true")
	merged := form.Merge(blank, form.Edit{Ours: left, Bases: []url.Values{was}}, was)
	for name, values := range map[string]url.Values{"sent": left, "merged": merged.Store} {
		section := blank()
		section.Decode(values)
		if got := section.Left(); !slices.Equal(got, []string{share, kind}) {
			t.Errorf("%s: left for later are %q", name, got)
		}
	}
}

// TestPresetSurvivesAMerge lets two devices change the same account, whose kind both
// left as the page started it.
func TestPresetSurvivesAMerge(t *testing.T) {
	t.Parallel()
	account := func(bank, balance string) url.Values {
		return url.Values{
			"has": {"bank_accounts"}, "bank_accounts.version": {"1"}, "bank_accounts.0.institution": {bank},
			"bank_accounts.0.account_type": {form.PresetInput}, "bank_accounts.0.balance": {balance},
		}
	}
	blank := func() *form.Section {
		return new(statement.Statement).Section(statement.AssetsSection, statementtest.Now())
	}
	merged := form.Merge(blank, form.Edit{Ours: account("ING", "2"), Bases: []url.Values{account("ING", "1")}}, account("ANZ", "1"))
	if errs := blank().Decode(merged.Store); len(errs)+len(merged.Conflicts) > 0 {
		t.Errorf("%v, collisions %v of %v", errs, merged.Conflicts, merged.Store)
	}
}
