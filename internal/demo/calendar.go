package demo

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// local is the partner's time. It needs no table of zones; an hour in
// summer doesn't matter here.
var local = time.FixedZone("AEST", 10*60*60)

// weekday is how busy a day of the week is, from Sunday on.
var weekday = [7]float64{0.14, 1.15, 1.25, 1.1, 1.05, 0.8, 0.25}

// hour is how busy an hour of a working day is.
var hour = [24]float64{7: 0.2, 8: 0.8, 9: 1.6, 10: 1.8, 11: 1.5, 12: 0.8, 13: 1.1, 14: 1.5, 15: 1.4, 16: 1.1, 17: 0.6, 18: 0.2,
	19: 0.1, 20: 0.1}

// arrivals are n moments from the first day until now, in order: busy on
// weekdays, quiet at night, somewhat more of them lately.
func arrivals(r *rand.Rand, now time.Time, n int) []time.Time {
	var weights []float64
	var hours []time.Time
	first := now.Add(-days * 24 * time.Hour).Truncate(time.Hour)
	for t := first.Add(time.Hour); t.Add(time.Hour).Before(now); t = t.Add(time.Hour) {
		l := t.In(local)
		day := l.YearDay()*7919%100 - 50 // some days are busier for no reason
		trend := 0.75 + 0.5*t.Sub(first).Hours()/(days*24)
		hours = append(hours, t)
		weights = append(weights, weekday[l.Weekday()]*hour[l.Hour()]*trend*(1+float64(day)/180))
	}
	out := make([]time.Time, n)
	for i := range out {
		out[i] = hours[weighted(r, weights)].Add(time.Duration(r.IntN(3_600_000)) * time.Millisecond)
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}

// weighted is the index of one of the weights, each as likely as it is heavy.
func weighted(r *rand.Rand, weights []float64) int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	left := r.Float64() * sum
	for i, w := range weights {
		if left -= w; left < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// about is a time around the median, now and then much longer.
func about(r *rand.Rand, median time.Duration, spread float64) time.Duration {
	return time.Duration(float64(median) * math.Exp(r.NormFloat64()*spread)).Truncate(time.Millisecond)
}

// awake moves what would happen in the small hours to the morning.
func awake(r *rand.Rand, t time.Time) time.Time {
	if h := t.In(local).Hour(); h < 6 {
		return t.Add(time.Duration(6-h)*time.Hour + time.Duration(r.IntN(90))*time.Minute)
	}
	return t
}
