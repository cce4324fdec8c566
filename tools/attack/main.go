// Attack starts the built service on a temporary PostgreSQL and attacks it like
// strangers, other accounts and holders of a link: floods, large uploads,
// connections that never end, guessed links, requests from other sites. It prints
// the measured figures beside the wanted ones, and exits with 1 if one is missed.
// doc/security.md explains the rows.
//
// It connects only to the service that it started, on loopback. It reads memory
// from /proc, so it needs Linux.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"candor/internal/testkit/client"
	"candor/tools/harness"
)

func main() {
	// The flood’s threads have low priority. None may hold what the victim needs to go on:
	// a processor of the runtime, or the world stopped for the collector.
	runtime.GOMAXPROCS(4 * floodConnections)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(2 << 30)
	seconds := flag.Int("seconds", 10, "how long each flood lasts")
	only := flag.String("only", "", "run these parts, by commas")
	a := &attack{}
	flag.StringVar(&a.before, "before", "", "an older build, which the part neighbour shows beside it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	a.span = time.Duration(*seconds) * time.Second
	if err := a.run(ctx, *only); err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(1)
	}
	if slices.ContainsFunc(a.rows, func(r row) bool { return !r.met }) {
		os.Exit(1)
	}
}

// binary is the built service.
const binary = "bin/candor"

// attack gathers the rows of the table.
type attack struct {
	*harness.Service
	span   time.Duration
	before string         // an older build
	victim client.Account // the other account, whose calls must stay fast
	idle   time.Duration  // median of its calls without an attack
	rows   []row
}

// row is one attack: what it did, its result, and what is wanted.
type row struct {
	what, measured, wanted string
	met                    bool
}

func (a *attack) add(met bool, what, wanted, measured string, args ...any) {
	r := row{what, fmt.Sprintf(measured, args...), wanted, met}
	a.rows = append(a.rows, r)
	verdict := "missed"
	if met {
		verdict = "met"
	}
	fmt.Fprintf(os.Stderr, "%s: %s (wanted: %s): %s\n", r.what, r.measured, r.wanted, verdict)
}

// part is a group of attacks.
type part struct {
	name string
	run  func(context.Context) error
}

// parts are the requested parts. Uploads come first, while the process has used
// little memory. Floods leave jobs behind, so transactions are counted before them.
func (a *attack) parts(only string) ([]part, error) {
	all := []part{
		{"uploads", a.uploads}, {"refused", a.refusedUploads}, {"removed", a.removedUploads}, {"places", a.places},
		{"drafts", a.drafts},
		{"api", a.refusedClients}, {"floods", a.floods}, {"networks", a.manyNetworks}, {"owner", a.knownAddress},
		{"forms", a.forms}, {"neighbour", a.neighbour}, {"connections", a.unfinished},
		{"copy", a.secondBrowser}, {"rest", a.storedText}, {"links", a.guessedLinks}, {"sites", a.otherSites}, {"host", a.hostHeader},
	}
	if only == "" {
		return all, nil
	}
	var out []part
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(p part) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no part named %q", name)
		}
		out = append(out, all[i])
	}
	return out, nil
}

// start starts the service with two accounts.
func (a *attack) start(ctx context.Context, binary string) (err error) {
	a.Service, err = harness.Start(ctx, binary, harness.Options{
		Name: "attack", Serve: true, MaxConnections: 100,
		Environ: []string{
			// Attackers choose their network by X-Forwarded-For.
			"CANDOR_TRUSTED_PROXIES=127.0.0.1,::1",
			// The victim calls ten times a second for minutes.
			"CANDOR_RATE_PER_MINUTE=1000", "CANDOR_RATE_BURST=1000",
		},
	})
	if err != nil {
		return err
	}
	if a.victim, err = a.CreateAccount(ctx, "Victim", "victim@example.com"); err != nil {
		a.Stop()
	}
	return err
}

func (a *attack) run(ctx context.Context, only string) error {
	parts, err := a.parts(only)
	if err != nil {
		return err
	}
	if err := a.start(ctx, binary); err != nil {
		return err
	}
	defer a.Stop()
	began := time.Now()
	for _, p := range parts {
		if err := p.run(ctx); err != nil {
			a.add(false, p.name, "to be measured", "not measured: %v", err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	a.print(time.Since(began))
	return nil
}

func (a *attack) print(took time.Duration) {
	var rows [][]string
	for _, r := range a.rows {
		met := "**no**"
		if r.met {
			met = "yes"
		}
		rows = append(rows, []string{r.what, r.measured, r.wanted, met})
	}
	harness.Print(fmt.Sprintf("floods of %s, %s in all", a.span, took.Round(time.Second)),
		[]string{"Attack", "Measured", "Wanted", "Met"}, rows)
}
