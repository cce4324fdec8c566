package jobs

import (
	"time"

	"candor/internal/domain"
)

// An Observer is told what happens, to count it. It must not block.
type Observer interface {
	// EventRecorded is called when an event has committed.
	EventRecorded(t domain.EventType)
	// Attempted is called after each attempt: with its error class, "" for a
	// success, and how long it took.
	Attempted(class string, took time.Duration)
	// FirstAttempted is called after an event's first attempt, with the time
	// from the event to it.
	FirstAttempted(delay time.Duration)
	// Delivered is called after an event arrived, with the time from the event
	// to that.
	Delivered(delay time.Duration)
	// Repaired is called when reconciliation found something missing: "event"
	// or "delivery".
	Repaired(what string)
	// UsageRecounted is called after the used sessions were counted anew, with
	// how many accounts they are counted wrongly for.
	UsageRecounted(drifts int)
	// Worked is called after each job of a kind.
	Worked(kind string, failed bool)
}

// observed is the observer, or one that does nothing for nil.
func observed(o Observer) Observer {
	if o == nil {
		return unobserved{}
	}
	return o
}

// unobserved is the Observer of those who give none.
type unobserved struct{}

func (unobserved) EventRecorded(domain.EventType)  {}
func (unobserved) Attempted(string, time.Duration) {}
func (unobserved) FirstAttempted(time.Duration)    {}
func (unobserved) Delivered(time.Duration)         {}
func (unobserved) Repaired(string)                 {}
func (unobserved) UsageRecounted(int)              {}
func (unobserved) Worked(string, bool)             {}
