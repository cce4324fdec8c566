package dashboard_test

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
	"candor/internal/testkit/harness"
)

// traces returns the tables in which one of the texts stands, as it is or in
// bytes.
func traces(h *harness.Harness, texts ...string) (out []string) {
	h.Helper()
	var tables []string
	h.OK(h.DB.Raw().SelectContext(h.Context(), &tables,
		`SELECT quote_ident(table_name) FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`))
	for _, table := range tables {
		all := harness.QueryOne[string](h, `SELECT coalesce(string_agg(t::text, ' '), '') FROM `+table+` t`)
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
func attempted(h *harness.Harness, session domain.SessionID, response string) []db.AttemptOutcome {
	h.Helper()
	deliveries, err := h.DB.Deliveries(h.Context(), session)
	h.OK(err)
	var out []db.AttemptOutcome
	next := h.Clock.Now().Add(time.Hour)
	for _, d := range deliveries {
		out = append(out, db.AttemptOutcome{
			DeliveryAttempt: domain.DeliveryAttempt{DeliveryID: d.ID, Number: 1, StartedAt: h.Clock.Now(), RequestHeaders: []byte(`{}`),
				Response: &response},
			Cycle: 1, State: domain.DeliveryPending, Next: &next,
		})
	}
	return out
}

// TestErasure has a customer's data erased and looks for them everywhere.
func TestErasure(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	const (
		name, email, reference = "Zaphod Q. Trillian", "zaphod@heart.example", "LOAN-424242"
		hook                   = "https://hooks.lender.example/in?customer=ztrillian"
	)
	body := fmt.Sprintf(
		`{"form_type": "financial_statement", "customer_email": %q, "customer_name": %q, "reference_id": %q, "webhook_url": %q, "metadata": {"pet": "Marvin the android"}}`,
		email, name, reference, hook)
	var created struct{ ID domain.SessionID }
	h.OK(json.Unmarshal(h.PostOnce("order 1", body).WantStatus(http.StatusCreated).Body.Bytes(), &created))
	h.PostOnce("order 2", harness.ValidBody).WantStatus(http.StatusCreated)
	id := created.ID
	h.Clock.Advance(2 * time.Minute)
	advance := harness.Call{Method: http.MethodPost, Path: "/test/sessions/" + id.String() + "/advance", Body: `{"to": "opened"}`,
		Header: "Idempotency-Key: step 1"}
	h.Do(advance).WantStatus(http.StatusOK)
	deliveries, err := h.DB.Deliveries(h.Context(), id)
	h.OK(err)
	attempt := harness.Call{Method: http.MethodPost, Path: "/test/deliveries/" + deliveries[0].ID.String() + "/attempt",
		Header: "Idempotency-Key: again 1"}
	h.Do(attempt).WantStatus(http.StatusOK)
	if kept := h.Do(attempt).WantStatus(http.StatusOK); !strings.Contains(kept.Body.String(), hook) || kept.Header().
		Get("Idempotency-Replayed") != "true" {
		t.Errorf("attempted, and repeated: %s", kept.Body)
	}
	h.Open(id)
	h.Upload(id, "payslip of zaphod.pdf")
	for _, section := range statement.SectionNames[:6] {
		h.Fill(id, section)
	}
	documents, err := h.DB.Documents(h.Context(), id)
	h.OK(err)
	customer := h.Customer(h.SessionOf(id))
	customer.WantRedirect(customer.Sign())
	h.StorePDF(id, []byte("%PDF of zaphod"))
	underWay := attempted(h, id, "thanks for "+name)
	h.OK(h.DB.RecordAttempts(h.Context(), underWay[:3], nil))
	open := h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: strings.ToUpper(email), CustomerName: name})
	other := h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: "other@heart.example", ReferenceID: "LOAN-7"})
	live := h.NewSession(domain.Scope{AccountID: h.Account.AccountID, Livemode: true}, domain.NewSession{CustomerEmail: email})

	owner := h.Owner()
	path := "/dashboard/test/sessions/" + id.String()
	owner.WantPage(owner.Get(path), http.StatusOK, "Delete this customer’s data")
	page := owner.Get(path + "/erase")
	owner.WantPage(page, http.StatusOK, email, reference, open.ID.String(), "Delete permanently")
	for _, foreign := range []domain.SessionID{other.ID, live.ID} {
		if strings.Contains(page.Body.String(), foreign.String()) {
			t.Errorf("the page has the session %s", foreign)
		}
	}
	owner.WantPage(owner.Post(path+"/erase", url.Values{"confirm": {"jo@customer.example"}}), http.StatusUnprocessableEntity,
		"Choose at least one session", "exactly as shown")
	both := url.Values{"confirm": {" Zaphod@heart.example "}, "sessions": {id.String(), open.ID.String()}}
	with := url.Values{"confirm": {email}, "sessions": {id.String(), other.ID.String()}}
	if got := owner.Post(path+"/erase", with); got.Code != http.StatusNotFound {
		t.Errorf("another customer's session: status %d, want 404", got.Code)
	}
	if h.SessionOf(id).DataErasedAt != nil || h.SessionOf(id).PDFSHA256 == nil || len(traces(h, "Marvin the android")) == 0 {
		t.Fatal("erased before it was asked for rightly, or the search for traces finds nothing")
	}
	// It fails at the second session; the same form then erases both.
	execSQL(h, `
		CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$;
		CREATE TRIGGER fail BEFORE INSERT ON erasure FOR EACH ROW
			WHEN (NEW.session_id = '`+id.UUID.String()+`') EXECUTE FUNCTION fail()`)
	if got := owner.Post(path+"/erase", both); got.Code != http.StatusInternalServerError || h.SessionOf(open.ID).
		DataErasedAt == nil || h.SessionOf(id).DataErasedAt != nil {
		t.Fatalf("status %d where one of two sessions can't be erased", got.Code)
	}
	execSQL(h, `DROP FUNCTION fail CASCADE`)
	owner.WantRedirect(owner.Post(path+"/erase", both), path)

	owner.WantPage(owner.Get(path), http.StatusOK, "receipt", "1 document, 1 PDF", "what 9 events said, 9 webhooks")
	h.OK(h.DB.RecordAttempts(h.Context(), underWay, nil)) // those that were under way come back
	var answers []string
	for _, section := range []string{statement.PersonalDetailsSection, statement.AssetsSection} {
		for _, values := range statementtest.Values(section) {
			if len(values[0]) > 8 {
				answers = append(answers, values[0])
			}
		}
	}
	traces := traces(h, append(answers, name, email, strings.ToUpper(email), reference, "Marvin", "ztrillian", "Test/1", "192.0.2.7",
		"payslip of zaphod", "PDF of zaphod", "order 1", "step 1", "again 1")...)
	for _, trace := range traces {
		if !strings.HasPrefix(trace, "session: "+email) && trace != "session_search: "+email { // that of the other mode
			t.Errorf("left in %s", trace)
		}
	}
	if _, err := h.Service.Blobs.Open(h.Context(), documents[0].ID.String()); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("the document's bytes: %v, want none", err)
	}
	wantNoTrace(h, name, email, reference)
	if digest := h.SessionOf(id).PDFSHA256; digest != nil {
		t.Errorf("the digest of the PDF is left: %x", digest)
	}

	// What the partner's developer sees.
	var session struct {
		Status        string
		CustomerEmail string  `json:"customer_email"`
		CustomerName  *string `json:"customer_name"`
		DataErasedAt  *string `json:"data_erased_at"`
	}
	h.OK(json.Unmarshal(h.Get("/sessions/"+id.String()).WantStatus(http.StatusOK).Body.Bytes(), &session))
	if session.Status != "completed" || session.CustomerEmail != domain.ErasedEmail || session.CustomerName != nil ||
		session.DataErasedAt == nil {
		t.Errorf("session %+v", session)
	}
	for _, what := range []string{"/data", "/pdf", "/documents/doc_01m7xsggqsf43scdh9320874jm"} {
		h.Get("/sessions/"+id.String()+what).WantError(http.StatusNotFound, "data_erased", "")
	}
	if replay := h.PostOnce("order 1", body); strings.Contains(replay.Body.String(), "zaphod") ||
		!strings.Contains(replay.Body.String(), id.String()) {
		t.Errorf("replayed %s", replay.Body)
	}
	if replay := h.Do(advance).WantStatus(http.StatusOK); strings.Contains(replay.Body.String(), "zaphod") ||
		!strings.Contains(replay.Body.String(), id.String()) {
		t.Errorf("replayed %s", replay.Body)
	}
	h.Do(attempt).WantError(http.StatusNotFound, "not_found", "")
	if replay := h.PostOnce("order 2", harness.ValidBody); !strings.Contains(replay.Body.String(), "jo@customer.example") {
		t.Errorf("another answer was changed: %s", replay.Body)
	}
	feed := h.Events("?limit=100")
	if len(feed.Data) != 9 { // accessed, seven sections, completed
		t.Errorf("%d events, want 9", len(feed.Data))
	}
	for i, e := range feed.Data {
		if e.Sequence != int64(i+1) || !strings.Contains(string(e.Data), "data_erased_at") || e.Delivery != nil || e.Timestamp == "" {
			t.Errorf("event %d: %+v", i, e)
		}
	}

	// What the customer and the staff see.
	customer.WantPage(customer.Get(""), http.StatusGone).Shows("Your information has been deleted")
	if got := h.SessionOf(open.ID); got.Status != domain.Cancelled || got.DataErasedAt == nil {
		t.Errorf("the open session is %s", got.Status)
	}
	receipt := owner.Get(path + "/receipt")
	owner.WantPage(receipt, http.StatusOK, "ers_", id.String(), "State before: completed", "9 events", "9 webhooks", "Lender")
	owner.WantPage(owner.Get("/dashboard/test/events"), http.StatusOK, "session.completed 9 "+id.String()+" Deleted").Hides("no URL")
	owner.WantPage(owner.Get("/dashboard/test/events/"+feed.Data[8].ID), http.StatusOK,
		"Its webhooks were deleted with the customer’s data.").Hides("not sent")
	owner.WantRedirect(owner.Get(path+"/erase"), path)
	audited(h, domain.AuditSessionErased, 2)
	owner.WantRedirect(owner.Post(path+"/erase", both), path)
	audited(h, domain.AuditSessionErased, 2)
	if got := h.SessionOf(other.ID); got.DataErasedAt != nil || got.ReferenceID == nil {
		t.Error("another customer's session was erased")
	}
}
