package domain

// FirstSteps are what a developer has tried of a scope.
type FirstSteps struct {
	HasKey   bool
	Created  bool     // a session, by a key
	Opened   bool     // a session's form
	Received bool     // a webhook arrived, or events were read
	Fetched  bool     // a session's data
	Link     *Session // the newest session that is open, nil for none
}

// Count is how many of the steps are done.
func (f *FirstSteps) Count() (n int) {
	for _, done := range []bool{f.HasKey, f.Created, f.Opened, f.Received, f.Fetched} {
		if done {
			n++
		}
	}
	return n
}
