package statement_test

import (
	"net/url"
	"slices"
	"testing"

	"candor/internal/statement"
	"candor/internal/statement/statementtest"
)

func TestStateFollowsFromThePostcode(t *testing.T) {
	t.Parallel()
	for postcode, want := range map[string]string{
		"2204": "NSW", "2600": "ACT", "2617": "ACT", "2619": "NSW", "2913": "ACT", "0200": "ACT", "0800": "NT", "3000": "VIC",
		"8001": "VIC",
		"4101": "QLD", "9726": "QLD", "5000": "SA", "6000": "WA", "7000": "TAS", "0100": "", "0872": "", "2620": "", "3644": "",
		"": "", "220": "", "22040": "",
	} {
		for chosen, want := range map[string]string{"": want, "VIC": "VIC"} {
			var s statement.Statement
			values := statementtest.Values(statement.PersonalDetailsSection)
			values.Set("address.postcode", postcode)
			values.Set("address.state", chosen)
			errs := s.Section(statement.PersonalDetailsSection, statementtest.Now()).Decode(values)
			asked := len(postcode) == 4 && want == "" // of a whole postcode only
			if s.Personal.Address.State != want || (errs.For("address.state") != "") != asked {
				t.Errorf("postcode %q, state %q: %q, %v; want %q", postcode, chosen, s.Personal.Address.State, errs, want)
			}
		}
	}
	// A draft keeps the question open.
	var s statement.Statement
	s.Section(statement.PersonalDetailsSection, statementtest.Now()).Read(url.Values{"address.postcode": {"2204"}})
	if s.Personal.Address.State != "" {
		t.Errorf("a draft's state is %q", s.Personal.Address.State)
	}
}

// What was typed elsewhere is offered first, and once.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	s := statementtest.Full()
	s.Assets.BankAccounts[0].Institution = "Hume Bank"
	if got, want := s.Suggestions(statement.AssetsSection)["home"],
		[]string{"Unit 4, 18 Wattle Street, Marrickville NSW 2204"}; !slices.Equal(got, want) {
		t.Errorf("home address %q, want %q", got, want)
	}
	lenders := s.Suggestions(statement.LiabilitiesSection)["lenders"]
	if lenders[0] != "Hume Bank" || lenders[1] != "ING" || !slices.Contains(lenders, "Westpac") || !slices.Contains(lenders, "Zip") {
		t.Errorf("lenders %q", lenders)
	}
	slices.Sort(lenders)
	if n := len(lenders); n != len(slices.Compact(lenders)) {
		t.Error("a lender is offered twice")
	}
	if got := new(statement.Statement).Suggestions(statement.AssetsSection)["home"]; got != nil {
		t.Errorf("without an address %q is offered", got)
	}
}
