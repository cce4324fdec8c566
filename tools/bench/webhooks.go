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
	idleEvents  = 500
	rate        = 200 // events a second
	loadEvents  = 10 * rate
	backlogSize = 10_000
)

// webhookFigures are measured with few and with many old deliveries.
type webhookFigures struct {
	deliveryRate, riverRate, insertRate float64 // a second
	deliveryCPU                         float64 // ms a delivery
	idle, loaded                        []time.Duration
}

// webhooks measures deliveries in new tables, and again beside many old ones.
func (b *bench) webhooks(ctx context.Context, e *environment) error {
	short, err := b.measureWebhooks(ctx, e)
	if err != nil {
		return err
	}
	b.addWebhooks(short)
	if err := e.fillDeliveries(ctx, b.deliveries); err != nil {
		return err
	}
	long, err := b.measureWebhooks(ctx, e)
	if err != nil {
		return err
	}
	b.addOldDeliveries(short, long)
	return nil
}

func (b *bench) measureWebhooks(ctx context.Context, e *environment) (*webhookFigures, error) {
	var f webhookFigures
	if err := b.measureBacklog(ctx, e, &f); err != nil {
		return nil, err
	}
	var err error
	if f.idle, err = e.commitToWebhook(ctx, idleEvents, 20*time.Millisecond); err != nil {
		return nil, err
	}
	f.loaded, err = e.commitToWebhook(ctx, loadEvents, time.Second/rate)
	return &f, err
}

func (b *bench) addWebhooks(f *webhookFigures) {
	b.addBacklog(f)
	for _, l := range []struct {
		when  string
		times []time.Duration
	}{{"idle", f.idle}, {fmt.Sprintf("at %d events/s", rate), f.loaded}} {
		p99 := quantile(l.times, 0.99)
		b.add(row{
			what:   "Commit to the webhook's first byte, " + l.when + ", p50 / p99",
			figure: fmt.Sprintf("%.1f / %.1f ms", ms(quantile(l.times, 0.5)), ms(p99)), yardstick: "–", ratio: "–",
			target: "p99 < 100 ms", met: p99 < 100*time.Millisecond,
		})
	}
}

// addOldDeliveries compares with the figures of new tables.
func (b *bench) addOldDeliveries(short, long *webhookFigures) {
	b.addOldBacklog(short, long)
	beside := fmt.Sprintf(" beside %d old deliveries", b.deliveries)
	for _, l := range []struct {
		when        string
		short, long []time.Duration
	}{{"idle", short.idle, long.idle}, {fmt.Sprintf("at %d events/s", rate), short.loaded, long.loaded}} {
		was, is := quantile(l.short, 0.5), quantile(l.long, 0.5)
		b.add(row{
			what:      "Commit to first byte, " + l.when + "," + beside,
			figure:    fmt.Sprintf("%.1f / %.1f ms", ms(is), ms(quantile(l.long, 0.99))),
			yardstick: fmt.Sprintf("without: %.1f / %.1f ms", ms(was), ms(quantile(l.short, 0.99))),
			ratio:     percent(float64(is)/float64(was)) + " (p50)", target: "≤ 120 %", met: float64(is) <= 1.2*float64(was),
		})
	}
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
