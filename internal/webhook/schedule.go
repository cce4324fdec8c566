package webhook

import (
	"fmt"
	"strings"
	"time"
)

// Schedule holds the delay before each attempt of a delivery. The first counts from
// the event, the others from the failed attempt before (D34).
type Schedule struct {
	delays []time.Duration
}

// DefaultSchedule returns the contract's schedule of seven attempts.
func DefaultSchedule() Schedule {
	return Schedule{delays: []time.Duration{
		0, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 8 * time.Hour, 24 * time.Hour,
	}}
}

// ParseSchedule reads delays in the notation of time.ParseDuration separated
// by commas, such as "0s,1m,5m". There must be 1 to MaxAttempts of them and
// none may be negative.
func ParseSchedule(text string) (Schedule, error) {
	fields := strings.Split(text, ",")
	if len(fields) > MaxAttempts {
		return Schedule{}, fmt.Errorf("webhook schedule: %d attempts, at most %d are possible", len(fields), MaxAttempts)
	}
	delays := make([]time.Duration, 0, len(fields))
	for i, field := range fields {
		delay, err := time.ParseDuration(strings.TrimSpace(field))
		if err != nil {
			return Schedule{}, fmt.Errorf("webhook schedule: delay %d: %w", i+1, err)
		}
		if delay < 0 {
			return Schedule{}, fmt.Errorf("webhook schedule: delay %d is negative: %s", i+1, delay)
		}
		delays = append(delays, delay)
	}
	return Schedule{delays: delays}, nil
}

// Next returns how long to wait before the next attempt after failedAttempts have
// failed, and whether there is a next one. The delay counts from the last failed
// attempt. For 0 failed attempts it is the delay of the first.
func (s Schedule) Next(failedAttempts int) (delay time.Duration, more bool) {
	failedAttempts = max(failedAttempts, 0)
	if failedAttempts >= len(s.delays) {
		return 0, false
	}
	return s.delays[failedAttempts], true
}

// Attempts returns how many attempts the schedule allows.
func (s Schedule) Attempts() int { return len(s.delays) }

// String returns the schedule in a form that ParseSchedule reads.
func (s Schedule) String() string {
	fields := make([]string, len(s.delays))
	for i, delay := range s.delays {
		fields[i] = delay.String()
	}
	return strings.Join(fields, ",")
}

// NextAfter is Next for a receiver that sent Retry-After: the next attempt is no
// earlier than the schedule and no later than the schedule's last attempt.
func (s Schedule) NextAfter(failedAttempts int, retryAfter time.Duration) (delay time.Duration, more bool) {
	delay, more = s.Next(failedAttempts)
	if !more {
		return 0, false
	}
	var last time.Duration
	for _, d := range s.delays[max(failedAttempts, 0):] {
		last += d
	}
	return max(delay, min(retryAfter, last)), true
}
