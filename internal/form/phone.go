package form

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/unicode/norm"
)

// Phone describes a telephone number that exists by its country's plan (D82). It is kept
// in the usual spacing: "0412 345 678" in Australia, "+44 20 7946 0958" elsewhere. With
// abroad, a number starts with + and its country's code. What is no number is kept as
// typed.
func Phone(p *string, name, label string, abroad func() bool) Field {
	return Field{Name: name, Label: label, Kind: KindPhone, Autocomplete: "tel",
		Value: &text{p: p, max: 30, pattern: phone.String(), tidy: func(s string) string { return spaced(s, abroad()) },
			check: func(s string) string {
				switch _, ok := readPhone(s, abroad()); {
				case ok:
					return ""
				case abroad():
					return "must start with + and the code of its country, like +44 20 7946 0958"
				}
				return "must be complete, with its area code, like 0412 345 678. If it isn’t Australian, start with +, like +44 20 7946 0958"
			}}}
}

var (
	// phone has 6 to 15 digits. What is stored fits it, also from before D82.
	phone = regexp.MustCompile(`^\+?([() .\-]*[0-9]){6,15}[() .\-]*$`)
	// dialled has no letters and extensions, which the library reads, too. It can begin
	// with 0011, Australia's way to dial abroad.
	dialled = regexp.MustCompile(`^\+?[() .\-0-9]+$`)
)

// home is where a number without a country's code belongs.
const home = "AU"

// readPhone returns the number if there can be one like it.
func readPhone(s string, abroad bool) (*phonenumbers.PhoneNumber, bool) {
	region := home
	if abroad {
		region = phonenumbers.UNKNOWN_REGION
	}
	number, err := phonenumbers.Parse(s, region)
	return number, err == nil && dialled.MatchString(s) && phonenumbers.IsValidNumber(number)
}

// spaced returns the number in the usual spacing, or what was typed without the
// typographic spaces and hyphens of a copied one and the wide digits of a Chinese
// keyboard.
func spaced(s string, abroad bool) string {
	s = strings.TrimSpace(strings.Map(plainPhone, norm.NFKC.String(s)))
	number, ok := readPhone(s, abroad)
	if !ok {
		return s
	}
	format := phonenumbers.INTERNATIONAL
	if !abroad && phonenumbers.GetRegionCodeForNumber(number) == home {
		format = phonenumbers.NATIONAL
	}
	if out := phonenumbers.Format(number, format); phone.MatchString(out) {
		return out
	}
	return s
}

// PhoneNumber returns a number that is dialled from Australia in the form by which the same
// one is known however it is written, as in +61412345678; "" if it isn't a number.
func PhoneNumber(s string) string {
	number, ok := readPhone(strings.TrimSpace(strings.Map(plainPhone, norm.NFKC.String(s))), false)
	if !ok {
		return ""
	}
	return phonenumbers.Format(number, phonenumbers.E164)
}

func plainPhone(r rune) rune {
	switch {
	case unicode.Is(unicode.Zs, r):
		return ' '
	case unicode.Is(unicode.Pd, r):
		return '-'
	case unicode.Is(unicode.Cf, r): // the marks of direction around a copied contact
		return -1
	}
	return r
}
