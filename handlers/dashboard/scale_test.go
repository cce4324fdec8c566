package dashboard_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// What would take long to count is counted so far, and the page says so.
func TestVeryManyAreCountedSoFar(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	developer := h.Staff(domain.RoleDeveloper)
	failed := failedDeliveries(h)
	execSQL(h, `
		INSERT INTO delivery (id, account_id, livemode, type, event_id, endpoint_id, session_id, sequence, url, state, attempts,
			finished_at, last_status_code, last_error_class, created_at)
		SELECT gen_random_uuid(), account_id, livemode, type, event_id, endpoint_id, session_id, sequence, url, state, attempts,
			finished_at, 503, 'status', created_at
		FROM delivery, generate_series(1, $2::int) WHERE id = $1`, failed[0].ID, domain.CountMost)
	since := h.Clock.Now().Add(-time.Hour).Format("2006-01-02T15:04")
	preview := developer.Get(redeliveries + "?preview=1&rate=100&since=" + since)
	developer.WantPage(preview, http.StatusOK, "10,000 or more deliveries to retry", "Retry 10,000 or more deliveries",
		"Counting stopped at 10,000. All that match are sent.")
	if text := page.Read(t, preview.Body.String()).Text(); !strings.Contains(text, "10,000 https://") {
		t.Errorf("the preview doesn't say how many of them go where: %s", text)
	}

	session := h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: "qa@lender.example", ReferenceID: "QA"})
	execSQL(h, `
		INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, reference_id, metadata, created_at,
			expires_at)
		SELECT gen_random_uuid(), account_id, livemode, 'cancelled', form_type, customer_email, reference_id, '{}',
			created_at - i * interval '1 minute', expires_at
		FROM session, generate_series(1, $2::int) i WHERE id = $1`, session.ID, domain.CountMost)
	for query, want := range map[string]string{
		"q=qa%40lender.example": "sessions or more", "q=QA": "sessions or more", "q=QA&status=pending": "1 session",
		"status=cancelled": "10,000 sessions",
		"q=QA&status=pending&before=" + session.ID.String(): "No session matches",
	} {
		answer := developer.Get("/dashboard/test/sessions?" + query)
		text := page.Read(t, answer.Body.String()).Text()
		if answer.Code != http.StatusOK || !strings.Contains(text, want) || strings.Contains(text, "or more") != strings.Contains(want,
			"or more") {
			t.Errorf("%s: %d, want %q in %s", query, answer.Code, want, text)
		}
	}
}
