package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/internal/webhook"
	"candor/jobs"
)

// switchSecret makes fresh the current secret.
func (b *bench) switchSecret(fresh string) {
	b.Helper()
	b.ok(b.db.InTx(b.ctx, func(tx *db.Tx) error {
		return errors.Join(tx.SetNextSecret(b.ctx, b.scope, b.ring.Seal(b.scope.SecretOwner(), []byte(fresh)), now()),
			tx.SwitchSecret(b.ctx, b.scope, now().Add(24*time.Hour)))
	}))
}

// An attempt that is held up after its secrets were read, by a process that
// got no time, is signed with those that are in force when it starts (D36).
func TestHeldUpAttemptIsSignedAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, nil)
	held, release := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	b.start(func(c *jobs.Config) {
		c.Clock = func() time.Time {
			if calledBy("(*drain).sign") && once.CompareAndSwap(false, true) {
				close(held)
				<-release
			}
			return time.Now()
		}
	})
	b.emit(b.session(hook.URL, now()), 1)
	<-held
	fresh := webhook.NewSecret()
	b.switchSecret(fresh)
	time.AfterFunc(jobs.SecretsLease, func() { close(release) })
	got := b.received(hook, 1)[0]
	if got.header.Get("X-Webhook-Signature") != webhook.Signature(fresh, []byte(got.body)) {
		t.Error("an attempt that started after the lease is signed with the secret from before the switch")
	}
}

// calledBy reports whether a function of that name is running in this
// goroutine.
func calledBy(name string) bool {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}

// Where secrets can't be read nothing is sent, least of all unsigned, and the
// delivery isn't lost.
func TestNothingIsSentWithoutSecrets(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, nil)
	_, err := b.db.Raw().ExecContext(b.ctx, "UPDATE webhook_setting SET secret = '\\x00'")
	b.ok(err)
	complaint := &complaint{Handler: slog.DiscardHandler, about: "claim deliveries"}
	b.start(sweeping, func(c *jobs.Config) { c.Logger = slog.New(complaint) })
	b.emit(b.session(hook.URL, now()), 1)
	b.eventually("a complaint in the log", complaint.came.Load)
	_, err = b.db.Raw().ExecContext(b.ctx, "UPDATE webhook_setting SET secret = $1", b.ring.Seal(b.scope.SecretOwner(), []byte(secret)))
	b.ok(err)
	got := b.received(hook, 1)
	if got[0].header.Get("X-Webhook-Signature") != webhook.Signature(secret, []byte(got[0].body)) || got[0].header.Get("X-Webhook-Retry-Count") != "" {
		t.Errorf("sent with %v", got[0].header)
	}
}

// complaint waits for a line of the log.
type complaint struct {
	slog.Handler
	about string
	came  atomic.Bool
}

func (c *complaint) Enabled(context.Context, slog.Level) bool { return true }

func (c *complaint) Handle(_ context.Context, r slog.Record) error {
	if r.Message == c.about {
		c.came.Store(true)
	}
	return nil
}

// The retention job erases previous secrets when their day is over.
func TestPreviousSecretIsErased(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	started := now()
	fresh := webhook.NewSecret()
	b.switchSecret(fresh)
	var ahead atomic.Int64
	b.start(func(c *jobs.Config) { c.Clock = func() time.Time { return started.Add(time.Duration(ahead.Load())) } })
	retained := func(runs int) {
		b.Helper()
		b.eventually("retention", func() bool {
			return b.count("SELECT count(*) FROM river_job WHERE kind = 'retention' AND state = 'completed'") == runs
		})
	}
	retained(1)
	if b.count("SELECT count(*) FROM webhook_setting WHERE previous_secret IS NOT NULL") != 1 {
		t.Error("a previous secret was erased before its time")
	}
	ahead.Store(int64(25 * time.Hour))
	_, err := b.db.Raw().ExecContext(b.ctx, "INSERT INTO river_job (kind, queue, args, max_attempts) VALUES ('retention', 'upkeep', '{}', 1)")
	b.ok(err)
	retained(2)
	if b.count("SELECT count(*) FROM webhook_setting WHERE previous_secret IS NULL AND previous_secret_until IS NULL") != 1 {
		t.Error("a previous secret outlived its day")
	}
	if got, err := jobs.SigningSecrets(b.ctx, b.db, b.ring, b.scope); err != nil || len(got) != 1 || got[0] != fresh {
		t.Errorf("after it deliveries are signed with %d secrets, %v", len(got), err)
	}
}
