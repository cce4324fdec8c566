package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"candor/internal/testkit/client"
)

// subject is a program under load.
type subject struct {
	load func() (float64, error) // for the bench's span; it returns requests a second
	used func() (cpu, error)     // so far

	rate float64 // requests a second
	cpu  cpu     // of a request
}

// inTurn puts each subject under load, twice, so that a slow spell of the machine
// hits all.
func (b *bench) inTurn(subjects ...*subject) error {
	const turns = 2
	for range turns {
		for _, s := range subjects {
			before, err := s.used()
			if err != nil {
				return err
			}
			rate, err := s.load()
			if err != nil {
				return err
			}
			after, err := s.used()
			if err != nil {
				return err
			}
			requests := rate * b.span.Seconds() * turns
			s.rate += rate / turns
			s.cpu.candor += time.Duration(float64(after.candor-before.candor) / requests)
			s.cpu.postgres += time.Duration(float64(after.postgres-before.postgres) / requests)
		}
	}
	return nil
}

// load sends the request from n clients for the bench's span and returns how many
// responses a second had the wanted status. Any other status is an error.
func (b *bench) load(ctx context.Context, addr string, n int, request []byte, want int) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, b.span)
	defer cancel()
	type outcome struct {
		count int
		err   error
	}
	outcomes := make(chan outcome, n)
	began := time.Now()
	for range n {
		go func() {
			count, err := repeat(ctx, addr, request, want)
			outcomes <- outcome{count, err}
		}()
	}
	total := 0
	var failed error
	for range n {
		o := <-outcomes
		total += o.count
		failed = errors.Join(failed, o.err)
	}
	return float64(total) / time.Since(began).Seconds(), failed
}

func repeat(ctx context.Context, addr string, request []byte, want int) (count int, err error) {
	c, err := client.Dial(context.WithoutCancel(ctx), addr)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Conn.Close()) }()
	for ctx.Err() == nil {
		status, err := c.Do(request)
		if err != nil {
			return count, err
		}
		if status != want {
			return count, fmt.Errorf("status %d, want %d", status, want)
		}
		count++
	}
	return count, nil
}

// latencies sends the request n times, one after another, and returns the sorted
// times.
func latencies(ctx context.Context, addr string, n int, request []byte, want int) ([]time.Duration, error) {
	c, err := client.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Conn.Close() }()
	out := make([]time.Duration, n)
	for i := range out {
		began := time.Now()
		status, err := c.Do(request)
		if err != nil {
			return nil, err
		}
		if status != want {
			return nil, fmt.Errorf("status %d, want %d", status, want)
		}
		out[i] = time.Since(began)
	}
	slices.Sort(out)
	return out, nil
}

// quantile of sorted times, 0 to 1.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
