package demo

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"candor/internal/sample"
	"candor/internal/statement"
)

var now = time.Date(2026, 11, 20, 3, 4, 5, 0, time.UTC)

func TestArrivalsHaveAWeek(t *testing.T) {
	t.Parallel()
	made := arrivals(rand.New(rand.NewPCG(1, 1)), now, 2000)
	if !slices.IsSortedFunc(made, time.Time.Compare) {
		t.Error("they aren't in order")
	}
	if first, last := made[0], made[len(made)-1]; first.Before(now.AddDate(0, 0, -90)) || last.After(now) {
		t.Errorf("from %s to %s, want within 90 days until %s", first, last, now)
	}
	var byDay [7]int
	for _, at := range made {
		byDay[at.In(local).Weekday()]++
	}
	if byDay[time.Tuesday] < 3*byDay[time.Saturday] || byDay[time.Saturday] == 0 {
		t.Errorf("%d on Tuesdays and %d on Saturdays, want many and some", byDay[time.Tuesday], byDay[time.Saturday])
	}
	if again := arrivals(rand.New(rand.NewPCG(1, 1)), now, 2000); !slices.Equal(made, again) {
		t.Error("another time they are others")
	}
}

// What customers are made to answer is what the form takes, and what they are
// made to get wrong is what it refuses.
func TestAnswersAreRightAndSlipsWrong(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	slipped := map[slip]bool{}
	for range 300 {
		p := sample.NewPerson(r)
		s := sample.NewStatement(r, p, now)
		s.Declaration = statement.Declaration{Accepted: true, FullName: p.Name, SignedAt: now}
		for _, section := range s.Sections(now) {
			if errs := section.Validate(); len(errs) > 0 {
				t.Fatalf("%s of %s: %v", section.Name, p.Name, errs)
			}
			for _, made := range slips[section.Name] {
				inputs := section.Inputs()
				if !inputs.Has(made.input) {
					continue
				}
				inputs.Set(made.input, made.typed)
				slipped[made] = true
				if errs := new(statement.Statement).Section(section.Name, now).Decode(inputs); len(errs) == 0 {
					t.Fatalf("%s: %q in %s is taken", section.Name, made.typed, made.input)
				}
			}
		}
	}
	for name, of := range slips {
		for _, made := range of {
			if !slipped[made] {
				t.Errorf("%s: no typing error fits %s", name, made.input)
			}
		}
	}
}

func TestPeopleAreTheSameEachTime(t *testing.T) {
	t.Parallel()
	people := func() (out []sample.Person) {
		r := rand.New(rand.NewPCG(2, 2))
		for range 50 {
			out = append(out, sample.NewPerson(r))
		}
		return out
	}
	if first := people(); !reflect.DeepEqual(first, people()) {
		t.Error("another time they are others")
	}
}
