package form

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
	"time"
)

// whole is a whole number from 0 to max.
type whole struct {
	deferral
	p       *int
	answer  **int // nil for a number that is 0 without an answer
	max     int
	sign    string // what follows the number
	input   string
	message string
}

// Percent describes a whole percentage from 0 to 100.
func Percent(p *int, name, label string) Field {
	return Field{Name: name, Label: label, Kind: KindPercent, Value: &whole{p: p, max: 100, sign: "%"}}
}

// PercentOrNull is Percent of an answer that is nil, and null in JSON, if none is given.
func PercentOrNull(answer **int, name, label string) Field {
	return Field{Name: name, Label: label, Kind: KindPercent, Value: optional(answer, 100, "%")}
}

// NumberOrNull describes a whole number from 0 to largest; nil, and null in JSON, if
// none is given.
func NumberOrNull(answer **int, largest int, name, label string) Field {
	return Field{Name: name, Label: label, Kind: KindNumber, Value: optional(answer, largest, "")}
}

func optional(answer **int, largest int, sign string) *whole {
	v := &whole{p: new(int), answer: answer, max: largest, sign: sign}
	if *answer != nil { // only read: several draw one statement at a time
		*v.p, v.input = **answer, strconv.Itoa(**answer)
	}
	return v
}

// set keeps the digits as the input, so that a 0 is an answer and not a blank.
func (v *whole) set(n int) {
	*v.p, v.input = n, strconv.Itoa(n)
	if v.answer != nil {
		*v.answer = &n
	}
}

func (v *whole) Parse(get func(string) string) {
	line, garbled := readLine(get(""), maxCode)
	*v.p, v.input, v.message = 0, line, ""
	if v.answer != nil {
		*v.answer = nil
	}
	if line == "" {
		return
	}
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(norm.NFKC.String(line), "%")))
	if garbled != "" || err != nil || n < 0 || n > v.max {
		v.message = fmt.Sprintf("must be a whole number from 0 to %d", v.max)
		return
	}
	v.set(n)
	v.input = line
}

func (v *whole) Input(string) string {
	if v.input != "" || *v.p == 0 {
		return v.input
	}
	return strconv.Itoa(*v.p)
}

func (v *whole) Display() string {
	if v.answer != nil && *v.answer == nil {
		return ""
	}
	return strconv.Itoa(*v.p) + v.sign
}

func (v *whole) Empty() bool          { return *v.p == 0 && v.input == "" }
func (v *whole) ErrorMessage() string { return v.message }

func (v *whole) Schema() *Schema {
	s := &Schema{Type: "integer", Minimum: "0", Maximum: json.Number(strconv.Itoa(v.max))}
	if v.answer != nil {
		s.Type = []string{"integer", "null"}
	}
	return s
}

func (v *whole) MarshalJSON() ([]byte, error) {
	if v.answer != nil {
		return json.Marshal(*v.answer)
	}
	return json.Marshal(*v.p)
}

func (v *whole) UnmarshalJSON(data []byte) error {
	var n int
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	v.set(n)
	return nil
}

// total is a computed amount.
type total struct{ compute func() Cents }

// Total describes a computed amount, which is shown and never asked.
func Total(compute func() Cents, name, label string, period Period) Field {
	return Field{Name: name, Label: label, Kind: KindOutput, Period: period, Value: &total{compute}}
}

// Subtotal describes what a list adds to its section's total.
func Subtotal(compute func() Cents, label string) *Field {
	f := Total(compute, "", label, Once)
	return &f
}

func (v *total) Parse(func(string) string)    {}
func (v *total) Input(string) string          { return "" }
func (v *total) Display() string              { return v.compute().String() }
func (v *total) Empty() bool                  { return false }
func (v *total) ErrorMessage() string         { return "" }
func (v *total) Schema() *Schema              { return DollarSchema() }
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

// longExponent is one that no answer has. What it stands for would fill the memory.
var longExponent = regexp.MustCompile(`[eE][+-]?[0-9]{3,}$`)

// Plain writes a number of JSON without an exponent and without zeros after its decimals: 3e1
// and 30.0 are 30. What is no number stays as it is.
func Plain(number string) string {
	exact, ok := new(big.Rat), false
	if !longExponent.MatchString(number) {
		exact, ok = exact.SetString(number)
	}
	switch {
	case !ok:
		return number
	case exact.IsInt():
		return exact.Num().String()
	}
	return strings.TrimRight(exact.FloatString(20), "0") // of more decimals a dot is left, which no answer ends with
}
