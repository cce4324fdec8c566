package jobs_test

import (
	"errors"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
)

// TestLostLinkEmailsAreFound: the sweep finds an email whose job is lost, and several
// workers send it once.
func TestLostLinkEmailsAreFound(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	const many = 30
	for range many {
		s := h.Session("", hooktest.Now())
		h.Tx(func(tx *db.Tx) error {
			return tx.InsertLinkDelivery(h.Ctx, &domain.LinkDelivery{SessionID: s.ID}, hooktest.Now().Add(-time.Second))
		})
	}
	var mu sync.Mutex
	sent := map[string]int{}
	observer := &counting{}
	for range 2 {
		h.start(sweeping, func(c *config) {
			c.Observer = observer
			c.Mail = senderFunc(func(m mail.Message) error {
				if err := m.Claimed(t.Context()); err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				sent[m.ID]++
				return nil
			})
		})
	}
	testkit.Await(h, "all emails", func() bool {
		return h.Count("SELECT count(*) FROM link_email WHERE state = 'sent' AND tries = 1") == many &&
			h.Count("SELECT count(*) FROM link_delivery WHERE look_at IS NULL") == many
	})
	testkit.Await(h, "all emails counted, after their commits", func() bool {
		observer.mu.Lock()
		defer observer.mu.Unlock()
		return len(observer.emailed) >= many
	})
	mu.Lock()
	defer mu.Unlock()
	if len(sent) != many {
		t.Errorf("%d emails, want %d", len(sent), many)
	}
	for id, n := range sent {
		if n != 1 {
			t.Errorf("email %s was sent %d times", id, n)
		}
	}
	observer.mu.Lock()
	defer observer.mu.Unlock()
	if len(observer.emailed) != many || slices.Contains(observer.emailed, "link unknown") {
		t.Errorf("counted %v", observer.emailed)
	}
}

// TestLinksOfOneAccountHoldUpNoOther: an account's first links go before the many of another,
// and links that were asked for now before what the sweep found, such as reminders (D106).
func TestLinksOfOneAccountHoldUpNoOther(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	const found, many, prompt, workers = 10, 120, 50, 4
	queue := func(n int, insert func(tx *db.Tx, s *domain.Session) error) (ids []string) {
		for range n {
			s := h.Session("", hooktest.Now())
			ids = append(ids, s.ID.String())
			h.Tx(func(tx *db.Tx) error {
				delivery := &domain.LinkDelivery{SessionID: s.ID}
				return errors.Join(tx.InsertLinkDelivery(h.Ctx, delivery, hooktest.Now().Add(time.Hour)), insert(tx, s))
			})
		}
		return ids
	}
	send := func(tx *db.Tx, s *domain.Session) error { return h.Outbox.SendLink(h.Ctx, tx, s) }
	last := queue(found, func(tx *db.Tx, s *domain.Session) error { return h.Outbox.LinkEmail(h.Ctx, tx, s.ID) })
	queue(many, send)
	h.NewAccount()
	other := queue(1, send)[0]

	var mu sync.Mutex
	var sent []string
	h.start(func(c *config) {
		c.Mail = senderFunc(func(m mail.Message) error {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, regexp.MustCompile(`sess_[0-9a-z]{26}`).FindString(m.Text))
			return nil
		})
	})
	testkit.Await(h, "all links", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(sent) == found+many+1
	})
	if at := slices.Index(sent, other); at < 0 || at > prompt+2*workers {
		t.Errorf("the other account's link is number %d, want it after %d", at, prompt)
	}
	for _, id := range last {
		if at := slices.Index(sent, id); at < many-2*workers {
			t.Errorf("what the sweep found is number %d, want it after the links", at)
		}
	}
}
