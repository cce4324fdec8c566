package domain_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"candor/internal/domain"
)

// steps puts durations, in seconds, on a ladder as the database does.
func steps(seconds []int64) domain.Times {
	var out domain.Times
	slices.Sort(seconds)
	for _, s := range seconds {
		step := 0
		if s >= 60 {
			step = 1 + int(8*math.Log2(float64(s)/60))
		}
		out.Add(step, domain.TimeStep{Sessions: 1, Seconds: s})
	}
	return out
}

func TestMedianIsExactForFew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		seconds []int64
		want    time.Duration
	}{
		{[]int64{0}, 0},
		{[]int64{5400, 5400, 5400}, 90 * time.Minute},
		{[]int64{60, 6000}, 3030 * time.Second},
		{[]int64{100, 86400, 7000}, 7000 * time.Second},
		{[]int64{100, 700, 7000, 70000}, 3850 * time.Second},
	} {
		if got, ok := steps(tt.seconds).Median(); got != tt.want || !ok {
			t.Errorf("median of %d s is %v, %v; want %v", tt.seconds, got, ok, tt.want)
		}
	}
	if got, ok := (domain.Times{}).Median(); got != 0 || ok {
		t.Errorf("median of nothing is %v, %v", got, ok)
	}
}

func TestMedianIsLessThanTenPercentOff(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 15))
	for range 500 {
		seconds := make([]int64, 1+random.IntN(400))
		for i := range seconds {
			seconds[i] = 60 + int64(60*math.Exp(random.NormFloat64()*2+3))
		}
		got, _ := steps(seconds).Median()
		exact := float64(seconds[(len(seconds)-1)/2]+seconds[len(seconds)/2]) / 2
		if off := math.Abs(got.Seconds()-exact) / exact; off >= 0.1 {
			t.Errorf("median of %d times is %v, exactly %.0f s", len(seconds), got, exact)
		}
	}
}
