package domain

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

	ByID bool // what was typed is the id of the one thing
}

// Any reports whether anything was found.
func (f *Found) Any() bool { return f.Count() > 0 }

// Count is how many things are shown.
func (f *Found) Count() int {
	n := len(f.Sessions) + len(f.Keys)
	for _, one := range []bool{f.Delivery != nil, f.Event != nil, f.Request != nil, f.Invoice != nil} {
		if one {
			n++
		}
	}
	return n
}
