package domain

// A Filter is one entry in the table of a list's filters. Package db makes the
// list's conditions of the table, the counters ask it what they know, and tests
// check that the API and the pages offer each entry. To add a filter, add a
// field and its entry.
type Filter[F any] struct {
	Name    string       // of the parameter that sets it
	Column  string       // the column it compares; "" if package db spells the condition out
	Compare Comparison   // how Column is compared
	Index   string       // that leads to the rows; "" if rows are read and left out
	Counted bool         // the counters by day know it
	Value   func(*F) any // what Column is compared with; nil if the filter isn't set
}

// A Comparison is how a filter compares its column.
type Comparison int

// The comparisons.
const (
	Equal Comparison = iota
	EqualFold
	Above
	AtLeast
	Below
)

// counted reports whether the counters know all filters that are set.
func counted[F any](filters []Filter[F], f *F) bool {
	for _, one := range filters {
		if !one.Counted && one.Value(f) != nil {
			return false
		}
	}
	return true
}

// set is v, nil for its zero value.
func set[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// given is what p points to, nil for none.
func given[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// Found is what a search in the dashboard has found.
type Found struct {
	Sessions []Session // newest first; a part of Total
	Total    int
	OrMore   bool // than Total

	Document *DocumentID // of the one session
	Delivery *Delivery
	Event    *Event
	Request  *APIRequest
	Keys     []APIKey
	Invoice  *Invoice

	People []TeamMember
	Views  []StaffView // of the user

	ByID      bool // what was typed is the id of the one thing
	OtherMode bool // which is of the other mode
	ByPhone   bool // the sessions have the telephone number that was typed
	Misspelt  bool // nothing has the words as they were typed, and the sessions have similar ones
}

// Any reports whether anything was found.
func (f *Found) Any() bool { return f.Count() > 0 }

// Count is how many things are shown.
func (f *Found) Count() int {
	n := len(f.Sessions) + len(f.Keys) + len(f.People) + len(f.Views)
	for _, one := range []bool{f.Delivery != nil, f.Event != nil, f.Request != nil, f.Invoice != nil} {
		if one {
			n++
		}
	}
	return n
}

// byKey indexes the rows of a table.
func byKey[K comparable, Row any](table []Row, key func(Row) K) map[K]Row {
	out := make(map[K]Row, len(table))
	for _, row := range table {
		out[key(row)] = row
	}
	return out
}

// keys lists the keys of a table's rows, in its order.
func keys[K, Row any](table []Row, key func(Row) K) []K {
	out := make([]K, len(table))
	for i, row := range table {
		out[i] = key(row)
	}
	return out
}

// texts are the values of a list as a schema's enum.
func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, value := range list {
		out[i] = string(value)
	}
	return out
}

// must returns the value of a table's text that is parsed at the start.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
