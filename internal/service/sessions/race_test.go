package sessions_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/service/forms"
	"candor/internal/service/sessions"
	"candor/internal/statement"
	"candor/internal/testkit"
	"candor/internal/testkit/servicetest"
	"candor/internal/webhook"
	"candor/jobs"
	"candor/views/pdf"
)

// sweep sets a real worker to sweep again and again until the test ends.
func (b *fixture) sweep() {
	b.Helper()
	fonts, err := pdf.LoadFonts("")
	b.OK(err)
	client := webhook.NewClient(b.Policy)
	dispatcher := delivery.New(delivery.Config{
		DB: b.DB, Ring: b.Ring, Client: client, Schedule: webhook.DefaultSchedule(), Clock: b.Clock,
		Logger: slog.New(slog.DiscardHandler), PollEvery: 50 * time.Millisecond,
	})
	w, err := jobs.NewWorker(b.Ctx, jobs.Config{
		DB: b.DB, DSN: b.DSN, Outbox: b.Outbox, Dispatcher: dispatcher, Ring: b.Ring, Blobs: b.Blobs, Fonts: fonts,
		BaseURL: b.BaseURL, Clock: b.Clock, Logger: slog.New(slog.DiscardHandler), SweepEvery: 50 * time.Millisecond,
		RescueAfter: time.Minute, PDFWorkers: 1,
		Mail: discardMail{},
	})
	b.OK(err)
	b.OK(w.Start(b.Ctx))
	dispatcher.Start()
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(b.Ctx, 10*time.Second)
		defer cancel()
		dispatcher.Stop(ctx)
		if err := w.Stop(ctx); err != nil {
			b.Errorf("stop: %v", err)
		}
	})
}

// discardMail takes emails and drops them.
type discardMail struct{}

func (discardMail) Send(context.Context, mail.Message) error { return nil }

// ended reports a session whose events don't fit its one end.
func (b *fixture) ended(id domain.SessionID, want domain.Status) {
	b.Helper()
	session, err := b.DB.SessionByID(b.Ctx, id)
	b.OK(err)
	completed, expired, sections := b.Has(id, domain.SessionCompleted), b.Has(id, domain.SessionExpired), b.Has(id,
		domain.SessionSectionCompleted)
	wantCompleted, wantExpired, wantSections := 0, 0, 6
	switch want {
	case domain.Completed:
		wantCompleted, wantSections = 1, 7
	case domain.Expired:
		wantExpired = 1
	}
	if session.Status != want || completed != wantCompleted || expired != wantExpired || sections != wantSections ||
		(session.CompletedAt != nil) != (want == domain.Completed) {
		b.Errorf("a session that should be %s is %s, with %d session.completed, %d session.expired, %d session.section_completed",
			want, session.Status, completed, expired, sections)
	}
}

func TestSubmitTwiceAtOnce(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newFixture(t)
	for range 10 {
		id := b.Filled().ID
		submit := func() error { return b.Submit(id) }
		won := 0
		for _, err := range servicetest.Race(submit, submit, submit) {
			if err == nil {
				won++
			} else {
				b.Code("the second submission", err, domain.CodeSessionCompleted)
			}
		}
		if won != 1 {
			t.Errorf("%d submissions went through", won)
		}
		b.ended(id, domain.Completed)
	}
}

// Answers that are read while they are signed are the signed ones, or none.
func TestDataAgainstSubmit(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	id := b.Filled().ID
	var read *sessions.Submitted
	var err error
	answered := make(chan struct{})
	b.OK(b.DB.InTx(b.Ctx, func(tx *db.Tx) error {
		if _, err := tx.Raw().ExecContext(b.Ctx, "LOCK TABLE session_key IN ACCESS EXCLUSIVE MODE"); err != nil {
			return err
		}
		go func() {
			defer close(answered)
			read, err = b.Sessions.Data(b.Ctx, b.Test(), id, servicetest.Someone)
		}()
		testkit.Await(t, "the reader to answer or to wait for the lock", func() bool {
			select {
			case <-answered:
				return true
			default:
				return b.Count(
					"SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'session_key'::regclass AND database = (SELECT oid FROM pg_database WHERE datname = current_database())") > 0
			}
		})
		return b.Forms.In(tx).Submit(b.Ctx, &domain.Session{ID: id}, forms.Signature{Declaration: statement.Declaration{Accepted: true,
			FullName: "Jo Customer"}})
	}))
	<-answered
	if err != nil {
		b.Code("reading what was just signed", err, domain.CodeSessionNotCompleted)
		return
	}
	if !read.Statement.Declaration.Accepted {
		t.Errorf("a completed session's answers aren't signed: %+v", read.Statement.Declaration)
	}
}

func TestCancelAgainstSubmit(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newFixture(t)
	for range 20 {
		id := b.Filled().ID
		got := servicetest.Race(func() error { return b.Submit(id) }, func() error {
			_, err := b.Sessions.Cancel(b.Ctx, b.Test(), id, servicetest.Someone)
			return err
		})
		switch {
		case got[0] == nil:
			b.Code("cancelling what was submitted", got[1], domain.CodeSessionCompleted)
			b.ended(id, domain.Completed)
		case got[1] == nil:
			b.Code("submitting what was cancelled", got[0], domain.CodeSessionCancelled)
			b.ended(id, domain.Cancelled)
		default:
			t.Errorf("none won: %v", got)
		}
	}
}

