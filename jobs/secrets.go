package jobs

import (
	"context"
	"fmt"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
)

// SecretsLease is how long after they were read secrets may sign an attempt.
// Whoever waits so long after a change of them knows that no attempt starts
// with the former ones any more, in whatever process (D36).
const SecretsLease = secretsAge + 500*time.Millisecond

// signingSecrets are what a scope's deliveries are signed with.
type signingSecrets struct {
	list   []string
	readAt time.Time // before the query, so never later than what they show
}

// SigningSecrets returns what a scope's deliveries are signed with now: the
// current secret and, while it is being rotated, the next one (D35).
func SigningSecrets(ctx context.Context, database *db.DB, ring *keyring.Keyring, scope domain.Scope) ([]string, error) {
	setting, err := database.WebhookSetting(ctx, scope)
	if err != nil {
		return nil, err
	}
	var secrets []string
	for _, sealed := range [][]byte{setting.Secret, setting.NextSecret} {
		if sealed == nil {
			continue
		}
		secret, err := ring.Open(scope.SecretOwner(), sealed)
		if err != nil {
			return nil, fmt.Errorf("jobs: webhook secret: %w", err)
		}
		secrets = append(secrets, string(secret))
	}
	return secrets, nil
}

// readSecrets reads the secrets that sign for the endpoint.
func (e *drain) readSecrets(ctx context.Context) (signingSecrets, error) {
	readAt := time.Now()
	scope := domain.Scope{AccountID: e.endpoint.AccountID, Livemode: e.endpoint.Livemode}
	list, err := SigningSecrets(ctx, e.db, e.ring, scope)
	return signingSecrets{list, readAt}, err
}

// sign returns the secrets for an attempt that starts now, and that now, which
// is taken before their age is, so that no attempt starts after their lease.
// One that was held up since the drain read them reads them again.
func (e *drain) sign(secrets signingSecrets) ([]string, time.Time, error) {
	for {
		now := e.clock.Now()
		if time.Since(secrets.readAt) <= SecretsLease {
			return secrets.list, now, nil
		}
		ctx, cancel := context.WithTimeout(e.attempts, queryTimeout)
		fresh, err := e.readSecrets(ctx)
		cancel()
		if err != nil {
			return nil, now, err
		}
		secrets = fresh
	}
}
