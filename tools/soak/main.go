// Soak runs the whole service (two web processes, two workers, a PostgreSQL with a
// synchronous replica, Redis, S3) and partners and customers who use it, and breaks
// everything, at once and at random from a seed: processes, PostgreSQL, disks, clocks,
// networks, receivers. Then it heals everything, compares what is stored and what
// arrived with what was acknowledged, and prints tables. It fails if anything
// acknowledged was lost or anything is wrong.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"
)

const (
	// faultEvery is the time between two faults if only their number or the span is given.
	faultEvery = 1500 * time.Millisecond
	customers  = 6 // at once
)

func main() {
	span := flag.Duration("for", 0, "duration of the faults; 1.5 s for each fault by default")
	count := flag.Int("faults", 0, "number of faults; one every 1.5 s by default")
	seed := flag.Uint64("seed", 1, "of the plan of faults")
	flag.Parse()
	if *span == 0 {
		*span = cmp.Or(time.Duration(*count)*faultEvery, time.Minute)
	}
	*count = cmp.Or(*count, int(*span/faultEvery))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := &soak{ledger: newLedger(), acks: &acks{}}
	if err := s.run(ctx, newPlan(*seed, *count, *span), *seed); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// soak is one run.
type soak struct {
	env       *environment
	receivers *receivers
	ledger    *ledger
	acks      *acks
	faults    *faults
	people    *people
	under     time.Duration // faults
	drained   time.Duration // after the last fault
}

func (s *soak) run(ctx context.Context, plan []fault, seed uint64) (err error) {
	s.receivers = listen(s.ledger.violate)
	defer s.receivers.close()
	if s.env, err = start(ctx, s.receivers.addrs); err != nil {
		return err
	}
	defer s.env.close()
	if s.env.noDisk != nil {
		fmt.Fprintf(os.Stderr, "soak: no disk will be full: %v\n", s.env.noDisk)
	}
	if err := s.gather(seed); err != nil {
		return err
	}
	s.faults = newFaults(s.env, s.receivers)
	began := time.Now()
	s.cause(ctx, plan, seed)
	s.under = time.Since(began)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.judge(ctx, seed)
}

// gather makes the accounts: two modes of the first one, and one of a second.
func (s *soak) gather(seed uint64) error {
	s.people = &people{
		env: s.env, ledger: s.ledger, receivers: s.receivers, acks: s.acks, run: fmt.Sprintf("s%d", seed),
		transport: &http.Transport{MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute},
	}
	var hooks []string
	for _, l := range s.env.links["receiver"] {
		hooks = append(hooks, l.Listen)
	}
	for _, name := range []string{"first", "second"} {
		a, err := s.env.createAccount(name)
		if err != nil {
			return err
		}
		if err := s.env.cluster.exec(context.Background(), s.env.cluster.nodes[0], databaseName,
			`UPDATE staff_user SET must_change_password = false`); err != nil {
			return err
		}
		for _, live := range []bool{false, true} {
			if live && name == "second" {
				continue
			}
			p := &partner{
				browser: s.people.newBrowser(), index: len(s.people.partners), account: a, company: name, live: live, hooks: hooks,
				events: map[int64]feedEvent{},
			}
			s.people.partners = append(s.people.partners, p)
			s.receivers.secrets = append(s.receivers.secrets, p.secret())
		}
	}
	return nil
}

// cause lets people live and causes the faults.
func (s *soak) cause(ctx context.Context, plan []fault, seed uint64) {
	living, stop := context.WithCancel(ctx)
	defer stop()
	finishing, end := context.WithCancel(ctx)
	defer end()
	var lives, follows sync.WaitGroup
	for i := range customers {
		lives.Go(func() { s.people.live(living, finishing, i, seed) })
	}
	for _, p := range s.people.partners {
		follows.Go(func() { p.follow(finishing) })
	}
	s.faults.run(ctx, plan)
	stop()
	lives.Wait()
	end()
	follows.Wait()
}

// judge waits until nothing is left to do, and compares.
func (s *soak) judge(ctx context.Context, seed uint64) error {
	healed := time.Now()
	if len(s.faults.ends) > 0 {
		healed = s.faults.ends[len(s.faults.ends)-1]
	}
	if err := s.env.serving(ctx); err != nil {
		return err
	}
	c := &check{people: s.people}
	if err := c.drain(ctx); err != nil {
		s.ledger.violate("things left to do", err.Error())
	}
	s.drained = time.Since(healed)
	err := errors.Join(c.read(ctx), c.resend(ctx))
	if c.failed > 0 {
		err = errors.Join(err, c.read(ctx))
	}
	if err != nil {
		return err
	}
	c.webhooks()
	if err := c.sessions(ctx); err != nil {
		return err
	}
	fmt.Fprint(os.Stderr, c.verify())
	lines, err := c.readLogs(healed)
	if err != nil {
		return err
	}
	for _, failed := range s.faults.failed {
		s.ledger.violate("faults that could not be caused or healed", failed.Error())
	}
	s.report(c, seed, lines)
	if n := len(s.ledger.violations); n > 0 {
		keep := s.env.keepLogs()
		return fmt.Errorf("%d kinds of violations; logs are in %s", n, keep)
	}
	return nil
}
