package api_test

import (
	"math"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// TestSubscription checks each plan (interface.md Plans, D41, D42).
func TestSubscription(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for plan, want := range map[string]map[string]any{
		"starter":      {"id": "starter", "name": "Starter", "sessions_included": 10.0, "price_per_session_overage": 10.0},
		"professional": {"id": "professional", "name": "Professional", "sessions_included": 100.0, "price_per_session_overage": 5.0},
		"enterprise":   {"id": "enterprise", "name": "Enterprise", "sessions_included": nil, "price_per_session_overage": nil},
	} {
		account := h.NewAccount(plan+"@lender.example", plan)
		for range 2 {
			h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Body: harness.ValidBody, Key: account.LiveKey}).
				WantStatus(http.StatusCreated)
			h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Body: harness.ValidBody, Key: account.TestKey}).
				WantStatus(http.StatusCreated)
		}
		var remaining any
		if included, ok := want["sessions_included"].(float64); ok {
			remaining = included - 2
		}
		for _, key := range []string{account.LiveKey, account.TestKey} {
			got := h.Do(harness.Call{Method: http.MethodGet, Path: "/billing/subscription", Key: key}).WantStatus(http.StatusOK).Object()
			expected := map[string]any{
				"plan": want, "status": "active", "billing_email": plan + "@lender.example", "next_invoice_date": "2026-12-20T03:04:05.678Z",
				"current_period": map[string]any{"start": "2026-11-20T03:04:05.678Z", "end": "2026-12-20T03:04:05.678Z"},
				"usage":          map[string]any{"sessions_used": 2.0, "sessions_remaining": remaining},
			}
			if !reflect.DeepEqual(got, expected) {
				t.Errorf("%s: %v,\nwant %v", plan, got, expected)
			}
		}
	}
}

// TestSubscriptionUsage checks overage, cancellations and the next period.
func TestSubscriptionUsage(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	account := h.NewAccount("starter@lender.example", "starter")
	get := harness.Call{Method: http.MethodGet, Path: "/billing/subscription", Key: account.LiveKey}
	usage := func() [2]any {
		u := h.Do(get).WantStatus(http.StatusOK).Object()["usage"].(map[string]any)
		return [2]any{u["sessions_used"], u["sessions_remaining"]}
	}
	for i := range 12 {
		created := h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Body: harness.ValidBody, Key: account.LiveKey}).
			WantStatus(http.StatusCreated).Object()
		h.Do(harness.Call{Method: http.MethodDelete, Path: "/sessions/" + created["id"].(string), Key: account.LiveKey}).
			WantStatus(http.StatusOK)
		if got, want := usage(), [2]any{float64(i + 1), float64(max(0, 9-i))}; got != want {
			t.Errorf("after %d sessions: %v, want %v", i+1, got, want)
		}
	}
	h.Clock.Set(time.Date(2026, 12, 20, 3, 4, 5, 677_000_000, time.UTC))
	if got := usage(); got != [2]any{12.0, 0.0} {
		t.Errorf("at the period's end: %v", got)
	}
	h.Clock.Advance(time.Millisecond)
	if got := usage(); got != [2]any{0.0, 10.0} {
		t.Errorf("in the next period: %v", got)
	}
}

// TestSubscriptionEnd checks the statuses of D43.
func TestSubscriptionEnd(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	effective := harness.StartTime.Add(time.Hour)
	for _, status := range []string{"past_due", "cancelled"} {
		execSQL(h, `UPDATE subscription SET status = $1::text, effective_at = CASE WHEN $1::text = 'cancelled' THEN $2::timestamptz END`,
			status, effective)
		if got := h.Get("/billing/subscription").WantStatus(http.StatusOK).Object()["status"]; got != status {
			t.Errorf("status %v, want %s", got, status)
		}
	}
	h.Clock.Set(effective)
	h.Get("/billing/subscription").WantError(http.StatusNotFound, "subscription_not_found", "")
}

