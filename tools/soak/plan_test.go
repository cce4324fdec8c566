package main

import (
	"reflect"
	"testing"
	"time"
)

func TestASeedGivesOnePlan(t *testing.T) {
	t.Parallel()
	const faults = 1000
	plan := newPlan(7, faults, time.Hour)
	if again := newPlan(7, faults, time.Hour); !reflect.DeepEqual(plan, again) {
		t.Error("seed 7 gave two plans")
	}
	if other := newPlan(8, faults, time.Hour); reflect.DeepEqual(plan, other) {
		t.Error("seeds 7 and 8 gave the same plan")
	}
	kinds := map[kind]int{}
	places := map[string]int{}
	for _, f := range plan {
		kinds[f.Kind]++
		places[f.Where]++
	}
	for _, w := range weights {
		if kinds[w.kind] == 0 {
			t.Errorf("of %d faults none is %q", faults, w.kind)
		}
	}
	for _, where := range networks {
		if places[where] == 0 {
			t.Errorf("of %d faults none is in the network of %s", faults, where)
		}
	}
	if last := plan[faults-1].At; last < 50*time.Minute || last > 70*time.Minute {
		t.Errorf("the last of %d faults is after %s, want about an hour", faults, last)
	}
}