// Sessions are submitted at the moment of their expiry, while real workers
// sweep: each ends one way.
func TestExpiryAgainstSubmit(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newFixture(t, func(c *servicetest.Config) { c.Clock = domain.SystemClock })
	var ids []domain.SessionID
	for range 24 {
		ids = append(ids, b.Filled().ID)
	}
	b.sweep()
	b.sweep()
	var wg sync.WaitGroup
	var submitted, expired atomic.Int32
	for i, id := range ids {
		due := b.Clock.Now().Add(time.Duration(100+10*i) * time.Millisecond)
		_, err := b.DB.Raw().ExecContext(b.Ctx, "UPDATE session SET expires_at = $2 WHERE id = $1", id, due)
		b.OK(err)
		wg.Go(func() {
			<-time.After(time.Until(due) + time.Duration(i%5-3)*time.Millisecond)
			err := b.Submit(id)
			if err == nil {
				submitted.Add(1)
				return
			}
			expired.Add(1)
			b.Code("submitting too late", err, domain.CodeSessionExpired)
		})
	}
	wg.Wait()
	testkit.Await(t, "the sweep", func() bool { return b.Count("SELECT count(*) FROM session WHERE status = 'in_progress'") == 0 })
	for _, id := range ids {
		session, err := b.DB.SessionByID(b.Ctx, id)
		b.OK(err)
		b.ended(id, session.Status)
	}
	if n := b.Count("SELECT count(*) FROM session WHERE status = 'completed'"); n != int(submitted.Load()) ||
		len(ids)-n != int(expired.Load()) {
		t.Errorf("%d sessions completed, %d submissions went through, %d didn't", n, submitted.Load(), expired.Load())
	}
}

// Two sections completed at once are both counted.
func TestSectionsAtOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	id := b.Opened().ID
	var work []func() error
	for _, name := range statement.SectionNames[:6] {
		for range 2 {
			work = append(work, func() error { return b.Fill(id, name) })
		}
	}
	b.OK(errors.Join(servicetest.Race(work...)...))
	session, err := b.DB.SessionByID(b.Ctx, id)
	if err != nil || session.SectionsCompleted != 6 || b.Has(id, domain.SessionSectionCompleted) != 6 {
		t.Errorf("%d sections, %d events, %v; want 6 of each", session.SectionsCompleted, b.Has(id, domain.SessionSectionCompleted),
			err)
	}
}

// Everything that writes sessions runs side by side for a while: no deadlock
// and no other failure comes up, and nothing is repeated for one.
func TestNoDeadlocks(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newFixture(t)
	var before int
	b.OK(b.DB.Raw().GetContext(b.Ctx, &before, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"))
	b.sweep()
	var mu sync.Mutex
	var ids []domain.SessionID
	pick := func(random *rand.Rand) domain.SessionID {
		mu.Lock()
		defer mu.Unlock()
		return ids[random.IntN(len(ids))]
	}
	for range 8 {
		ids = append(ids, b.Filled().ID)
	}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(5, uint64(i)))
			for range 40 {
				fresh, err := b.disturb(random, pick(random))
				var shown *domain.Error
				if err != nil && !errors.As(err, &shown) {
					t.Error(err)
				}
				if fresh != nil {
					mu.Lock()
					ids = append(ids, fresh.ID)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if n := b.Count("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"); n != before {
		t.Errorf("%d deadlocks", n-before)
	}
	var failed []string
	b.OK(b.DB.Raw().SelectContext(b.Ctx, &failed, "SELECT kind || ': ' || errors::text FROM river_job WHERE errors IS NOT NULL"))
	if len(failed) > 0 {
		t.Errorf("%d jobs failed:\n%s", len(failed), strings.Join(failed, "\n"))
	}
}

// disturb does one random thing, to the given session if it is to an old one.
func (b *fixture) disturb(random *rand.Rand, id domain.SessionID) (fresh *domain.Session, err error) {
	switch random.IntN(8) {
	case 0:
		return b.Create(b.Test())
	case 1:
		return b.Create(b.Live())
	case 2:
		state, err := b.Forms.Get(b.Ctx, id)
		if err == nil {
			err = b.Forms.Open(b.Ctx, state, domain.Visitor{})
		}
		return nil, err
	case 3:
		return nil, b.Fill(id, statement.SectionNames[random.IntN(6)])
	case 4:
		return nil, b.Submit(id)
	case 5:
		if random.IntN(4) == 0 {
			_, err = b.Sessions.Cancel(b.Ctx, b.Test(), id, servicetest.Someone)
		}
		return nil, err
	case 6: // overdue now
		return nil, b.DB.InTx(b.Ctx, func(tx *db.Tx) error {
			_, err := tx.Raw().ExecContext(b.Ctx,
				"UPDATE session SET expires_at = $2, created_at = created_at - interval '1 day' * $3 WHERE id = $1", id, b.Clock.Now(),
				random.IntN(3))
			return err
		})
	}
	return nil, b.DB.InTx(b.Ctx, func(tx *db.Tx) error {
		_, err := tx.FoldSessionCounts(b.Ctx, servicetest.Start.AddDate(1, 0, 0), 5)
		return err
	})
}
