// Package outbox records what leaves Candor in the transaction that causes it:
// an event, its delivery, and the jobs that follow. A rollback takes all of it
// back, and a commit loses none of it. It knows neither River nor HTTP: the
// delivery package sends what is recorded here, and the jobs package runs the
// jobs.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/tracing"
)

// Jobs inserts jobs in the caller's transaction. jobs.Inserter implements it.
// It is an interface because a job's arguments and its worker stand in one file
// of package jobs, and workers import this package.
type Jobs interface {
	// Wake tells the dispatchers that an endpoint has a delivery due.
	Wake(ctx context.Context, tx *db.Tx, id domain.EndpointID) error
	// Redeliver starts the steps of a stored redelivery.
	Redeliver(ctx context.Context, tx *db.Tx, id domain.RedeliveryID) error
	// PDF draws a completed session's PDF.
	PDF(ctx context.Context, tx *db.Tx, id domain.SessionID) error
	// ReceiptToCustomer tells a session's customer that the statement arrived (D83).
	ReceiptToCustomer(ctx context.Context, tx *db.Tx, id domain.SessionID, language domain.Language) error
	// LinkEmail looks which email with a session's link is due, and sends it (D103).
	LinkEmail(ctx context.Context, tx *db.Tx, id domain.SessionID) error
	// RequestEmail sends the email that proves a sign-up or a password reset.
	RequestEmail(ctx context.Context, tx *db.Tx, id domain.StaffRequestID) error
	// InvitationEmail sends an invitation to a team.
	InvitationEmail(ctx context.Context, tx *db.Tx, id domain.InvitationID) error
	// NoticeEmail tells a staff user of a change.
	NoticeEmail(ctx context.Context, tx *db.Tx, staff domain.StaffID, n domain.StaffNotice) error
	// AlertEmail sends an alert to a staff user.
	AlertEmail(ctx context.Context, tx *db.Tx, alert domain.AlertID, staff domain.StaffID) error
	// InvoiceEmail sends a new invoice to the billing address.
	InvoiceEmail(ctx context.Context, tx *db.Tx, id domain.InvoiceID) error
	// ReceiptEmail tells the billing address that the invoice is paid.
	ReceiptEmail(ctx context.Context, tx *db.Tx, id domain.InvoiceID) error
	// ReminderEmail tells the billing address that the invoice is due soon.
	ReminderEmail(ctx context.Context, tx *db.Tx, id domain.InvoiceID) error
	// PaymentFailedEmail tells the billing address that the invoice's latest
	// payment failed.
	PaymentFailedEmail(ctx context.Context, tx *db.Tx, i *domain.Invoice) error
	// SpendEmail tells the billing address that the period has come to an amount of
	// the account's own, or to its spend cap.
	SpendEmail(ctx context.Context, tx *db.Tx, n domain.SpendNotice) error
	// UsageEmail tells the billing address how many percent of the plan are used.
	UsageEmail(ctx context.Context, tx *db.Tx, account domain.AccountID, percent int) error
}

// An Observer counts what happens. It must not block.
type Observer interface {
	// EventRecorded is called when an event has committed.
	EventRecorded(t domain.EventType)
}

// Outbox records events and inserts jobs. It is safe for concurrent use.
type Outbox struct {
	Jobs
	observer Observer
}

// New returns an Outbox. The observer may be nil.
func New(jobs Jobs, observer Observer) *Outbox {
	return &Outbox{Jobs: jobs, observer: observer}
}

// SessionEvent records what happened to a session at now. The event goes to the
// session's webhook URL, or else to the account's default URL (D33). Without
// either, the event is recorded and not sent.
func (o *Outbox) SessionEvent(ctx context.Context, tx *db.Tx, s *domain.Session, p domain.Payload, now time.Time) error {
	url := s.WebhookURL
	if url == nil {
		var err error
		if url, err = defaultURL(ctx, tx, s.Scope()); err != nil {
			return err
		}
	}
	_, err := o.record(ctx, tx, s.Scope(), &s.ID, p, url, now)
	return err
}

// Expired records that the session has just been made expired.
func (o *Outbox) Expired(ctx context.Context, tx *db.Tx, s *domain.Session, now time.Time) error {
	return o.SessionEvent(ctx, tx, s, domain.NewExpiredPayload(s), now)
}

