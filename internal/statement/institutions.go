package statement

import (
	"slices"
	"strings"
)

// Names of lists of suggestions.
const (
	homeList   = "home"
	bankList   = "banks"
	lenderList = "lenders"
	fundList   = "funds"
)

// The names that customers choose from, or type another one. Banks take deposits
// under APRA's register of authorised deposit-taking institutions; funds are the
// larger ones of its register of superannuation funds.
var (
	banks = []string{
		"AMP Bank", "ANZ", "Bank Australia", "Bank of Melbourne", "Bank of Queensland", "BankSA", "Bankwest", "Bendigo Bank",
		"Beyond Bank", "Commonwealth Bank", "Defence Bank", "Great Southern Bank", "Heritage Bank", "HSBC Australia", "IMB Bank",
		"ING", "Judo Bank", "Macquarie Bank", "ME Bank", "MyState Bank", "NAB", "Newcastle Permanent", "P&N Bank", "People’s Choice",
		"Police Bank", "Rabobank", "RACQ Bank", "St.George Bank", "Suncorp Bank", "Teachers Mutual Bank", "Ubank", "Unity Bank",
		"Up", "Westpac",
	}
	otherLenders = []string{
		"Afterpay", "American Express", "Angle Finance", "Australian Taxation Office", "Firstmac", "Humm", "Latitude", "Liberty",
		"MoneyMe", "Now Finance", "Pepper Money", "Plenti", "Resimac", "SocietyOne", "Toyota Finance Australia",
		"Volkswagen Financial Services", "Wisr", "Zip",
	}
	funds = []string{
		"AMP Super", "Australian Retirement Trust", "AustralianSuper", "Aware Super", "Brighter Super", "CareSuper", "Cbus",
		"Colonial First State", "Commonwealth Superannuation Corporation", "Equip Super", "ESSSuper", "GESB", "HESTA", "Hostplus",
		"Insignia Financial", "Legalsuper", "Mercer Super", "MLC", "NGS Super", "Rest", "Spirit Super", "TelstraSuper",
		"UniSuper", "Vanguard Super", "Vision Super",
	}
)

// Suggestions are the values that a customer can choose in the named section's
// lists: what was typed elsewhere comes first, so that nothing is typed twice.
func (s *Statement) Suggestions(section string) map[string][]string {
	switch section {
	case AssetsSection:
		return map[string][]string{homeList: s.Personal.Address.oneLine(), bankList: banks, fundList: funds}
	case LiabilitiesSection:
		var own []string
		for _, b := range s.Assets.BankAccounts {
			own = append(own, b.Institution)
		}
		return map[string][]string{lenderList: distinct(own, banks, otherLenders)}
	}
	return nil
}

func distinct(lists ...[]string) []string {
	var out []string
	for _, name := range slices.Concat(lists...) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// oneLine is the address as a property's; nothing for an empty one.
func (a Address) oneLine() []string {
	if a.Street == "" {
		return nil
	}
	return []string{strings.TrimSpace(a.Street + ", " + strings.Join(strings.Fields(a.Suburb+" "+a.State+" "+a.Postcode), " "))}
}

// border are postcodes with places in two states or more.
var border = []string{"0872", "2406", "2540", "2611", "2618", "2620", "3644", "3691", "3707", "4375", "4377", "4380", "4383",
	"4385", "4825"}

// stateOf is the state or territory of a postcode by Australia Post's ranges;
// "" if there is none, or more than one.
func stateOf(postcode string) string {
	if len(postcode) != len("2000") || slices.Contains(border, postcode) {
		return ""
	}
	for _, r := range []struct{ from, to, state string }{
		{"0200", "0299", "ACT"}, {"0800", "0999", "NT"}, {"1000", "2599", "NSW"}, {"2600", "2618", "ACT"}, {"2619", "2899", "NSW"},
		{"2900", "2920", "ACT"}, {"2921", "2999", "NSW"}, {"3000", "3999", "VIC"}, {"4000", "4999", "QLD"}, {"5000", "5999", "SA"},
		{"6000", "6999", "WA"}, {"7000", "7999", "TAS"}, {"8000", "8999", "VIC"}, {"9000", "9999", "QLD"},
	} {
		if r.from <= postcode && postcode <= r.to {
			return r.state
		}
	}
	return ""
}
