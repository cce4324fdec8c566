package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"candor/internal/testkit/client"
	"candor/internal/testkit/proc"
)

// subject is a program under load.
type subject struct {
	load func() (float64, error) // for the span; it returns requests a second
	used func() cpu              // so far

	rate float64 // requests a second
	cpu  cpu     // of a request
}

// inTurn puts each subject under load, twice, so that a slow spell of the machine
// hits all.
func inTurn(subjects ...*subject) error {
	const turns = 2
	for range turns {
		for _, s := range subjects {
			before := s.used()
			rate, err := s.load()
			if err != nil {
				return err
			}
			after, requests := s.used(), rate*span.Seconds()*turns
			s.rate += rate / turns
			s.cpu.candor += time.Duration(float64(after.candor-before.candor) / requests)
			s.cpu.postgres += time.Duration(float64(after.postgres-before.postgres) / requests)
		}
	}
	return nil
}

// rateOf sends the request from n clients for the span and returns how many
// responses came a second.
func rateOf(ctx context.Context, addr string, n int, request []byte, want int) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	var total atomic.Int64
	failures := make([]error, n)
	began := time.Now()
	var sending sync.WaitGroup
	for i := range n {
		sending.Go(func() {
			c, err := client.Dial(context.WithoutCancel(ctx), addr)
			for ; err == nil && ctx.Err() == nil; total.Add(1) {
				err = do(c, request, want)
			}
			c.Close()
			failures[i] = err
		})
	}
	sending.Wait()
	return float64(total.Load()) / time.Since(began).Seconds(), errors.Join(failures...)
}

// do sends the request. Any other status than the wanted one is an error.
func do(c *client.Conn, request []byte, want int) error {
	status, err := c.Do(request)
	if err == nil && status != want {
		err = fmt.Errorf("status %d, want %d", status, want)
	}
	return err
}

// latencies sends the request n times, one after another, and returns the sorted
// times. Each answer must be 200.
func latencies(ctx context.Context, addr string, n int, request []byte) ([]time.Duration, error) {
	c, err := client.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	out := make([]time.Duration, n)
	for i := range out {
		began := time.Now()
		if err := do(c, request, http.StatusOK); err != nil {
			return nil, err
		}
		out[i] = time.Since(began)
	}
	slices.Sort(out)
	return out, nil
}

// spread is the median of sorted times and their 99th percentile.
func spread(sorted []time.Duration) string {
	return fmt.Sprintf("%.1f / %.1f ms", ms(quantile(sorted, 0.5)), ms(quantile(sorted, 0.99)))
}

// quantile of sorted times, 0 to 1.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// cpu is processor time.
type cpu struct{ candor, postgres time.Duration }

// cpu is what candor and PostgreSQL have used so far.
func (e *environment) cpu() (used cpu) {
	for _, p := range proc.All() {
		switch {
		case p.PID == e.Server.Process.Pid:
			used.candor = p.CPU
		case p.PID == e.Postgres.PID():
			used.postgres += p.CPU + p.ChildrenCPU
		case p.Parent == e.Postgres.PID():
			used.postgres += p.CPU
		}
	}
	return used
}

// since is what was used after an earlier reading.
func (c cpu) since(before cpu) cpu {
	return cpu{c.candor - before.candor, c.postgres - before.postgres}
}

func (c cpu) sum() time.Duration { return c.candor + c.postgres }
