package form

import (
	"encoding/json"
	"fmt"
	"net/mail"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Value reads and writes one typed answer.
type Value interface {
	// Parse reads what was typed; get returns the named part ("" or "day"). It
	// keeps what it can't read for redisplay, and ErrorMessage says why.
	Parse(get func(part string) string)
	// Input is the text for the named part's input.
	Input(part string) string
	// Display is the answer for people, "" if there is none.
	Display() string
	// Empty reports whether there is no answer.
	Empty() bool
	// ErrorMessage is what is wrong with the answer, to follow the label
	// ("must be …"), or "".
	ErrorMessage() string
	// Schema describes the JSON.
	Schema() *Schema
	json.Marshaler
	json.Unmarshaler
}

// text is a single line of text, NFC-normalised and trimmed (D24).
type text struct {
	deferral
	p       *string
	max     int
	format  string
	pattern string
	tidy    func(string) string
	check   func(string) string // returns what is wrong with a text that isn't empty
	message string
}

// Text describes a line of at most 200 characters.
func Text(p *string, name, label string) Field {
	return Field{Name: name, Label: label, Kind: KindText, Value: &text{p: p, max: 200}}
}

// LongText describes a line of at most 500 characters: addresses and
// descriptions.
func LongText(p *string, name, label string) Field {
	return Field{Name: name, Label: label, Kind: KindText, Value: &text{p: p, max: 500}}
}

// Email describes an email address.
func Email(p *string, name, label string) Field {
	return Field{Name: name, Label: label, Kind: KindEmail, Autocomplete: "email",
		Value: &text{p: p, max: 254, format: "email", check: func(s string) string {
			if !ValidEmail(s) {
				return "must be in the correct format, like name@example.com"
			}
			return ""
		}}}
}

// Phone describes a telephone number. It is kept as typed, except for the
// typographic spaces and hyphens of a copied one, and the wide digits of a Chinese keyboard.
func Phone(p *string, name, label string) Field {
	return Field{Name: name, Label: label, Kind: KindPhone, Autocomplete: "tel",
		Value: &text{p: p, max: 30, pattern: phone.String(), tidy: func(s string) string { return strings.Map(plainPhone, norm.NFKC.String(s)) },
			check: func(s string) string {
				if !phone.MatchString(s) {
					return "must be in the correct format, like 0412 345 678 or +61 2 9999 9999"
				}
				return ""
			}}}
}

// Digits describes a code of exactly n digits, which can be wide ones.
func Digits(p *string, n int, name, label string) Field {
	return Field{Name: name, Label: label, Kind: KindDigits,
		Value: &text{p: p, max: n, pattern: fmt.Sprintf(`^[0-9]{%d}$`, n), tidy: norm.NFKC.String, check: func(s string) string {
			if len(s) != n || strings.Map(onlyDigits, s) != s {
				return fmt.Sprintf("must be %d digits", n)
			}
			return ""
		}}}
}

// phone has 6 to 15 digits.
var phone = regexp.MustCompile(`^\+?([() .\-]*[0-9]){6,15}[() .\-]*$`)

func onlyDigits(r rune) rune {
	if r >= '0' && r <= '9' {
		return r
	}
	return -1
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

// ValidEmail reports whether s is exactly one email address, of at most 254
// bytes, with a domain that has a dot.
func ValidEmail(s string) bool {
	a, err := mail.ParseAddress(s)
	if err != nil || a.Address != s || len(s) > 254 {
		return false
	}
	local, domain, _ := strings.Cut(s, "@")
	return len(local) <= 64 && !strings.Contains(domain, "@") && !strings.HasPrefix(local, `"`) &&
		strings.Contains(domain, ".") && !strings.HasSuffix(domain, ".") && !strings.HasPrefix(domain, "[")
}

// CleanText is CleanLine with the rule as a text, "" if none is broken.
func CleanText(s string, limit int) (clean, message string) {
	clean, broken := CleanLine(s, limit)
	return clean, broken.String()
}

// CleanLine trims and NFC-normalises one line of text, and drops characters
// that only hide others or reverse them. It returns the rule that the text
// breaks, zero for none: readable UTF-8, no control characters, at most limit
// characters (D24). The clean text keeps U+FFFD and its length.
func CleanLine(s string, limit int) (clean string, broken Rule) {
	valid := strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	shown := strings.Map(dropHidden, valid)
	visible := strings.Map(dropControls, shown)
	clean = strings.TrimFunc(norm.NFC.String(visible), func(r rune) bool { return isJoiner(r) || unicode.IsSpace(r) })
	switch {
	case strings.ContainsRune(clean, utf8.RuneError): // a browser that failed to decode sends it, too
		return clean, Rule{Code: RuleReadable}
	case visible != shown:
		return clean, Rule{Code: RuleOneLine}
	case utf8.RuneCountInString(clean) > limit:
		return clean, Rule{Code: RuleMaxLength, Max: limit}
	}
	return clean, Rule{}
}

// hidden are zero-width characters and marks of direction. They are copied
// along with text, so they are dropped silently. Left in, one name could look
// like another, and "\u202efdp.exe" reads "exe.pdf".
var hidden = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x061c, Hi: 0x061c, Stride: 1}, {Lo: 0x180e, Hi: 0x180e, Stride: 1}, {Lo: 0x200b, Hi: 0x200b, Stride: 1},
	{Lo: 0x200e, Hi: 0x200f, Stride: 1}, {Lo: 0x202a, Hi: 0x202e, Stride: 1}, {Lo: 0x2060, Hi: 0x206f, Stride: 1},
	{Lo: 0xfeff, Hi: 0xfeff, Stride: 1},
}}

