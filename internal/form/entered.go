package form

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// An Entry is an amount as the customer gave it (D53).
type Entry struct {
	Amount Cents  `json:"amount"`
	Period Period `json:"period"`
	Share  *int   `json:"share,omitempty"` // the customer's, in percent; nil for all of it (D78)
}

// Yearly is what the amount makes in a year.
func (e Entry) Yearly() Cents { return e.Amount * Cents(e.Period.timesAYear()) }

// Entries are the amounts that make up an answer. Their JSON is one object if
// there is one, else an array.
type Entries []Entry

// String returns the amounts for people, "$1,200.00 a week + $300.00 a month", and what of
// them is the customer's, "($400.00 a week + $200.00 a month) × 60%".
func (e Entries) String() string { return e.Say(Period.Per) }

// Say is String with other names of the periods.
func (e Entries) Say(name func(Period) string) string {
	parts := make([]string, len(e))
	for i, entry := range e {
		parts[i] = entry.Amount.String() + " " + name(entry.Period)
	}
	text := strings.Join(parts, " + ")
	if len(e) == 0 || e[0].Share == nil {
		return text
	}
	if len(e) > 1 {
		text = "(" + text + ")"
	}
	return text + " × " + strconv.Itoa(*e[0].Share) + "%"
}

// MarshalJSON writes one object, or an array.
func (e Entries) MarshalJSON() ([]byte, error) {
	if len(e) == 1 {
		return json.Marshal(e[0])
	}
	return json.Marshal([]Entry(e))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *Entries) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, (*[]Entry)(e))
	}
	*e = make(Entries, 1)
	return json.Unmarshal(data, &(*e)[0])
}

// EntriesSchema describes the JSON of Entries.
func EntriesSchema() *Schema {
	amount := DollarSchema()
	amount.Description = "Dollars in each period, with at most two decimals."
	one := &Schema{Type: "object", Properties: map[string]*Schema{
		"amount": amount,
		"period": {Type: "string", Enum: Period("").Enum(), Description: "How often it recurs."},
		"share": {Type: "integer", Minimum: "0", Maximum: "100",
			Description: "The customer’s percentage of it; absent if all of it is the customer’s."},
	}, Required: []string{"amount", "period"}}
	return &Schema{OneOf: []*Schema{one, {Type: "array", Items: one, MaxItems: maxAmounts}}}
}

// Entries returns the amounts that the answer was given as. They are nil if it
// is one amount in the field's own period that isn't shared.
func (f Field) Entries() Entries {
	v, ok := f.Value.(*money)
	if !ok || v.message != "" || len(v.typed) == 0 || v.plain() {
		return nil
	}
	var share *int
	if percent := v.percent(); percent != wholeAmount {
		share = &percent
	}
	var out Entries
	for _, t := range v.typed {
		out = append(out, Entry{t.cents, t.period, share})
	}
	return out
}

// Restore takes what Entered returned: the answers are shown again as they were
// given.
func (s *Section) Restore(entered map[string]Entries) {
	s.Walk(func(path string, f Field) {
		if entries := entered[path]; entries != nil {
			f.restore(entries)
		}
	})
}

// restore takes the amounts of a stored answer; the answer is their sum.
func (f Field) restore(entries Entries) {
	v, ok := f.Value.(*money)
	if !ok {
		return
	}
	v.typed = nil
	for _, e := range entries {
		v.typed = append(v.typed, typed{input: e.Amount.Grouped(), period: e.Period, cents: e.Amount})
	}
}

// TypedZeros are the paths of the percentages, and the amounts in their field's own period,
// that were typed as 0: an empty one is the same number (D19), but isn't said.
func (s *Section) TypedZeros() (out []string) {
	s.Walk(func(path string, f Field) {
		if f.typedZero() && f.Entries() == nil {
			out = append(out, path)
		}
	})
	return out
}

// RestoreZeros takes what TypedZeros returned.
func (s *Section) RestoreZeros(paths []string) {
	s.Walk(func(path string, f Field) {
		if !slices.Contains(paths, path) {
			return
		}
		switch v := f.Value.(type) {
		case *money:
			if *v.p == 0 {
				v.typed = []typed{{input: "0", period: v.period}}
			}
		case *whole:
			if *v.p == 0 {
				v.input = "0"
			}
		}
	})
}

// typedZero reports whether the customer said that the amount or the percentage is 0.
func (f Field) typedZero() bool {
	switch v := f.Value.(type) {
	case *money:
		return *v.p == 0 && v.message == "" && len(v.typed) > 0
	case *whole:
		return *v.p == 0 && v.message == "" && v.input != ""
	}
	return false
}

// TakesAmount reports whether another amount can be added to the answer.
func (f Field) TakesAmount() bool {
	v, ok := f.Value.(*money)
	return ok && f.Another != "" && len(v.typed) < maxAmounts
}

// AddAmount adds an empty amount to the named field, and reports whether the
// field takes one more.
func (s *Section) AddAmount(name string) (input string, added bool) {
	s.Walk(func(path string, f Field) {
		v, ok := f.Value.(*money)
		if path != name || !ok || !f.TakesAmount() {
			return
		}
		if len(v.typed) == 0 {
			v.typed = append(v.typed, v.amount(""))
		}
		v.typed = append(v.typed, typed{})
		input, added = path+"."+amountPart(len(v.typed)-1), true
	})
	return input, added
}

// share applies the shares that are asked for now to what was typed of shared amounts, and
// reports whether that changes an answer. An amount without entries was typed as it is.
func (s *Section) share() (changed bool) {
	s.Walk(func(_ string, f Field) {
		v, ok := f.Value.(*money)
		if !ok || v.share == nil || v.Empty() {
			return
		}
		if len(v.typed) == 0 {
			v.typed = []typed{{input: v.p.Grouped(), period: v.period, cents: *v.p}}
		}
		if sum, message := v.sum(); message == "" && sum != *v.p {
			*v.p, changed = sum, true
		}
	})
	return changed
}

// Entered returns the amounts that were given in another period than their
// field's, as several or as shared ones, by their fields' paths inside the section (D53).
func (s *Section) Entered() map[string]Entries {
	out := map[string]Entries{}
	s.Walk(func(path string, f Field) {
		if entries := f.Entries(); entries != nil {
			out[path] = entries
		}
	})
	return out
}
