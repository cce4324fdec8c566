// Package outbox records what leaves Candor in the transaction that causes it:
// an event, its delivery, and the jobs that follow. A rollback takes all of it
// back, and a commit loses none of it. It knows neither River nor HTTP: the
// delivery package sends what is recorded here, and the jobs package runs the
// jobs.
package outbox

import (
	"context"
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
	// Wake tells the dispatchers that endpoints have a delivery due.
	Wake(ctx context.Context, tx *db.Tx, id domain.EndpointID, others ...domain.EndpointID) error
	// Redeliver starts the steps of a stored redelivery.
	Redeliver(ctx context.Context, tx *db.Tx, id domain.RedeliveryID) error
	// PDF draws a completed session's PDF.
	PDF(ctx context.Context, tx *db.Tx, id domain.SessionID) error
	// ReceiptToCustomer tells a session's customer that the statement arrived (D83).
	ReceiptToCustomer(ctx context.Context, tx *db.Tx, id domain.SessionID, language domain.Language) error
	// SendLink sends a session's link that was asked for now (D103).
	SendLink(ctx context.Context, tx *db.Tx, session *domain.Session) error
	// LinkEmail looks which email with a session's link is due, and sends it after those.
	LinkEmail(ctx context.Context, tx *db.Tx, id domain.SessionID) error
	// RequestEmail sends the email that proves a sign-up or a password reset.
	RequestEmail(ctx context.Context, tx *db.Tx, id domain.StaffRequestID) error
	// InvitationEmail sends an invitation to a team.
	InvitationEmail(ctx context.Context, tx *db.Tx, id domain.InvitationID) error
	// NoticeEmail tells a staff user of a change.
	NoticeEmail(ctx context.Context, tx *db.Tx, staff domain.StaffID, n domain.StaffNotice) error
	// AccessEmail tells an owner what a colleague asks for.
	AccessEmail(ctx context.Context, tx *db.Tx, owner, asker domain.StaffID, wanted domain.Capability) error
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
// session's webhook URL, or else to the account's endpoints that want its type (D33,
// D109). Without any, the event is recorded and not sent.
func (o *Outbox) SessionEvent(ctx context.Context, tx *db.Tx, s *domain.Session, p domain.Payload, now time.Time) error {
	_, err := o.record(ctx, tx, s.Scope(), s, p, now)
	return err
}

// Expired records that the session has just been made expired.
func (o *Outbox) Expired(ctx context.Context, tx *db.Tx, s *domain.Session, now time.Time) error {
	return o.SessionEvent(ctx, tx, s, domain.NewExpiredPayload(s), now)
}

// BillingEvent records what happened to an account's billing at now. The event
// goes to the live endpoints that want its type (D33).
func (o *Outbox) BillingEvent(ctx context.Context, tx *db.Tx, account domain.AccountID, p domain.Payload, now time.Time) error {
	_, err := o.record(ctx, tx, domain.Scope{AccountID: account, Livemode: true}, nil, p, now)
	return err
}

// SimulatedBillingEvent records a billing event of test mode, where nothing is
// billed, and returns its number. It goes to the endpoints of test mode (D60).
func (o *Outbox) SimulatedBillingEvent(ctx context.Context, tx *db.Tx, account domain.AccountID, p domain.Payload,
	now time.Time) (sequence int64, err error) {
	return o.record(ctx, tx, domain.Scope{AccountID: account}, nil, p, now)
}

// record stores the event and its deliveries, and returns the event's number. It takes
// the number as late as it can: the number's row is locked until the commit, and the
// scope's other events wait for it.
func (o *Outbox) record(ctx context.Context, tx *db.Tx, scope domain.Scope, session *domain.Session, p domain.Payload,
	now time.Time) (sequence int64, err error) {
	var about *domain.SessionID
	var own *string
	topics := domain.EventRecorded | domain.InvoiceChanged
	if session != nil {
		about, own, topics = &session.ID, session.WebhookURL, domain.EventRecorded|domain.SessionChanged
	}
	to, err := o.destinations(ctx, tx, scope, own, domain.TypeOf(p), now)
	if err != nil {
		return 0, err
	}
	first := domain.NewDeliveryID()
	if err := o.wake(tracing.About(ctx, first.String()), tx, to); err != nil {
		return 0, err
	}
	sequence, err = tx.NextSequence(ctx, scope)
	if err != nil {
		return 0, err
	}
	event, err := domain.NewEvent(scope, about, sequence, p, now)
	if err != nil {
		return 0, fmt.Errorf("outbox: event body: %w", err)
	}
	tx.Announce(scope, topics, about)
	if o.observer != nil {
		tx.AfterCommit(func() { o.observer.EventRecorded(event.Type) })
	}
	if len(to) == 0 {
		return sequence, tx.InsertEvent(ctx, event)
	}
	event.URL, event.EndpointID = &to[0].URL, &to[0].ID
	if err := tx.InsertEvent(ctx, event); err != nil {
		return sequence, err
	}
	deliveries := make([]*domain.Delivery, len(to))
	for i, d := range to {
		deliveries[i] = domain.NewDelivery(event, d.ID, d.URL, now)
	}
	deliveries[0].ID = first
	return sequence, tx.InsertDelivery(ctx, deliveries[0], deliveries[1:]...)
}

// destinations are where an event goes: to a session's own URL, or to the scope's
// endpoints that want its type.
func (o *Outbox) destinations(
	ctx context.Context, tx *db.Tx, scope domain.Scope, own *string, t domain.EventType, now time.Time,
) ([]db.Destination, error) {
	if own == nil {
		return tx.Destinations(ctx, scope, t)
	}
	id, err := tx.EndpointFor(ctx, scope, domain.Origin(*own), now)
	return []db.Destination{{ID: id, URL: *own}}, err
}

// wake makes the commit wake the endpoints.
func (o *Outbox) wake(ctx context.Context, tx *db.Tx, to []db.Destination) error {
	if len(to) == 0 {
		return nil
	}
	var others []domain.EndpointID
	for _, d := range to[1:] {
		others = append(others, d.ID)
	}
	return o.Wake(ctx, tx, to[0].ID, others...)
}

// MissingDelivery stores the first delivery of an event that has a URL and no
// delivery. The delivery keeps the event's time, by which lists are ordered.
func (o *Outbox) MissingDelivery(ctx context.Context, tx *db.Tx, event *domain.Event, now time.Time) error {
	scope := domain.Scope{AccountID: event.AccountID, Livemode: event.Livemode}
	var endpoint domain.EndpointID
	if event.EndpointID != nil {
		endpoint = *event.EndpointID
	} else {
		var err error
		if endpoint, err = tx.EndpointFor(ctx, scope, domain.Origin(*event.URL), now); err != nil {
			return err
		}
	}
	delivery := domain.NewDelivery(event, endpoint, *event.URL, now)
	delivery.CreatedAt = event.CreatedAt
	if err := o.Wake(tracing.About(ctx, delivery.ID.String()), tx, endpoint); err != nil {
		return err
	}
	return tx.InsertDelivery(ctx, delivery)
}
