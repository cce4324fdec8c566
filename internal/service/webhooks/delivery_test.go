package webhooks_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/accounts"
	"candor/internal/service/webhooks"
	"candor/internal/testkit/servicetest"
)

// fixture is the fixture of this package's tests.
type fixture struct{ *servicetest.Fixture }

func newFixture(t testing.TB, change ...func(*servicetest.Config)) *fixture {
	t.Helper()
	return &fixture{servicetest.NewFixture(t, change...)}
}

const hook = "https://hooks.lender.example/candor"

// sent makes an event of the scope that goes to the URL, and returns its
// delivery.
func (b *fixture) sent(scope domain.Scope, url string) domain.Delivery {
	b.Helper()
	session, err := b.Create(scope, func(params *domain.NewSession) { params.WebhookURL = url })
	b.OK(err)
	b.Open(session.ID)
	all, err := b.DB.Deliveries(b.Ctx, session.ID)
	b.OK(err)
	if len(all) != 1 {
		b.Fatalf("%d deliveries, want 1", len(all))
	}
	return all[0]
}

// attempted records an attempt at a delivery that ends it in the state.
func (b *fixture) attempted(d domain.Delivery, state domain.DeliveryState, status int) domain.Delivery {
	b.Helper()
	outcome := db.AttemptOutcome{
		DeliveryAttempt: domain.DeliveryAttempt{DeliveryID: d.ID, Number: d.AttemptsTotal + 1, StartedAt: b.Clock.Now(),
			StatusCode: &status, RequestHeaders: []byte(`{"X-Webhook-Id":["` + d.ID.String() + `"]}`)},
		Cycle: d.Cycle, State: state,
	}
	health := db.EndpointHealth{ID: d.EndpointID, At: b.Clock.Now(), StatusCode: status}
	if state == domain.DeliveryFailed {
		class := "status"
		outcome.ErrorClass, health.ErrorClass, health.Failures = &class, class, 1
	}
	b.OK(b.DB.RecordAttempts(b.Ctx, []db.AttemptOutcome{outcome}, []db.EndpointHealth{health}))
	found, err := b.DB.Delivery(b.Ctx, domain.Scope{AccountID: d.AccountID, Livemode: d.Livemode}, d.ID)
	b.OK(err)
	return found.Delivery
}

func (b *fixture) failed(scope domain.Scope, url string) domain.Delivery {
	b.Helper()
	return b.attempted(b.sent(scope, url), domain.DeliveryFailed, 503)
}

// elsewhere are scopes that have nothing to do with the test one.
func (b *fixture) elsewhere() []domain.Scope {
	b.Helper()
	other, err := b.Accounts.Create(b.Ctx, accounts.Params{Name: "Broker", Email: "owner@broker.example", Plan: "starter"},
		servicetest.Someone)
	b.OK(err)
	return []domain.Scope{b.Live(), {AccountID: other.AccountID}}
}

// field reports an error that isn't invalid_request about the field.
func (b *fixture) field(what string, err error, field string) {
	b.Helper()
	var known *domain.Error
	if !errors.As(err, &known) || known.Code != domain.CodeInvalidRequest || len(known.Fields) != 1 ||
		known.Fields[0].Field != field {
		b.Errorf("%s: %+v, want invalid_request of %s", what, err, field)
	}
}

func TestDeliveriesAndTheirRecords(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	failed, pending := b.failed(b.Test(), hook), b.sent(b.Test(), "https://HOOKS.lender.example:443/other")
	live := b.sent(b.Live(), hook)
	for name, tt := range map[string]struct {
		scope  domain.Scope
		filter webhooks.DeliveryFilter
		before int64
		want   []domain.DeliveryID
	}{
		"all":    {scope: b.Test(), want: []domain.DeliveryID{pending.ID, failed.ID}},
		"live":   {scope: b.Live(), want: []domain.DeliveryID{live.ID}},
		"before": {scope: b.Test(), before: pending.Sequence, want: []domain.DeliveryID{failed.ID}},
		"by state": {scope: b.Test(), filter: webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{
			State: domain.DeliveryFailed}}, want: []domain.DeliveryID{failed.ID}},
		"by any URL there": {scope: b.Test(), filter: webhooks.DeliveryFilter{Origin: "https://hooks.lender.example/x"},
			want: []domain.DeliveryID{pending.ID, failed.ID}},
		"by a class of status": {scope: b.Test(), filter: webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{Status: "5xx"}},
			want: []domain.DeliveryID{failed.ID}},
	} {
		got, err := b.Webhooks.Deliveries(b.Ctx, tt.scope, tt.filter, tt.before, 10)
		var ids []domain.DeliveryID
		for _, d := range got {
			ids = append(ids, d.ID)
		}
		if err != nil || !slices.Equal(ids, tt.want) {
			t.Errorf("%s: %v, %v; want %v", name, ids, err, tt.want)
		}
	}
	record, err := b.Webhooks.Delivery(b.Ctx, b.Test(), failed.ID)
	b.OK(err)
	events, err := b.DB.Events(b.Ctx, *failed.SessionID)
	b.OK(err)
	if record.Origin != "https://hooks.lender.example" || string(record.Event.Body) != string(events[0].Body) ||
		len(record.AttemptLog) != 1 || *record.AttemptLog[0].StatusCode != 503 {
		t.Errorf("record %+v", record)
	}
	if scope, err := b.Webhooks.DeliveryScope(b.Ctx, live.ID); err != nil || scope != b.Live() {
		t.Errorf("scope %+v, %v", scope, err)
	}
	_, err = b.Webhooks.DeliveryScope(b.Ctx, domain.DeliveryID{})
	b.Code("scope of an unknown one", err, domain.CodeNotFound)
	b.sent(b.Test(), hook)
	endpoints, err := b.DB.EndpointLoads(b.Ctx, b.Test())
	if err != nil || len(endpoints) != 1 || endpoints[0].Pending != 2 || endpoints[0].Failed != 1 ||
		endpoints[0].FailingSince == nil {
		t.Errorf("endpoints %+v, %v", endpoints, err)
	}
}