// TestUsageAgainstNaiveCount compares usage with a walk over all sessions
// (D44).
func TestUsageAgainstNaiveCount(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	all := populate(h, 3, 200)
	for _, span := range [][2]string{
		{"2026-11-10", "2026-11-20"}, {"2026-11-15", "2026-11-15"}, {"2026-11-20", "2026-11-20"}, {"2026-11-01", "2026-11-12"},
		{"2026-11-18", "2026-12-25"}, {"2026-10-01", "2026-10-31"}, {"2027-01-01", "2027-01-02"}, {"2024-02-29", "2024-03-01"},
		{"2025-11-21", "2026-11-21"},
	} {
		for _, livemode := range []bool{false, true} {
			key := h.Account.TestKey
			if livemode {
				key = h.Account.LiveKey
			}
			call := harness.Call{Method: http.MethodGet, Path: "/billing/usage?start_date=" + span[0] + "&end_date=" + span[1], Key: key}
			got := h.Do(call).WantStatus(http.StatusOK).Object()
			if want := naiveUsage(t, all, span, livemode, h.Clock.Now()); !reflect.DeepEqual(got, want) {
				t.Errorf("%v, live %v: %v,\nwant %v", span, livemode, got, want)
			}
		}
	}
}

func naiveUsage(t *testing.T, all []record, span [2]string, livemode bool, now time.Time) map[string]any {
	t.Helper()
	var created, completed, cancelled, expired, inProgress int
	var took time.Duration
	createdOn, completedOn := map[string]int{}, map[string]int{}
	for _, r := range all {
		if r.livemode != livemode {
			continue
		}
		if r.stored == domain.Completed {
			completedOn[r.completed.Format(time.DateOnly)]++
		}
		day := r.created.Format(time.DateOnly)
		if day < span[0] || day > span[1] {
			continue
		}
		createdOn[day]++
		created++
		switch r.status(now) {
		case domain.Completed:
			completed++
			took += r.completed.Sub(r.created)
		case domain.Cancelled:
			cancelled++
		case domain.Expired:
			expired++
		case domain.InProgress:
			inProgress++
		}
	}
	rate, hours := 0.0, 0.0
	if created > 0 {
		rate = math.Round(float64(completed)/float64(created)*1e4) / 1e4
	}
	if completed > 0 {
		hours = math.Round(took.Hours()/float64(completed)*100) / 100
	}
	daily := []any{}
	first, err := time.Parse(time.DateOnly, span[0])
	if err != nil {
		t.Fatal(err)
	}
	for at := first; at.Format(time.DateOnly) <= span[1] && !at.After(now); at = at.AddDate(0, 0, 1) {
		day := at.Format(time.DateOnly)
		daily = append(daily, map[string]any{"date": day, "sessions_created": float64(createdOn[day]),
			"sessions_completed": float64(completedOn[day])})
	}
	return map[string]any{
		"period": map[string]any{"start": span[0] + "T00:00:00.000Z", "end": span[1] + "T23:59:59.999Z"},
		"sessions": map[string]any{
			"total_created": float64(created), "completed": float64(completed), "cancelled": float64(cancelled),
			"expired": float64(expired), "in_progress": float64(inProgress),
		},
		"completion_rate": rate, "average_completion_time_hours": hours,
		"breakdown_by_form_type": map[string]any{"financial_statement": float64(created)}, "daily_usage": daily,
	}
}

