package domain

import (
	"slices"
	"time"
)

// A RequestOutcome is what figures need of an API request.
type RequestOutcome struct {
	ID         RequestID `db:"id"`
	Status     int       `db:"status"`
	DurationUS int       `db:"duration_us"`
}

// A RequestSpan sums up the API requests from a moment to the next span's.
type RequestSpan struct {
	From                  time.Time
	Fine, Refused, Failed int           // 2xx and 3xx, 4xx, 5xx
	P95                   time.Duration // 95 of 100 took at most this; 0 without any
}

// RequestSpansMost is how many spans requests are summed up in at most.
const RequestSpansMost = 30

// RequestSpans sums up requests, newest first, in spans of one length, whole minutes or
// hours, from the earlier of a moment and the oldest request until another moment.
func RequestSpans(requests []RequestOutcome, from, until time.Time) []RequestSpan {
	if len(requests) == 0 {
		return nil
	}
	if oldest := RequestTime(requests[len(requests)-1].ID); from.IsZero() || oldest.Before(from) {
		from = oldest
	}
	step := time.Minute
	for _, longer := range []time.Duration{2, 5, 10, 15, 30, 60, 120, 180, 360, 720} {
		if until.Sub(from.Truncate(step)) > RequestSpansMost*step {
			step = longer * time.Minute
		}
	}
	from = from.Truncate(step)
	var out []RequestSpan
	for at := from; at.Before(until) || len(out) == 0; at = at.Add(step) {
		out = append(out, RequestSpan{From: at})
	}
	times := make([][]int, len(out))
	for _, one := range requests {
		i := min(max(0, int(RequestTime(one.ID).Sub(from)/step)), len(out)-1)
		times[i] = append(times[i], one.DurationUS)
		switch span := &out[i]; {
		case one.Status >= 500:
			span.Failed++
		case one.Status >= 400:
			span.Refused++
		default:
			span.Fine++
		}
	}
	for i, all := range times {
		if slices.Sort(all); len(all) > 0 {
			out[i].P95 = time.Duration(all[(len(all)*95+99)/100-1]) * time.Microsecond
		}
	}
	return out
}

// Total is how many requests there were.
func (s RequestSpan) Total() int { return s.Fine + s.Refused + s.Failed }
