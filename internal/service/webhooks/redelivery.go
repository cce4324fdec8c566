package webhooks

import (
	"context"
	"errors"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
)

// maxRunning is how many redeliveries of an account and mode run at once: each is a job that
// comes back until its endpoints have taken everything.
const maxRunning = 20

// maxListedRedeliveries is how many of the latest redeliveries are listed.
const maxListedRedeliveries = 100

// A RedeliveryPreview is what a redelivery would retry.
type RedeliveryPreview struct {
	Matched   int64             // deliveries
	Endpoints []domain.FailedAt // they go to, most first
	Waiting   int64             // others that match and wait for their next attempt
}

// PreviewRedelivery returns which deliveries StartRedelivery with the same filter and
// rate would make again now, and how many wait for their next attempt beside failed
// ones, both counted to limit and no further, 0 for all. Error: invalid_request.
func (s *Service) PreviewRedelivery(ctx context.Context, scope domain.Scope, f DeliveryFilter, rate,
	limit int) (RedeliveryPreview, error) {
	filter, err := s.resolveFailed(ctx, scope, f, rate)
	if err != nil {
		return RedeliveryPreview{}, err
	}
	var preview RedeliveryPreview
	if preview.Endpoints, err = s.DB.CountFailed(ctx, scope, filter, limit); err != nil {
		return preview, err
	}
	preview.Matched = sum(preview.Endpoints)
	if !filter.Failing {
		filter.State, filter.Failing = domain.DeliveryPending, true
		var waiting []domain.FailedAt
		waiting, err = s.DB.CountFailed(ctx, scope, filter, limit)
		preview.Waiting = sum(waiting)
	}
	return preview, err
}

func sum(at []domain.FailedAt) (n int64) {
	for _, e := range at {
		n += e.Count
	}
	return n
}

// StartRedelivery makes deliveries that match the filter again, at rate a second: all
// that failed, or with Failing those that are failing now (D107). Error:
// invalid_request, also if too many run.
func (s *Service) StartRedelivery(ctx context.Context, scope domain.Scope, f DeliveryFilter, rate int,
	by domain.Actor) (*domain.Redelivery, error) {
	filter, err := s.resolveFailed(ctx, scope, f, rate)
	if err != nil {
		return nil, err
	}
	return s.startRedelivery(ctx, scope, filter, rate, by)
}

func (s *Service) startRedelivery(ctx context.Context, scope domain.Scope, filter domain.DeliveryFilter, rate int,
	by domain.Actor) (*domain.Redelivery, error) {
	r := domain.NewRedelivery(scope, filter, rate, by.Name, s.Clock.Now())
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		running, err := tx.HoldRedeliveries(ctx, scope)
		if err == nil && running >= maxRunning {
			err = domain.Errorf(domain.CodeInvalidRequest, "%d retries are under way. Stop one, or wait until one has ended.", maxRunning)
		}
		if err != nil {
			return err
		}
		if err := tx.InsertRedelivery(ctx, r, filter); err != nil {
			return err
		}
		if err := s.Audit.Record(ctx, tx, scope.AccountID, by, redeliveryEntry(domain.AuditRedeliveryStarted, r)); err != nil {
			return err
		}
		return s.Outbox.Redeliver(ctx, tx, r.ID)
	})
	return r, err
}

// redeliveryEntry is an action on a redelivery: which deliveries it is about,
// and how far it has come.
func redeliveryEntry(action domain.AuditAction, r *domain.Redelivery) audit.Entry {
	about := map[string]any{"rate": r.Rate, "matched": r.Matched}
	for name, at := range map[string]*time.Time{"since": r.Since, "until": r.Until} {
		if at != nil {
			about[name] = at.UTC()
		}
	}
	if r.EndpointID != nil {
		about["endpoint"] = r.EndpointID.String()
	}
	if r.EventType != nil {
		about["type"] = *r.EventType
	}
	if r.Status != nil {
		about["status"] = *r.Status
	}
	if r.State != domain.RedeliveryRunning {
		about["requeued"] = r.Requeued
	}
	return audit.Entry{Action: action, Livemode: &r.Livemode, TargetID: r.ID.String(), TargetName: "redelivery", After: about}
}

