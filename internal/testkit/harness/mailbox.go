package harness

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/testkit"
	"candor/internal/testkit/page"
	"candor/internal/webhook"
	"candor/jobs"
)

// A Mailbox takes the emails that the harness's workers send.
type Mailbox struct {
	*Harness
	Sent chan mail.Message
}

// Send takes an email.
func (m *Mailbox) Send(ctx context.Context, email mail.Message) error {
	if err := email.Claimed(ctx); err != nil {
		return err
	}
	m.Sent <- email
	return nil
}

// Mailbox sets real workers to work, whose emails it takes, until the test
// ends.
func (h *Harness) Mailbox() *Mailbox {
	h.Helper()
	m := &Mailbox{Harness: h, Sent: make(chan mail.Message, 100)}
	h.Workers(m)
	return m
}

// Workers sets real workers to work, whose emails the sender gets, until the test ends.
func (h *Harness) Workers(sender mail.Sender) {
	h.Helper()
	client := webhook.NewClient(webhook.Policy{})
	dispatcher := delivery.New(delivery.Config{
		DB: h.DB, Ring: h.Service.Ring, Client: client, Schedule: webhook.DefaultSchedule(), Clock: h.Clock.Now,
		Logger: h.Service.Logger, PollEvery: time.Hour,
	})
	w, err := jobs.NewWorker(h.Context(), jobs.Config{
		DB: h.DB, DSN: h.DSN, Outbox: h.Service.Outbox, Dispatcher: dispatcher, Ring: h.Service.Ring, Blobs: h.Service.Blobs,
		Mail: sender, BaseURL: BaseURL, Clock: h.Clock.Now, Logger: h.Service.Logger, SweepEvery: time.Hour, RescueAfter: time.Minute,
		PDFWorkers: 1,
		Fonts:      Fonts(), Terms: h.Service.Billing.Ledger.Terms,
	})
	h.OK(err)
	h.OK(w.Start(h.Context()))
	dispatcher.Start()
	h.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		dispatcher.Stop(ctx)
		if err := w.Stop(ctx); err != nil {
			h.Errorf("stop the workers: %v", err)
		}
	})
}

// LookAtEmails has the workers look which email with the session's link is due at a time
// (D103), which is now from here on, and waits until they have. An email that was under way
// is one of the time before.
func (h *Harness) LookAtEmails(id domain.SessionID, at time.Time) {
	h.Helper()
	h.AwaitLinkEmails()
	h.Clock.Set(at)
	h.OK(h.DB.InTx(h.Context(), func(tx *db.Tx) error { return h.Service.Outbox.LinkEmail(h.Context(), tx, id) }))
	h.AwaitLinkEmails()
}

// AwaitLinkEmails waits until no email with a link is under way.
func (h *Harness) AwaitLinkEmails() {
	h.Helper()
	testkit.Await(h, "some emails with links are never looked at", func() bool {
		return QueryOne[int](h, `SELECT count(*) FROM river_job WHERE kind = 'session_email' AND state <> 'completed'`) == 0
	})
}

// Email waits for the next email, which must be to that address and have
// that subject.
func (m *Mailbox) Email(to, subject string) mail.Message {
	m.Helper()
	select {
	case email := <-m.Sent:
		if email.To != to || email.Subject != subject {
			m.Fatalf("email to %s: %q, want one to %s: %q", email.To, email.Subject, to, subject)
		}
		return email
	case <-time.After(time.Minute):
		m.Fatalf("no email to %s came: %q", to, subject)
		return mail.Message{}
	}
}

// Idle waits until all requested emails are sent, and fails on one that wasn't
// taken.
func (m *Mailbox) Idle() {
	m.Helper()
	testkit.Await(m, "some emails are never sent", func() bool {
		return QueryOne[int](m.Harness,
			`SELECT count(*) FROM river_job WHERE kind IN ('staff_letter', 'billing_letter', 'customer_receipt', 'session_email') AND state <> 'completed'`) == 0
	})
	select {
	case email := <-m.Sent:
		m.Errorf("unexpected email to %s: %q", email.To, email.Subject)
	default:
	}
}

// LinkInEmail finds the link in an email's text.
var LinkInEmail = regexp.MustCompile(regexp.QuoteMeta(BaseURL) + `(/dashboard/\S+)`)

// Link is the path that an email's link leads to; its HTML says the same.
func (m *Mailbox) Link(email mail.Message) string {
	m.Helper()
	found := LinkInEmail.FindStringSubmatch(email.Text)
	if found == nil || !slices.Contains(page.Read(m, email.HTML).Leads(""), found[0]) {
		m.Fatalf("no link, or not the same one in text and HTML:\n%s\n%s", email.Text, email.HTML)
	}
	return found[1]
}

// TokenOf is the last part of a link.
func TokenOf(link string) string { return link[strings.LastIndex(link, "/")+1:] }
