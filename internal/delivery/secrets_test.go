package delivery_test

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"candor/internal/delivery"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
	"candor/internal/webhook"
)

// If an attempt is held up after its secrets were read, it is signed with those
// that are current when it starts (D36).
func TestHeldUpAttemptReadsSecretsAgain(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, nil)
	held, release := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	h.start(func(c *delivery.Config) {
		c.Clock = func() time.Time {
			if calledBy("(*endpointWorker).sign") && once.CompareAndSwap(false, true) {
				close(held)
				<-release
			}
			return time.Now()
		}
	})
	h.Emit(h.Session(hook.URL, hooktest.Now()), 1)
	<-held
	fresh := webhook.NewSecret()
	h.SwitchSecret(fresh)
	time.AfterFunc(delivery.SecretsLease, func() { close(release) })
	got := hook.Wait("", 1)[0]
	if got.Header.Get("X-Webhook-Signature") != webhook.Signature(fresh, got.Body) {
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

// If the secrets can't be read, nothing is sent, and the delivery isn't lost.
func TestNothingIsSentWithoutSecrets(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, nil)
	_, err := h.DB.Raw().ExecContext(h.Ctx, "UPDATE webhook_endpoint SET secret = '\\x00' WHERE is_default")
	h.OK(err)
	complaint := &complaint{Handler: slog.DiscardHandler, about: "claim deliveries"}
	h.start(func(c *delivery.Config) { c.PollEvery, c.Logger = 100*time.Millisecond, slog.New(complaint) })
	h.Emit(h.Session(hook.URL, hooktest.Now()), 1)
	testkit.Await(h, "a complaint in the log", complaint.logged.Load)
	_, err = h.DB.Raw().ExecContext(h.Ctx, "UPDATE webhook_endpoint SET secret = $1 WHERE is_default",
		h.Ring.Seal(h.Scope.SecretOwner(), []byte(hooktest.Secret)))
	h.OK(err)
	got := hook.Wait("", 1)
	if got[0].Header.Get("X-Webhook-Signature") != webhook.Signature(hooktest.Secret, got[0].Body) ||
		got[0].Header.Get("X-Webhook-Retry-Count") != "" {
		t.Errorf("sent with %v", got[0].Header)
	}
}

// complaint notes a line of the log.
type complaint struct {
	slog.Handler
	about  string
	logged atomic.Bool
}

func (c *complaint) Enabled(context.Context, slog.Level) bool { return true }

func (c *complaint) Handle(_ context.Context, r slog.Record) error {
	if r.Message == c.about {
		c.logged.Store(true)
	}
	return nil
}
