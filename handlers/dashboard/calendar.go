package dashboard

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"candor/internal/domain"
	"candor/internal/form"
	view "candor/views/dashboard"
)

// A calendar is the day and the zone in which someone names dates.
type calendar struct {
	zone  *time.Location
	today time.Time // as domain.DateIn has it
}

func (s *Server) calendar(v *Visit) calendar {
	return calendar{v.Staff.Zone(), domain.DateIn(s.Clock.Now(), v.Staff.Zone())}
}

// An end says which end of a span of time a field asks for: of the days that are named,
// and of an hour that comes twice when clocks are put back.
type end int

const (
	theFirst end = -1
	theLast  end = 1
)

// dayControl is a control that sets a field to the beginning of a day, or of the day after
// the last one.
func dayControl[F any](cal calendar, name, label string, which end, set func(*F, time.Time)) control[F] {
	return control[F]{
		Control: view.Control{Name: name, Label: label, Type: view.DayType, Example: "23 Nov"},
		read: func(f *F, text string) string {
			day, message := cal.day(label, text, which)
			if message == "" {
				set(f, cal.startOf(day, which))
			}
			return message
		},
		understood: func(text string) (value, words string) {
			day, _ := cal.day(label, text, which)
			return day.Format(time.DateOnly), day.Format(view.DayFormat)
		},
		spans: cal.spansPast,
	}
}

// spansPast reports whether the text names several days that are over: "last week".
func (cal calendar) spansPast(text string) bool {
	first, last, ok := form.ParseDays(text, cal.today)
	return ok && first.Before(last) && last.Before(cal.today)
}

// timeControl is a control that sets a field to a time.
func timeControl[F any](cal calendar, name, label string, which end, set func(*F, *time.Time)) control[F] {
	return control[F]{
		Control: view.Control{Name: name, Label: label, Type: view.TimeType, Example: "23 Nov, 2:05 pm"},
		read: func(f *F, text string) string {
			at, message := cal.time(label, text, which)
			set(f, at)
			return message
		},
		understood: func(text string) (value, words string) {
			at, _ := cal.time(label, text, which)
			return cal.written(*at)
		},
		spans: cal.spansPast,
	}
}

// written is a time as addresses and as the page have it.
func (cal calendar) written(at time.Time) (value, words string) {
	if at = at.In(cal.zone); at.Second() != 0 {
		return at.Format(view.DateTimeLayout + ":05"), at.Format(view.DayFormat + ", 3:04:05 pm")
	}
	return at.Format(view.DateTimeLayout), at.Format(view.DayFormat + ", 3:04 pm")
}

// day is the first or last day that the text names.
func (cal calendar) day(label, text string, which end) (day time.Time, message string) {
	first, last, ok := form.ParseDays(text, cal.today)
	switch {
	case !ok:
		return day, "Enter a date such as 23 Nov, 2026-11-23 or last week under “" + label + "”"
	case which == theLast:
		return last, ""
	}
	return first, ""
}

// startOf is when a day begins, or ends if it is the last one.
func (cal calendar) startOf(day time.Time, which end) time.Time {
	if which == theLast {
		day = day.AddDate(0, 0, 1)
	}
	return domain.StartOfDate(day, cal.zone)
}

// lastDay is the day at whose end, or in which, that time is.
func (cal calendar) lastDay(end time.Time) string {
	return end.Add(-time.Nanosecond).In(cal.zone).Format(view.DayFormat)
}

// clock is a time of day at the end of a text: "23 Nov, 2:05 pm", "yesterday 14:05", "9am".
var clock = regexp.MustCompile(`(?i)^(.*?),?(?:^|[ ,] *|(?-i:T))([0-9]{1,2})(?::([0-9]{2}))?(?::([0-9]{2}))? *(am|pm)?$`)

// time reads a time of the zone as people and browsers write it. Days without a time of
// day are meant from their beginning, or until their end.
func (cal calendar) time(label, text string, which end) (*time.Time, string) {
	text = strings.TrimSpace(text)
	parts := clock.FindStringSubmatch(text)
	if parts == nil || parts[3] == "" && parts[5] == "" {
		day, message := cal.day(label, text, which)
		if message != "" {
			return nil, timeMessage(label)
		}
		at := cal.startOf(day, which)
		return &at, ""
	}
	if strings.TrimSpace(parts[1]) == "" {
		parts[1] = "today"
	}
	day, message := cal.day(label, parts[1], which)
	hour, minute, second := number(parts[2]), number(parts[3]), number(parts[4])
	if half := strings.ToLower(parts[5]); half != "" {
		if hour < 1 || hour > 12 {
			message = timeMessage(label)
		}
		hour %= 12
		if half == "pm" {
			hour += 12
		}
	}
	if message != "" || hour > 23 || minute > 59 || second > 59 {
		return nil, timeMessage(label)
	}
	at := which.ofTwo(time.Date(day.Year(), day.Month(), day.Day(), hour, minute, second, 0, cal.zone))
	return &at, ""
}

func timeMessage(label string) string {
	return "Enter a date and time such as 23 Nov 2026, 2:05 pm or yesterday 9:00 under “" + label + "”"
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // of two digits, or none
	return n
}

// ofTwo is the first or last moment at which clocks show the time.
func (which end) ofTwo(t time.Time) time.Time {
	for _, step := range []time.Duration{30 * time.Minute, time.Hour} { // Lord Howe Island's clocks move by half an hour
		if other := t.Add(time.Duration(which) * step); other.Format(time.DateTime) == t.Format(time.DateTime) {
			t = other
		}
	}
	return t.UTC()
}
