// Package jobs is the work done outside requests: webhook deliveries, PDFs,
// expiry, retention and upkeep, as River jobs. One file holds a job's
// arguments, worker and retry. It knows nothing of HTTP requests or pages.
//
// Jobs are inserted through database/sql in the transaction that causes them,
// and worked off on pgx, whose LISTEN starts them within milliseconds.
package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
)

// notifyCooldown is how long the inserting client stays silent after it has
// notified the workers. A job inserted within it waits for their next poll, so
// it is the least that River allows: the commits that are many, new sessions,
// insert no job.
const notifyCooldown = time.Millisecond

// Enqueuer inserts jobs and records events in the caller's transaction, so
// that nothing is sent of what did not happen, and nothing that did is lost.
type Enqueuer struct {
	client   *river.Client[*sql.Tx]
	observer Observer
}

// NewEnqueuer returns an Enqueuer on the database; the observer, nil for none,
// is told of each event.
func NewEnqueuer(database *db.DB, logger *slog.Logger, observer Observer) (*Enqueuer, error) {
	client, err := river.NewClient(database.JobDriver(), &river.Config{
		FetchCooldown: notifyCooldown,
		Logger:        logger,
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: client for inserting: %w", err)
	}
	return &Enqueuer{client: client, observer: observed(observer)}, nil
}

// insert adds a job to the transaction and returns its number.
func (e *Enqueuer) insert(ctx context.Context, tx *db.Tx, args river.JobArgs) (int64, error) {
	return tx.InsertJob(ctx, e.client, args)
}

// SessionEvent records what happened to a session at now and sends it to the
// session's webhook URL, or else to the account's default one (D33). With
// neither, the event is recorded and nothing is sent.
func (e *Enqueuer) SessionEvent(ctx context.Context, tx *db.Tx, s *domain.Session, p domain.Payload, now time.Time) error {
	url := s.WebhookURL
	if url == nil {
		var err error
		if url, err = defaultURL(ctx, tx, s.Scope()); err != nil {
			return err
		}
	}
	return e.send(ctx, tx, s.Scope(), &s.ID, p, url, now)
}

// BillingEvent records what happened to an account's billing at now and sends
// it to the live default URL (D33).
func (e *Enqueuer) BillingEvent(ctx context.Context, tx *db.Tx, account domain.AccountID, p domain.Payload, now time.Time) error {
	scope := domain.Scope{AccountID: account, Livemode: true}
	url, err := defaultURL(ctx, tx, scope)
	if err != nil {
		return err
	}
	return e.send(ctx, tx, scope, nil, p, url, now)
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

// send stores the event and, with a url, its delivery and the job that wakes
// the dispatcher. The event's number is taken last but for the inserts, since
// it holds up the scope's other events until the commit.
func (e *Enqueuer) send(ctx context.Context, tx *db.Tx, scope domain.Scope, session *domain.SessionID, p domain.Payload, url *string, now time.Time) error {
	var endpoint *domain.EndpointID
	if url != nil {
		id, err := e.endpoint(ctx, tx, scope, *url, now)
		if err != nil {
			return err
		}
		endpoint = &id
	}
	sequence, err := tx.NextSequence(ctx, scope)
	if err != nil {
		return err
	}
	event, err := domain.NewEvent(scope, session, sequence, p, now)
	if err != nil {
		return fmt.Errorf("jobs: event body: %w", err)
	}
	event.URL, event.EndpointID = url, endpoint
	tx.AfterCommit(func() { e.observer.EventRecorded(event.Type) })
	if err := tx.InsertEvent(ctx, event); err != nil || url == nil {
		return err
	}
	return tx.InsertDelivery(ctx, domain.NewDelivery(event, *endpoint, *url, now))
}

// deliver makes the delivery of an event that has none.
func (e *Enqueuer) deliver(ctx context.Context, tx *db.Tx, event *domain.Event, now time.Time) error {
	endpoint, err := e.endpoint(ctx, tx, domain.Scope{AccountID: event.AccountID, Livemode: event.Livemode}, *event.URL, now)
	if err != nil {
		return err
	}
	delivery := domain.NewDelivery(event, endpoint, *event.URL, now)
	delivery.CreatedAt = event.CreatedAt // lists go by when it happened
	return tx.InsertDelivery(ctx, delivery)
}

// endpoint returns where the url leads, and has it woken at the commit.
func (e *Enqueuer) endpoint(ctx context.Context, tx *db.Tx, scope domain.Scope, url string, now time.Time) (domain.EndpointID, error) {
	id, err := tx.EndpointFor(ctx, scope, domain.Origin(url), now)
	if err != nil {
		return id, err
	}
	_, err = e.insert(ctx, tx, wakeArgs{EndpointID: id})
	return id, err
}

// PDF asks for a completed session's PDF.
func (e *Enqueuer) PDF(ctx context.Context, tx *db.Tx, id domain.SessionID) error {
	_, err := e.insert(ctx, tx, pdfArgs{SessionID: id})
	return err
}
