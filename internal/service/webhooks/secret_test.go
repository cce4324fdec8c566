package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/servicetest"
	"candor/internal/webhook"
	"candor/jobs"
	view "candor/views/dashboard"
)

// rotation is a service whose events two workers deliver to several endpoints
// while its secrets change.
type rotation struct {
	*fixture
	receivers []*hooktest.Receiver
	attempts  [2]*attemptCounter
	phases    []phase
}

// phase is a stretch of time in which the deliveries are signed with the same
// secrets, the current one first.
type phase struct {
	name          string
	secrets       []string
	asked, inside time.Time // the change was asked for; the call that made it returned
}

// attemptCounter is a worker's log that counts its attempts.
type attemptCounter struct {
	slog.Handler
	n atomic.Int64
}

func (c *attemptCounter) Enabled(context.Context, slog.Level) bool { return true }

func (c *attemptCounter) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "webhook attempt" {
		c.n.Add(1)
	}
	return nil
}

func newRotation(t *testing.T) *rotation {
	t.Helper()
	r := &rotation{fixture: newFixture(t, func(c *servicetest.Config) { c.Clock = domain.SystemClock })}
	for range 4 {
		r.receivers = append(r.receivers, hooktest.NewReceiver(t, nil))
	}
	for i := range r.attempts {
		r.attempts[i] = &attemptCounter{Handler: slog.DiscardHandler}
		client := webhook.NewClient(r.Policy)
		dispatcher := delivery.New(delivery.Config{
			DB: r.DB, Ring: r.Ring, Client: client, Schedule: webhook.DefaultSchedule(),
			Clock: domain.SystemClock, Logger: slog.New(r.attempts[i]), PollEvery: time.Hour, RescueAfter: time.Minute,
		})
		worker, err := jobs.NewWorker(r.Ctx, jobs.Config{
			DB: r.DB, DSN: r.DSN, Outbox: r.Outbox, Dispatcher: dispatcher, Ring: r.Ring, Blobs: r.Files,
			Clock: domain.SystemClock, Logger: r.Logger, SweepEvery: time.Hour, RescueAfter: time.Minute,
		})
		r.OK(err)
		r.OK(worker.Start(r.Ctx))
		dispatcher.Start()
		t.Cleanup(func() {
			defer client.Close()
			dispatcher.Stop(r.Ctx)
			if err := worker.Stop(r.Ctx); err != nil {
				t.Errorf("stop: %v", err)
			}
		})
	}
	return r
}

// send sends events to all receivers until the context ends.
func (r *rotation) send(ctx context.Context) error {
	var sessions []*domain.Session
	for _, to := range r.receivers {
		s, err := r.Create(r.Test(), func(w *domain.NewSession) { w.WebhookURL = to.URL })
		if err != nil {
			return err
		}
		sessions = append(sessions, s)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		s := sessions[n%len(sessions)]
		err := r.DB.InTx(r.Ctx, func(tx *db.Tx) error {
			return r.Outbox.SessionEvent(r.Ctx, tx, s, domain.SectionCompletedPayload{SessionID: s.ID, Section: "income",
				SectionNumber: 2}, time.Now())
		})
		if err != nil {
			return err
		}
	}
}

// during waits until each worker has made some attempts in this phase.
func (r *rotation) during() {
	r.Helper()
	var before [2]int64
	for i, c := range r.attempts {
		before[i] = c.n.Load()
	}
	testkit.Await(r, "attempts of both workers", func() bool {
		return r.attempts[0].n.Load() >= before[0]+3 && r.attempts[1].n.Load() >= before[1]+3
	})
}

// change makes a change and records the phase it begins.
func (r *rotation) change(name string, change func() ([]string, error)) {
	r.Helper()
	asked := time.Now().Truncate(time.Millisecond) // as attempts record their time
	secrets, err := change()
	inside := time.Now()
	r.OK(err)
	r.phases = append(r.phases, phase{name, secrets, asked, inside})
	r.during()
}

