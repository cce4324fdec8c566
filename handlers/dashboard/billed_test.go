package dashboard_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// billedRows are the rows of an export, without its head, and what they add up to.
func billedRows(h *harness.Harness, path string) (rows [][]string, cents int) {
	h.Helper()
	answer := h.Staff(domain.RoleFinance).Get(path)
	if answer.Code != http.StatusOK || !strings.HasPrefix(answer.Header().Get("Content-Type"), "text/csv") {
		h.Fatalf("GET %s: status %d, %s", path, answer.Code, answer.Header().Get("Content-Type"))
	}
	rows, err := csv.NewReader(answer.Body).ReadAll()
	h.OK(err)
	if got := strings.Join(rows[0], " "); got != "session_id reference_id created_at plan use amount_aud" {
		h.Errorf("columns %q", got)
	}
	for _, row := range rows[1:] {
		var dollars int
		if _, err := fmt.Sscan(row[5], &dollars); err != nil {
			h.Errorf("amount %q", row[5])
		}
		cents += 100 * dollars
	}
	return rows[1:], cents
}

// The export of an invoice has each of its sessions once, by reference and with
// its price under the plan of its time, and adds up to the total. It says nothing
// about customers, and runs no formula.
func TestBilledSessionsAddUp(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	extraUse(h, 12)
	live := domain.Scope{AccountID: h.Account.AccountID, Livemode: true}
	h.Clock.Advance(time.Second)
	h.OK(h.Service.Billing.ChangePlan(h.Context(), live.AccountID, harness.Operator, "professional"))
	h.NewSession(live, domain.NewSession{ReferenceID: `=HYPERLINK("https://evil.example")`, CustomerName: "Craig Customer",
		CustomerEmail: "craig@customer.example"})
	h.NewSession(domain.Scope{AccountID: live.AccountID}, domain.NewSession{ReferenceID: "TEST-1"})
	running, cents := billedRows(h, "/dashboard/live/billing/sessions")
	if len(running) != 13 || cents != 2000 {
		t.Errorf("the running period has %d rows for %d cents, want 13 for 2000", len(running), cents)
	}
	invoice := h.LastInvoice(live.AccountID)
	h.OK(h.Service.Billing.Subscribe(h.Context(), live.AccountID, harness.Operator, "starter"))
	h.NewSession(live, domain.NewSession{ReferenceID: "LATER"})
	path := "/dashboard/live/billing/invoices/" + invoice.ID.String() + "/sessions"
	rows, cents := billedRows(h, path)
	if len(rows) != 13 || cents != int(invoice.Total) || cents != 2000 {
		t.Errorf("%d rows for %d cents, want 13 for %d", len(rows), cents, invoice.Total)
	}
	seen := map[string]bool{}
	for i, row := range rows {
		seen[row[0]] = true
		want := []string{fmt.Sprintf("LOAN-%d", i+1), "Starter", "included", "0"}
		switch {
		case i == 12:
			want = []string{`'=HYPERLINK("https://evil.example")`, "Professional", "included", "0"}
		case i >= 10:
			want[2], want[3] = "extra", "10"
		}
		if got := []string{row[1], row[3], row[4], row[5]}; strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("row %d: %q, want %q", i, got, want)
		}
		if strings.Contains(strings.Join(row, " "), "raig") || !strings.HasSuffix(row[2], "+11:00") {
			t.Errorf("row %d has its customer, or no time of Sydney: %q", i, row)
		}
	}
	if len(seen) != 13 {
		t.Errorf("%d different sessions, want 13", len(seen))
	}
	for _, role := range []domain.Role{domain.RoleDeveloper, domain.RoleSupport} {
		for _, of := range []string{path, "/dashboard/live/billing/sessions"} {
			if got := h.Staff(role).Get(of); got.Code != http.StatusForbidden {
				t.Errorf("%s exports what is billed: status %d", role, got.Code)
			}
		}
	}
	if got := h.StaffOf(h.NewAccount("other@lender.example", "starter").AccountID, domain.RoleFinance).
		Get(path); got.Code != http.StatusNotFound {
		t.Errorf("another account exports the invoice: status %d", got.Code)
	}
	audited(h, domain.AuditSessionsExported, 2)
}

// An export of several reads misses nothing and has nothing twice, though all
// sessions were created at the same moment.
func TestBilledSessionsOfManyReads(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	const sessions = 1_003
	first := h.NewSession(domain.Scope{AccountID: h.Account.AccountID, Livemode: true}, domain.NewSession{})
	execSQL(h, `
		INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, metadata, created_at, expires_at)
		SELECT gen_random_uuid(), account_id, livemode, status, form_type, customer_email, metadata, created_at, expires_at
		FROM session, generate_series(2, $2::int) WHERE id = $1`, first.ID, sessions)
	execSQL(h, `UPDATE subscription_usage SET sessions = $1`, sessions)
	rows, cents := billedRows(h, "/dashboard/live/billing/sessions")
	seen := map[string]bool{}
	for _, row := range rows {
		seen[row[0]] = true
	}
	if len(rows) != sessions || len(seen) != sessions || cents != (sessions-100)*500 {
		t.Errorf("%d rows of %d sessions for %d cents, want %d for %d", len(rows), len(seen), cents, sessions, (sessions-100)*500)
	}
}
