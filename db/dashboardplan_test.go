package db_test

import (
	"slices"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit"
)

// What the dashboard reads of very many deliveries that failed, of errors of
// the API and of one customer's sessions doesn't grow with them, with plans
// made for the values and with those made for any.
func TestPlansOfWhatWentWrong(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	s := newPlanStore(t)
	failed := s.delivery(s.event(s.session(s.scope, start), start), "https://a.example/", start)
	s.record(failed, 1, domain.DeliveryFailed, nil)
	cancelled := s.delivery(s.event(s.session(s.scope, start), start), "https://rare.example/", start)
	_, err := s.cancelDelivery(cancelled.ID, start)
	s.ok(err)
	s.multiply(failed, manyDeliveries, "delivered")
	s.multiply(failed, fewRows*3/2, "failed")
	codes := s.manyErrors(3 * domain.RequestReach)
	s.manyOfOneCustomer(fewRows * 3 / 2)
	s.vacuum("event", "delivery", "api_request", "session")
	s.withEachPlan(t, func(s *store) {
		s.expectFewFailed(cancelled.EndpointID)
		s.expectFewErrors(codes)
		period := domain.Period{Start: start.AddDate(-1, 0, 0), End: start.AddDate(1, 0, 0)}
		var last *domain.BilledSession
		for _, read := range []string{"the first billed sessions", "the next billed sessions"} {
			s.expectFew(read, func() error {
				page, err := s.BilledSessions(s.ctx, s.scope.AccountID, period, last, 25)
				if len(page) == 25 {
					last = &page[24]
				} else {
					s.Errorf("%s: %d, want 25", read, len(page))
				}
				return err
			})
		}
		for name, f := range map[string]domain.SessionFilter{"by customer": {CustomerEmail: "many@customer.example"},
			"by reference": {ReferenceID: "MANY"}} {
			s.expectFew("count "+name, func() error {
				n, err := s.CountSessions(s.ctx, s.scope, f, start, 100)
				if n != 100 {
					s.Errorf("counted %d sessions %s, want to stop at 100", n, name)
				}
				return err
			})
			f.Status = domain.Cancelled
			s.expectFew("cancelled "+name, func() error {
				sessions, err := s.SessionsBefore(s.ctx, s.scope, f, nil, 25, start)
				if len(sessions) != 0 {
					s.Errorf("%d cancelled sessions %s, want none", len(sessions), name)
				}
				return err
			})
		}
	})
}

// manyErrors logs n calls that failed in one way, one in another, and as many
// that didn't fail.
func (s *store) manyErrors(n int) []domain.Code {
	s.Helper()
	s.logged(n+1, func(i int, r *domain.APIRequest) {
		r.Status, r.ErrorCode = 404, domain.CodeSessionNotFound
		if i == 0 {
			r.Status, r.ErrorCode = 422, domain.CodeValidation
		}
	})
	_, err := s.Raw().ExecContext(s.ctx, `
		INSERT INTO api_request (id, account_id, livemode, key_id, duration_us, status, replayed, method, route, error_code, address)
		SELECT gen_random_uuid(), account_id, livemode, key_id, duration_us, 200, false, method, route, '', address
		FROM (SELECT * FROM api_request LIMIT 1) r, generate_series(1, $1::int) i`, n)
	s.ok(err)
	return []domain.Code{domain.CodeSessionNotFound, domain.CodeValidation, domain.CodeUnauthorized}
}

// manyOfOneCustomer makes n expired sessions of one customer, n cancelled ones of
// others, and n live ones.
func (s *store) manyOfOneCustomer(n int) {
	s.Helper()
	_, err := s.Raw().ExecContext(s.ctx, `
		INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, reference_id, metadata, created_at,
			expires_at)
		SELECT gen_random_uuid(), $1, livemode, status, 'financial_statement', of || '@customer.example', upper(of), '{}',
			$2::timestamptz - i * interval '1 minute', $2
		FROM generate_series(1, $3::int) i, LATERAL (VALUES ('many', 'expired', false), ('other' || i, 'cancelled', false), ('live',
			'expired', true)) o (of, status, livemode)`, s.scope.AccountID, start, n)
	s.ok(err)
}

func (s *store) expectFewFailed(rare domain.EndpointID) {
	s.Helper()
	since := start.AddDate(0, 0, -1)
	for name, f := range map[string]domain.DeliveryFilter{
		"cancelled": {State: domain.DeliveryCancelled}, "of no class": {Status: "tls"}, "of no status": {Status: "4xx"},
		"failed of no type":                    {State: domain.DeliveryFailed, Type: domain.BillingInvoicePaid},
		"failed at an endpoint where none did": {State: domain.DeliveryFailed, Endpoint: &rare},
	} {
		s.expectFew("deliveries "+name, func() error { _, err := s.DeliveryPage(s.ctx, s.scope, f, 0, 25); return err })
		f.Since, f.State = &since, ""
		if name != "cancelled" {
			s.expectFew("count of failed deliveries "+name, func() error { _, err := s.CountFailed(s.ctx, s.scope, f, 1000); return err })
		}
	}
	s.expectFew("count of failed deliveries", func() error {
		at, err := s.CountFailed(s.ctx, s.scope, domain.DeliveryFilter{Since: &since}, 1000)
		if len(at) != 1 || at[0].Count != 1000 {
			s.Errorf("failed deliveries are counted as %+v, want 1000", at)
		}
		return err
	})
}

// expectFewErrors: what gives up has looked at RequestReach lines, and looks
// where it is then.
func (s *store) expectFewErrors(codes []domain.Code) {
	s.Helper()
	key, from := newKeyID(), start.Add(-time.Hour)
	for name, f := range map[string]domain.RequestFilter{
		"by method": {Codes: codes, Method: "DELETE", From: &from}, "by key": {Codes: codes, Key: &key, From: &from},
		"by method and key": {Codes: slices.Clone(codes[:1]), Method: "DELETE", Key: &key, From: &from},
	} {
		before := s.touched()
		page, reached, err := s.APIRequests(s.ctx, s.scope, f, nil, 50)
		s.ok(err)
		rows := s.touched() - before
		if len(page) != 0 || reached == nil {
			s.Errorf("errors %s: %d found, given up at %v", name, len(page), reached)
		}
		if rows > 2*domain.RequestReach+100 {
			s.Errorf("errors %s touch %d rows, want at most %d", name, rows, 2*domain.RequestReach+100)
		}
	}
}
