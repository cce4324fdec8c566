package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// outcomeTable is what the run found, as tables in Markdown.
func (s *soak) report(c *check, seed uint64, errors []logLine) {
	f, l, r := s.faults, s.ledger, s.receivers
	fmt.Println("| What | Figure |\n| --- | --- |")
	row := func(what string, figure ...any) { fmt.Printf("| %s | %s |\n", what, fmt.Sprint(figure...)) }
	row("Seed, faults, at most at once", seed, ", ", f.done, ", ", f.most)
	row("Time under faults", s.under.Round(time.Second))
	row("Starts of web processes and workers", starts(s.env.candor))
	row("Sessions acknowledged", len(l.sessions))
	ends := map[string]int{}
	for _, one := range l.sessions {
		ends[cmp.Or(one.end, "left open")]++
	}
	for _, end := range []string{"completed", "cancelled", "expired", "left open"} {
		row("– of these "+end, ends[end])
	}
	row("Requests, answered 2xx or 3xx", s.answered())
	events := 0
	for _, of := range c.seen {
		events += len(of)
	}
	row("Events, delivered by requests", events, ", ", r.requests)
	row("Came again after the receiver had taken it", r.again)
	row("Redeliveries by the partner; after seven failed attempts", l.redelivers, "; ", c.failed)
	for _, must := range [][]string{
		{"acknowledged and lost", "acknowledged sessions that were not found", "acknowledged things that were lost",
			"acknowledged ends that were lost", "acknowledged sections that were lost", "acknowledged answers that were lost",
			"acknowledged documents that were lost", "events that the feed had and lost", "webhooks that never arrived"},
		{"wrong signatures", "wrong signatures"},
		{"gaps in the numbers of events", "gaps in the feed of events", "missing numbers of events"},
		{"sessions without exactly one terminal event", "sessions without exactly one terminal event"},
		{fmt.Sprintf("wrong PDFs, of %d", c.pdfs), "PDFs with another digest than announced", "PDFs with another size than announced",
			"PDFs that lack an answer", "PDFs that can't be read"},
		{fmt.Sprintf("wrong documents, of %d compared byte for byte", c.documents), "documents that differ"},
		{"other violations", ""},
	} {
		row("**"+strings.ToUpper(must[0][:1])+must[0][1:]+"**", "**", l.take(must[1:]), "**")
	}
	row("Answers compared", c.answers)
	row("Checks of `candor verify`, right; wrong", c.right, "; ", c.wrong)
	row("From a fault's end to the next acknowledged change, p50 / p99 / longest", spread(s.acks.times, f.ends))
	row("From a fault's end to the next webhook, p50 / p99 / longest", spread(r.times, f.ends))
	row("From the last fault's end until nothing was left to do", s.drained.Round(time.Second))

	fmt.Println("\n| Fault | Times |\n| --- | --- |")
	for _, name := range byCount(f.counts) {
		row(name, f.counts[name])
	}
	fmt.Println("\n| Request | Answers |\n| --- | --- |")
	for _, kind := range sorted(l.requests) {
		var parts []string
		for _, answer := range byCount(l.requests[kind]) {
			parts = append(parts, fmt.Sprintf("%s: %d", answer, l.requests[kind][answer]))
		}
		row("`"+kind+"`", strings.Join(parts, ", "))
	}
	fmt.Fprintln(os.Stderr, "\nErrors in the logs of candor:")
	for _, e := range errors {
		fmt.Fprintf(os.Stderr, "%7d %s\n", e.times, e.message)
	}
}

// take counts the violations of some kinds, and of all if none is named. It prints
// examples.
func (l *ledger) take(kinds []string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for kind, details := range l.violations {
		if l.counted[kind] || kinds[0] != "" && !slices.Contains(kinds, kind) {
			continue
		}
		l.counted[kind] = true
		n += len(details)
		for _, d := range details[:min(len(details), 8)] {
			fmt.Fprintf(os.Stderr, "VIOLATION %s: %s\n", kind, d)
		}
	}
	return n
}

// answered counts all requests, and those that went well.
func (s *soak) answered() string {
	all, well := 0, 0
	for _, answers := range s.ledger.requests {
		for answer, n := range answers {
			all += n
			if answer[0] == '2' || answer[0] == '3' {
				well += n
			}
		}
	}
	return fmt.Sprintf("%d, %d", all, well)
}

func starts(ps []*process) (n int) {
	for _, p := range ps {
		n += p.starts
	}
	return n
}

// spread is how long after each end the next of the times came.
func spread(times, ends []time.Time) string {
	slices.SortFunc(times, time.Time.Compare)
	var took []time.Duration
	for _, end := range ends {
		if i, _ := slices.BinarySearchFunc(times, end, time.Time.Compare); i < len(times) {
			took = append(took, times[i].Sub(end))
		}
	}
	if len(took) == 0 {
		return "–"
	}
	slices.Sort(took)
	at := func(q float64) string {
		return took[min(len(took)-1, int(q*float64(len(took))))].Round(time.Millisecond).String()
	}
	return at(0.5) + " / " + at(0.99) + " / " + at(1)
}

func byCount(counts map[string]int) []string {
	names := sorted(counts)
	slices.SortStableFunc(names, func(a, b string) int { return counts[b] - counts[a] })
	return names
}

func sorted[T any](m map[string]T) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
