package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"candor/db"
	"candor/intake"
	"candor/keyring"
	"candor/webhook"
)

// openSecrets returns what a scope's deliveries are signed with: the current
// secret and, while it is being rotated, the next one (D35).
func openSecrets(ctx context.Context, database *db.DB, ring *keyring.Keyring, scope intake.Scope) ([]string, error) {
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

// newAttempt is the record of an attempt.
func newAttempt(id intake.DeliveryID, number int, result webhook.Result) (db.Attempt, error) {
	header, err := json.Marshal(result.RequestHeader)
	if err != nil {
		return db.Attempt{}, fmt.Errorf("jobs: attempt headers: %w", err)
	}
	a := db.Attempt{
		DeliveryID: id, Number: number, StartedAt: result.StartedAt, DurationMS: result.Duration.Milliseconds(), RequestHeaders: header,
	}
	if result.StatusCode != 0 {
		a.StatusCode = &result.StatusCode
		response := string(result.Response)
		a.Response = &response
	}
	if result.ErrorClass != "" {
		a.ErrorClass, a.Error = &result.ErrorClass, &result.Error
	}
	return a, nil
}