func dropHidden(r rune) rune {
	if unicode.Is(hidden, r) {
		return -1
	}
	return r
}

// isJoiner is true for U+200C and U+200D. Names in Persian and in Indian
// scripts are misspelt without them and emoji fall apart, so they stay between
// other characters. At either end they would only make an empty text look
// answered.
func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

func dropControls(r rune) rune {
	if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
		return -1
	}
	return r
}

func (v *text) Parse(get func(string) string) {
	clean, message := CleanText(get(""), v.max)
	if v.tidy != nil {
		clean = strings.TrimSpace(v.tidy(clean))
	}
	*v.p, v.message = clean, message
}

func (v *text) Input(string) string { return *v.p }
func (v *text) Display() string     { return *v.p }
func (v *text) Empty() bool         { return *v.p == "" }

func (v *text) ErrorMessage() string {
	if v.check == nil || v.Empty() {
		return v.message
	}
	if message := v.check(*v.p); message != "" {
		return message
	}
	return v.message
}

func (v *text) Schema() *Schema {
	return &Schema{Type: "string", Format: v.format, Pattern: v.pattern, MaxLength: v.max}
}
func (v *text) MarshalJSON() ([]byte, error)    { return json.Marshal(*v.p) }
func (v *text) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, v.p) }

// choice is one of several codes.
type choice struct {
	deferral
	p       *string
	options []Option
}

// PresetInput is what a page sends for a choice that the customer left as the page
// started it. An item with nothing else stays a blank one, and a script that says
// nothing is asked for its answer.
const PresetInput = "preset"

// Choice describes a choice of one of the options.
func Choice(p *string, name, label string, options []Option) Field {
	return Field{Name: name, Label: label, Kind: KindChoice, Options: options, Value: &choice{p: p, options: options}}
}

func (v *choice) Parse(get func(string) string) {
	*v.p, _ = CleanText(get(""), maxCode)
}
func (v *choice) Input(string) string { return *v.p }
func (v *choice) Empty() bool         { return *v.p == "" || *v.p == PresetInput }

func (v *choice) Display() string {
	for _, o := range v.options {
		if o.Code == *v.p {
			return o.Label
		}
	}
	return *v.p
}

func (v *choice) ErrorMessage() string {
	if v.Empty() {
		return ""
	}
	for _, o := range v.options {
		if o.Code == *v.p {
			return ""
		}
	}
	return "must be one of the options shown"
}

func (v *choice) Schema() *Schema {
	codes := make([]string, len(v.options))
	for i, o := range v.options {
		codes[i] = o.Code
	}
	return &Schema{Type: "string", Enum: codes}
}
func (v *choice) MarshalJSON() ([]byte, error)    { return json.Marshal(*v.p) }
func (v *choice) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, v.p) }

// checkbox is a tick. Any non-empty input ticks it.
type checkbox struct{ p *bool }

// Checkbox describes a box that must be ticked.
func Checkbox(p *bool, name, label string) Field {
	return Field{Name: name, Label: label, Kind: KindCheckbox, Value: &checkbox{p}}
}

func (v *checkbox) Parse(get func(string) string) {
	switch strings.ToLower(strings.TrimSpace(get(""))) {
	case "", "false", "0", "no", "off":
		*v.p = false
	default:
		*v.p = true
	}
}

func (v *checkbox) Input(string) string {
	if *v.p {
		return "true"
	}
	return ""
}

func (v *checkbox) Display() string {
	if *v.p {
		return "Yes"
	}
	return ""
}
func (v *checkbox) Empty() bool                     { return !*v.p }
func (v *checkbox) ErrorMessage() string            { return "" }
func (v *checkbox) Schema() *Schema                 { return &Schema{Type: "boolean"} }
func (v *checkbox) MarshalJSON() ([]byte, error)    { return json.Marshal(*v.p) }
func (v *checkbox) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, v.p) }