// allowed are the phases in which an attempt that started then may be signed:
// one, and two while a change is being made.
func (r *rotation) allowed(at time.Time) (names []string, secrets [][]string) {
	for i, p := range r.phases {
		over := i+1 < len(r.phases) && at.After(r.phases[i+1].inside)
		if at.Before(p.asked) || over {
			continue
		}
		names, secrets = append(names, p.name), append(secrets, p.secrets)
	}
	return names, secrets
}

// No delivery is signed wrongly at any moment of a rotation, in either of two
// workers: X-Webhook-Signature is of the current secret, webhook-signature of
// each, and what is signed with the former ones started before the call that
// changed them returned (D35, D36).
func TestSecretsRotateWithoutAWrongSignature(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	r := newRotation(t)
	old := r.Account.TestWebhookSecret
	sending, stop := context.WithCancel(r.Ctx)
	sent := make(chan error, 1)
	go func() { sent <- r.send(sending) }()
	defer stop()

	var fresh string
	r.change("start", func() ([]string, error) { return []string{old}, nil })
	r.change("next", func() (_ []string, err error) {
		fresh, err = r.Webhooks.CreateNextSecret(r.Ctx, r.Test(), nil, servicetest.Someone)
		return []string{old, fresh}, err
	})
	r.change("switch", func() ([]string, error) {
		return []string{fresh}, r.Webhooks.SwitchSecret(r.Ctx, r.Test(), nil, servicetest.Someone)
	})
	r.change("restore", func() ([]string, error) {
		return []string{old, fresh}, r.Webhooks.RestoreSecret(r.Ctx, r.Test(), nil, servicetest.Someone)
	})
	r.change("abandon", func() ([]string, error) {
		return []string{old}, r.Webhooks.AbandonNextSecret(r.Ctx, r.Test(), nil, servicetest.Someone)
	})
	stop()
	r.OK(<-sent)
	testkit.Await(r, "all deliveries", func() bool {
		return r.Count("SELECT count(*) FROM delivery WHERE state <> 'delivered'") == 0
	})
	r.check([]string{old, fresh, r.Account.LiveWebhookSecret})
}

// check verifies all that arrived with all secrets.
func (r *rotation) check(secrets []string) {
	r.Helper()
	var calls []hooktest.Request
	for _, rec := range r.receivers {
		calls = append(calls, rec.Requests()...)
	}
	attempts := []struct {
		ID        domain.DeliveryID `db:"delivery_id"`
		StartedAt time.Time         `db:"started_at"`
	}{}
	r.OK(r.DB.Raw().SelectContext(r.Ctx, &attempts, "SELECT delivery_id, started_at FROM delivery_attempt"))
	startedAt := map[string]time.Time{}
	for _, a := range attempts {
		startedAt[a.ID.String()] = a.StartedAt
	}
	if len(attempts) != len(calls) {
		r.Errorf("%d webhooks of %d attempts", len(calls), len(attempts))
	}
	seen := map[string]int{}
	for i, by := range verify(r, calls, secrets...) {
		at := startedAt[calls[i].Header.Get("X-Webhook-Id")]
		names, allowed := r.allowed(at)
		if len(names) == 1 {
			seen[names[0]]++
		}
		signatures := strings.Count(calls[i].Header.Get("Webhook-Signature"), "v1,")
		if !r.signedAsOne(allowed, by, secrets, signatures) {
			r.Errorf("an attempt that started at %s, in %v, has %d signatures, by %+v", at, names, signatures, by)
		}
	}
	for _, p := range r.phases {
		if seen[p.name] == 0 {
			r.Errorf("no webhook was sent in phase %s alone; in the others %v", p.name, seen)
		}
	}
}

// signedAsOne reports whether the signatures are those of one of the lists.
func (r *rotation) signedAsOne(allowed [][]string, by signedBy, secrets []string, signatures int) bool {
	for _, list := range allowed {
		right := signatures == len(list)
		for i, secret := range secrets {
			listed := false
			for _, s := range list {
				listed = listed || s == secret
			}
			right = right && by.Contract[i] == (secret == list[0]) && by.Standard[i] == listed
		}
		if right {
			return true
		}
	}
	return false
}

