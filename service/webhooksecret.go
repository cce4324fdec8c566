package service

import (
	"context"
	"errors"
	"time"

	"candor/db"
	"candor/intake"
	"candor/jobs"
	"candor/webhook"
)

// RestoreWindow is how long after a switch the former webhook secret can be
// restored (D36).
const RestoreWindow = 24 * time.Hour

// WebhookSecrets is how far a scope's secrets are in their rotation, without
// the secrets.
type WebhookSecrets struct {
	NextSince     *time.Time // when the next one was created, UTC; nil without one
	PreviousUntil *time.Time // until when the previous one can be restored, UTC; nil without one
}

var (
	errNoNextSecret     = intake.Errorf(intake.CodeValidation, "There is no next webhook secret. Create one first; someone else may have switched to it or abandoned it.")
	errNoPreviousSecret = intake.Errorf(intake.CodeValidation, "There is no previous webhook secret to restore. It is erased 24 hours after the switch.")
	errNextInTheWay     = intake.Errorf(intake.CodeValidation, "There is a next webhook secret, which restoring would replace. Abandon it first.")
	errSecretsChanged   = intake.Errorf(intake.CodeValidation, "Someone else has changed the webhook secrets at the same time. Look at them and try again.")
	errAccountNotFound  = intake.Errorf(intake.CodeNotFound, "There is no account with this id.")
)

// WebhookSecrets returns how far the scope's secrets are in their rotation.
func (s *Service) WebhookSecrets(ctx context.Context, scope intake.Scope) (WebhookSecrets, error) {
	setting, err := s.DB.WebhookSetting(ctx, scope)
	if err != nil {
		return WebhookSecrets{}, orCode(err, errAccountNotFound)
	}
	state := WebhookSecrets{NextSince: setting.NextSecretAt}
	if restorable(setting, s.Clock.Now()) {
		state.PreviousUntil = setting.PreviousSecretUntil
	}
	return state, nil
}

// restorable says whether the previous secret can be restored at now; past its
// time it can't, erased or not.
func restorable(w *db.WebhookSetting, now time.Time) bool {
	return w.PreviousSecretUntil != nil && w.PreviousSecretUntil.After(now)
}

// NextWebhookSecret creates the scope's next secret, in place of a next one
// from before, and returns it: it is shown this once. Deliveries are still
// signed with the current one; webhook-signature has both (D35). As with every
// change of secrets, it is in force at each worker when the call returns, and
// at some of them before.
func (s *Service) NextWebhookSecret(ctx context.Context, scope intake.Scope) (string, error) {
	setting, err := s.DB.WebhookSetting(ctx, scope)
	if err != nil {
		return "", orCode(err, errAccountNotFound)
	}
	secret := webhook.NewSecret()
	sealed := s.Ring.Seal(scope.SecretOwner(), []byte(secret))
	if err := s.DB.SetNextSecret(ctx, scope, setting.NextSecret, sealed, s.Clock.Now()); err != nil {
		return "", orCode(err, errSecretsChanged)
	}
	return secret, s.inForce(ctx)
}

// SwitchWebhookSecret makes the next secret the current one. The former one
// signs nothing any more and can be restored for RestoreWindow; one that was
// kept from an earlier switch is forgotten.
func (s *Service) SwitchWebhookSecret(ctx context.Context, scope intake.Scope) error {
	return s.changeSecrets(ctx, scope, s.DB.SwitchSecret(ctx, scope, s.Clock.Now().Add(RestoreWindow)),
		func(*db.WebhookSetting) error { return errNoNextSecret })
}

// RestoreWebhookSecret makes the previous secret the current one again. The
// one it replaces becomes the next one, so that the switch can be made again
// once the receiver is mended; where there is a next one already, that must be
// abandoned first.
func (s *Service) RestoreWebhookSecret(ctx context.Context, scope intake.Scope) error {
	now := s.Clock.Now()
	return s.changeSecrets(ctx, scope, s.DB.RestoreSecret(ctx, scope, now), func(w *db.WebhookSetting) error {
		if restorable(w, now) && w.NextSecret != nil {
			return errNextInTheWay
		}
		return errNoPreviousSecret
	})
}

// AbandonNextWebhookSecret erases the next secret; nothing is signed with it
// any more.
func (s *Service) AbandonNextWebhookSecret(ctx context.Context, scope intake.Scope) error {
	return s.changeSecrets(ctx, scope, s.DB.AbandonNextSecret(ctx, scope),
		func(*db.WebhookSetting) error { return errNoNextSecret })
}

// changeSecrets waits for a change to be in force, or says why it couldn't be
// made.
func (s *Service) changeSecrets(ctx context.Context, scope intake.Scope, changed error, why func(*db.WebhookSetting) error) error {
	if !errors.Is(changed, db.ErrNotFound) {
		if changed != nil {
			return changed
		}
		return s.inForce(ctx)
	}
	setting, err := s.DB.WebhookSetting(ctx, scope)
	if err != nil {
		return orCode(err, errAccountNotFound)
	}
	return why(setting)
}

// inForce waits until no worker starts an attempt with the secrets from before
// a change that was committed. Whoever doesn't wait for it gets the context's
// error; the change stands.
func (s *Service) inForce(ctx context.Context) error {
	timer := time.NewTimer(jobs.SecretsLease)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
