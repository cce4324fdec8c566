package api_test

import (
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/testkit/harness"
)

// TestGetSession follows a session from creation to completion.
func TestGetSession(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	created := h.Post("/sessions", with(`"customer_name": "Jo", "metadata": {"branch": "Newtown"}`)).
		WantStatus(http.StatusCreated).Object()
	path := "/sessions/" + created["id"].(string)
	id, err := domain.ParseSessionID(created["id"].(string))
	h.OK(err)
	check := func(want map[string]any) {
		t.Helper()
		full := map[string]any{"cancelled_at": nil, "data_erased_at": nil}
		for _, from := range []map[string]any{created, want} {
			for name, value := range from {
				full[name] = value
			}
		}
		if got := h.Get(path).WantStatus(http.StatusOK).Object(); !reflect.DeepEqual(got, full) {
			t.Errorf("session %v,\nwant %v", got, full)
		}
	}
	done := func(completed, percentage float64) map[string]any {
		return map[string]any{"sections_completed": completed, "sections_total": 7.0, "percentage": percentage}
	}
	check(map[string]any{"progress": done(0, 0)})
	h.Clock.Advance(time.Hour)
	h.Open(id)
	opened := map[string]any{"status": "in_progress", "accessed_at": "2026-11-20T04:04:05.678Z", "progress": done(0, 0)}
	check(opened)
	h.Clock.Advance(time.Hour)
	h.Open(id)
	check(opened)
	for i, percentage := range []float64{14, 29, 43, 57, 71, 86} {
		h.Fill(id, statement.SectionNames[i])
		h.Fill(id, statement.SectionNames[i])
		opened["progress"] = done(float64(i+1), percentage)
		check(opened)
	}
	h.Clock.Advance(time.Hour)
	h.Complete(id)
	opened["status"], opened["completed_at"], opened["progress"] = "completed", "2026-11-20T06:04:05.678Z", done(7, 100)
	check(opened)
	h.Clock.Advance(200 * 24 * time.Hour)
	check(opened)
}

// a state is a session in each of the ways it can be.
type state struct {
	name, status string
	session      *domain.Session
	cancel       string // code of the conflict when cancelled, "" where it can be
}

// states makes a session in each state, expired ones before the sweep.
func states(h *harness.Harness) []state {
	h.Helper()
	at := h.NewSession(h.TestScope(), domain.NewSession{})
	days := 1
	overdue := h.NewSession(h.TestScope(), domain.NewSession{ExpiresInDays: &days})
	overdueOpen := h.NewSession(h.TestScope(), domain.NewSession{ExpiresInDays: &days})
	h.Open(overdueOpen.ID)
	opened := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Open(opened.ID)
	completed := h.NewSession(h.TestScope(), domain.NewSession{ExpiresInDays: &days})
	h.Complete(completed.ID)
	cancelled := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Do(harness.Call{Method: http.MethodDelete, Path: "/sessions/" + cancelled.ID.String()}).WantStatus(http.StatusOK)
	h.Clock.Advance(24 * time.Hour)
	return []state{
		{"pending", "pending", at, ""}, {"in progress", "in_progress", opened, ""},
		{"overdue", "expired", overdue, "session_expired"}, {"overdue while open", "expired", overdueOpen, "session_expired"},
		{"completed", "completed", completed, "session_completed"}, {"cancelled", "cancelled", cancelled, "session_cancelled"},
	}
}

