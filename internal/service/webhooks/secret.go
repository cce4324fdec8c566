package webhooks

import (
	"context"
	"errors"
	"slices"
	"time"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/service/audit"
	"candor/internal/webhook"
)

// RestoreWindow is how long after a switch the former webhook secret can be
// restored (D36).
const RestoreWindow = 24 * time.Hour

// Secrets is how far an endpoint's secrets are in their rotation, without
// the secrets.
type Secrets struct {
	NextSince     *time.Time // when the next one was created, UTC; nil without one
	PreviousUntil *time.Time // until when the previous one can be restored, UTC; nil without one
}

var (
	errNoNextSecret = domain.Errorf(domain.CodeValidation,
		"There is no next webhook secret. Create one first; someone else may have switched to it or abandoned it.")
	errNoPreviousSecret = domain.Errorf(domain.CodeValidation,
		"There is no previous webhook secret to restore. It is erased 24 hours after the switch.")
	errUnreadable = domain.Errorf(domain.CodeValidation,
		"The previous webhook secret can’t be restored: the secret key that sealed it isn’t configured. Create a next secret and switch to it.")
	errCurrentUnreadable = domain.Errorf(domain.CodeValidation,
		"The webhook secret can’t be read: the secret key that sealed it isn’t configured, so deliveries wait. Ask us to configure it again, or create a next secret, add it to your server, and switch to it.")
	errNextInTheWay = domain.Errorf(domain.CodeValidation,
		"There is a next webhook secret, which restoring would replace. Abandon it first.")
	errNextThere = domain.Errorf(domain.CodeValidation,
		"There is a next webhook secret already, which the receiver may know. Switch to it or abandon it first.")
)

// Outdated reports that err refuses a change of secrets that another change came
// before. errors.Is would match every validation error.
func Outdated(err error) bool {
	return slices.Contains([]error{errNextThere, errNoNextSecret, errNoPreviousSecret}, err)
}

// CreateFirstSecret makes a scope's default endpoint with its secret.
func (s *Service) CreateFirstSecret(ctx context.Context, tx *db.Tx, scope domain.Scope) (secret string, err error) {
	secret = webhook.NewSecret()
	sealed := s.Ring.Seal(scope.SecretOwner(), []byte(secret))
	return secret, tx.InsertDefaultEndpoint(ctx, scope, sealed, s.Clock.Now())
}

// The use cases of this file are about an endpoint that is set up, nil for the default
// one, which has a secret without a URL, too. Error of all: not_found.

// Secrets returns how far the endpoint's secrets are in their rotation.
func (s *Service) Secrets(ctx context.Context, scope domain.Scope, endpoint *domain.EndpointID) (Secrets, error) {
	setting, err := s.DB.EndpointSecrets(ctx, scope, endpoint)
	if err != nil {
		return Secrets{}, missing(err, endpoint)
	}
	state := Secrets{NextSince: setting.NextSecretAt}
	if restorable(setting, s.Clock.Now()) {
		state.PreviousUntil = setting.PreviousSecretUntil
	}
	return state, nil
}

// missing is the error for an endpoint that there isn't.
func missing(err error, endpoint *domain.EndpointID) error {
	if endpoint == nil {
		return db.MissingAs(err, domain.ErrAccountNotFound)
	}
	return db.MissingAs(err, errEndpointNotFound)
}

// signingSecrets returns what the endpoint's webhooks are signed with now.
func (s *Service) signingSecrets(ctx context.Context, scope domain.Scope, endpoint *domain.EndpointID) ([]string, error) {
	secrets, err := delivery.SigningSecrets(ctx, s.DB, s.Ring, scope, endpoint)
	return secrets, missing(err, endpoint)
}

// restorable says whether the previous secret can be restored at now; past its
// time it can't, erased or not.
func restorable(w *db.EndpointSecrets, now time.Time) bool {
	return w.PreviousSecretUntil != nil && w.PreviousSecretUntil.After(now)
}

// ShownSecrets are an endpoint's webhook secrets as its staff may read them.
type ShownSecrets struct {
	Current string
	Next    string // "" without one
}

// ShowSecrets returns the endpoint's secrets, with an audit entry. The caller has just
// asked for the user's password. Error: validation_error if the key that sealed
// them isn't configured.
func (s *Service) ShowSecrets(ctx context.Context, scope domain.Scope, endpoint *domain.EndpointID,
	by domain.Actor) (ShownSecrets, error) {
	var shown ShownSecrets
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		setting, err := tx.EndpointSecrets(ctx, scope, endpoint)
		if err != nil {
			return missing(err, endpoint)
		}
		current, err := s.Ring.Open(scope.SecretOwner(), setting.Secret)
		if err != nil {
			return errCurrentUnreadable
		}
		shown = ShownSecrets{Current: string(current)}
		if setting.NextSecret != nil {
			next, err := s.Ring.Open(scope.SecretOwner(), setting.NextSecret)
			if err != nil {
				return errCurrentUnreadable
			}
			shown.Next = string(next)
		}
		return s.record(ctx, tx, scope, endpoint, by, audit.Entry{Action: domain.AuditSecretShown})
	})
	if err != nil {
		return ShownSecrets{}, err
	}
	return shown, nil
}

