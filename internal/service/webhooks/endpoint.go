package webhooks

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
	"candor/internal/service/idempotency"
	"candor/internal/webhook"
)

const (
	maxDescription = 200 // characters
	maxEventTypes  = 50  // of a filter, as a request names them
	// cancelBatch is how many deliveries one statement cancels.
	cancelBatch = 5000
)

var errEndpointNotFound = domain.Errorf(domain.CodeNotFound,
	"There is no webhook endpoint with this id in this account and mode.")

// EndpointParams is what an endpoint is to be set up as. A nil field is left as it is.
type EndpointParams struct {
	URL         *string
	Description *string
	EventTypes  *[]domain.EventType // that it gets; empty for all
	Paused      *bool
}

// A NewEndpoint is an endpoint that was just set up, with its secret.
type NewEndpoint struct {
	domain.Endpoint
	Secret string
}

// SetUpEndpoints returns the scope's endpoints that are set up, the default one first
// (D109).
func (s *Service) SetUpEndpoints(ctx context.Context, scope domain.Scope) ([]domain.Endpoint, error) {
	return s.DB.EndpointsSetUp(ctx, scope)
}

// SetUpEndpoint returns one of the scope's endpoints that are set up, or not_found.
func (s *Service) SetUpEndpoint(ctx context.Context, scope domain.Scope, id domain.EndpointID) (*domain.Endpoint, error) {
	all, err := s.DB.EndpointsSetUp(ctx, scope)
	if err != nil {
		return nil, err
	}
	return find(all, id)
}

func find(all []domain.Endpoint, id domain.EndpointID) (*domain.Endpoint, error) {
	i := slices.IndexFunc(all, func(e domain.Endpoint) bool { return e.ID == id })
	if i < 0 {
		return nil, errEndpointNotFound
	}
	return &all[i], nil
}

// CreateEndpoint sets up an endpoint. It gets what happens after the commit. Errors:
// validation_error, and those of idempotency.Do.
func (s *Service) CreateEndpoint(
	ctx context.Context, scope domain.Scope, key *idempotency.Key[*NewEndpoint], by domain.Actor, params EndpointParams,
) (*NewEndpoint, error) {
	return idempotency.Do(ctx, s.Idempotency, scope, key, func(tx *db.Tx) (*NewEndpoint, error) {
		_, setUp, err := tx.LockEndpoints(ctx, scope)
		if err != nil {
			return nil, db.MissingAs(err, domain.ErrAccountNotFound)
		}
		e := &NewEndpoint{
			Endpoint: domain.Endpoint{ID: domain.NewEndpointID(), AccountID: scope.AccountID, Livemode: scope.Livemode,
				CreatedAt: s.Clock.Now()},
			Secret: webhook.NewSecret(),
		}
		if params.URL == nil {
			params.URL = new("")
		}
		if err := s.apply(&e.Endpoint, params); err != nil {
			return nil, err
		}
		if len(setUp) >= domain.MaxEndpoints {
			return nil, errTooManyEndpoints
		}
		if err := tx.InsertEndpoint(ctx, &e.Endpoint, s.Ring.Seal(scope.SecretOwner(), []byte(e.Secret))); err != nil {
			return nil, err
		}
		return e, s.record(ctx, tx, scope, &e.ID, by, audit.Entry{Action: domain.AuditEndpointCreated, After: about(&e.Endpoint)})
	})
}

// errTooManyEndpoints refuses the 21st.
var errTooManyEndpoints = domain.Breaks(domain.CodeValidation, "url", form.Rule{Code: "endpoint_count", Max: domain.MaxEndpoints})

// ChangeEndpoint changes what an endpoint is set up as. Pausing takes effect at each
// worker within delivery.SecretsLease; resuming sends what was held (D110). Errors:
// validation_error, not_found.
func (s *Service) ChangeEndpoint(
	ctx context.Context, scope domain.Scope, id domain.EndpointID, by domain.Actor, params EndpointParams,
) (changed *domain.Endpoint, err error) {
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		_, setUp, err := tx.LockEndpoints(ctx, scope)
		if err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		if changed, err = find(setUp, id); err != nil {
			return err
		}
		before := about(changed)
		if err := s.apply(changed, params); err != nil {
			return err
		}
		if err := tx.UpdateEndpoint(ctx, changed); err != nil {
			return err
		}
		tx.Announce(scope, domain.DeliveryChanged, nil)
		err = s.record(ctx, tx, scope, &id, by, audit.Entry{Action: domain.AuditEndpointChanged, Before: before, After: about(changed)})
		if err != nil || changed.PausedAt != nil {
			return err
		}
		return s.Outbox.Wake(ctx, tx, id)
	})
	return changed, err
}

// DeleteEndpoint deletes an endpoint and cancels what is pending there (D111). Error:
// not_found.
func (s *Service) DeleteEndpoint(ctx context.Context, scope domain.Scope, id domain.EndpointID, by domain.Actor) error {
	now := s.Clock.Now()
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		_, setUp, err := tx.LockEndpoints(ctx, scope)
		if err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		e, err := find(setUp, id)
		if err != nil {
			return err
		}
		if err := tx.DeleteEndpoint(ctx, id, now); err != nil {
			return err
		}
		return s.record(ctx, tx, scope, &id, by, audit.Entry{Action: domain.AuditEndpointDeleted, Before: about(e)})
	})
	if err == nil {
		_ = s.cancelPending(ctx, scope, id, now) // retention continues: the endpoint is gone
	}
	return err
}

