package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/sample"
	"candor/internal/webhook"
)

// Where the partner's events go.
const (
	mainURL    = "https://hooks.harbourlending.example/candor"
	stagingURL = "https://staging.harbourlending.example/hooks/candor"
	brokerURL  = "https://api.brokerportal.example/v2/webhooks"
	crmURL     = "https://crm.harbourlending.example/inbound/candor"
	tunnelURL  = "https://mia-dev.tunnel.example/hook"
)

// What went wrong, and how long ago.
const (
	outageBegan = 23*24*time.Hour + 5*time.Hour // of the main receiver
	outageEnded = outageBegan - 38*time.Hour    // longer than a delivery is tried for
	hiccupBegan = 4*24*time.Hour + 3*time.Hour
	hiccupEnded = hiccupBegan - 50*time.Minute
	brokerFails = 51 * time.Hour // until now
	crmGone     = 12 * 24 * time.Hour
)

// answer is what a receiver makes of an attempt.
type answer struct {
	status int // 0 without one
	class  string
	text   string
	body   string
	took   time.Duration
}

func answered(status int, body string, took time.Duration) answer {
	a := answer{status: status, body: body, took: took}
	if status < 200 || status > 299 {
		a.class, a.text = webhook.ClassStatus, fmt.Sprintf("The receiver answered with status %d instead of 2xx.", status)
	}
	return a
}

func timedOut(r *rand.Rand) answer {
	return answer{class: webhook.ClassTimeout, text: "The receiver did not answer in time.",
		took: 10*time.Second + time.Duration(r.IntN(40))*time.Millisecond}
}

// receive is what the receiver of that URL says when it is that long ago.
func receive(r *rand.Rand, url string, ago time.Duration) answer {
	fine := answered(200, `{"received":true}`, about(r, 140*time.Millisecond, 0.5))
	within := func(from, to time.Duration) bool { return ago <= from && ago > to }
	switch {
	case url == mainURL && within(outageBegan, outageEnded):
		if sample.Chance(r, 0.3) {
			return timedOut(r)
		}
		return answered(503, "<html><head><title>503 Service Unavailable</title></head><body>upstream connect error</body></html>",
			about(r, 30*time.Millisecond, 0.3))
	case url == mainURL && within(hiccupBegan, hiccupEnded):
		return answered(500, `{"error":"could not obtain a database connection"}`, about(r, 2*time.Second, 0.3))
	case url == brokerURL && ago <= brokerFails:
		if sample.Chance(r, 0.25) {
			return timedOut(r)
		}
		return answered(500, `{"message":"Internal Server Error","trace":"c0ffee51-7be2"}`, about(r, 420*time.Millisecond, 0.4))
	case url == crmURL && ago <= crmGone:
		return answered(410, "Gone", about(r, 60*time.Millisecond, 0.3))
	case url == tunnelURL && ago%(24*time.Hour) > 9*time.Hour:
		return answer{class: webhook.ClassDNS, text: "The host name does not exist.", took: about(r, 12*time.Millisecond, 0.3)}
	case url == stagingURL && sample.Chance(r, 0.05):
		return answered(500, `{"error":"undefined method 'loan_id' for nil"}`, about(r, 90*time.Millisecond, 0.4))
	case sample.Chance(r, 0.006):
		return timedOut(r)
	case sample.Chance(r, 0.006):
		return answered(502, "Bad Gateway", about(r, 50*time.Millisecond, 0.3))
	}
	return fine
}

// sentDelivery is one event's way to its receiver.
type sentDelivery struct {
	*domain.Delivery
	attempts []domain.DeliveryAttempt
}