// CreateNextSecret creates the endpoint's next secret and returns it. Deliveries
// are still signed with the current one; webhook-signature has both (D35). As
// with every change of secrets, it is in force at each worker when the call
// returns, and at some of them before. With the context's error the secret is
// returned, too: it has been stored.
func (s *Service) CreateNextSecret(ctx context.Context, scope domain.Scope, endpoint *domain.EndpointID,
	by domain.Actor) (string, error) {
	secret := webhook.NewSecret()
	sealed := s.Ring.Seal(scope.SecretOwner(), []byte(secret))
	err := s.changeSecrets(ctx, scope, endpoint, by, domain.AuditSecretNext,
		func(tx *db.Tx) error { return tx.SetNextSecret(ctx, scope, endpoint, sealed, s.Clock.Now()) },
		func(*db.EndpointSecrets) error { return errNextThere })
	if err != nil {
		return "", err
	}
	return secret, s.inForce(ctx, nil)
}

// SwitchSecret makes the next secret the current one. The former one signs nothing
// more and can be restored for RestoreWindow. It replaces a secret that was kept
// from an earlier switch.
func (s *Service) SwitchSecret(ctx context.Context, scope domain.Scope, endpoint *domain.EndpointID, by domain.Actor) error {
	return s.inForce(ctx, s.changeSecrets(ctx, scope, endpoint, by, domain.AuditSecretSwitched,
		func(tx *db.Tx) error { return tx.SwitchSecret(ctx, scope, endpoint, s.Clock.Now().Add(RestoreWindow)) },
		func(*db.EndpointSecrets) error { return errNoNextSecret }))
}

// RestoreSecret makes the previous secret the current one again. The replaced one
// becomes the next one, so that the switch can be repeated after the receiver is
// fixed. A next secret that exists already must be abandoned first.
func (s *Service) RestoreSecret(ctx context.Context, scope domain.Scope, endpoint *domain.EndpointID, by domain.Actor) error {
	now := s.Clock.Now()
	setting, err := s.DB.EndpointSecrets(ctx, scope, endpoint)
	if err != nil {
		return missing(err, endpoint)
	}
	if restorable(setting, now) {
		// Deliveries couldn't be signed with it.
		if _, err := s.Ring.Open(scope.SecretOwner(), setting.PreviousSecret); err != nil {
			return errUnreadable
		}
	}
	return s.inForce(ctx, s.changeSecrets(ctx, scope, endpoint, by, domain.AuditSecretRestored,
		func(tx *db.Tx) error { return tx.RestoreSecret(ctx, scope, endpoint, now) },
		func(w *db.EndpointSecrets) error {
			if restorable(w, now) && w.NextSecret != nil {
				return errNextInTheWay
			}
			return errNoPreviousSecret
		}))
}

// AbandonNextSecret erases the next secret, which then signs nothing more.
func (s *Service) AbandonNextSecret(ctx context.Context, scope domain.Scope, endpoint *domain.EndpointID, by domain.Actor) error {
	return s.inForce(ctx, s.changeSecrets(ctx, scope, endpoint, by, domain.AuditSecretAbandoned,
		func(tx *db.Tx) error { return tx.AbandonNextSecret(ctx, scope, endpoint) },
		func(*db.EndpointSecrets) error { return errNoNextSecret }))
}

// changeSecrets makes a change, with an audit entry, or returns why it can't.
func (s *Service) changeSecrets(
	ctx context.Context, scope domain.Scope, endpoint *domain.EndpointID, by domain.Actor,
	step domain.AuditAction, change func(*db.Tx) error, why func(*db.EndpointSecrets) error,
) error {
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := change(tx); err != nil {
			return err
		}
		return s.record(ctx, tx, scope, endpoint, by, audit.Entry{Action: step})
	})
	if err == nil {
		s.Logger.InfoContext(ctx, "webhook secrets changed", "account_id", scope.AccountID, "livemode", scope.Livemode, "step", step)
		return nil
	}
	if !errors.Is(err, db.ErrState) {
		return err
	}
	setting, err := s.DB.EndpointSecrets(ctx, scope, endpoint)
	if err != nil {
		return missing(err, endpoint)
	}
	return why(setting)
}

// inForce waits after a change until no worker starts an attempt with the former
// secrets. If the context ends first, it returns the context's error; the change
// stands.
func (s *Service) inForce(ctx context.Context, changed error) error {
	if changed != nil {
		return changed
	}
	timer := time.NewTimer(s.SecretsLease)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