// TestStates checks what each state answers (D11–D13).
func TestStates(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for _, s := range states(h) {
		t.Run(s.name, func(t *testing.T) {
			h := h.In(t)
			path := "/sessions/" + s.session.ID.String()
			if got := h.Get(path).WantStatus(http.StatusOK).Object()["status"]; got != s.status {
				t.Errorf("status %v, want %s", got, s.status)
			}
			for _, sub := range []string{"/data", "/pdf", "/documents/doc_01h455vb4pex5vsknk084sn02q"} {
				if s.status != "completed" {
					h.Get(path+sub).WantError(http.StatusBadRequest, "session_not_completed", "")
				}
			}
			cancel := harness.Call{Method: http.MethodDelete, Path: path}
			if s.cancel != "" {
				h.Do(cancel).WantError(http.StatusConflict, s.cancel, "")
				return
			}
			got := h.Do(cancel).WantStatus(http.StatusOK).Object()
			want := map[string]any{"id": s.session.ID.String(), "status": "cancelled", "cancelled_at": "2026-11-21T03:04:05.678Z"}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("cancelled %v, want %v", got, want)
			}
			h.Do(cancel).WantError(http.StatusConflict, "session_cancelled", "")
			after := h.Get(path).WantStatus(http.StatusOK).Object()
			if after["status"] != "cancelled" || after["cancelled_at"] != want["cancelled_at"] {
				t.Errorf("after cancelling: %v", after)
			}
		})
	}
	if events := harness.QueryOne[int](h, `SELECT count(*) FROM event WHERE type LIKE '%cancel%'`); events != 0 {
		t.Errorf("%d events of cancellations, want none", events)
	}
}

// TestExpiryInstant checks that a session expires at expires_at, not before
// and not with the sweep (D11).
func TestExpiryInstant(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	path := "/sessions/" + session.ID.String()
	expect := func(status string) {
		t.Helper()
		if got := h.Get(path).Object()["status"]; got != status {
			t.Errorf("get: %v, want %s", got, status)
		}
		for _, asked := range []string{"pending", "expired"} {
			list := h.Get("/sessions?status=" + asked).WantStatus(http.StatusOK).Object()
			want := 0
			if asked == status {
				want = 1
			}
			if n := len(list["data"].([]any)); n != want || list["pagination"].(map[string]any)["total"] != float64(want) {
				t.Errorf("list of %s: %v, want %d", asked, list, want)
			}
		}
		usage := h.Get("/billing/usage?start_date=2026-11-20&end_date=2026-11-20").Object()["sessions"].(map[string]any)
		if (usage["expired"] == 1.0) != (status == "expired") {
			t.Errorf("usage while %s: %v", status, usage)
		}
	}
	h.Clock.Set(session.ExpiresAt.Add(-time.Millisecond))
	expect("pending")
	h.Clock.Set(session.ExpiresAt)
	expect("expired")
	execSQL(h, `UPDATE session SET status = 'expired'`)
	expect("expired")
}

// TestSessionData checks the data of a completed session.
func TestSessionData(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Open(session.ID)
	h.Upload(session.ID, "payslip.pdf")
	h.Clock.Advance(90 * time.Minute)
	h.Complete(session.ID)
	got := h.Get("/sessions/" + session.ID.String() + "/data").WantStatus(http.StatusOK).Object()
	if keys := keysOf(got); !slices.Equal(keys, []string{"data", "form_type", "session_id", "status", "submitted_at"}) {
		t.Errorf("fields %q", keys)
	}
	data := got["data"].(map[string]any)
	delete(got, "data")
	want := map[string]any{"session_id": session.ID.String(), "form_type": "financial_statement", "status": "completed",
		"submitted_at": "2026-11-20T04:34:05.678Z"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("data's frame %v, want %v", got, want)
	}
	members := []string{"assets", "confirmations", "declaration", "documents", "entered", "expenses", "income", "liabilities",
		"personal_details", "prefilled", "summary"}
	if keys := keysOf(data); !slices.Equal(keys, members) {
		t.Errorf("data's members %q, want %q", keys, members)
	}
	declaration := data["declaration"].(map[string]any)
	if declaration["accepted"] != true || declaration["signed_at"] != "2026-11-20T04:34:05.678Z" || declaration["full_name"] == "" {
		t.Errorf("declaration %v", declaration)
	}
	documents := data["documents"].([]any)
	if len(documents) != 1 || documents[0].(map[string]any)["file_name"] != "payslip.pdf" {
		t.Errorf("documents %v", documents)
	}
	if keys := keysOf(data["summary"].(map[string]any)); len(keys) != 8 {
		t.Errorf("summary has %q", keys)
	}
}
