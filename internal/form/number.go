package form

import (
	"encoding/json"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
	"time"
)

// percent is a whole number from 0 to 100.
type percent struct {
	deferral
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
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(norm.NFKC.String(clean), "%")))
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
