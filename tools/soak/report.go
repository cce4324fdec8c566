package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// committed is an event of the database.
type committed struct {
	Sequence  int64     `db:"sequence"`
	CreatedAt time.Time `db:"created_at"`
	URL       string    `db:"url"`
	State     string    `db:"state"`
}

// tally is the result of the run.
type tally struct {
	events, delivered, failed           int
	lost, duplicated, twoIDs, uncounted int
	took                                []time.Duration // from event to healthy receiver
}

// report compares what arrived with what was committed.
func (s *soak) report(ctx context.Context) error {
	var events []committed
	err := s.env.DB.Raw().SelectContext(ctx, &events, `
		SELECT e.sequence, e.created_at, d.url, d.state FROM event e JOIN delivery d ON d.event_id = e.id ORDER BY e.sequence`)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return errors.New("no event was committed")
	}
	t := s.tally(events)
	slices.Sort(t.took)
	slices.Sort(s.recovered)
	fmt.Println("| What | Figure |\n| --- | --- |")
	for _, line := range [][2]string{
		{"Time under faults", s.span.String()},
		{"Workers killed (`kill -9`), of two", fmt.Sprint(s.kills)},
		{"PostgreSQL restarts (`-m immediate`)", fmt.Sprint(s.restarts)},
		{"Events committed", fmt.Sprint(t.events)},
		{"Delivered", fmt.Sprint(t.delivered)},
		{"Failed for good at a misbehaving receiver, having arrived", fmt.Sprint(t.failed)},
		{"**Lost**", fmt.Sprintf("**%d**", t.lost)},
		{"**Wrong signatures**", fmt.Sprintf("**%d** of %d requests", s.receivers.wrong, s.receivers.requests)},
		{"**Deliveries with two ids**", fmt.Sprintf("**%d**", t.twoIDs)},
		{"Gaps in the sequence", fmt.Sprint(gaps(events))},
		{"Duplicated (arrived again after the receiver had taken it)", fmt.Sprint(t.duplicated)},
		{"Event to healthy receiver, p50 / p99 / longest", fmt.Sprintf("%s / %s / %s", round(at(t.took, 0.5)), round(at(t.took, 0.99)), round(t.took[len(t.took)-1]))},
		{"From a fault to the next delivery, p50 / longest", fmt.Sprintf("%s / %s", round(at(s.recovered, 0.5)), round(s.recovered[len(s.recovered)-1]))},
	} {
		fmt.Printf("| %s | %s |\n", line[0], line[1])
	}
	if t.lost+t.twoIDs+s.receivers.wrong+t.uncounted+gaps(events) > 0 {
		return fmt.Errorf("%d lost, %d with two ids, %d signed wrongly, %d that were not committed", t.lost, t.twoIDs, s.receivers.wrong, t.uncounted)
	}
	return nil
}

func (s *soak) tally(events []committed) tally {
	s.receivers.mu.Lock()
	defer s.receivers.mu.Unlock()
	t := tally{events: len(events), uncounted: len(s.receivers.arrivals)}
	for _, e := range events {
		switch e.State {
		case "delivered":
			t.delivered++
		case "failed":
			t.failed++
		}
		a := s.receivers.arrivals[e.Sequence]
		if a == nil || s.receivers.urls[a.receiver] != e.URL || a.strays > 0 {
			t.lost++
			continue
		}
		t.uncounted--
		if len(a.ids) > 1 {
			t.twoIDs++
		}
		t.duplicated += a.again
		if s.receivers.habits[a.receiver] == healthy {
			t.took = append(t.took, a.first.Sub(e.CreatedAt))
		}
	}
	return t
}

// gaps counts the missing numbers.
func gaps(events []committed) int {
	return int(events[len(events)-1].Sequence) - len(events)
}

func at(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func round(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
