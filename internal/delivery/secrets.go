package delivery

import (
	"context"
	"fmt"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
)

// SecretsLease is how long secrets may sign attempts after they were read. This
// long after a change of secrets, no process starts an attempt with the former
// ones (D36).
const SecretsLease = secretsAge + 500*time.Millisecond

// signingSecrets are what an endpoint's deliveries are signed with.
type signingSecrets struct {
	list   []string
	readAt time.Time // before the query, so the secrets are never older
}

// SigningSecrets returns what an endpoint's deliveries are signed with now, the default
// one's for nil: the current secret and, while it is being rotated, the next one (D35).
func SigningSecrets(ctx context.Context, database *db.DB, ring *keyring.Keyring, scope domain.Scope,
	endpoint *domain.EndpointID) ([]string, error) {
	stored, err := database.EndpointSecrets(ctx, scope, endpoint)
	if err != nil {
		return nil, err
	}
	return openSecrets(ring, scope, stored)
}

func openSecrets(ring *keyring.Keyring, scope domain.Scope, stored *db.EndpointSecrets) ([]string, error) {
	var secrets []string
	for _, sealed := range [][]byte{stored.Secret, stored.NextSecret} {
		if sealed == nil {
			continue
		}
		secret, err := ring.Open(scope.SecretOwner(), sealed)
		if err != nil {
			return nil, fmt.Errorf("delivery: webhook secret: %w", err)
		}
		secrets = append(secrets, string(secret))
	}
	return secrets, nil
}

// readSecrets reads the endpoint's secrets.
func (w *endpointWorker) readSecrets(ctx context.Context) (signingSecrets, error) {
	readAt := time.Now()
	scope := domain.Scope{AccountID: w.endpoint.AccountID, Livemode: w.endpoint.Livemode}
	stored, err := w.db.SigningSecrets(ctx, scope, w.id)
	if err != nil {
		return signingSecrets{}, err
	}
	list, err := openSecrets(w.ring, scope, stored)
	return signingSecrets{list, readAt}, err
}

// sign returns the secrets for an attempt that starts now, and that now. It
// reads the clock before it checks the secrets' age, so no attempt starts after
// SecretsLease. If the attempt was held up for longer, it reads them again.
func (w *endpointWorker) sign(secrets signingSecrets) ([]string, time.Time, error) {
	for {
		now := w.clock.Now()
		if time.Since(secrets.readAt) <= SecretsLease {
			return secrets.list, now, nil
		}
		ctx, cancel := context.WithTimeout(w.attempts, queryTimeout)
		fresh, err := w.readSecrets(ctx)
		cancel()
		if err != nil {
			return nil, now, err
		}
		secrets = fresh
	}
}
