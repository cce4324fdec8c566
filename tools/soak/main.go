// Soak delivers webhooks through the real binary and a private PostgreSQL while it
// kills workers, restarts PostgreSQL without warning and lets receivers misbehave.
// Then it compares what arrived with the committed events and prints a table. It
// fails if an event was lost, signed wrongly or sent with two ids.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	seconds := flag.Int("seconds", 120, "duration of events and faults")
	rate := flag.Int("rate", 50, "events a second")
	kills := flag.Int("kills", 20, "number of killed workers")
	restarts := flag.Int("restarts", 5, "number of PostgreSQL restarts")
	binary := flag.String("candor", "bin/candor", "the built service")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := &soak{
		span: time.Duration(*seconds) * time.Second, every: time.Second / time.Duration(*rate),
		kills: *kills, restarts: *restarts, binary: *binary,
	}
	if err := s.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// soak is one run.
type soak struct {
	span, every     time.Duration
	kills, restarts int
	binary          string

	env       *environment
	receivers *receivers
	recovered []time.Duration // after each fault, until the next delivery
}

func (s *soak) run(ctx context.Context) (err error) {
	if s.env, err = start(ctx, s.binary); err != nil {
		return err
	}
	defer s.env.stop()
	if s.receivers, err = listen(s.env.Account.TestWebhookSecret); err != nil {
		return err
	}
	defer s.receivers.close()

	emitting, cancel := context.WithTimeout(ctx, s.span)
	defer cancel()
	emitted := make(chan error, 1)
	go func() { emitted <- s.emit(emitting) }()
	if err := errors.Join(s.breakThings(emitting), <-emitted); err != nil {
		return err
	}
	s.receivers.heal()
	if err := s.env.waitDelivered(ctx); err != nil {
		return err
	}
	return s.report(ctx)
}

// breakThings spreads the kills and restarts over the span. Every fourth kill takes
// both workers at the same time.
func (s *soak) breakThings(ctx context.Context) error {
	faults := s.kills + s.restarts
	ticker := time.NewTicker(s.span / time.Duration(faults+1))
	defer ticker.Stop()
	killed, restarted := 0, 0
	for killed+restarted < faults {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d kills and %d restarts took all the time: raise -seconds", killed, restarted)
		case <-ticker.C:
		}
		began := time.Now()
		var err error
		switch {
		case restarted*(s.kills+1) < killed*(s.restarts+1)-s.kills && restarted < s.restarts, killed == s.kills:
			restarted++
			err = s.env.restartPostgres()
		case killed%4 == 2 && killed+2 <= s.kills:
			killed += 2
			err = s.env.kill(0, 1)
		default:
			killed++
			err = s.env.kill(killed % 2)
		}
		if err != nil {
			return err
		}
		next, err := s.receivers.next(ctx, began)
		if err != nil {
			return err
		}
		s.recovered = append(s.recovered, next.Sub(began))
		faultsLeft := faults - killed - restarted
		fmt.Fprintf(os.Stderr, "%d kills, %d restarts: deliveries continued after %s, %d faults left\n",
			killed, restarted, next.Sub(began).Round(time.Millisecond), faultsLeft)
	}
	<-ctx.Done()
	return nil
}
