package handlers_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/blob"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
)

// sessionOf is a session as it is stored.
func (b *bench) sessionOf(id domain.SessionID) *domain.Session {
	b.Helper()
	session, err := b.db.SessionByID(b.Context(), id)
	b.ok(err)
	return session
}

// traces returns the tables in which one of the texts stands, as it is or in
// bytes.
func (b *bench) traces(texts ...string) (out []string) {
	b.Helper()
	var tables []string
	b.ok(b.db.Raw().SelectContext(b.Context(), &tables, `SELECT quote_ident(table_name) FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`))
	for _, table := range tables {
		var all string
		b.ok(b.db.Raw().GetContext(b.Context(), &all, `SELECT coalesce(string_agg(t::text, ' '), '') FROM `+table+` t`))
		for _, text := range texts {
			if strings.Contains(all, text) || strings.Contains(all, hex.EncodeToString([]byte(text))) {
				out = append(out, table+": "+text)
			}
		}
	}
	return out
}

// attempted records an attempt of a session's deliveries that was answered
// with the text.
func (b *bench) attempted(session domain.SessionID, response string) []db.AttemptOutcome {
	b.Helper()
	deliveries, err := b.db.Deliveries(b.Context(), session)
	b.ok(err)
	var out []db.AttemptOutcome
	next := b.clock.Now().Add(time.Hour)
	for _, d := range deliveries {
		out = append(out, db.AttemptOutcome{
			DeliveryAttempt: domain.DeliveryAttempt{DeliveryID: d.ID, Number: 1, StartedAt: b.clock.Now(), RequestHeaders: []byte(`{}`), Response: &response},
			Cycle:           1, State: domain.DeliveryPending, Next: &next,
		})
	}
	return out
}

