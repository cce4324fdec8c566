package jobs

import (
	"encoding/json"
	"fmt"

	"candor/internal/domain"
	"candor/internal/webhook"
)

// newAttempt is the record of an attempt.
func newAttempt(id domain.DeliveryID, number int, result webhook.Result) (domain.DeliveryAttempt, error) {
	header, err := json.Marshal(result.RequestHeader)
	if err != nil {
		return domain.DeliveryAttempt{}, fmt.Errorf("jobs: attempt headers: %w", err)
	}
	a := domain.DeliveryAttempt{
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
