package jobs_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
)

// claiming is a mail.Sender that claims the email, as a mail server that takes the address.
type claiming func() error

// Send calls the function after the claim.
func (f claiming) Send(ctx context.Context, m mail.Message) error {
	if err := m.Claimed(ctx); err != nil {
		return err
	}
	return f()
}

// TestReceiptsGoOnce: the row of a receipt commits before the mail server gets the text,
// and holds nothing while it answers. One that it didn't take is tried again, one that it may
// have isn't.
func TestReceiptsGoOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, err := h.DB.Raw().ExecContext(h.Ctx, `UPDATE account SET receipt_email = true`)
	h.OK(err)
	session := h.completed("", hooktest.Now())
	h.Tx(func(tx *db.Tx) error { return h.Outbox.ReceiptToCustomer(h.Ctx, tx, session.ID, domain.English) })
	answers := []error{errors.New("the connection was lost"), mail.ErrUnanswered}
	var sent atomic.Int32
	h.start(func(c *config) {
		c.Mail = claiming(func() error {
			n := int(sent.Add(1))
			if h.Count(`SELECT count(*) FROM customer_receipt`) != 1 {
				t.Errorf("the row of email %d isn't there before its text", n)
			}
			if n > len(answers) {
				return errors.New("one too many")
			}
			return answers[n-1]
		})
	})
	job := func(state string) bool {
		return h.Count(`SELECT count(*) FROM river_job WHERE kind = 'customer_receipt' AND state = '`+state+`'`) == 1
	}
	again := func(from string) {
		h.Helper()
		_, err := h.DB.Raw().ExecContext(h.Ctx, `
			UPDATE river_job SET state = 'available', finalized_at = NULL, scheduled_at = $1
			WHERE kind = 'customer_receipt' AND state = $2::river_job_state`, time.Now(), from)
		h.OK(err)
	}
	testkit.Await(h, "the first email to fail", func() bool { return job("retryable") })
	if h.Count(`SELECT count(*) FROM customer_receipt`) != 0 {
		t.Error("what failed counts as sent")
	}
	again("retryable")
	testkit.Await(h, "the second one to end the job", func() bool { return job("cancelled") })
	again("cancelled")
	testkit.Await(h, "no third one", func() bool { return job("completed") })
	if n := sent.Load(); n != 2 {
		t.Errorf("%d emails, want 2", n)
	}
}