// BillingEvent records what happened to an account's billing at now. The event
// goes to the live default URL (D33).
func (o *Outbox) BillingEvent(ctx context.Context, tx *db.Tx, account domain.AccountID, p domain.Payload, now time.Time) error {
	_, err := o.billingEvent(ctx, tx, domain.Scope{AccountID: account, Livemode: true}, p, now)
	return err
}

// SimulatedBillingEvent records a billing event of test mode, where nothing is
// billed, and returns its number. It goes to the test default URL (D60).
func (o *Outbox) SimulatedBillingEvent(ctx context.Context, tx *db.Tx, account domain.AccountID, p domain.Payload,
	now time.Time) (sequence int64, err error) {
	return o.billingEvent(ctx, tx, domain.Scope{AccountID: account}, p, now)
}

func (o *Outbox) billingEvent(ctx context.Context, tx *db.Tx, scope domain.Scope, p domain.Payload,
	now time.Time) (sequence int64, err error) {
	url, err := defaultURL(ctx, tx, scope)
	if err != nil {
		return 0, err
	}
	return o.record(ctx, tx, scope, nil, p, url, now)
}

func defaultURL(ctx context.Context, tx *db.Tx, scope domain.Scope) (*string, error) {
	setting, err := tx.WebhookSetting(ctx, scope)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return setting.DefaultURL, nil
}

// record stores the event and, with a url, its delivery, and returns the event's
// number. It takes the event's
// number as late as it can: the number's row is locked until the commit, and the
// scope's other events wait for it.
func (o *Outbox) record(ctx context.Context, tx *db.Tx, scope domain.Scope, session *domain.SessionID, p domain.Payload,
	url *string, now time.Time) (sequence int64, err error) {
	var endpoint *domain.EndpointID
	id := domain.NewDeliveryID()
	if url != nil {
		to, err := o.endpoint(tracing.About(ctx, id.String()), tx, scope, *url, now)
		if err != nil {
			return 0, err
		}
		endpoint = &to
	}
	sequence, err = tx.NextSequence(ctx, scope)
	if err != nil {
		return 0, err
	}
	event, err := domain.NewEvent(scope, session, sequence, p, now)
	if err != nil {
		return 0, fmt.Errorf("outbox: event body: %w", err)
	}
	event.URL, event.EndpointID = url, endpoint
	topics := domain.EventRecorded | domain.SessionChanged
	if session == nil {
		topics = domain.EventRecorded | domain.InvoiceChanged
	}
	tx.Announce(scope, topics, session)
	if o.observer != nil {
		tx.AfterCommit(func() { o.observer.EventRecorded(event.Type) })
	}
	if err := tx.InsertEvent(ctx, event); err != nil || url == nil {
		return sequence, err
	}
	delivery := domain.NewDelivery(event, *endpoint, *url, now)
	delivery.ID = id
	return sequence, tx.InsertDelivery(ctx, delivery)
}

// MissingDelivery stores the delivery of an event that has a URL and no
// delivery. The delivery keeps the event's time, by which lists are ordered.
func (o *Outbox) MissingDelivery(ctx context.Context, tx *db.Tx, event *domain.Event, now time.Time) error {
	id := domain.NewDeliveryID()
	endpoint, err := o.endpoint(tracing.About(ctx, id.String()), tx, domain.Scope{AccountID: event.AccountID,
		Livemode: event.Livemode}, *event.URL, now)
	if err != nil {
		return err
	}
	delivery := domain.NewDelivery(event, endpoint, *event.URL, now)
	delivery.ID = id
	delivery.CreatedAt = event.CreatedAt
	return tx.InsertDelivery(ctx, delivery)
}

// endpoint returns the url's endpoint, which the commit wakes.
func (o *Outbox) endpoint(ctx context.Context, tx *db.Tx, scope domain.Scope, url string, now time.Time) (domain.EndpointID,
	error) {
	id, err := tx.EndpointFor(ctx, scope, domain.Origin(url), now)
	if err != nil {
		return id, err
	}
	return id, o.Wake(ctx, tx, id)
}
