package form

import (
	"encoding/json"
	"net/mail"
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
	about   string // for the schema, after the label
	tidy    func(string) string
	check   func(string) string // returns what is wrong with a text that isn't empty
	odd     string              // the first character that can't be printed, "" for none
	message string
}

// notPrintable is the message for a character that no document could show (D80).
const notPrintable = "has a character we can’t print: " + valuePlace + ". Use English letters"

// unprintable returns the first character that a document can't show, "" for none.
func unprintable(s string) string {
	for _, r := range s {
		if !unicode.Is(Printable, r) {
			return string(r)
		}
	}
	return ""
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

// maxPostcode is the longest postcode of a country elsewhere.
const maxPostcode = 20

// Postcode describes an Australian postcode of four digits, which can be wide ones.
// Abroad it is any text, or none (D82).
func Postcode(p *string, name, label string, abroad func() bool) Field {
	return Field{Name: name, Label: label, Kind: KindPostcode, FreeWhen: abroad,
		Value: &text{p: p, max: maxPostcode, about: "Four digits in Australia; any text or none abroad.", tidy: norm.NFKC.String,
			check: func(s string) string {
				if !abroad() && (len(s) != 4 || strings.Map(onlyDigits, s) != s) {
					return "must be 4 digits. If you live abroad, choose your country"
				}
				return ""
			}}}
}

func onlyDigits(r rune) rune {
	if r >= '0' && r <= '9' {
		return r
	}
	return -1
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

// readLine is CleanText with what was typed in place of a text that breaks a rule: it is
// shown again, and refused again wherever it goes from there (D85).
func readLine(s string, limit int) (line, message string) {
	clean, message := CleanText(s, limit)
	if message != "" {
		return strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD")), message
	}
	return clean, ""
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
	line, message := readLine(get(""), v.max)
	if v.tidy != nil && message == "" {
		line = strings.TrimSpace(v.tidy(line))
	}
	if v.odd = unprintable(line); v.odd != "" && message == "" {
		message = notPrintable
	}
	*v.p, v.message = line, message
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
	return &Schema{Type: "string", Format: v.format, Pattern: v.pattern, MaxLength: v.max, Description: v.about}
}
func (v *text) MarshalJSON() ([]byte, error)    { return json.Marshal(*v.p) }
func (v *text) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, v.p) }

// choice is one of several codes.
type choice struct {
	deferral
	p        *string
	options  []Option
	codes    *Schema // in place of the list of codes, if that is long
	followed bool    // it wasn't chosen: it follows from other answers
}

// PresetInput is what a page sends for a choice that the customer left as the page
// started it. An item with nothing else stays a blank one, and a script that says
// nothing is asked for its answer.
const PresetInput = "preset"

// Choice describes a choice of one of the options.
func Choice(p *string, name, label string, options []Option) Field {
	return Field{Name: name, Label: label, Kind: KindChoice, Options: options, Value: &choice{p: p, options: options}}
}

// Country describes a choice of one of the countries by their codes. There are many, so
// the schema names the standard.
func Country(p *string, name, label string, options []Option) Field {
	codes := &Schema{Type: "string", Pattern: "^[A-Z]{2}$", Description: "ISO 3166-1 alpha-2, AU for Australia."}
	return Field{Name: name, Label: label, Kind: KindChoice, Options: options, Value: &choice{p: p, options: options, codes: codes}}
}

func (v *choice) Parse(get func(string) string) {
	*v.p, _ = readLine(get(""), maxCode)
	v.followed = false
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
	if v.codes != nil {
		return v.codes
	}
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
