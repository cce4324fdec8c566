package statement

import (
	"encoding/json"
	"time"

	"candor/internal/form"
)

// Prefill is what a partner knows of a customer's answers, by section (D58).
type Prefill map[string]form.Given

// MaxPrefillBytes is the largest JSON of a prefill: some six times that of a
// statement with two properties and four debts.
const MaxPrefillBytes = 32 << 10

// prefilled are the sections that can be given, without answers. A couple's share is the
// customer's to say, since amounts are given as the share of them (D78): that of data is
// ignored, as a total is.
func prefilled(now time.Time) []*form.Section {
	none := new(Statement)
	var out []*form.Section
	for _, name := range []string{PersonalDetailsSection, IncomeSection, AssetsSection, LiabilitiesSection, ExpensesSection} {
		section := none.Section(name, now)
		for _, g := range section.Groups {
			for i, f := range g.Fields {
				if name == ExpensesSection && f.Name == ShareInput {
					g.Fields[i].Kind = form.KindOutput
				}
			}
		}
		out = append(out, section)
	}
	return out
}

// ReadPrefill reads sections as the data object has them, of which any part can
// be missing or null. The errors have their paths in the prefill. Dates are
// checked against now.
func ReadPrefill(raw json.RawMessage, now time.Time) (Prefill, form.Errors) {
	if len(raw) > MaxPrefillBytes {
		return nil, form.Errors{{Rule: form.Rule{Code: "bytes", Max: MaxPrefillBytes}}}
	}
	return form.ReadGiven(raw, prefilled(now))
}

// SetPrefill takes the stored JSON of what the partner gave of the named section.
func (s *Statement) SetPrefill(section string, stored []byte) error {
	var given form.Given
	if err := json.Unmarshal(stored, &given); err != nil {
		return err
	}
	if s.Prefill == nil {
		s.Prefill = Prefill{}
	}
	s.Prefill[section] = given
	return nil
}

// PrefillSchema describes what ReadPrefill reads. It reads amounts as strings,
// too.
func PrefillSchema() *form.Schema {
	root := &form.Schema{Type: "object", Title: "Prefill", Properties: map[string]*form.Schema{}}
	for _, section := range prefilled(time.Time{}) {
		root.Properties[section.Name], root.Order = section.GivenSchema(), append(root.Order, section.Name)
	}
	return root
}

// A PrefillResult says what became of an answer that the partner gave.
type PrefillResult string

// The results of answers that the partner gave.
const (
	Confirmed PrefillResult = "confirmed" // the customer's answer is the same
	Changed   PrefillResult = "changed"
)

// Enum lists the results.
func (PrefillResult) Enum() []string { return []string{string(Confirmed), string(Changed)} }

// Prefilled compares the answers that the partner gave with the statement's, by
// their paths in the data object.
func (s *Statement) Prefilled() map[string]PrefillResult {
	out := map[string]PrefillResult{}
	for name, given := range s.Prefill {
		same := s.Section(name, time.Time{}).Same(given)
		for path := range given {
			out[name+"."+path] = Changed
			if same[path] {
				out[name+"."+path] = Confirmed
			}
		}
	}
	return out
}
