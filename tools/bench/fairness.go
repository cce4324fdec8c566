package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"candor/internal/domain"
)

const (
	fairEndpoints = 100
	fairRate      = 50 // events a second, over all endpoints
	fairEvents    = 20 * fairRate
	// fairBacklog is how many deliveries wait for each endpoint that doesn't answer
	// in time: more than it takes during the measurement.
	fairBacklog = 500
)

// fairness measures a hundred endpoints that answer immediately, alone and beside
// a black hole and an endpoint that takes 10 seconds (D39).
func (b *bench) fairness(ctx context.Context, e *environment) error {
	alone, err := e.healthyTimes(ctx)
	if err != nil {
		return err
	}
	for _, delay := range []time.Duration{forever, 10 * time.Second} {
		r, err := newReceiver(delay)
		if err != nil {
			return err
		}
		defer r.close()
		if err := e.makeDue(ctx, r.url, fairBacklog, targets{1, 1}); err != nil {
			return err
		}
		if _, err := r.await(1, 10*time.Second); err != nil {
			return err
		}
	}
	beside, err := e.healthyTimes(ctx)
	if err != nil {
		return err
	}
	p99 := quantile(beside, 0.99)
	b.add(row{
		what: fmt.Sprintf("Commit to first byte, %d endpoints at %d events/s beside a black hole and a slow one, p50 / p99",
			fairEndpoints, fairRate),
		figure: spread(beside), yardstick: "without: " + spread(alone),
		ratio: percent(float64(quantile(beside, 0.5))/float64(quantile(alone, 0.5))) + " (p50)", target: "p99 < 1 s",
		met: p99 < time.Second,
	})
	// The next measurement starts without a backlog.
	_, err = e.DB.Raw().ExecContext(ctx,
		`UPDATE delivery SET state = 'cancelled', next_attempt_at = NULL, finished_at = now() WHERE state = 'pending'`)
	return err
}

// healthyTimes sends events to new endpoints in turn and returns the sorted times
// from commit to first byte.
func (e *environment) healthyTimes(ctx context.Context) ([]time.Duration, error) {
	receivers, sessions := make([]*receiver, fairEndpoints), make([]*domain.Session, fairEndpoints)
	for i := range receivers {
		r, err := newReceiver(0)
		if err != nil {
			return nil, err
		}
		defer r.close()
		made, err := e.newSessions(ctx, r.url, 1)
		if err != nil {
			return nil, err
		}
		receivers[i], sessions[i] = r, made[0]
	}
	committed, err := e.emit(ctx, sessions, fairEvents, time.Second/fairRate)
	if err != nil {
		return nil, err
	}
	var times []time.Duration
	for _, r := range receivers {
		arrived, err := r.await(fairEvents/fairEndpoints, 30*time.Second)
		if err != nil {
			return nil, err
		}
		for number, at := range arrived {
			times = append(times, at.Sub(committed[number]))
		}
	}
	slices.Sort(times)
	return times, nil
}
