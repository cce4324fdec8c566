package domain

import (
	"slices"
	"time"

	"candor/internal/form"
)

// A FailedRule is a rule of the form that an answer didn't meet. It doesn't
// have the answer.
type FailedRule struct {
	Field   string // path inside the section, without the number of a list's item
	Message string // names the field; can be shown
}

// FailedRules returns the rules that failed, each once, however many items of a list failed it; never nil.
func FailedRules(refused form.Errors) []FailedRule {
	out := []FailedRule{}
	for _, e := range refused {
		general := e.General()
		rule := FailedRule{Field: general.Field, Message: general.Message}
		if !slices.Contains(out, rule) {
			out = append(out, rule)
		}
	}
	return out
}

// A RefusedRule is a FailedRule of one session.
type RefusedRule struct {
	Section string `db:"section"`
	Field   string `db:"field"`
	Message string `db:"message"`
}

// A RefusedOften is a rule that the form refused in one session.
type RefusedOften struct {
	RefusedRule
	Times int        `db:"times"`
	At    *time.Time `db:"at"`    // last, nil if that isn't known
	Still bool       `db:"still"` // at the customer's last try, too
}

// A Funnel shows how far the sessions of a period got with the form.
type Funnel struct {
	Whole    FunnelSection             // here Reached counts opened sessions, and times start at creation
	Sections map[string]*FunnelSection // by name; without the sections that no session reached
}

// FunnelSection counts the sessions that reached one section. Each session
// counts once.
type FunnelSection struct {
	Reached   int            // the section was shown
	Completed int            // at least once
	Times     Times          // from showing it first to completing it
	Median    *time.Duration // of the times, nil for none: less than 10 % off above a minute, exact if those of a step are equal
	Rule      *FailedRule    // the rule that most sessions failed; nil for none
	Affected  int            // sessions that failed Rule
}

// Section returns the named section, and adds it if it is missing; "" is the
// whole form.
func (f *Funnel) Section(name string) *FunnelSection {
	if name == "" {
		return &f.Whole
	}
	if f.Sections[name] == nil {
		f.Sections[name] = &FunnelSection{}
	}
	return f.Sections[name]
}

// Times counts durations in steps less than 10 % apart, shortest first. The first
// step is below a minute.
type Times []int

// Add adds to the step at place, from 0.
func (t *Times) Add(place, n int) {
	for len(*t) <= place {
		*t = append(*t, 0)
	}
	(*t)[place] += n
}

// Middle returns the steps of the two times in the middle, which can be one, and false if
// there are no times.
func (t Times) Middle() (low, high int, ok bool) {
	total := 0
	for _, n := range t {
		total += n
	}
	return t.step((total - 1) / 2), t.step(total / 2), total > 0
}

// step is that of the time at rank n, from 0.
func (t Times) step(n int) int {
	for place, count := range t {
		if n < count {
			return place
		}
		n -= count
	}
	return 0
}

// GoLive is what an account has of what it needs before its first live session.
type GoLive struct {
	Completed  bool // a session of test mode
	Received   bool // a webhook of test mode arrived, or a test event did
	Endpoint   bool // of live mode
	Brand      bool // customers see its logo or colour
	Approved   bool // an operator opened live mode (D52)
	Subscribed bool // to a plan
	Key        bool // of live mode
}

// Done reports whether nothing is missing.
func (g GoLive) Done() bool {
	return g == GoLive{Completed: true, Received: true, Brand: true, Approved: true, Subscribed: true, Key: true, Endpoint: true}
}

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
