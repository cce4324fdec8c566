package domain_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"candor/internal/domain"
	"candor/internal/form"
)

// The bodies have exactly the contract's fields (interface.md Events), and
// livemode in the envelope (D34).
func TestEventBodies(t *testing.T) {
	t.Parallel()
	id := domain.SessionID{UUID: uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")}
	now := form.At(time.Date(2026, 11, 20, 23, 30, 0, 0, time.FixedZone("", 11*3600)))
	reference := "REF <1>"
	const head = `"session_id":"sess_01h455vb4pex5vsknk084sn02q"`
	const when = `"2026-11-20T12:30:00.000Z"`
	tests := []struct {
		payload domain.Payload
		kind    string
		session bool
		data    string
	}{
		{domain.AccessedPayload{SessionID: id, AccessedAt: now, UserAgent: "Test/1", IPAddress: "192.0.2.7"}, "session.accessed", true,
			`{` + head + `,"accessed_at":` + when + `,"user_agent":"Test/1","ip_address":"192.0.2.7"}`},
		{domain.SectionCompletedPayload{SessionID: id, Section: "income", SectionNumber: 2, SectionsTotal: 7, SectionsCompleted: 1,
			ProgressPercentage: 14}, "session.section_completed", true,
			`{` + head + `,"section":"income","section_number":2,"sections_total":7,"sections_completed":1,"progress_percentage":14}`},
		{domain.CompletedPayload{SessionID: id, CompletedAt: now, FormType: "financial_statement", ReferenceID: &reference,
			DurationMinutes: 42,
			Summary:         domain.CompletedSummary{TotalAssets: 85000000, TotalLiabilities: 125050, NetWorth: -5}},
			"session.completed", true,
			`{` + head + `,"completed_at":` + when +
				`,"form_type":"financial_statement","reference_id":"REF \u003c1\u003e","duration_minutes":42,"summary":{"total_assets":850000,"total_liabilities":1250.5,"net_worth":-0.05}}`},
		{domain.CompletedPayload{SessionID: id, CompletedAt: now, FormType: "financial_statement"}, "session.completed", true,
			`{` + head + `,"completed_at":` + when +
				`,"form_type":"financial_statement","reference_id":null,"duration_minutes":0,"summary":{"total_assets":0,"total_liabilities":0,"net_worth":0}}`},
		{domain.PDFReadyPayload{SessionID: id, PDFURL: "https://x/v1/sessions/1/pdf", FileSizeBytes: 1 << 33, PageCount: 4},
			"session.pdf_ready", true,
			`{` + head + `,"pdf_url":"https://x/v1/sessions/1/pdf","file_size_bytes":8589934592,"page_count":4}`},
		{domain.ExpiredPayload{SessionID: id, ExpiredAt: now, WasAccessed: true, ProgressPercentage: 57, LastActivityAt: &now},
			"session.expired", true,
			`{` + head + `,"expired_at":` + when + `,"was_accessed":true,"progress_percentage":57,"last_activity_at":` + when + `}`},
		{domain.ExpiredPayload{SessionID: id, ExpiredAt: now}, "session.expired", true,
			`{` + head + `,"expired_at":` + when + `,"was_accessed":false,"progress_percentage":0,"last_activity_at":null}`},
		{domain.InvoicePaidPayload{InvoiceID: "inv_1", Amount: 123456, Currency: "AUD", PeriodStart: now, PeriodEnd: now},
			"billing.invoice_paid", false,
			`{"invoice_id":"inv_1","amount":123456,"currency":"AUD","period_start":` + when + `,"period_end":` + when + `}`},
		{domain.InvoicePaymentFailedPayload{InvoiceID: "inv_1", Amount: 5, FailureReason: "card declined", RetryAt: &now},
			"billing.invoice_payment_failed", false,
			`{"invoice_id":"inv_1","amount":5,"failure_reason":"card declined","retry_at":` + when + `}`},
		{domain.SubscriptionCancelledPayload{EffectiveDate: now, Reason: "asked for"}, "billing.subscription_cancelled", false,
			`{"effective_date":` + when + `,"reason":"asked for"}`},
	}
	scope := domain.Scope{AccountID: domain.NewAccountID(), Livemode: true}
	for _, tt := range tests {
		session, member := &id, head+","
		if !tt.session {
			session, member = nil, ""
		}
		event, err := domain.NewEvent(scope, session, 7, tt.payload, now.Time)
		if err != nil {
			t.Errorf("%s: %v", tt.kind, err)
			continue
		}
		want := `{"event":"` + tt.kind + `",` + member + `"livemode":true,"sequence":7,"timestamp":` + when + `,"data":` + tt.data + `}`
		if string(event.Body) != want {
			t.Errorf("body is\n%s\nwant\n%s", event.Body, want)
		}
		if string(event.Type) != tt.kind || event.SessionID != session || event.AccountID != scope.AccountID || !event.Livemode {
			t.Errorf("%s is kept as %+v", tt.kind, event)
		}
	}
}
