package domain

import "time"

// A FailedRule is a rule of the form that an answer didn't meet. It holds nothing
// that was typed.
type FailedRule struct {
	Field   string // path inside the section, without the number of a list's item
	Message string // names the field, fit to show
}

// A Funnel tells how far the sessions of a period came with the form.
type Funnel struct {
	Whole    FunnelSection             // reached is opened, and times are from creation
	Sections map[string]*FunnelSection // by name; those that nobody reached are missing
}

// FunnelSection is what became of one section. Sessions are counted, each once.
type FunnelSection struct {
	Reached   int         // saw it
	Completed int         // completed it, at least once
	Times     Times       // from seeing it first to completing it
	Rule      *FailedRule // the one that the most sessions failed; nil for none
	Affected  int         // sessions that failed Rule
}

// Section returns the named section, there from now on; "" is the whole form.
func (f *Funnel) Section(name string) *FunnelSection {
	if name == "" {
		return &f.Whole
	}
	if f.Sections[name] == nil {
		f.Sections[name] = &FunnelSection{}
	}
	return f.Sections[name]
}

// Times are durations counted by steps that are less than 10 % apart, shortest
// first; those of the first step are shorter than a minute.
type Times []TimeStep

// A TimeStep counts the sessions of one step, and sums their times.
type TimeStep struct {
	Sessions int
	Seconds  int64
}

// Add adds to the step of that place, from 0.
func (t *Times) Add(place int, more TimeStep) {
	for len(*t) <= place {
		*t = append(*t, TimeStep{})
	}
	(*t)[place].Sessions += more.Sessions
	(*t)[place].Seconds += more.Seconds
}

// Median returns the middle one of the times; false where there are none. It
// takes each time for the mean of its step, so that it is exact while steps
// hold one or equal ones, and always less than 10 % off from a minute on.
func (t Times) Median() (time.Duration, bool) {
	total := 0
	for _, step := range t {
		total += step.Sessions
	}
	if total == 0 {
		return 0, false
	}
	return (t.ranked((total-1)/2) + t.ranked(total/2)) / 2, true
}

// ranked returns the time that has n shorter ones before it.
func (t Times) ranked(n int) time.Duration {
	for _, step := range t {
		if n < step.Sessions {
			return time.Duration(step.Seconds) * time.Second / time.Duration(step.Sessions)
		}
		n -= step.Sessions
	}
	return 0
}