// attempt delivers by the schedule, as far as now.
func (h *history) attempt(d *domain.Delivery, body []byte) *sentDelivery {
	out := &sentDelivery{Delivery: d}
	schedule := webhook.DefaultSchedule()
	due := d.CreatedAt.Add(about(h.random, 30*time.Millisecond, 0.4))
	d.NextAttemptAt = &due
	for d.State == domain.DeliveryPending && !due.After(h.now) {
		h.try(out, due, body)
		last := out.attempts[len(out.attempts)-1]
		ended := last.StartedAt.Add(time.Duration(last.DurationMS) * time.Millisecond)
		delay, more := schedule.Next(d.Attempts)
		switch {
		case last.ErrorClass == nil:
			d.State, d.NextAttemptAt, d.FinishedAt = domain.DeliveryDelivered, nil, &ended
		case !more:
			d.State, d.NextAttemptAt, d.FinishedAt = domain.DeliveryFailed, nil, &ended
		default:
			due = ended.Add(delay)
			d.NextAttemptAt = &due
		}
	}
	return out
}

// try makes one attempt then.
func (h *history) try(d *sentDelivery, at time.Time, body []byte) {
	at = at.Truncate(time.Millisecond)
	if d.FirstAttemptAt == nil {
		d.FirstAttemptAt = &at
	}
	d.Attempts++
	d.AttemptsTotal++
	request := webhook.Request{
		URL: d.URL, Body: body, DeliveryID: d.ID.String(), Attempt: d.Attempts, FirstAttemptAt: *d.FirstAttemptAt, Secrets: h.secrets,
	}
	header, err := request.Header(at)
	if err != nil {
		panic(err) // all of it was made here
	}
	sent, _ := json.Marshal(header) // texts always marshal
	a := receive(h.random, d.URL, h.now.Sub(at))
	row := domain.DeliveryAttempt{
		DeliveryID: d.ID, Number: d.AttemptsTotal, StartedAt: at, DurationMS: a.took.Milliseconds(), RequestHeaders: sent,
	}
	d.LastStatusCode, d.LastErrorClass = nil, nil
	if a.status != 0 {
		row.StatusCode, row.Response, d.LastStatusCode = &a.status, &a.body, &a.status
	}
	if a.class != "" {
		row.ErrorClass, row.Error, d.LastErrorClass = &a.class, &a.text, &a.class
	}
	d.attempts = append(d.attempts, row)
}

// deliver stores the deliveries, their attempts and the endpoints' health.
func (h *history) deliver(ctx context.Context, tx *db.Tx) error {
	var deliveries []*domain.Delivery
	var attempts []domain.DeliveryAttempt
	tried := map[domain.EndpointID][]domain.DeliveryAttempt{}
	for _, d := range h.deliveries {
		deliveries = append(deliveries, d.Delivery)
		attempts = append(attempts, d.attempts...)
		tried[d.EndpointID] = append(tried[d.EndpointID], d.attempts...)
	}
	if err := tx.InsertDeliveries(ctx, deliveries); err != nil {
		return err
	}
	if err := tx.InsertAttempts(ctx, attempts); err != nil {
		return err
	}
	for id, made := range tried {
		if err := h.health(ctx, tx, id, made); err != nil {
			return err
		}
	}
	return nil
}

// health counts the attempts at an endpoint: those of a day that succeed, or fail, one after
// the other at once.
func (h *history) health(ctx context.Context, tx *db.Tx, id domain.EndpointID, made []domain.DeliveryAttempt) error {
	slices.SortFunc(made, func(a, b domain.DeliveryAttempt) int {
		return cmp.Compare(a.StartedAt.UnixMilli(), b.StartedAt.UnixMilli())
	})
	for len(made) > 0 {
		first, day := &made[0], made[0].StartedAt.UTC().Truncate(24*time.Hour)
		n := slices.IndexFunc(made, func(a domain.DeliveryAttempt) bool {
			return a.StartedAt.Sub(day) >= 24*time.Hour || (a.ErrorClass == nil) != (first.ErrorClass == nil)
		})
		if n < 0 {
			n = len(made)
		}
		outcomes := make([]db.AttemptOutcome, n)
		for i := range outcomes {
			outcomes[i].DeliveryAttempt = made[i]
		}
		if err := tx.CountAttempts(ctx, outcomes, []db.EndpointHealth{delivery.HealthOf(id, made[:n])}); err != nil {
			return err
		}
		made = made[n:]
	}
	return nil
}
