// Command bench measures Candor beside its yardsticks in one run, on a
// PostgreSQL of its own with its durability on, and prints the table that
// doc/benchmarks.md keeps. Ratios are what counts: absolute figures move with
// the machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"text/tabwriter"
	"time"
)

func main() {
	seconds := flag.Int("seconds", 6, "how long each load runs")
	history := flag.Int("sessions", 1_000_000, "how many sessions the long history has")
	binary := flag.String("candor", "bin/candor", "the built service")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := &bench{binary: *binary, span: time.Duration(*seconds) * time.Second, history: *history}
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench gathers the rows of the table.
type bench struct {
	binary  string
	span    time.Duration
	history int
	rows    []row
}

// row is one measured figure with what it is held against.
type row struct {
	what, figure, yardstick, ratio, target string
	met                                    bool
}

func (b *bench) add(r row) {
	b.rows = append(b.rows, r)
	fmt.Fprintf(os.Stderr, "%s: %s; %s; %s\n", r.what, r.figure, r.yardstick, r.ratio)
}

func (b *bench) run(ctx context.Context) error {
	env, err := start(ctx, b.binary)
	if err != nil {
		return err
	}
	defer env.stop()
	for _, measure := range []func(context.Context, *environment) error{
		b.throughput, b.memory, b.formPages, b.webhookLatency, b.longHistory,
	} {
		if err := measure(ctx, env); err != nil {
			return err
		}
	}
	b.print()
	return nil
}

func (b *bench) print() {
	fmt.Printf("%s, %s/%s, %d cores, %s\n\n", time.Now().UTC().Format("2 January 2006"), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| What \t| Measured \t| Yardstick in the same run \t| Ratio \t| Target \t| Met \t|")
	fmt.Fprintln(w, "| --- \t| --- \t| --- \t| --- \t| --- \t| --- \t|")
	for _, r := range b.rows {
		met := "no"
		if r.met {
			met = "yes"
		}
		fmt.Fprintf(w, "| %s \t| %s \t| %s \t| %s \t| %s \t| %s \t|\n", r.what, r.figure, r.yardstick, r.ratio, r.target, met)
	}
	if err := w.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
}
