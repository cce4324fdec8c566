package webhooks_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/service/webhooks"
	"candor/internal/testkit/servicetest"
)

// run makes the steps of a redelivery, as a worker does, until it ends.
func (b *fixture) run(r *domain.Redelivery) {
	b.Helper()
	for range 20 {
		// as if it had passed
		_, err := b.DB.Raw().ExecContext(b.Ctx, `UPDATE redelivery SET paced_until = paced_until - interval '1 second'`)
		b.OK(err)
		step, err := b.DB.StepRedelivery(b.Ctx, r.ID, b.Clock.Now())
		b.OK(err)
		if step.Ended {
			return
		}
	}
	b.Fatal("the redelivery doesn't end")
}

func (b *fixture) again() int {
	b.Helper()
	return b.Count("SELECT count(*) FROM delivery WHERE cycle = 2")
}

var jo = domain.Actor{Kind: domain.ActorStaff, ID: "staff_1", Name: "jo@lender.example"}

func endpointsOf(p webhooks.RedeliveryPreview) string {
	var parts []string
	for _, e := range p.Endpoints {
		parts = append(parts, fmt.Sprintf("%s %d", e.Origin, e.Count))
	}
	return strings.Join(parts, ", ")
}

// What a preview counts is what a start then does.
func TestPreviewIsWhatAStartDoes(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const other = "https://other.lender.example/"
	b.failed(b.Test(), hook)
	b.Pass(time.Hour)
	b.failed(b.Test(), hook)
	b.failed(b.Test(), other)
	b.attempted(b.sent(b.Test(), hook), domain.DeliveryDelivered, 204)
	b.sent(b.Test(), hook)
	b.failed(b.Live(), hook)
	for _, scope := range b.elsewhere()[1:] {
		b.failed(scope, hook)
	}
	long, recent := servicetest.Start.Add(-time.Hour), servicetest.Start.Add(time.Minute)
	filter := func(f domain.DeliveryFilter, origin string) webhooks.DeliveryFilter {
		return webhooks.DeliveryFilter{DeliveryFilter: f, Origin: origin}
	}
	for name, tt := range map[string]struct {
		filter webhooks.DeliveryFilter
		want   int
		to     string
	}{
		"all": {filter(domain.DeliveryFilter{Since: &long}, ""), 3,
			"https://hooks.lender.example 2, https://other.lender.example 1"},
		"called failed": {filter(domain.DeliveryFilter{Since: &long, State: domain.DeliveryFailed}, ""), 3,
			"https://hooks.lender.example 2, https://other.lender.example 1"},
		"recent": {filter(domain.DeliveryFilter{Since: &recent}, ""), 2,
			"https://hooks.lender.example 1, https://other.lender.example 1"},
		"until":          {filter(domain.DeliveryFilter{Since: &long, Until: &recent}, ""), 1, "https://hooks.lender.example 1"},
		"at an endpoint": {filter(domain.DeliveryFilter{Since: &long}, other), 1, "https://other.lender.example 1"},
		"by status": {filter(domain.DeliveryFilter{Since: &long, Status: "5xx"}, ""), 3,
			"https://hooks.lender.example 2, https://other.lender.example 1"},
		"of another status": {filter(domain.DeliveryFilter{Since: &long, Status: "4xx"}, ""), 0, ""},
		"of another type":   {filter(domain.DeliveryFilter{Since: &long, Type: domain.SessionExpired}, ""), 0, ""},
	} {
		preview, err := b.Webhooks.PreviewRedelivery(b.Ctx, b.Test(), tt.filter, 100, 0)
		b.OK(err)
		n := preview.Matched
		if got := endpointsOf(preview); got != tt.to {
			t.Errorf("%s: the preview says they go to %q, want %q", name, got, tt.to)
		}
		if n != int64(tt.want) || b.again() != 0 {
			t.Errorf("%s: the preview says %d and changes %d, want %d and none", name, n, b.again(), tt.want)
		}
		r, err := b.Webhooks.StartRedelivery(b.Ctx, b.Test(), tt.filter, 100, jo)
		b.OK(err)
		if r.Matched != n || b.Count("SELECT count(*) FROM river_job WHERE kind = 'webhook_redelivery' AND args->>'redelivery_id' = $1",
			r.ID.String()) != 1 {
			t.Errorf("%s: matched %d after a preview of %d, or without its job", name, r.Matched, n)
		}
		b.run(r)
		if b.again() != tt.want {
			t.Errorf("%s: %d made again, want %d", name, b.again(), tt.want)
		}
		_, err = b.DB.Raw().ExecContext(b.Ctx,
			`UPDATE delivery SET state = 'failed', cycle = 1, next_attempt_at = NULL, finished_at = now() WHERE cycle = 2`)
		b.OK(err)
	}
	all, err := b.Webhooks.Redeliveries(b.Ctx, b.Test())
	if err != nil || len(all) != 8 {
		t.Fatalf("%d redeliveries, %v; want 8", len(all), err)
	}
	for _, r := range all {
		if r.State != domain.RedeliveryDone || r.Requeued != r.Matched || r.CreatedBy != jo.Name || r.Rate != 100 || r.Since == nil {
			t.Errorf("a redelivery came to %+v", r)
		}
	}
}

