package domain

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"candor/internal/statement"
)

// A Figure is what sessions are counted by (D129): Name is FigureWay, FigureDocuments, or
// FigureMember and a member of metadata. Value "" stands for all that have no count of
// their own, which no list has.
type Figure struct {
	Name  string `db:"name"`
	Value string `db:"value"`
}

// The names of figures.
const (
	FigureWay       = "way" // "email", "api" or "dashboard": how the link came to the customer
	FigureDocuments = "documents"
	FigureMember    = "metadata."
)

// FigureValueLength is how many characters a value of metadata has at most that is counted.
const FigureValueLength = 100

// String is the figure as addresses have it.
func (f Figure) String() string { return f.Name + "=" + f.Value }

// ParseFigure reads what String wrote. A member of metadata can have a "=" itself: who has
// such a name finds the sessions of its first part.
func ParseFigure(text string) (Figure, bool) {
	name, value, ok := strings.Cut(text, "=")
	known := name == FigureWay || name == FigureDocuments || strings.HasPrefix(name, FigureMember) && len(name) > len(FigureMember)
	return Figure{name, value}, ok && known && value != "" && storable(text)
}

// storable reports whether a text of an address can be compared with stored ones.
func storable(text string) bool {
	return len(text) <= 1000 && utf8.ValidString(text) && !strings.Contains(text, "\x00")
}

// A FigureCount counts the sessions of a figure.
type FigureCount struct {
	Figure
	Created   int `db:"created"`
	Completed int `db:"completed"` // of those
}

// RefusedMost is a rule, and how many sessions failed it.
type RefusedMost struct {
	RefusedRule
	Sessions int `db:"sessions"`
	Before   int `db:"before"` // in as many days before
}

// A Progress is how far a customer came. Section is "" for the whole form.
type Progress struct {
	Did     string // one of the words below
	Section string
	Span    int         // of ProgressTook: of TimeSpans
	Rule    *FailedRule // of ProgressRefused

	First, Last time.Time // of ProgressSubmitted: dates
}

// What a customer did.
const (
	ProgressOpened    = "opened"
	ProgressUnopened  = "unopened"
	ProgressSubmitted = "submitted" // on one of some days, whenever the session was created
	ProgressReached   = "reached"
	ProgressCompleted = "completed"
	ProgressStopped   = "stopped" // reached, and not completed
	ProgressTook      = "took"
	ProgressRefused   = "refused"
)

// String is the progress as addresses have it.
func (p Progress) String() string {
	switch p.Did {
	case ProgressOpened, ProgressUnopened:
		return p.Did
	case ProgressSubmitted:
		return p.Did + ":" + p.First.Format(time.DateOnly) + ":" + p.Last.Format(time.DateOnly)
	case ProgressTook:
		return p.Did + ":" + p.Section + ":" + strconv.Itoa(p.Span)
	case ProgressRefused:
		return p.Did + ":" + p.Section + ":" + p.Rule.Field + ":" + p.Rule.Message
	}
	return p.Did + ":" + p.Section
}

// ParseProgress reads what String wrote.
func ParseProgress(text string) (Progress, bool) {
	parts := strings.SplitN(text, ":", 4)
	p := Progress{Did: parts[0]}
	if p.Did == ProgressOpened || p.Did == ProgressUnopened {
		return p, len(parts) == 1
	}
	if p.Did == ProgressSubmitted && len(parts) == 3 {
		var err, errLast error
		p.First, err = time.Parse(time.DateOnly, parts[1])
		p.Last, errLast = time.Parse(time.DateOnly, parts[2])
		return p, err == nil && errLast == nil
	}
	if len(parts) == 1 || !slices.Contains(statement.SectionNames[:], parts[1]) || !storable(text) {
		return p, false
	}
	p.Section = parts[1]
	switch p.Did {
	case ProgressReached, ProgressCompleted, ProgressStopped:
		return p, len(parts) == 2
	case ProgressTook:
		if len(parts) != 3 {
			return p, false
		}
		span, err := strconv.Atoi(parts[2])
		p.Span = span
		return p, err == nil && span >= 0 && span < TimeSpans && p.String() == text
	case ProgressRefused:
		if len(parts) != 4 {
			return p, false
		}
		p.Rule = &FailedRule{Field: parts[2], Message: parts[3]}
		return p, true
	}
	return p, false
}

// TimeSpans is in how many spans times are shown: below 1, 2, 4, 8, 16, 32 and 64 minutes,
// and above. The steps in which they are counted end where a span does.
const TimeSpans = 8

// stepsOfSpan is how many steps a span has, from the second on.
const stepsOfSpan = 8

// Spans are how many sessions took so long.
func (t Times) Spans() (out [TimeSpans]int) {
	for i, n := range t {
		out[min((i+stepsOfSpan-1)/stepsOfSpan, TimeSpans-1)] += n
	}
	return out
}

// SpanSteps are the first and the last step of a span, from 1.
func SpanSteps(span int) (first, last int) {
	switch span {
	case 0:
		return 1, 1
	case TimeSpans - 1:
		return 2 + (span-1)*stepsOfSpan, 1 << 20
	}
	return 2 + (span-1)*stepsOfSpan, 1 + span*stepsOfSpan
}
