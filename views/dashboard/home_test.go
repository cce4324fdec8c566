package dashboard

import (
	"testing"

	"candor/internal/domain"
)

func TestAgainst(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n, before int
		want      string
	}{
		{11594, 10000, "Up 16% on the previous 30 days"},
		{84, 100, "Down 16% on the previous 30 days"},
		{100, 100, "Same as the previous 30 days"},
		{1001, 1000, "Within 1% of the previous 30 days"},
		{0, 7, "Down 100% on the previous 30 days"},
		{5, 0, "None in the previous 30 days"},
		{0, 0, "None in the previous 30 days either"},
		{2500, 100, "Up 2,400% on the previous 30 days"},
	} {
		if got := against(tt.n, tt.before); got != tt.want {
			t.Errorf("%d against %d: %q, want %q", tt.n, tt.before, got, tt.want)
		}
	}
}

// TestMostStopHere: chance isn't named.
func TestMostStopHere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		opened, first, second int // who stopped in the first two sections
		want                  bool
	}{
		{5, 3, 1, false}, {100, 25, 21, false}, {100, 31, 21, true}, {1000, 12, 0, false}, {40, 12, 2, true},
	} {
		h := HomePage{Funnel: domain.Funnel{Whole: domain.FunnelSection{Reached: tt.opened}, Sections: map[string]*domain.FunnelSection{
			"personal_details": {Reached: tt.opened, Completed: tt.opened - tt.first}, "income": {Reached: tt.second},
		}}}
		if got := h.funnel()[0].worst; got != tt.want {
			t.Errorf("%v: named %t", tt, got)
		}
	}
}

func TestTopOfTheAxis(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]int{0: 2, 1: 2, 3: 4, 11: 12, 17: 20, 99: 100, 121: 160, 161: 200} {
		h := HomePage{Period: domain.Usage{Daily: []domain.DailyUsage{{Completed: most}}}}
		if got := h.top(); got != want {
			t.Errorf("%d: the axis ends at %d, want %d", most, got, want)
		}
	}
}