func TestRedeliveryIsCheckedAndStopped(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.failed(b.Test(), hook)
	since, session := servicetest.Start, b.Session().ID
	for _, tt := range []struct {
		field  string
		filter domain.DeliveryFilter
		rate   int
	}{
		{"since", domain.DeliveryFilter{}, 1},
		{"session", domain.DeliveryFilter{Since: &since, Session: &session}, 1},
		{"state", domain.DeliveryFilter{Since: &since, State: domain.DeliveryPending}, 1},
		{"rate", domain.DeliveryFilter{Since: &since}, domain.MinRedeliveryRate - 1},
		{"rate", domain.DeliveryFilter{Since: &since}, domain.MaxRedeliveryRate + 1},
	} {
		_, err := b.Webhooks.PreviewRedelivery(b.Ctx, b.Test(), webhooks.DeliveryFilter{DeliveryFilter: tt.filter}, tt.rate, 0)
		b.field("a preview", err, tt.field)
		_, err = b.Webhooks.StartRedelivery(b.Ctx, b.Test(), webhooks.DeliveryFilter{DeliveryFilter: tt.filter}, tt.rate, jo)
		b.field("a start", err, tt.field)
	}
	r, err := b.Webhooks.StartRedelivery(b.Ctx, b.Test(),
		webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{Since: &since}}, 1, jo)
	b.OK(err)
	for _, scope := range b.elsewhere() {
		_, err := b.Webhooks.Redelivery(b.Ctx, scope, r.ID)
		b.Code("reading", err, domain.CodeNotFound)
		_, err = b.Webhooks.StopRedelivery(b.Ctx, scope, r.ID, jo)
		b.Code("stopping", err, domain.CodeNotFound)
		if all, err := b.Webhooks.Redeliveries(b.Ctx, scope); err != nil || len(all) != 0 {
			t.Errorf("another scope's redeliveries: %v, %v", all, err)
		}
	}
	if scope, err := b.Webhooks.RedeliveryScope(b.Ctx, r.ID); err != nil || scope != b.Test() {
		t.Errorf("scope %+v, %v", scope, err)
	}
	_, err = b.Webhooks.RedeliveryScope(b.Ctx, domain.NewRedeliveryID())
	b.Code("scope of an unknown one", err, domain.CodeNotFound)
	stopped, err := b.Webhooks.StopRedelivery(b.Ctx, b.Test(), r.ID, jo)
	if err != nil || stopped.State != domain.RedeliveryStopped || stopped.FinishedAt == nil {
		t.Errorf("stopped: %+v, %v", stopped, err)
	}
	b.run(r)
	if b.again() != 0 {
		t.Error("a stopped redelivery continues")
	}
	start := func() error {
		_, err := b.Webhooks.StartRedelivery(b.Ctx, b.Test(),
			webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{Since: &since}}, 1, jo)
		return err
	}
	for range 20 {
		b.OK(start())
	}
	b.Code("the 21st at once", start(), domain.CodeInvalidRequest)
	_, err = b.Webhooks.StopRedelivery(b.Ctx, b.Test(), r.ID, jo)
	b.Code("stopping twice", err, domain.CodeInvalidRequest)
}

// TestRetriesAtOnceKeepTheLimit: of retries that start at the same time no more than 20 run.
func TestRetriesAtOnceKeepTheLimit(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.failed(b.Test(), hook)
	since := servicetest.Start.Add(-time.Hour)
	var refused atomic.Int32
	var starts sync.WaitGroup
	for range 30 {
		starts.Go(func() {
			_, err := b.Webhooks.StartRedelivery(b.Ctx, b.Test(),
				webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{Since: &since}}, 1, jo)
			if err != nil {
				refused.Add(1)
			}
		})
	}
	starts.Wait()
	if n := b.Count(`SELECT count(*) FROM redelivery`); n != 20 || refused.Load() != 10 {
		t.Errorf("%d run and %d were refused, want 20 and 10", n, refused.Load())
	}
}
