package outbox_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/testkit/hooktest"
)

// spy counts the wakes and events that an outbox causes.
type spy struct {
	outbox.Jobs // no other job is inserted

	mu     sync.Mutex
	wakes  int
	events []domain.EventType
}

// Wake counts.
func (s *spy) Wake(context.Context, *db.Tx, domain.EndpointID, ...domain.EndpointID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakes++
	return nil
}

// EventRecorded keeps the event's type.
func (s *spy) EventRecorded(t domain.EventType) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, t)
}

// An event, its delivery and the wake exist only if the transaction commits. An
// event without a URL has no delivery.
func TestEventAndDeliveryCommitTogether(t *testing.T) {
	t.Parallel()
	h, s := hooktest.New(t), &spy{}
	h.Outbox = outbox.New(s, s)
	counts := func() [2]int {
		return [2]int{h.Count("SELECT count(*) FROM event"), h.Count("SELECT count(*) FROM delivery")}
	}
	h.Emit(h.Session("", hooktest.Now()), 1)
	if got := counts(); got != [2]int{1, 0} || s.wakes != 0 {
		t.Errorf("without a URL: %v events and deliveries, %d wakes", got, s.wakes)
	}
	session := h.Session("https://lender.example/hook", hooktest.Now())
	undone := errors.New("undone")
	err := h.DB.InTx(h.Ctx, func(tx *db.Tx) error {
		h.OK(h.Outbox.SessionEvent(h.Ctx, tx, session, hooktest.SectionCompleted(session, 1), hooktest.Now()))
		return undone
	})
	if got := counts(); !errors.Is(err, undone) || got != [2]int{1, 0} || len(s.events) != 1 {
		t.Errorf("after a rollback: %v, %v events and deliveries, observed %v", err, got, s.events)
	}
	h.Emit(session, 1)
	want := []domain.EventType{domain.SessionSectionCompleted, domain.SessionSectionCompleted}
	if got := counts(); got != [2]int{2, 1} || s.wakes != 2 || !slices.Equal(s.events, want) {
		t.Errorf("after a commit: %v events and deliveries, %d wakes, observed %v", got, s.wakes, s.events)
	}
	// The rollback left no gap in the numbers.
	if last := h.Count("SELECT max(sequence) FROM event"); last != 2 {
		t.Errorf("the last number is %d, want 2", last)
	}
}

// An event that lost its delivery gets one with the event's time.
func TestMissingDelivery(t *testing.T) {
	t.Parallel()
	h, s := hooktest.New(t), &spy{}
	h.Outbox = outbox.New(s, nil)
	session := h.Session("https://lender.example/hook", hooktest.Now())
	h.Emit(session, 1)
	_, err := h.DB.Raw().ExecContext(h.Ctx, "DELETE FROM delivery")
	h.OK(err)
	event := h.Events(session, domain.SessionSectionCompleted)[0]
	h.Tx(func(tx *db.Tx) error { return h.Outbox.MissingDelivery(h.Ctx, tx, &event, hooktest.Now()) })
	got, err := h.DB.Deliveries(h.Ctx, session.ID)
	h.OK(err)
	if len(got) != 1 || !got[0].CreatedAt.Equal(event.CreatedAt) || got[0].URL != *event.URL || s.wakes != 2 {
		t.Errorf("deliveries %+v of event %+v, %d wakes", got, event, s.wakes)
	}
}
