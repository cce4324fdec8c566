package jobs_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/testkit/hooktest"
)

// TestLostLinkEmailsAreFound: the sweep finds an email whose job is lost, and several
// workers send it once.
func TestLostLinkEmailsAreFound(t *testing.T) {
	t.Parallel()
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
	h.Eventually("all emails", func() bool {
		return h.Count("SELECT count(*) FROM link_email WHERE state = 'sent' AND tries = 1") == many &&
			h.Count("SELECT count(*) FROM link_delivery WHERE look_at IS NULL") == many
	})
	h.Eventually("all emails counted, after their commits", func() bool {
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
