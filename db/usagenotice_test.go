package db_test

import (
	"os"
	"strings"
	"testing"

	"candor/db"
)

// Notices of before the migration are of the plan of their time, and the way
// back keeps one of each threshold.
func TestUsageNoticesGetTheirPlan(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	migration, err := os.ReadFile("migrations/00024_billing_mended.sql")
	s.ok(err)
	up, down, _ := strings.Cut(string(migration), "-- +goose Down")
	_, err = s.Raw().ExecContext(s.ctx, down)
	s.ok(err)
	_, err = s.Raw().ExecContext(s.ctx, `INSERT INTO subscription (id, account_id, plan_id, status, started_at, billed_to, closes_at)
		VALUES ($1, $2, 'professional', 'active', $3, $3, $4)`, s.scope.AccountID.UUID, s.scope.AccountID, start, start.AddDate(0, 1, 0))
	s.ok(err)
	_, err = s.Raw().ExecContext(s.ctx, `INSERT INTO plan_change (subscription_id, number, period_start, at, from_plan_id, to_plan_id, used)
		VALUES ($1, 1, $2, $3, 'starter', 'professional', 12)`, s.scope.AccountID.UUID, start, start.AddDate(0, 0, 2))
	s.ok(err)
	for day, percent := range map[int]int{1: 80, 3: 100} {
		_, err = s.Raw().ExecContext(s.ctx, `INSERT INTO usage_notice (account_id, period_start, percent, at) VALUES ($1, $2, $3, $4)`,
			s.scope.AccountID, start, percent, start.AddDate(0, 0, day))
		s.ok(err)
	}
	_, err = s.Raw().ExecContext(s.ctx, up)
	s.ok(err)
	for plan, percent := range map[string]int{"starter": 80, "professional": 100} {
		s.tx(func(tx *db.Tx) error {
			first, err := tx.InsertUsageNotice(s.ctx, db.UsageNotice{AccountID: s.scope.AccountID, PeriodStart: start, PlanID: plan, Percent: percent}, start)
			if first {
				t.Errorf("the notice of %d %% of %s is lost", percent, plan)
			}
			return err
		})
	}
	s.tx(func(tx *db.Tx) error {
		_, err := tx.InsertUsageNotice(s.ctx, db.UsageNotice{AccountID: s.scope.AccountID, PeriodStart: start, PlanID: "professional", Percent: 80}, start)
		return err
	})
	_, err = s.Raw().ExecContext(s.ctx, down)
	s.ok(err)
	var n int
	if s.ok(s.Raw().GetContext(s.ctx, &n, `SELECT count(*) FROM usage_notice`)); n != 2 {
		t.Errorf("%d notices after the way back, want 2", n)
	}
}