// TestErasure has a customer's data erased and looks for them everywhere.
func TestErasure(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const (
		name, email, reference = "Zaphod Q. Trillian", "zaphod@heart.example", "LOAN-424242"
		hook                   = "https://hooks.lender.example/in?customer=ztrillian"
	)
	body := fmt.Sprintf(`{"form_type": "financial_statement", "customer_email": %q, "customer_name": %q, "reference_id": %q, "webhook_url": %q, "metadata": {"pet": "Marvin the android"}}`,
		email, name, reference, hook)
	var created struct{ ID domain.SessionID }
	b.ok(json.Unmarshal(b.once("order 1", body).status(http.StatusCreated).Body.Bytes(), &created))
	b.once("order 2", validBody).status(http.StatusCreated)
	id := created.ID
	b.open(id)
	b.upload(id, "payslip of zaphod.pdf")
	for _, section := range statement.SectionNames[:6] {
		b.fill(id, section)
	}
	documents, err := b.db.Documents(b.Context(), id)
	b.ok(err)
	customer := b.customer(b.sessionOf(id))
	customer.redirects(customer.sign())
	b.storePDF(id, []byte("%PDF of zaphod"))
	underWay := b.attempted(id, "thanks for "+name)
	b.ok(b.db.RecordAttempts(b.Context(), underWay[:3], nil))
	open := b.newSession(b.testScope(), domain.NewSession{CustomerEmail: strings.ToUpper(email), CustomerName: name})
	other := b.newSession(b.testScope(), domain.NewSession{CustomerEmail: "other@heart.example", ReferenceID: "LOAN-7"})
	live := b.newSession(domain.Scope{AccountID: b.account.AccountID, Livemode: true}, domain.NewSession{CustomerEmail: email})

	owner := b.owner()
	path := "/dashboard/test/sessions/" + id.String()
	owner.wantPage(owner.get(path), http.StatusOK, "Delete this customer’s data")
	page := owner.get(path + "/erase")
	owner.wantPage(page, http.StatusOK, email, reference, open.ID.String(), "Delete for good")
	for _, foreign := range []domain.SessionID{other.ID, live.ID} {
		if strings.Contains(page.Body.String(), foreign.String()) {
			t.Errorf("the page has the session %s", foreign)
		}
	}
	owner.wantPage(owner.post(path+"/erase", url.Values{"confirm": {"jo@customer.example"}}), http.StatusUnprocessableEntity, "Choose at least one session", "exactly as it is shown")
	both := url.Values{"confirm": {" Zaphod@heart.example "}, "sessions": {id.String(), open.ID.String()}}
	with := url.Values{"confirm": {email}, "sessions": {id.String(), other.ID.String()}}
	if got := owner.post(path+"/erase", with); got.Code != http.StatusNotFound {
		t.Errorf("another customer's session: status %d, want 404", got.Code)
	}
	if b.sessionOf(id).DataErasedAt != nil || len(b.traces("Marvin the android")) == 0 {
		t.Fatal("erased before it was asked for rightly, or the search for traces finds nothing")
	}
	owner.wantRedirect(owner.post(path+"/erase", both), path)

	owner.wantPage(owner.get(path), http.StatusOK, "receipt", "1 document, 1 PDF", "what 9 events said, 9 webhooks")
	b.ok(b.db.RecordAttempts(b.Context(), underWay, nil)) // those that were under way come back
	var answers []string
	for _, section := range []string{statement.PersonalDetailsSection, statement.AssetsSection} {
		for _, values := range statementtest.Values(section) {
			if len(values[0]) > 8 {
				answers = append(answers, values[0])
			}
		}
	}
	traces := b.traces(append(answers, name, email, strings.ToUpper(email), reference, "Marvin", "ztrillian", "Test/1", "192.0.2.7", "payslip of zaphod", "PDF of zaphod")...)
	for _, trace := range traces {
		if !strings.HasPrefix(trace, "session: "+email) { // that of the other mode
			t.Errorf("left in %s", trace)
		}
	}
	if _, err := b.service.Blobs.Open(b.Context(), documents[0].ID.String()); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("the document's bytes: %v, want none", err)
	}
	b.wantNoTrace(name, email, reference)

	// What the partner's developer sees.
	var session struct {
		Status        string
		CustomerEmail string  `json:"customer_email"`
		CustomerName  *string `json:"customer_name"`
		DataErasedAt  *string `json:"data_erased_at"`
	}
	b.ok(json.Unmarshal(b.get("/sessions/"+id.String()).status(http.StatusOK).Body.Bytes(), &session))
	if session.Status != "completed" || session.CustomerEmail != domain.ErasedEmail || session.CustomerName != nil || session.DataErasedAt == nil {
		t.Errorf("session %+v", session)
	}
	b.get("/sessions/"+id.String()+"/data").refused(http.StatusNotFound, "data_erased", "")
	b.get("/sessions/"+id.String()+"/pdf").refused(http.StatusNotFound, "pdf_expired", "")
	if replay := b.once("order 1", body); strings.Contains(replay.Body.String(), "zaphod") || !strings.Contains(replay.Body.String(), id.String()) {
		t.Errorf("replayed %s", replay.Body)
	}
	if replay := b.once("order 2", validBody); !strings.Contains(replay.Body.String(), "jo@customer.example") {
		t.Errorf("another answer was changed: %s", replay.Body)
	}
	feed := b.events("?limit=100")
	if len(feed.Data) != 9 { // accessed, seven sections, completed
		t.Errorf("%d events, want 9", len(feed.Data))
	}
	for i, e := range feed.Data {
		if e.Sequence != int64(i+1) || !strings.Contains(string(e.Data), "data_erased_at") || e.Delivery != nil || e.Timestamp == "" {
			t.Errorf("event %d: %+v", i, e)
		}
	}

	// What the customer and the staff see.
	if page := customer.page(customer.get(""), http.StatusGone); !strings.Contains(page, "Your information has been deleted") {
		t.Errorf("the customer sees %.2000s", page)
	}
	if got := b.sessionOf(open.ID); got.Status != domain.Cancelled || got.DataErasedAt == nil {
		t.Errorf("the open session is %s", got.Status)
	}
	receipt := owner.get(path + "/receipt")
	owner.wantPage(receipt, http.StatusOK, "ers_", id.String(), "State before: completed", "9 events", "9 webhooks", "Lender")
	owner.wantRedirect(owner.get(path+"/erase"), path)
	b.audited(domain.AuditSessionErased, 2)
	owner.wantRedirect(owner.post(path+"/erase", both), path)
	b.audited(domain.AuditSessionErased, 2)
	if got := b.sessionOf(other.ID); got.DataErasedAt != nil || got.ReferenceID == nil {
		t.Error("another customer's session was erased")
	}
}
