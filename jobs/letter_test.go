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
	"candor/jobs"
)

// senderFunc is a mail.Sender.
type senderFunc func(mail.Message) error

// Send calls the function.
func (f senderFunc) Send(_ context.Context, m mail.Message) error { return f(m) }

// request stores a request of that kind and address, and asks for its letter.
func (b *bench) request(kind domain.StaffRequestKind, email string, expires time.Time) *domain.StaffRequest {
	b.Helper()
	r := &domain.StaffRequest{ID: domain.NewStaffRequestID(), Kind: kind, Subject: []byte(email), CreatedAt: now(), ExpiresAt: expires}
	plain, err := json.Marshal(domain.RequestDetails{Email: email})
	b.ok(err)
	r.Sealed = b.ring.Seal(r.SealOwner(), plain)
	b.tx(func(tx *db.Tx) error {
		if err := tx.InsertStaffRequest(b.ctx, r); err != nil {
			return err
		}
		return b.enqueuer.RequestLetter(b.ctx, tx, r.ID)
	})
	return r
}

// TestLettersThatFail: a mail server that is down is asked again, an address
// that is refused isn't, and neither leaves the address anywhere.
func TestLettersThatFail(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.request(domain.RequestSignUp, "down@new.example", now().Add(time.Hour))
	b.request(domain.RequestSignUp, "refused@new.example", now().Add(time.Hour))
	b.request(domain.RequestSignUp, "late@new.example", now())
	b.request(domain.RequestReset, "nobody@new.example", now().Add(time.Hour))
	b.start(func(c *jobs.Config) {
		c.Mail = senderFunc(func(m mail.Message) error {
			switch m.To {
			case "down@new.example":
				return errors.New("the server is down")
			case "refused@new.example":
				return mail.ErrRefused
			}
			t.Errorf("letter to %s: %s", m.To, m.Subject)
			return nil
		})
	})
	for state, want := range map[string]int{"retryable": 1, "cancelled": 1, "completed": 2} {
		b.eventually(state+" letters", func() bool {
			return b.count("SELECT count(*) FROM river_job WHERE kind = 'staff_letter' AND state = '"+state+"'") == want
		})
	}
	if n := b.count("SELECT count(*) FROM river_job j WHERE j::text LIKE '%new.example%'"); n != 0 {
		t.Errorf("%d jobs have an address", n)
	}
}

// TestLetterSentTwice: when a letter's sending was cut off after the server
// had taken it, the later letter's link is the one that works.
func TestLetterSentTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.request(domain.RequestSignUp, "jo@new.example", now().Add(time.Hour))
	var tokens []string
	var sent atomic.Int32
	b.start(func(c *jobs.Config) {
		c.Mail = senderFunc(func(m mail.Message) error {
			_, rest, _ := strings.Cut(m.Text, "/dashboard/verify/")
			token, _, _ := strings.Cut(rest, "\n")
			tokens = append(tokens, token)
			sent.Add(1)
			return nil
		})
	})
	b.eventually("the letter", func() bool { return sent.Load() == 1 })
	b.tx(func(tx *db.Tx) error { return b.enqueuer.RequestLetter(b.ctx, tx, r.ID) })
	b.eventually("the second letter", func() bool { return sent.Load() == 2 })
	for i, token := range tokens {
		_, err := b.db.StaffRequestByToken(b.ctx, domain.RequestSignUp, domain.HashToken(token), now())
		if works := err == nil; works != (i == 1) {
			t.Errorf("link %d: %v, want the second alone to work", i+1, err)
		}
	}
	if _, err := b.db.StaffRequestByToken(b.ctx, domain.RequestReset, domain.HashToken(tokens[1]), now()); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a sign-up's link opens a reset: %v", err)
	}
}

// TestSignInsAreRetired: what is left of sign-ins goes, what lives stays.
func TestSignInsAreRetired(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	at := now()
	staff := domain.Staff{ID: domain.NewStaffID(), AccountID: b.scope.AccountID, Email: "jo@lender.example", Role: domain.RoleOwner, CreatedAt: at}
	session := func(seen time.Time) *domain.StaffSession {
		return &domain.StaffSession{Staff: staff, SessionID: domain.NewStaffSessionID(), Stage: domain.SignInFull, StartedAt: seen, SeenAt: seen, ConfirmedAt: seen, ExpiresAt: seen.Add(domain.StaffLifetime)}
	}
	invitation := func(email string, expires time.Time) *domain.Invitation {
		return &domain.Invitation{ID: domain.NewInvitationID(), AccountID: b.scope.AccountID, Email: email, Role: domain.RoleOwner, CreatedAt: at, ExpiresAt: expires}
	}
	b.tx(func(tx *db.Tx) error {
		return errors.Join(
			tx.InsertStaff(b.ctx, &staff, ""),
			tx.InsertStaffSession(b.ctx, session(at), []byte("live")),
			tx.InsertStaffSession(b.ctx, session(at.Add(-domain.StaffIdle)), []byte("ended")),
			tx.PutInvitation(b.ctx, invitation("live@lender.example", at.Add(time.Hour))),
			tx.PutInvitation(b.ctx, invitation("listed@lender.example", at.Add(-6*24*time.Hour))),
			tx.PutInvitation(b.ctx, invitation("old@lender.example", at.Add(-8*24*time.Hour))),
		)
	})
	live := b.request(domain.RequestReset, "live@lender.example", at.Add(time.Hour))
	for i := range 250 { // more than a batch
		b.request(domain.RequestReset, "old@lender.example", at.Add(-8*24*time.Hour-time.Duration(i)*time.Second))
	}
	for subject, age := range map[string]time.Duration{"counts": time.Minute, "over": 16 * time.Minute} {
		b.ok(b.db.CountAttempt(b.ctx, at.Add(-age), db.Counter{Subject: []byte(subject), Free: 10, Window: 15 * time.Minute}))
	}
	_, err := b.db.Raw().ExecContext(b.ctx, "DELETE FROM river_job")
	b.ok(err)
	b.start()
	for query, want := range map[string]int{
		"SELECT count(*) FROM staff_session": 1, "SELECT count(*) FROM attempt_count": 1,
		"SELECT count(*) FROM staff_request": 1, "SELECT count(*) FROM invitation": 2,
	} {
		b.eventually(query, func() bool { return b.count(query) == want })
	}
	if _, err := b.db.StaffRequest(b.ctx, live.ID); err != nil {
		t.Errorf("the live request: %v", err)
	}
}