// newStill is a fixture on which no worker runs, so that changes of secrets are
// in force at once.
func newStill(t *testing.T) *fixture {
	b := newFixture(t)
	b.Webhooks.SecretsLease = 0
	return b
}

// signing are the secrets that sign now.
func (b *fixture) signing() string {
	b.Helper()
	secrets, err := delivery.SigningSecrets(b.Ctx, b.DB, b.Ring, b.Test(), nil)
	b.OK(err)
	return strings.Join(secrets, " ")
}

// saying reports an error that doesn't tell the operator what is meant.
func (b *fixture) saying(what string, err error, text string) {
	b.Helper()
	b.Code(what, err, domain.CodeValidation)
	if known, ok := errors.AsType[*domain.Error](err); ok && !strings.Contains(known.Text(view.Words.Say), text) {
		b.Errorf("%s: %v, want it to say %q", what, err, text)
	}
}

func TestSecretsAreRestoredWithinADay(t *testing.T) {
	t.Parallel()
	b := newStill(t)
	old := b.Account.TestWebhookSecret
	b.saying("switch without a next one", b.Webhooks.SwitchSecret(b.Ctx, b.Test(), nil, servicetest.Someone),
		"no next webhook secret")
	b.saying("abandon without a next one", b.Webhooks.AbandonNextSecret(b.Ctx, b.Test(), nil, servicetest.Someone),
		"no next webhook secret")
	b.saying("restore without a previous one", b.Webhooks.RestoreSecret(b.Ctx, b.Test(), nil, servicetest.Someone),
		"no previous webhook secret")
	fresh, err := b.Webhooks.CreateNextSecret(b.Ctx, b.Test(), nil, servicetest.Someone)
	b.OK(err)
	state, err := b.Webhooks.Secrets(b.Ctx, b.Test(), nil)
	if err != nil || state.NextSince == nil || !state.NextSince.Equal(servicetest.Start) || state.PreviousUntil != nil {
		t.Errorf("after next: %+v, %v", state, err)
	}
	if second, err := b.Webhooks.CreateNextSecret(b.Ctx, b.Test(), nil, servicetest.Someone); second != "" ||
		b.signing() != old+" "+fresh {
		t.Errorf("a second next one: %q, %v", second, err)
	} else {
		b.saying("a second next one", err, "next webhook secret already")
	}
	b.OK(b.Webhooks.SwitchSecret(b.Ctx, b.Test(), nil, servicetest.Someone))
	state, err = b.Webhooks.Secrets(b.Ctx, b.Test(), nil)
	if err != nil || state.NextSince != nil || state.PreviousUntil == nil ||
		!state.PreviousUntil.Equal(servicetest.Start.Add(24*time.Hour)) || b.signing() != fresh {
		t.Errorf("after switch: %+v, %v", state, err)
	}
	other, err := b.Webhooks.CreateNextSecret(b.Ctx, b.Test(), nil, servicetest.Someone)
	b.OK(err)
	b.saying("restore over a next one", b.Webhooks.RestoreSecret(b.Ctx, b.Test(), nil, servicetest.Someone), "Abandon it first")
	if b.signing() != fresh+" "+other {
		t.Error("a refused restore has changed the secrets")
	}
	b.OK(b.Webhooks.AbandonNextSecret(b.Ctx, b.Test(), nil, servicetest.Someone))
	b.Pass(24 * time.Hour)
	b.saying("restore after a day", b.Webhooks.RestoreSecret(b.Ctx, b.Test(), nil, servicetest.Someone), "erased 24 hours after")
	if state, err := b.Webhooks.Secrets(b.Ctx, b.Test(), nil); err != nil || state.PreviousUntil != nil {
		t.Errorf("after a day: %+v, %v", state, err)
	}
	b.Pass(-time.Millisecond)
	b.OK(b.Webhooks.RestoreSecret(b.Ctx, b.Test(), nil, servicetest.Someone))
	if b.signing() != old+" "+fresh {
		t.Error("restored secrets don't sign, or the replaced one isn't the next one")
	}
	if live, err := b.DB.EndpointSecrets(b.Ctx, b.Live(), nil); err != nil || live.NextSecret != nil || live.PreviousSecret != nil {
		t.Errorf("the live secrets have changed: %v", err)
	}
	b.Code("unknown account", b.Webhooks.SwitchSecret(b.Ctx, domain.Scope{AccountID: domain.NewAccountID()}, nil,
		servicetest.Someone), domain.CodeNotFound)
}

