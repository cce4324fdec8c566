package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
)

// senderFunc is a mail.Sender.
type senderFunc func(mail.Message) error

// Send calls the function.
func (f senderFunc) Send(_ context.Context, m mail.Message) error { return f(m) }

// request stores a request of that kind and address and inserts its email.
func (h *harness) request(kind domain.StaffRequestKind, email string, expires time.Time) *domain.StaffRequest {
	h.Helper()
	r := &domain.StaffRequest{ID: domain.NewStaffRequestID(), Kind: kind, Subject: []byte(email), CreatedAt: hooktest.Now(),
		ExpiresAt: expires}
	plain, err := json.Marshal(domain.RequestDetails{Email: email})
	h.OK(err)
	r.Sealed = h.Ring.Seal(r.SealOwner(), plain)
	h.Tx(func(tx *db.Tx) error {
		if err := tx.InsertStaffRequest(h.Ctx, r); err != nil {
			return err
		}
		return h.Outbox.RequestEmail(h.Ctx, tx, r.ID)
	})
	return r
}

// TestEmailsThatFail: an email is retried if the mail server is down, but not if
// it refuses the address or has the text and doesn't answer. None stores the address anywhere.
func TestEmailsThatFail(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.request(domain.RequestSignUp, "down@new.example", hooktest.Now().Add(time.Hour))
	h.request(domain.RequestSignUp, "refused@new.example", hooktest.Now().Add(time.Hour))
	h.request(domain.RequestSignUp, "taken@new.example", hooktest.Now().Add(time.Hour))
	h.request(domain.RequestSignUp, "late@new.example", hooktest.Now())
	h.request(domain.RequestReset, "unknown@new.example", hooktest.Now().Add(time.Hour))
	h.start(func(c *config) {
		c.Mail = senderFunc(func(m mail.Message) error {
			switch m.To {
			case "down@new.example":
				return errors.New("the server is down")
			case "refused@new.example":
				return mail.ErrRefused
			case "taken@new.example":
				return mail.ErrUnanswered
			}
			t.Errorf("email to %s: %s", m.To, m.Subject)
			return nil
		})
	})
	for state, want := range map[string]int{"retryable": 1, "cancelled": 2, "completed": 2} {
		testkit.Await(h, state+" emails", func() bool {
			return h.Count("SELECT count(*) FROM river_job WHERE kind = 'staff_letter' AND state = '"+state+"'") == want
		})
	}
	if n := h.Count("SELECT count(*) FROM river_job j WHERE j::text LIKE '%new.example%'"); n != 0 {
		t.Errorf("%d jobs have an address", n)
	}
}

// TestEmailSentTwice: if a run is cut off after the mail server took the email,
// only the second email's link works.
func TestEmailSentTwice(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	r := h.request(domain.RequestSignUp, "jo@new.example", hooktest.Now().Add(time.Hour))
	var tokens []string
	var sent atomic.Int32
	h.start(func(c *config) {
		c.Mail = senderFunc(func(m mail.Message) error {
			_, rest, _ := strings.Cut(m.Text, "/dashboard/verify/")
			token, _, _ := strings.Cut(rest, "\n")
			tokens = append(tokens, token)
			sent.Add(1)
			return nil
		})
	})
	testkit.Await(h, "the email", func() bool { return sent.Load() == 1 })
	h.Tx(func(tx *db.Tx) error { return h.Outbox.RequestEmail(h.Ctx, tx, r.ID) })
	testkit.Await(h, "the second email", func() bool { return sent.Load() == 2 })
	for i, token := range tokens {
		_, err := h.DB.StaffRequestByToken(h.Ctx, domain.RequestSignUp, domain.HashToken(token), hooktest.Now())
		if works := err == nil; works != (i == 1) {
			t.Errorf("link %d: %v, want the second alone to work", i+1, err)
		}
	}
	if _, err := h.DB.StaffRequestByToken(h.Ctx, domain.RequestReset, domain.HashToken(tokens[1]), hooktest.Now()); !errors.Is(err,
		db.ErrNotFound) {
		t.Errorf("a sign-up's link opens a reset: %v", err)
	}
}
