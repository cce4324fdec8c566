package form_test

import (
	"net/url"
	"testing"

	"candor/internal/form"
)

// pay is a section with one yearly amount, without a period that is true of most people.
func pay(amount *form.Cents) *form.Section {
	return section(form.Money(amount, "f", "Pay", form.Yearly).DefaultsTo(form.Once, "Say how often you get {label}").Sums("Add"))
}

// TestPeriodIsNeverGuessed tells a page that leaves the period open from a script that
// doesn't know it (D53, D77).
func TestPeriodIsNeverGuessed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typed url.Values
		want  form.Cents
		asks  bool
	}{
		{values("f=2000"), 2_000_00, false},
		{values("f=2000", "f.period="), 0, true},
		{values("f=2000", "f.period=now and then"), 0, true},
		{values("f=2000", "f.period=fortnight"), 52_000_00, false},
		{values("f=2,000 per year", "f.period=decade"), 0, true},
		{values("f=0", "f.period=decade"), 0, true},
		{values("f=2,000 per year", "f.period="), 2_000_00, false},
		{values("f=2,000 per year", "f.period=week"), 2_000_00, false},
		{values("f=", "f.period="), 0, false},
		{values("f=0", "f.period="), 0, false},
		{values("f=100", "f.period=week", "f.2=5", "f.2.period="), 0, true},
		{values("f=100", "f.period=week", "f.2=", "f.2.period="), 5_200_00, false},
		{values("f=", "f.period=", "f.2=100", "f.2.period=week"), 5_200_00, false},
	} {
		var amount, again, merged form.Cents
		s := pay(&amount)
		errs := s.Decode(tt.typed)
		if asks := errs.For("f") == "Say how often you get pay"; asks != tt.asks || len(errs) > 0 != tt.asks || amount != tt.want {
			t.Errorf("%v: %v, %v; want %v", tt.typed, amount, errs, tt.want)
		}
		// A draft, which is read again, and an edit of it keep what was said.
		draft := pay(&again)
		draft.Read(s.Inputs())
		edit := form.Merge(func() *form.Section {
			return pay(&merged)
		}, form.Edit{Ours: tt.typed, Bases: []url.Values{{}}}, url.Values{})
		edited := pay(&merged)
		for name, errs := range map[string]form.Errors{"draft": draft.Validate(), "merged": edited.Decode(edit.Store)} {
			if asks := len(errs) > 0; asks != tt.asks {
				t.Errorf("%v: %s: %v, want an error: %t", tt.typed, name, errs, tt.asks)
			}
		}
		if sent := tt.typed.Get("f.period"); tt.asks && draft.Inputs().Get("f.period") != sent || edited.Inputs().
			Get("f.period") != draft.Inputs().Get("f.period") {
			t.Errorf("%v: the period is %q as a draft and %q merged", tt.typed, draft.Inputs().Get("f.period"),
				edited.Inputs().Get("f.period"))
		}
		if again != tt.want || merged != tt.want {
			t.Errorf("%v: %v as a draft and %v merged, want %v", tt.typed, again, merged, tt.want)
		}
	}
}

// TestPeriodStaysAsItWasGiven stores a yearly amount, which a page shows again as one.
func TestPeriodStaysAsItWasGiven(t *testing.T) {
	t.Parallel()
	var amount, again form.Cents
	s, back := pay(&amount), pay(&again)
	s.Decode(values("f=85,000", "f.period=year"))
	stored, err := s.Stored()
	if err != nil {
		t.Fatal(err)
	}
	if err := back.UnmarshalJSON(stored); err != nil || back.Inputs().Get("f.period") != "year" {
		t.Errorf("%s comes back as %v, %v", stored, back.Inputs(), err)
	}
}

// TestPeriodChosenFirst keeps a period that was chosen before its amount when the page is
// drawn again: the one that the page starts with would falsify what is typed next (D77).
func TestPeriodChosenFirst(t *testing.T) {
	t.Parallel()
	var amount form.Cents
	s := pay(&amount)
	s.Decode(values("f=", "f.period=week"))
	if got := s.Inputs().Get("f.period"); got != "week" || amount != 0 {
		t.Errorf("drawn again with %q and %v, want week and nothing", got, amount)
	}
	edit := form.Merge(func() *form.Section {
		return pay(new(form.Cents))
	}, form.Edit{Ours: values("f=", "f.period=week"), Bases: []url.Values{{}}}, url.Values{})
	if got := edit.Show.Get("f.period"); got != "week" || edit.Changed || edit.Store.Has("f") {
		t.Errorf("a merged page shows %q, stores %v", got, edit.Store)
	}
	s.Decode(values("f=", "f.period=decade"))
	if got := s.Inputs().Get("f.period"); got != "" {
		t.Errorf("drawn again with %q, which is no period", got)
	}
}