// A secret whose key was taken away isn't put back: nothing could be signed
// with it. The others can still be rotated.
func TestUnreadableSecretIsNotRestored(t *testing.T) {
	t.Parallel()
	b := newStill(t)
	ring, err := keyring.Parse(keyring.Generate("new"))
	b.OK(err)
	b.Ring, b.Webhooks.Ring = ring, ring
	fresh, err := b.Webhooks.CreateNextSecret(b.Ctx, b.Test(), nil, servicetest.Someone)
	b.OK(err)
	b.OK(b.Webhooks.SwitchSecret(b.Ctx, b.Test(), nil, servicetest.Someone))
	b.saying("restore", b.Webhooks.RestoreSecret(b.Ctx, b.Test(), nil, servicetest.Someone), "sealed it isn’t configured")
	if b.signing() != fresh {
		t.Error("the unreadable secret was restored")
	}
}

// Of changes at the same time one wins, and the others get an error.
func TestSecretsChangeOneAtATime(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare string // the changes before
		changes string // those at once, again and again
	}{
		"next": {"", "next"}, "switch": {"next", "switch"}, "abandon": {"next", "abandon"}, "restore": {"next switch", "restore"},
		"switch or abandon": {"next", "switch abandon"}, "next or restore": {"next switch", "next restore"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newStill(t)
			for change := range strings.FieldsSeq(tt.prepare) {
				b.OK(b.changeSecrets(change))
			}
			var won atomic.Int32
			var all sync.WaitGroup
			for change := range strings.FieldsSeq(strings.Repeat(tt.changes+" ", 4)) {
				all.Go(func() {
					err := b.changeSecrets(change)
					if err == nil {
						won.Add(1)
						return
					}
					b.saying(change, err, "There is ")
				})
			}
			all.Wait()
			if won.Load() != 1 {
				t.Errorf("%d changes were made, want 1", won.Load())
			}
		})
	}
}

func (b *fixture) changeSecrets(change string) error {
	switch change {
	case "next":
		_, err := b.Webhooks.CreateNextSecret(b.Ctx, b.Test(), nil, servicetest.Someone)
		return err
	case "switch":
		return b.Webhooks.SwitchSecret(b.Ctx, b.Test(), nil, servicetest.Someone)
	case "restore":
		return b.Webhooks.RestoreSecret(b.Ctx, b.Test(), nil, servicetest.Someone)
	case "abandon":
		return b.Webhooks.AbandonNextSecret(b.Ctx, b.Test(), nil, servicetest.Someone)
	}
	return fmt.Errorf("no change %q", change)
}

// Who doesn't wait for a change gets its secret all the same.
func TestNextSecretIsShownWhenTheWaitIsCut(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Webhooks.SecretsLease = time.Hour
	ctx, cancel := context.WithCancel(b.Ctx)
	defer cancel()
	var secret string
	cut := make(chan error, 1)
	go func() {
		var err error
		secret, err = b.Webhooks.CreateNextSecret(ctx, b.Test(), nil, servicetest.Someone)
		cut <- err
	}()
	testkit.Await(b, "the next secret", func() bool {
		state, err := b.Webhooks.Secrets(b.Ctx, b.Test(), nil)
		return err == nil && state.NextSince != nil
	})
	cancel()
	if err := <-cut; !errors.Is(err, context.Canceled) || b.signing() != b.Account.TestWebhookSecret+" "+secret {
		t.Errorf("cut off: %q, %v", secret, err)
	}
}
