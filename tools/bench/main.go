// Command bench measures Candor and its yardsticks in one run, on a private
// PostgreSQL with durability on, and prints the table of doc/benchmarks.md.
// Compare the ratios: absolute figures depend on the machine.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"candor/tools/harness"
)

func main() {
	sessions := flag.Int("sessions", 1_000_000, "number of sessions in the long history")
	only := flag.String("only", "",
		"run only these parts, separated by commas: throughput, memory, pages, autosave, webhooks, fairness, history, streams, dashboard; or endpoints, a backlog at many; or rivals, PocketBase in the same run; or growth, alone")
	keep := flag.String("keep", "", "of growth, a folder that keeps the databases for the next run")
	burnt := flag.Duration("burn", 0, "only use that much processor time a second, for another bench to measure beside it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *burnt > 0 {
		burn(ctx, *burnt)
		return
	}
	b := &bench{history: *sessions, keep: *keep}
	if err := b.run(ctx, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// environment is the service that is measured.
type environment struct{ *harness.Service }

const (
	binary = "bin/candor" // the built service
	span   = 6 * time.Second
)

// bench gathers the rows of the table.
type bench struct {
	history int    // sessions
	keep    string // the folder of growth's databases; "" for a temporary one
	rows    []row
}

// row is one measured figure, and its yardstick if it has one.
type row struct {
	what, figure, yardstick, ratio, target string
	met                                    bool
}

func (b *bench) add(r row) {
	r.yardstick, r.ratio = cmp.Or(r.yardstick, "–"), cmp.Or(r.ratio, "–")
	b.rows = append(b.rows, r)
	fmt.Fprintf(os.Stderr, "%s: %s; %s; %s\n", r.what, r.figure, r.yardstick, r.ratio)
}

// part is one group of measurements.
type part struct {
	name    string
	measure func(context.Context, *environment) error
}

// parts are the requested parts, in order.
func (b *bench) parts(only string) ([]part, error) {
	all := []part{
		{"throughput", b.throughput}, {"memory", b.memory}, {"pages", b.formPages}, {"autosave", b.autosaves},
		{"webhooks", b.webhooks}, {"fairness", b.fairness}, {"history", b.longHistory}, {"streams", b.streams},
		{"dashboard", b.dashboardPages},
	}
	if only == "" {
		return all, nil
	}
	all = append(all, part{"endpoints", b.endpoints}, part{"rivals", b.rivals})
	var out []part
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(p part) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown part %q", name)
		}
		out = append(out, all[i])
	}
	return out, nil
}

func (b *bench) run(ctx context.Context, only string) error {
	if only == "growth" { // it has databases of its own
		err := b.growth(ctx)
		b.print()
		return err
	}
	parts, err := b.parts(only)
	if err != nil {
		return err
	}
	service, err := harness.Start(ctx, binary, harness.Options{
		Name: "bench", MaxConnections: 200, Serve: true,
		// Candor shares its processors with PostgreSQL here.
		Environ: []string{"CANDOR_RATE_PER_MINUTE=1000000000", "CANDOR_RATE_BURST=1000000000", "CANDOR_FORM_RATE_PER_MINUTE=1000000",
			"CANDOR_STAFF_RATE_PER_MINUTE=1000000", fmt.Sprintf("CANDOR_DB_CONNECTIONS=%d", 5*runtime.NumCPU())},
	})
	if err != nil {
		return err
	}
	defer service.Stop()
	env := &environment{service}
	for _, p := range parts {
		if err := p.measure(ctx, env); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	b.print()
	return nil
}

func (b *bench) print() {
	var rows [][]string
	for _, r := range b.rows {
		met := "no"
		if r.met {
			met = "yes"
		}
		rows = append(rows, []string{r.what, r.figure, r.yardstick, r.ratio, r.target, met})
	}
	harness.Print(fmt.Sprintf("loads of %s", span),
		[]string{"What", "Measured", "Yardstick in the same run", "Ratio", "Target", "Met"}, rows)
}