// resolveFailed is resolve for the filter of a redelivery, and checks the rate.
func (s *Service) resolveFailed(ctx context.Context, scope domain.Scope, f DeliveryFilter, rate int) (domain.DeliveryFilter,
	error) {
	switch {
	case rate < domain.MinRedeliveryRate || rate > domain.MaxRedeliveryRate:
		return f.DeliveryFilter, domain.Breaks(domain.CodeInvalidRequest, "rate", form.Rule{Code: "rate", Min: domain.MinRedeliveryRate,
			Max: domain.MaxRedeliveryRate})
	case f.State != "" && f.State != domain.DeliveryFailed && (f.State != domain.DeliveryPending || !f.Failing):
		return f.DeliveryFilter, domain.Breaks(domain.CodeInvalidRequest, "state", form.Rule{Code: "failed_only"})
	case f.Since == nil:
		return f.DeliveryFilter, domain.Breaks(domain.CodeInvalidRequest, "since", form.Rule{Code: "since"})
	case f.Session != nil:
		return f.DeliveryFilter, domain.Breaks(domain.CodeInvalidRequest, "session", form.Rule{Code: "one_by_one"})
	}
	return s.resolve(ctx, scope, f)
}

// StopRedelivery stops a running redelivery and returns it. Deliveries that it has
// made pending follow the schedule. Errors: not_found, and invalid_request if it
// isn't running.
func (s *Service) StopRedelivery(ctx context.Context, scope domain.Scope, id domain.RedeliveryID,
	by domain.Actor) (stopped *domain.Redelivery, err error) {
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if stopped, err = tx.StopRedelivery(ctx, scope, id, s.Clock.Now()); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, scope.AccountID, by, redeliveryEntry(domain.AuditRedeliveryStopped, stopped))
	})
	if err == nil {
		return stopped, s.DB.ForgetRedeliveryItems(ctx, id)
	}
	if !errors.Is(err, db.ErrState) {
		return nil, err
	}
	r, err := s.Redelivery(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	return nil, domain.Errorf(domain.CodeInvalidRequest, "Only a running redelivery can be stopped; this one is %s.", r.State)
}

// RedeliveryOutcome says in which state how many deliveries are that one of
// the scope's redeliveries has made again: each up to domain.CountMost.
func (s *Service) RedeliveryOutcome(ctx context.Context, r *domain.Redelivery) (map[domain.DeliveryState]int, error) {
	return s.DB.RedeliveryOutcome(ctx, r.ID, domain.CountMost)
}

// Redelivery returns one of the scope's redeliveries, or not_found.
func (s *Service) Redelivery(ctx context.Context, scope domain.Scope, id domain.RedeliveryID) (*domain.Redelivery, error) {
	r, err := s.DB.Redelivery(ctx, scope, id)
	return r, db.MissingAs(err, domain.Errorf(domain.CodeNotFound, "There is no redelivery with this id in this account and mode."))
}

// RedeliveryScope returns the scope of a redelivery, or not_found: for
// operators, who may see every account's.
func (s *Service) RedeliveryScope(ctx context.Context, id domain.RedeliveryID) (domain.Scope, error) {
	scope, err := s.DB.RedeliveryScope(ctx, id)
	return scope, db.MissingAs(err, domain.Errorf(domain.CodeNotFound, "There is no redelivery with this id."))
}

// Redeliveries returns the scope's latest redeliveries, newest first.
func (s *Service) Redeliveries(ctx context.Context, scope domain.Scope) ([]domain.Redelivery, error) {
	return s.DB.Redeliveries(ctx, scope, maxListedRedeliveries)
}
