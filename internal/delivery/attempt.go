package delivery

import (
	"context"
	"encoding/json"
	"fmt"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/tracing"
	"candor/internal/webhook"
)

// attempt makes one attempt and hands its outcome to the recorder.
func (w *endpointWorker) attempt(c *db.ClaimedDelivery, secrets signingSecrets) webhook.Result {
	span := w.trace(c)
	result := w.send(c, secrets)
	span.Text(tracing.ErrorClass, result.ErrorClass)
	span.Number(tracing.StatusCode, result.StatusCode)
	span.End(!result.Delivered())
	if result.Err != nil && w.attempts.Err() != nil {
		w.release(*c)
		return result
	}
	outcome, err := w.outcome(c, result)
	if err != nil {
		// The fault is ours. The claim isn't released: its end spaces the retries.
		w.logger.Error("webhook attempt could not be made", "delivery_id", c.ID, "error", err)
		w.letGo(c.ID)
		return result
	}
	w.logger.Info("webhook attempt", "delivery_id", c.ID, "account_id", w.endpoint.AccountID, "attempt", outcome.Number,
		"state", outcome.State, "status", result.StatusCode, "error_class", result.ErrorClass, "duration", result.Duration)
	w.observe(c, result)
	w.recorder.record(w.id, outcome)
	return result
}

// trace starts the span of an attempt in the trace that made it due. It is nil if that
// one isn't recorded. The receiver isn't told of the trace: D74.
func (w *endpointWorker) trace(c *db.ClaimedDelivery) *tracing.Span {
	if w.tracer == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.attempts, traceTimeout)
	defer cancel()
	parent, err := w.db.DeliveryTrace(ctx, c.ID)
	if err != nil || parent == "" {
		return nil
	}
	_, span := w.tracer.Continue(w.attempts, parent, tracing.Call, "webhook attempt")
	span.Text(tracing.DeliveryID, c.ID.String())
	span.Number(tracing.Attempt, c.AttemptsTotal+1)
	return span
}

// observe reports an attempt to the observer. A redelivery's time since its
// event means nothing.
func (w *endpointWorker) observe(c *db.ClaimedDelivery, result webhook.Result) {
	if w.observer == nil {
		return
	}
	w.observer.Attempted(result.ErrorClass, result.Duration)
	if c.AttemptsTotal == 0 {
		w.observer.FirstAttempted(result.StartedAt.Sub(c.CreatedAt))
	}
	if c.Cycle == 1 && result.Delivered() {
		w.observer.Delivered(result.StartedAt.Add(result.Duration).Sub(c.CreatedAt))
	}
}

func (w *endpointWorker) send(c *db.ClaimedDelivery, secrets signingSecrets) webhook.Result {
	list, now, err := w.sign(secrets)
	if err != nil {
		return webhook.Result{Err: err}
	}
	request := webhook.Request{
		URL: c.URL, Body: c.Body, DeliveryID: c.ID.String(), Attempt: c.Attempts + 1, Secrets: list,
	}
	if c.FirstAttemptAt != nil {
		request.FirstAttemptAt = *c.FirstAttemptAt
	}
	return w.client.Do(w.attempts, request, now)
}

// outcome is what follows from an attempt: delivered, failed for good, or due
// again by the schedule, counted from now (D34).
func (w *endpointWorker) outcome(c *db.ClaimedDelivery, result webhook.Result) (db.AttemptOutcome, error) {
	if result.Err != nil {
		return db.AttemptOutcome{}, result.Err
	}
	attempt, err := newAttempt(c.ID, c.AttemptsTotal+1, result)
	out := db.AttemptOutcome{
		DeliveryAttempt: attempt, Scope: domain.Scope{AccountID: c.AccountID, Livemode: c.Livemode}, SessionID: c.SessionID,
		Cycle: c.Cycle, State: domain.DeliveryDelivered,
	}
	if err != nil || result.Delivered() {
		return out, err
	}
	out.State = domain.DeliveryFailed
	if delay, more := w.schedule.NextAfter(c.Attempts+1, result.Wait()); more {
		due := w.clock.Now().Add(delay)
		out.State, out.Next = domain.DeliveryPending, &due
	}
	return out, nil
}

// newAttempt returns the row of an attempt.
func newAttempt(id domain.DeliveryID, number int, result webhook.Result) (domain.DeliveryAttempt, error) {
	header, err := json.Marshal(result.RequestHeader)
	if err != nil {
		return domain.DeliveryAttempt{}, fmt.Errorf("delivery: attempt headers: %w", err)
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
