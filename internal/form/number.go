package form

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// money is an amount of 0 or more in dollars; an empty input is 0 (D19).
type money struct {
	p       *Cents
	input   string // as typed, if it differs from the amount
	message string
}

// Money describes an amount in dollars, 0 if nothing is typed.
func Money(p *Cents, name, label string, period Period) Field {
	return Field{Name: name, Label: label, Kind: KindMoney, Period: period, Optional: true, Value: &money{p: p}}
}

// grouped is a number whose separators, if any, are at the thousands: in
// "1,50" the comma could be a decimal comma, so it must not be read as 150.
var grouped = regexp.MustCompile(`^(?:[0-9]*|[0-9]{1,3}(?:[,\s\x{00a0}\x{2009}\x{202f}][0-9]{3})+)(?:\.[0-9]*)?$`)

func (v *money) Parse(get func(string) string) {
	clean, garbled := CleanText(get(""), maxCode)
	*v.p, v.input, v.message = 0, clean, ""
	switch {
	case garbled != "":
		v.message = notAnAmount
	case clean != "":
		*v.p, v.message = parseMoney(clean)
	}
}

const notAnAmount = "must be an amount in dollars, like 1250 or 1,250.50"

// parseMoney reads an amount as people type it, or returns what is wrong with
// it.
func parseMoney(s string) (amount Cents, message string) {
	s = strings.TrimSpace(strings.TrimPrefix(s, "$"))
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "−") {
		return 0, "must be $0 or more"
	}
	if !grouped.MatchString(s) {
		return 0, notAnAmount
	}
	dollars, cents, _ := strings.Cut(strings.Map(dropSeparators, s), ".")
	if len(cents) > 2 {
		return 0, "must have at most two decimals, like 1,250.50"
	}
	amount, err := parseDecimal(dollars + "." + cents)
	switch {
	case len(strings.TrimLeft(dollars, "0")) > len("999999999999"):
		return 0, "must be " + MaxCents.String() + " or less"
	case err != nil:
		return 0, notAnAmount
	}
	return amount, ""
}

func dropSeparators(r rune) rune {
	if r == '.' {
		return r
	}
	return onlyDigits(r)
}

func (v *money) Input(string) string {
	if v.input != "" || *v.p == 0 {
		return v.input
	}
	return v.p.Decimal()
}

func (v *money) Display() string      { return v.p.String() }
func (v *money) Empty() bool          { return *v.p == 0 && v.input == "" }
func (v *money) ErrorMessage() string { return v.message }

// typedZero is an amount that was typed as 0, so that it is redisplayed as 0
// and not as an empty input. An amount that was not typed is written as 0
// (D19). Both are the same number.
const typedZero = "0.00"

func (v *money) MarshalJSON() ([]byte, error) {
	if *v.p == 0 && v.input != "" {
		return []byte(typedZero), nil
	}
	return v.p.MarshalJSON()
}

func (v *money) UnmarshalJSON(data []byte) error {
	if string(data) == typedZero {
		v.input = "0"
	}
	return v.p.UnmarshalJSON(data)
}

// Schema has no multipleOf 0.01: validators that use binary floating point
// would reject exact amounts such as 0.07.
func (v *money) Schema() *Schema {
	return &Schema{Type: "number", Minimum: "0", Maximum: json.Number(MaxCents.Decimal())}
}

// percent is a whole number from 0 to 100.
type percent struct {
	p       *int
	input   string
	message string
}

// Percent describes a whole percentage from 0 to 100.
func Percent(p *int, name, label string) Field {
	return Field{Name: name, Label: label, Kind: KindPercent, Value: &percent{p: p}}
}

func (v *percent) Parse(get func(string) string) {
	clean, garbled := CleanText(get(""), maxCode)
	*v.p, v.input, v.message = 0, clean, ""
	if clean == "" && garbled == "" {
		return
	}
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(clean, "%")))
	if garbled != "" || err != nil || n < 0 || n > 100 {
		v.message = "must be a whole number from 0 to 100"
		return
	}
	*v.p = n
}

func (v *percent) Input(string) string {
	if v.input != "" || *v.p == 0 {
		return v.input
	}
	return strconv.Itoa(*v.p)
}

func (v *percent) Display() string      { return strconv.Itoa(*v.p) + "%" }
func (v *percent) Empty() bool          { return *v.p == 0 && v.input == "" }
func (v *percent) ErrorMessage() string { return v.message }

func (v *percent) Schema() *Schema {
	return &Schema{Type: "integer", Minimum: "0", Maximum: "100"}
}
func (v *percent) MarshalJSON() ([]byte, error) { return json.Marshal(*v.p) }

// UnmarshalJSON keeps the digits as the input, so that a stored 0 is an answer
// and not a blank.
func (v *percent) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, v.p); err != nil {
		return err
	}
	v.input = strconv.Itoa(*v.p)
	return nil
}

// total is a computed amount.
type total struct{ compute func() Cents }

// Total describes a computed amount, which is shown and never asked.
func Total(compute func() Cents, name, label string, period Period) Field {
	return Field{Name: name, Label: label, Kind: KindOutput, Period: period, Value: &total{compute}}
}

func (v *total) Parse(func(string) string)    {}
func (v *total) Input(string) string          { return "" }
func (v *total) Display() string              { return v.compute().String() }
func (v *total) Empty() bool                  { return false }
func (v *total) ErrorMessage() string         { return "" }
func (v *total) Schema() *Schema              { return &Schema{Type: "number"} }
func (v *total) MarshalJSON() ([]byte, error) { return v.compute().MarshalJSON() }
func (v *total) UnmarshalJSON([]byte) error   { return nil } // computed again

// instant is a time that the service sets, UTC.
type instant struct{ p *time.Time }

// Instant describes a time that the service sets. It is shown and never asked.
func Instant(p *time.Time, name, label string) Field {
	return Field{Name: name, Label: label, Kind: KindOutput, Value: &instant{p}}
}

func (v *instant) Parse(func(string) string) {}
func (v *instant) Input(string) string       { return "" }
func (v *instant) Empty() bool               { return v.p.IsZero() }
func (v *instant) ErrorMessage() string      { return "" }
func (v *instant) Schema() *Schema           { return &Schema{Type: "string", Format: "date-time"} }

func (v *instant) Display() string {
	if v.p.IsZero() {
		return ""
	}
	return v.p.UTC().Format("2 January 2006, 15:04 UTC")
}
func (v *instant) MarshalJSON() ([]byte, error)    { return At(*v.p).MarshalJSON() }
func (v *instant) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, v.p) }
