package dashboard

import (
	"context"
	"time"
)

// timeKey is the key of a page's timing in its context.
type timeKey struct{}

// timing is what a page needs to show times.
type timing struct {
	zone *time.Location
	now  time.Time
}

// WithTime returns a context in which pages show times in the zone, as seen from
// now (D62).
func WithTime(ctx context.Context, zone *time.Location, now time.Time) context.Context {
	return context.WithValue(ctx, timeKey{}, timing{zone, now})
}

// zoned is the time in the context's zone; UTC where no account is known, as
// before sign-in.
func zoned(ctx context.Context, t time.Time) time.Time {
	if s, ok := ctx.Value(timeKey{}).(timing); ok {
		return t.In(s.zone)
	}
	return t.UTC()
}

// DayFormat is how dates are written in lists and fields.
const DayFormat = "2 Jan 2006"

// How dates and times of day are written.
const (
	longDay     = "2 January 2006"
	timeFormat  = "3:04 pm"
	exactFormat = "3:04:05 pm"
)

// When is a moment as people read it, in the context's zone.
func When(ctx context.Context, t time.Time) string {
	return local(ctx, t, DayFormat+", "+timeFormat)
}

// Day is a date as people read it, in the context's zone.
func Day(ctx context.Context, t time.Time) string { return zoned(ctx, t).Format(longDay) }

// whenExactly is a moment to the second.
func whenExactly(ctx context.Context, t time.Time) string {
	return local(ctx, t, DayFormat+", "+exactFormat)
}

// local formats a time in the context's zone. The zone's name is part of it only
// where it isn't an account's own.
func local(ctx context.Context, t time.Time, layout string) string {
	if _, own := ctx.Value(timeKey{}).(timing); !own {
		layout += " UTC"
	}
	return zoned(ctx, t).Format(layout)
}

// inFull is a time with its zone, and in UTC as the API has it. It stands where
// the pointer rests on a time.
func inFull(ctx context.Context, t time.Time) string {
	utc := t.UTC().Format("2006-01-02 15:04:05") + " UTC"
	if here := zoned(ctx, t); here.Location() != time.UTC {
		return here.Format("Monday 2 January 2006, 3:04:05 pm MST") + " · " + utc
	}
	return utc
}

// utcWhen is a moment of the billing period, which is in UTC everywhere (D62).
func utcWhen(t time.Time) string { return t.UTC().Format(DayFormat+", 15:04") + " UTC" }

// utcDay is a date of the billing period.
func utcDay(t time.Time) string { return utcDate(t) + " UTC" }

// utcDate is a date of an invoice, whose page or PDF says that it is UTC.
func utcDate(t time.Time) string { return t.UTC().Format(longDay) }