// TestUsagePeriods checks the days that each period means (D45).
func TestUsagePeriods(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for _, test := range []struct {
		now, query, start, end string
		days                   int // of daily_usage
	}{
		{"2026-11-20T03:04:05Z", "", "2026-11-01", "2026-11-30", 20},
		{"2026-11-20T03:04:05Z", "?period=current_month", "2026-11-01", "2026-11-30", 20},
		{"2026-11-20T03:04:05Z", "?period=last_month", "2026-10-01", "2026-10-31", 31},
		{"2026-11-20T03:04:05Z", "?period=last_30_days", "2026-10-22", "2026-11-20", 30},
		{"2026-11-20T03:04:05Z", "?period=last_90_days", "2026-08-23", "2026-11-20", 90},
		{"2026-03-31T23:59:59.999Z", "?period=last_month", "2026-02-01", "2026-02-28", 28},
		{"2028-03-31T00:00:00Z", "?period=last_month", "2028-02-01", "2028-02-29", 29},
		{"2026-01-01T00:00:00Z", "?period=last_month", "2025-12-01", "2025-12-31", 31},
		{"2026-01-01T00:00:00Z", "?period=current_month", "2026-01-01", "2026-01-31", 1},
		{"2026-11-20T03:04:05Z", "?start_date=2026-11-05&end_date=2026-11-05", "2026-11-05", "2026-11-05", 1},
		{"2026-11-20T03:04:05Z", "?period=last_month&start_date=2026-11-05&end_date=2026-11-06", "2026-11-05", "2026-11-06", 2},
		{"2026-11-20T03:04:05Z", "?start_date=2025-11-20&end_date=2026-11-20", "2025-11-20", "2026-11-20", 366},
		{"2026-11-20T03:04:05Z", "?start_date=2026-11-20&end_date=2027-11-20", "2026-11-20", "2027-11-20", 1},
		{"2026-11-20T03:04:05Z", "?start_date=2026-11-21&end_date=2026-11-22", "2026-11-21", "2026-11-22", 0},
		{"2026-11-20T03:04:05Z", "?start_date=0001-01-01&end_date=0001-01-02", "0001-01-01", "0001-01-02", 2},
		{"2026-11-20T03:04:05Z", "?start_date=9999-12-30&end_date=9999-12-31", "9999-12-30", "9999-12-31", 0},
	} {
		now, err := time.Parse(time.RFC3339, test.now)
		h.OK(err)
		h.Clock.Set(now)
		got := h.Get("/billing/usage" + test.query).WantStatus(http.StatusOK).Object()
		want := map[string]any{"start": test.start + "T00:00:00.000Z", "end": test.end + "T23:59:59.999Z"}
		if days := len(got["daily_usage"].([]any)); !reflect.DeepEqual(got["period"], want) || days != test.days {
			t.Errorf("%s %s: %v with %d days, want %v with %d", test.now, test.query, got["period"], days, want, test.days)
		}
	}
}

// TestBadUsageRange checks the errors of D45.
func TestBadUsageRange(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for query, field := range map[string]string{
		"start_date=2026-11-01": "end_date", "end_date=2026-11-01": "start_date", "period=last_month&end_date=2026-11-01": "start_date",
		"start_date=2026-11-02&end_date=2026-11-01": "end_date", "start_date=2025-11-19&end_date=2026-11-20": "end_date",
		"start_date=&end_date=2026-11-01": "start_date", "start_date=2026-11-01&end_date=": "end_date",
		"start_date=&end_date=":                     "start_date",
		"start_date=2026-02-30&end_date=2026-03-01": "start_date", "start_date=2026-11-01&end_date=2026-11-31": "end_date",
		"start_date=1-1-1&end_date=2026-11-01": "start_date", "start_date=2026-11-01T00:00:00Z&end_date=2026-11-02": "start_date",
		"start_date=20261101&end_date=2026-11-02": "start_date", "start_date=x&end_date=y": "start_date",
		"start_date=-0001-01-01&end_date=2026-11-01": "start_date",
	} {
		h.Get("/billing/usage?"+query).WantError(http.StatusBadRequest, "invalid_date_range", field)
	}
	for query, field := range map[string]string{
		"period=this_year": "period", "period=": "period", "period=CURRENT_MONTH": "period", "period=%00": "period",
		"period=last_month&period=last_month": "period",
	} {
		h.Get("/billing/usage?"+query).WantError(http.StatusBadRequest, "invalid_request", field)
	}
	for _, value := range []string{"%00", "%ff", "2026-11-01%0A", "2026-11-01&start_date=2026-11-01"} {
		if a := h.Get("/billing/usage?end_date=2026-11-02&start_date=" + value); a.Code != http.StatusBadRequest ||
			!slices.Contains(wrongFields(a), "start_date") {
			t.Errorf("start_date=%s: %d %s", value, a.Code, a.Body)
		}
	}
}