// cancelPending cancels what is pending of before then at an endpoint that is deleted, in
// batches. If it breaks off, nothing of it is sent, and retention continues.
func (s *Service) cancelPending(ctx context.Context, scope domain.Scope, id domain.EndpointID, before time.Time) error {
	for {
		n, err := s.DB.CancelPending(ctx, scope, id, before, cancelBatch)
		if err != nil || n < cancelBatch {
			return err
		}
	}
}

// apply checks the params and sets the endpoint up as they say.
func (s *Service) apply(e *domain.Endpoint, params EndpointParams) error {
	var broken form.Errors
	if params.URL != nil {
		url := strings.TrimSpace(*params.URL)
		if err := s.Policy.CheckURL(url); err != nil {
			broken = append(broken, form.Error{Field: "url", Rule: form.Rule{Code: "target", Value: err.Error()}})
		}
		e.SetURL(url)
	}
	if params.Description != nil {
		text, rule := form.CleanLine(*params.Description, maxDescription)
		if rule != (form.Rule{}) {
			broken = append(broken, form.Error{Field: "description", Rule: rule})
		}
		e.Description = text
	}
	if params.EventTypes != nil {
		e.EventTypes = nil
		if len(*params.EventTypes) > maxEventTypes { // D121
			broken = append(broken, form.Error{Field: "event_types", Rule: form.Rule{Code: "event_types", Max: maxEventTypes}})
		}
		for i, t := range *params.EventTypes {
			if !slices.Contains(domain.EventTypes, t) {
				broken = append(broken, form.Error{Field: "event_types." + strconv.Itoa(i), Rule: form.Rule{Code: "event_type"}})
			} else if !slices.Contains(e.EventTypes, t) {
				e.EventTypes = append(e.EventTypes, t)
			}
		}
	}
	switch {
	case params.Paused == nil:
	case !*params.Paused:
		e.PausedAt = nil
	case e.PausedAt == nil:
		e.PausedAt = new(s.Clock.Now())
	}
	if broken != nil {
		return &domain.Error{Code: domain.CodeValidation, Fields: broken}
	}
	return nil
}

// about is what the audit log has of an endpoint.
func about(e *domain.Endpoint) map[string]any {
	out := map[string]any{"url": urlMark(*e.URL), "paused": e.PausedAt != nil}
	if e.Description != "" {
		out["description"] = e.Description
	}
	if e.EventTypes != nil {
		out["event_types"] = e.EventTypes
	}
	return out
}

// DefaultEndpoint returns the scope's default endpoint, whose URL is nil if there is no
// default URL (D33).
func (s *Service) DefaultEndpoint(ctx context.Context, scope domain.Scope) (*domain.Endpoint, error) {
	e, err := s.DB.DefaultEndpoint(ctx, scope)
	return e, db.MissingAs(err, domain.ErrAccountNotFound)
}

// DefaultURL returns the URL of the default endpoint, or "".
func (s *Service) DefaultURL(ctx context.Context, scope domain.Scope) (string, error) {
	e, err := s.DefaultEndpoint(ctx, scope)
	if err != nil || e.URL == nil {
		return "", err
	}
	return *e.URL, nil
}

// SetDefaultURL sets the default URL; "" deletes the default endpoint. Error:
// validation_error on url (D38).
func (s *Service) SetDefaultURL(ctx context.Context, scope domain.Scope, by domain.Actor, url string) error {
	e, err := s.DefaultEndpoint(ctx, scope)
	if err != nil {
		return err
	}
	now := s.Clock.Now()
	if e.Deleted() { // what is left from before its removal isn't sent once it has a URL again
		if err := s.cancelPending(ctx, scope, e.ID, now); err != nil {
			return err
		}
	}
	err = s.DB.InTx(ctx, func(tx *db.Tx) error { return s.SetDefaultURLIn(ctx, tx, scope, by, url) })
	if err == nil && strings.TrimSpace(url) == "" {
		_ = s.cancelPending(ctx, scope, e.ID, now) // retention continues: the endpoint is gone
	}
	return err
}

// SetDefaultURLIn is SetDefaultURL in the caller's transaction. It leaves to the caller
// to cancel what is pending at a deleted endpoint.
func (s *Service) SetDefaultURLIn(ctx context.Context, tx *db.Tx, scope domain.Scope, by domain.Actor, url string) error {
	url = strings.TrimSpace(url)
	if url != "" {
		if err := s.Policy.CheckURL(url); err != nil {
			return domain.Breaks(domain.CodeValidation, "url", form.Rule{Code: "target", Value: err.Error()})
		}
	}
	e, setUp, err := tx.LockEndpoints(ctx, scope)
	if err != nil {
		return db.MissingAs(err, domain.ErrAccountNotFound)
	}
	before := ""
	if e.URL != nil {
		before = *e.URL
	}
	switch {
	case url == "":
		err = tx.DeleteEndpoint(ctx, e.ID, s.Clock.Now())
	case e.URL == nil && len(setUp) >= domain.MaxEndpoints:
		return errTooManyEndpoints
	default:
		e.SetURL(url)
		err = tx.UpdateEndpoint(ctx, e)
	}
	if err != nil {
		return err
	}
	return s.record(ctx, tx, scope, nil, by, audit.Entry{
		Action: domain.AuditWebhookURL, Before: map[string]string{"url": urlMark(before)},
		After: map[string]string{"url": urlMark(url)},
	})
}

// urlMark is what the audit log, which keeps it for good, has of a webhook URL:
// paths and queries hold receivers' secrets. Its end tells one URL from another
// at the same origin. "" stays "".
func urlMark(url string) string {
	if url == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(url))
	return fmt.Sprintf("%s #%x", domain.Origin(url), sum[:4])
}
