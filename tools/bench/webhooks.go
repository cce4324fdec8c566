package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/jobs"
)

const (
	idleEvents    = 500
	rate          = 200 // events a second
	loadEvents    = 10 * rate
	oldDeliveries = 1_000_000
)

// webhooks measures deliveries in new tables, and again beside many old ones.
func (b *bench) webhooks(ctx context.Context, e *environment) error {
	delivered, err := b.compareBacklog(ctx, e)
	if err != nil {
		return err
	}
	idle, err := e.commitToWebhook(ctx, idleEvents, 20*time.Millisecond)
	if err != nil {
		return err
	}
	b.add(row{
		what: "Commit to the webhook's first byte, idle, p50 / p99", figure: spread(idle),
		target: "p99 < 100 ms", met: quantile(idle, 0.99) < 100*time.Millisecond,
	})
	loaded, err := e.commitToWebhook(ctx, loadEvents, time.Second/rate)
	if err != nil {
		return err
	}
	if err := e.fillDeliveries(ctx); err != nil {
		return err
	}
	return b.besideOld(ctx, e, delivered, loaded)
}

// besideOld compares deliveries beside many old ones with those in new tables.
func (b *bench) besideOld(ctx context.Context, e *environment, delivered float64, loaded []time.Duration) error {
	rates, err := e.backlogsInTurn(ctx, e.oneReceiver(ctx))
	if err != nil {
		return err
	}
	beside := fmt.Sprintf(" beside %d old deliveries", oldDeliveries)
	change := median(rates[0]) / delivered
	b.add(row{
		what: "Backlog" + beside, figure: fmt.Sprintf("%.0f deliveries/s", median(rates[0])),
		yardstick: fmt.Sprintf("without: %.0f/s", delivered), ratio: percent(change), target: "≥ 80 %", met: change >= 0.8,
	})
	late, err := e.commitToWebhook(ctx, loadEvents, time.Second/rate)
	if err != nil {
		return err
	}
	slower := float64(quantile(late, 0.5)) / float64(quantile(loaded, 0.5))
	b.add(row{
		what: fmt.Sprintf("Commit to first byte, at %d events/s,%s", rate, beside), figure: spread(late),
		yardstick: "without: " + spread(loaded), ratio: percent(slower) + " (p50)", target: "≤ 120 %", met: slower <= 1.2,
	})
	return nil
}

// commitToWebhook records n events, one after each pause, and returns the
// sorted times from just before each commit to its webhook's first byte.
func (e *environment) commitToWebhook(ctx context.Context, n int, pause time.Duration) ([]time.Duration, error) {
	r, err := newReceiver(0)
	if err != nil {
		return nil, err
	}
	defer r.close()
	sessions, err := e.newSessions(ctx, r.url, n)
	if err != nil {
		return nil, err
	}
	committed, err := e.emit(ctx, sessions, n, pause)
	if err != nil {
		return nil, err
	}
	arrived, err := r.await(n, 30*time.Second)
	if err != nil {
		return nil, err
	}
	times := make([]time.Duration, n)
	for i := range times {
		times[i] = arrived[i].Sub(committed[i])
	}
	slices.Sort(times)
	return times, nil
}

// emit records n events of the sessions in turn, one after each pause, and returns
// when each was about to be committed.
func (e *environment) emit(ctx context.Context, sessions []*domain.Session, n int, pause time.Duration) ([]time.Time, error) {
	database, err := db.Open(ctx, e.DSN, db.Options{MaxOpenConns: 16})
	if err != nil {
		return nil, err
	}
	defer func() { _ = database.Close() }()
	inserter, err := jobs.NewInserter(database, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	events := outbox.New(inserter, nil)
	committed, failures := make([]time.Time, n), make([]error, n)
	var emitting sync.WaitGroup
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for i := range n {
		<-ticker.C
		emitting.Go(func() {
			failures[i] = database.InTx(ctx, func(tx *db.Tx) error {
				s := sessions[i%len(sessions)]
				err := events.SessionEvent(ctx, tx, s, sectionEvent(s, i), domain.SystemClock.Now())
				committed[i] = time.Now()
				return err
			})
		})
	}
	emitting.Wait()
	return committed, errors.Join(failures...)
}

func sectionEvent(s *domain.Session, number int) domain.Payload {
	return domain.SectionCompletedPayload{
		SessionID: s.ID, Section: "income", SectionNumber: number, SectionsTotal: 7, SectionsCompleted: 2, ProgressPercentage: 29,
	}
}

// scope is the account's test mode.
func (e *environment) scope() (domain.Scope, error) {
	account, err := domain.ParseAccountID(e.Account.AccountID)
	return domain.Scope{AccountID: account}, err
}

// newSessions stores n sessions that send their events to url.
func (e *environment) newSessions(ctx context.Context, url string, n int) ([]*domain.Session, error) {
	scope, err := e.scope()
	if err != nil {
		return nil, err
	}
	out := make([]*domain.Session, n)
	err = e.DB.InTx(ctx, func(tx *db.Tx) error {
		for i := range out {
			params := domain.NewSession{FormType: domain.FinancialStatement, CustomerEmail: "jessica@example.com", WebhookURL: url}
			s, err := params.Session(scope, domain.SystemClock.Now(), func(string) error { return nil }, nil)
			if err != nil {
				return err
			}
			if err := tx.InsertSession(ctx, s); err != nil {
				return err
			}
			out[i] = s
		}
		return nil
	})
	return out, err
}