func TestDeliveryFiltersAreChecked(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.sent(b.Live(), hook) // an endpoint of the other mode
	since, until := servicetest.Start, servicetest.Start.Add(-time.Second)
	for _, tt := range []struct {
		field  string
		filter webhooks.DeliveryFilter
	}{
		{"state", webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{State: "lost"}}},
		{"type", webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{Type: "session.lost"}}},
		{"status", webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{Status: "503"}}},
		{"until", webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{Since: &since, Until: &until}}},
		{"endpoint", webhooks.DeliveryFilter{Origin: hook}},
		{"endpoint", webhooks.DeliveryFilter{Origin: "hooks.lender.example"}},
	} {
		_, err := b.Webhooks.Deliveries(b.Ctx, b.Test(), tt.filter, 0, 10)
		b.field("a list", err, tt.field)
		if tt.filter.Since == nil {
			tt.filter.Since = &since
		}
		_, err = b.Webhooks.PreviewRedelivery(b.Ctx, b.Test(), tt.filter, 1, 0)
		b.field("a preview", err, tt.field)
		_, err = b.Webhooks.StartRedelivery(b.Ctx, b.Test(), tt.filter, 1, jo)
		b.field("a start", err, tt.field)
	}
	for _, limit := range []int{0, webhooks.MaxDeliveryPage + 1} {
		_, err := b.Webhooks.Deliveries(b.Ctx, b.Test(), webhooks.DeliveryFilter{}, 0, limit)
		b.field("a list", err, "limit")
	}
	for _, status := range webhooks.DeliveryStatuses {
		if _, err := b.Webhooks.Deliveries(b.Ctx, b.Test(),
			webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{Status: status}}, 0, 1); err != nil {
			t.Errorf("status %s: %v", status, err)
		}
	}
	if n := b.Count("SELECT count(*) FROM redelivery"); n != 0 {
		t.Errorf("%d redeliveries were started", n)
	}
}

func TestDeliveryIsMadeAgainOrCancelled(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	failed, pending := b.failed(b.Test(), hook), b.sent(b.Test(), hook)
	elsewhere := b.elsewhere()
	wakes := b.Count("SELECT count(*) FROM river_job WHERE kind = 'webhook_wake'")
	for _, scope := range elsewhere {
		_, err := b.Webhooks.Delivery(b.Ctx, scope, failed.ID)
		b.Code("reading", err, domain.CodeNotFound)
		_, err = b.Webhooks.Redeliver(b.Ctx, scope, failed.ID, servicetest.Someone)
		b.Code("making again", err, domain.CodeNotFound)
		_, err = b.Webhooks.CancelDelivery(b.Ctx, scope, pending.ID, servicetest.Someone)
		b.Code("cancelling", err, domain.CodeNotFound)
	}
	b.Pass(time.Hour)
	again, err := b.Webhooks.Redeliver(b.Ctx, b.Test(), failed.ID, servicetest.Someone)
	if err != nil || again.ID != failed.ID || again.State != domain.DeliveryPending ||
		!again.NextAttemptAt.Equal(servicetest.Start.Add(time.Hour)) {
		t.Errorf("made again: %+v, %v", again, err)
	}
	cancelled, err := b.Webhooks.CancelDelivery(b.Ctx, b.Test(), pending.ID, servicetest.Someone)
	if err != nil || cancelled.State != domain.DeliveryCancelled || !cancelled.FinishedAt.Equal(servicetest.Start.Add(time.Hour)) {
		t.Errorf("cancelled: %+v, %v", cancelled, err)
	}
	if n := b.Count("SELECT count(*) FROM river_job WHERE kind = 'webhook_wake'") - wakes; n != 2 {
		t.Errorf("%d wakes, want one for each", n)
	}
	_, err = b.Webhooks.CancelDelivery(b.Ctx, b.Test(), pending.ID, servicetest.Someone)
	b.Code("cancelling twice", err, domain.CodeInvalidRequest)
	delivered := b.attempted(*again, domain.DeliveryDelivered, 204)
	if again, err = b.Webhooks.Redeliver(b.Ctx, b.Test(), delivered.ID, servicetest.Someone); err != nil || again.Cycle != 3 {
		t.Errorf("a delivered one again: %+v, %v", again, err)
	}
}

// An event that retention has deleted is not found by anyone.
func TestDeletedDeliveryIsNotFound(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	failed := b.failed(b.Test(), hook)
	if n, err := b.DB.DeleteEvents(b.Ctx, servicetest.Start.Add(time.Hour), 10); n != 1 || err != nil {
		t.Fatalf("deleted %d, %v", n, err)
	}
	_, err := b.Webhooks.Redeliver(b.Ctx, b.Test(), failed.ID, servicetest.Someone)
	b.Code("making again", err, domain.CodeNotFound)
	_, err = b.Webhooks.Delivery(b.Ctx, b.Test(), failed.ID)
	b.Code("reading", err, domain.CodeNotFound)
	_, err = b.Webhooks.CancelDelivery(b.Ctx, b.Test(), failed.ID, servicetest.Someone)
	b.Code("cancelling", err, domain.CodeNotFound)
}
