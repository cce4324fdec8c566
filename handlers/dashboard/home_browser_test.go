package dashboard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"candor/internal/domain"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
	"candor/internal/webhook"
)

// TestBrowserHome: the chart tells its values by pointer and by key.
func TestBrowserHome(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	execSQL(h, `
		INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, metadata, created_at, expires_at,
			accessed_at, completed_at)
		SELECT gen_random_uuid(), $1, false, CASE WHEN done THEN 'completed' WHEN n % 5 = 1 THEN 'pending'
			ELSE 'in_progress' END, 'financial_statement', 'jo@customer.example', '{}',
			at, at + interval '30 days', CASE WHEN n % 5 <> 1 THEN at END, CASE WHEN done THEN at + n % 40 * interval '7 minutes' END
		FROM (SELECT n, n % 5 > 2 AS done, $2::timestamptz - interval '50 days' * sqrt(n / 400.0) AS at
			FROM generate_series(1, 400) n) s`,
		h.Account.AccountID, h.Clock.Now())
	failed := failedAt(h, "https://lender.example/hook", 503, webhook.ClassStatus)
	execSQL(h, `UPDATE webhook_endpoint SET failing_since = $1, last_failure_at = $1, consecutive_failures = 12 WHERE id = $2`,
		h.Clock.Now().Add(-50*time.Hour), failed.EndpointID)
	done := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Complete(done.ID)
	tab := browsertest.New(t, browsertest.Options{Device: browsertest.Desktop})
	signInTo(h, tab, base, "/dashboard/test")
	tab.WaitForText("#needs-you", "Needs attention")
	tab.WaitForText(".needs-you", "lender.example has failed")
	tab.WaitForText(".chart-value", "Fri 20 Nov: ")
	view(tab, "home-busy")
	x, y := tab.Spot(".chart-day:nth-of-type(3) .chart-hit")
	if browsertest.Eval[bool](tab,
		fmt.Sprintf("(document.elementFromPoint(%f, %f).dispatchEvent(new PointerEvent('pointerover', {bubbles: true})), true)", x,
			y)) {
		tab.WaitForText(".chart-value", "Sat 24 Oct: ")
	}
	browsertest.Eval[bool](tab, "(document.querySelector('.chart-day[tabindex=\"0\"]').focus(), true)")
	tab.Press(kb.ArrowLeft)
	tab.WaitForText(".chart-value", "Thu 19 Nov: ")
	tab.Press(kb.Home)
	h.Complete(h.NewSession(h.TestScope(), domain.NewSession{}).ID)
	tab.WaitFor(`.chart-day[aria-label^="Fri 20 Nov: 2 completed"]`)
	tab.WaitForText(".chart-value", "Thu 22 Oct: ")
	tab.Press(kb.Enter)
	tab.WaitForText(".chips", "completed on 22 Oct 2026")
}
