package main

import (
	"context"
	"log/slog"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/jobs"
)

// sessionEvents is how many events a session has.
const sessionEvents = 7

// emit records events at the set rate until ctx ends, in the transaction that
// changes the session, like the form. It retries a failed one. The report reads
// the committed events from the database.
func (s *soak) emit(ctx context.Context) error {
	inserter, err := jobs.NewInserter(s.env.DB, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	events := outbox.New(inserter, nil)
	account, err := domain.ParseAccountID(s.env.Account.AccountID)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	sessions := make([]*domain.Session, len(s.receivers.urls))
	made := make([]int, len(sessions))
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		to := s.target(n)
		if made[to]%sessionEvents == 0 {
			if sessions[to], err = newSession(account, s.receivers.urls[to]); err != nil {
				return err
			}
		}
		s.record(ctx, events, sessions[to], made[to]%sessionEvents+1)
		made[to]++
	}
}

// target is the receiver of the nth event. Misbehaving ones get fewer.
func (s *soak) target(n int) int {
	switch {
	case n%100 == 0:
		return 0 // the black hole
	case n%50 == 25:
		return 1 // the slow one
	case n%10 == 1:
		return 2
	case n%10 == 2:
		return 3
	}
	return len(s.receivers.urls) - healthyOnes + n%healthyOnes
}

func newSession(account domain.AccountID, url string) (*domain.Session, error) {
	params := domain.NewSession{FormType: domain.FinancialStatement, CustomerEmail: "jessica@example.com", WebhookURL: url}
	return params.Session(domain.Scope{AccountID: account}, domain.SystemClock.Now(), func(string) error { return nil }, nil)
}

// record retries until the event is committed or time is up. If the response of a
// commit was lost, the event can be committed twice, as two events.
func (s *soak) record(ctx context.Context, events *outbox.Outbox, session *domain.Session, number int) {
	for ctx.Err() == nil {
		err := s.env.DB.InTx(ctx, func(tx *db.Tx) error {
			if number == 1 {
				if err := tx.InsertSession(ctx, session); err != nil {
					return err
				}
			}
			payload := domain.SectionCompletedPayload{SessionID: session.ID, Section: "income", SectionNumber: number, SectionsTotal: sessionEvents}
			return events.SessionEvent(ctx, tx, session, payload, domain.SystemClock.Now())
		})
		if err == nil || db.IsRefused(err) { // refused: the session exists already
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}
