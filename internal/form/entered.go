package form

import (
	"bytes"
	"encoding/json"
	"strings"
)

// An Entry is an amount as the customer gave it (D53).
type Entry struct {
	Amount Cents  `json:"amount"`
	Period Period `json:"period"`
}

// Entries are the amounts that make up an answer. Their JSON is one object if
// there is one, else an array.
type Entries []Entry

// String returns the amounts for people, "$1,200.00 a week + $300.00 a month".
func (e Entries) String() string { return e.Say(Period.Per) }

// Say is String with other names of the periods.
func (e Entries) Say(name func(Period) string) string {
	parts := make([]string, len(e))
	for i, entry := range e {
		parts[i] = entry.Amount.String() + " " + name(entry.Period)
	}
	return strings.Join(parts, " + ")
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
	}, Required: []string{"amount", "period"}}
	return &Schema{AnyOf: []*Schema{one, {Type: "array", Items: one, MaxItems: maxAmounts}}}
}

// Entries returns the amounts that the answer was given as. They are nil if it
// is one amount in the field's own period.
func (f Field) Entries() Entries {
	v, ok := f.Value.(*money)
	if !ok || v.message != "" || len(v.typed) == 0 || len(v.typed) == 1 && v.typed[0].period == v.period {
		return nil
	}
	var out Entries
	for _, t := range v.typed {
		out = append(out, Entry{t.cents, t.period})
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

// AddAmount adds an empty amount to the named field, and reports whether the
// field takes one more.
func (s *Section) AddAmount(name string) (input string, added bool) {
	s.Walk(func(path string, f Field) {
		v, ok := f.Value.(*money)
		if path != name || !ok || !f.Several || len(v.typed) >= maxAmounts {
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

// LastPeriod is the period of the last recurring amount that was given, Once if
// there is none: a customer who is paid fortnightly gives all amounts so.
func (s *Section) LastPeriod() Period {
	last := Once
	s.Walk(func(_ string, f Field) {
		if f.Period != Once && f.Kind == KindMoney && !f.Value.Empty() {
			last = Period(f.Value.Input("period"))
		}
	})
	return last
}

// Entered returns the amounts that were given in another period than their
// field's, or as several, by their fields' paths inside the section (D53).
func (s *Section) Entered() map[string]Entries {
	out := map[string]Entries{}
	s.Walk(func(path string, f Field) {
		if entries := f.Entries(); entries != nil {
			out[path] = entries
		}
	})
	return out
}
