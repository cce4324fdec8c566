package handlers_test

import (
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
)

// TestGetSession follows a session from creation to completion.
func TestGetSession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	created := b.post("/sessions", with(`"customer_name": "Jo", "metadata": {"branch": "Newtown"}`)).status(http.StatusCreated).object()
	path := "/sessions/" + created["id"].(string)
	id, err := domain.ParseSessionID(created["id"].(string))
	b.ok(err)
	check := func(want map[string]any) {
		t.Helper()
		full := map[string]any{"cancelled_at": nil, "data_erased_at": nil}
		for _, from := range []map[string]any{created, want} {
			for name, value := range from {
				full[name] = value
			}
		}
		if got := b.get(path).status(http.StatusOK).object(); !reflect.DeepEqual(got, full) {
			t.Errorf("session %v,\nwant %v", got, full)
		}
	}
	done := func(completed, percentage float64) map[string]any {
		return map[string]any{"sections_completed": completed, "sections_total": 7.0, "percentage": percentage}
	}
	check(map[string]any{"progress": done(0, 0)})
	b.clock.advance(time.Hour)
	b.open(id)
	opened := map[string]any{"status": "in_progress", "accessed_at": "2026-11-20T04:04:05.678Z", "progress": done(0, 0)}
	check(opened)
	b.clock.advance(time.Hour)
	b.open(id)
	check(opened)
	for i, percentage := range []float64{14, 29, 43, 57, 71, 86} {
		b.fill(id, statement.SectionNames[i])
		b.fill(id, statement.SectionNames[i])
		opened["progress"] = done(float64(i+1), percentage)
		check(opened)
	}
	b.clock.advance(time.Hour)
	b.complete(id)
	opened["status"], opened["completed_at"], opened["progress"] = "completed", "2026-11-20T06:04:05.678Z", done(7, 100)
	check(opened)
	b.clock.advance(200 * 24 * time.Hour)
	check(opened)
}

// a state is a session in each of the ways it can be.
type state struct {
	name, status string
	session      *domain.Session
	cancel       string // code of the conflict when cancelled, "" where it can be
}

// states makes a session in each state, expired ones before the sweep.
func (b *bench) states() []state {
	b.Helper()
	at := b.newSession(b.testScope(), domain.NewSession{})
	days := 1
	overdue := b.newSession(b.testScope(), domain.NewSession{ExpiresInDays: &days})
	overdueOpen := b.newSession(b.testScope(), domain.NewSession{ExpiresInDays: &days})
	b.open(overdueOpen.ID)
	opened := b.newSession(b.testScope(), domain.NewSession{})
	b.open(opened.ID)
	completed := b.newSession(b.testScope(), domain.NewSession{ExpiresInDays: &days})
	b.complete(completed.ID)
	cancelled := b.newSession(b.testScope(), domain.NewSession{})
	b.call(apiCall{method: http.MethodDelete, path: "/sessions/" + cancelled.ID.String()}).status(http.StatusOK)
	b.clock.advance(24 * time.Hour)
	return []state{
		{"pending", "pending", at, ""}, {"in progress", "in_progress", opened, ""},
		{"overdue", "expired", overdue, "session_expired"}, {"overdue while open", "expired", overdueOpen, "session_expired"},
		{"completed", "completed", completed, "session_completed"}, {"cancelled", "cancelled", cancelled, "session_cancelled"},
	}
}

// TestStates checks what each state answers (D11–D13).
func TestStates(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, s := range b.states() {
		t.Run(s.name, func(t *testing.T) {
			b := b.in(t)
			path := "/sessions/" + s.session.ID.String()
			if got := b.get(path).status(http.StatusOK).object()["status"]; got != s.status {
				t.Errorf("status %v, want %s", got, s.status)
			}
			for _, sub := range []string{"/data", "/pdf", "/documents/doc_01h455vb4pex5vsknk084sn02q"} {
				if s.status != "completed" {
					b.get(path+sub).refused(http.StatusBadRequest, "session_not_completed", "")
				}
			}
			cancel := apiCall{method: http.MethodDelete, path: path}
			if s.cancel != "" {
				b.call(cancel).refused(http.StatusConflict, s.cancel, "")
				return
			}
			got := b.call(cancel).status(http.StatusOK).object()
			want := map[string]any{"id": s.session.ID.String(), "status": "cancelled", "cancelled_at": "2026-11-21T03:04:05.678Z"}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("cancelled %v, want %v", got, want)
			}
			b.call(cancel).refused(http.StatusConflict, "session_cancelled", "")
			after := b.get(path).status(http.StatusOK).object()
			if after["status"] != "cancelled" || after["cancelled_at"] != want["cancelled_at"] {
				t.Errorf("after cancelling: %v", after)
			}
		})
	}
	var events int
	b.ok(b.db.Raw().GetContext(b.Context(), &events, `SELECT count(*) FROM event WHERE type LIKE '%cancel%'`))
	if events != 0 {
		t.Errorf("%d events of cancellations, want none", events)
	}
}

// TestExpiryInstant checks that a session expires at expires_at, not before
// and not with the sweep (D11).
func TestExpiryInstant(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.newSession(b.testScope(), domain.NewSession{})
	path := "/sessions/" + session.ID.String()
	expect := func(status string) {
		t.Helper()
		if got := b.get(path).object()["status"]; got != status {
			t.Errorf("get: %v, want %s", got, status)
		}
		for _, asked := range []string{"pending", "expired"} {
			list := b.get("/sessions?status=" + asked).status(http.StatusOK).object()
			want := 0
			if asked == status {
				want = 1
			}
			if n := len(list["data"].([]any)); n != want || list["pagination"].(map[string]any)["total"] != float64(want) {
				t.Errorf("list of %s: %v, want %d", asked, list, want)
			}
		}
		usage := b.get("/billing/usage?start_date=2026-11-20&end_date=2026-11-20").object()["sessions"].(map[string]any)
		if (usage["expired"] == 1.0) != (status == "expired") {
			t.Errorf("usage while %s: %v", status, usage)
		}
	}
	b.clock.set(session.ExpiresAt.Add(-time.Millisecond))
	expect("pending")
	b.clock.set(session.ExpiresAt)
	expect("expired")
	tx, err := b.db.Raw().BeginTxx(b.Context(), nil)
	b.ok(err)
	_, err = tx.ExecContext(b.Context(), `UPDATE session SET status = 'expired'`)
	b.ok(err)
	b.ok(tx.Commit())
	expect("expired")
}

// TestSessionData checks the data of a completed session.
func TestSessionData(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.newSession(b.testScope(), domain.NewSession{})
	b.open(session.ID)
	b.upload(session.ID, "payslip.pdf")
	b.clock.advance(90 * time.Minute)
	b.complete(session.ID)
	got := b.get("/sessions/" + session.ID.String() + "/data").status(http.StatusOK).object()
	if keys := keysOf(got); !slices.Equal(keys, []string{"data", "form_type", "session_id", "status", "submitted_at"}) {
		t.Errorf("fields %q", keys)
	}
	data := got["data"].(map[string]any)
	delete(got, "data")
	want := map[string]any{"session_id": session.ID.String(), "form_type": "financial_statement", "status": "completed", "submitted_at": "2026-11-20T04:34:05.678Z"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("data's frame %v, want %v", got, want)
	}
	members := []string{"assets", "declaration", "documents", "expenses", "income", "liabilities", "personal_details", "summary"}
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
	if keys := keysOf(data["summary"].(map[string]any)); len(keys) != 6 {
		t.Errorf("summary has %q", keys)
	}
}
