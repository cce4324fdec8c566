package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/statement"
)

// sweep erases what was entered, as the worker does.
func (b *bench) sweep(kind domain.RetentionKind) (n int) {
	b.Helper()
	b.ok(b.service.DB.InTx(b.Context(), func(tx *db.Tx) (err error) {
		n, err = tx.RetireData(b.Context(), kind, b.clock.Now(), 100)
		return err
	}))
	return n
}

// TestRetentionOfAnswers: answers of completed sessions stay for as long as the
// account chooses; past that they can't be read, swept or not, and what says
// who the customer is stays until it is erased on request (D50).
func TestRetentionOfAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const settings = "/dashboard/test/settings"
	done := b.newSession(b.testScope(), domain.NewSession{CustomerName: "Jo Citizen"})
	b.complete(done.ID)
	path, page := "/sessions/"+done.ID.String(), "/dashboard/test/sessions/"+done.ID.String()
	b.clock.advance(100 * 24 * time.Hour)
	owner := b.staff(domain.RoleOwner)
	owner.wantPage(owner.get(page), http.StatusOK, "Kept until you delete them", "Download JSON")
	for _, wrong := range []string{"89", "2558", "x", "-1"} {
		owner.wantPage(owner.get(settings+"/retention?answer_days="+wrong), http.StatusUnprocessableEntity, "Enter a number of days from 90 to 2557, or leave it empty")
	}
	owner.wantPage(owner.get(settings+"/retention?answer_days=101"), http.StatusOK, "Nothing is old enough", "instead of being kept until you delete them")
	owner.wantPage(owner.get(settings+"/retention?answer_days="), http.StatusOK, "nothing would change")
	owner.wantPage(owner.get(settings+"/retention?answer_days=100"), http.StatusOK, "Keep answers for 100 days?", "Answers of 1 completed statement will be deleted", "data_expired", "Leave it as it is")
	// No one agreed to another number than the review compared with.
	owner.wantRedirect(owner.post(settings+"/retention", url.Values{"answer_days": {"100"}, "from_days": {"200"}}), settings+"/retention?answer_days=100")
	b.get(path + "/data").status(http.StatusOK)

	owner.wantRedirect(owner.post(settings+"/retention", url.Values{"answer_days": {"101"}, "from_days": {"0"}}), settings)
	owner.wantPage(owner.get(page), http.StatusOK, "Kept until", "1 Mar 2027")
	b.clock.advance(24*time.Hour - time.Millisecond)
	b.get(path + "/data").status(http.StatusOK)
	b.clock.advance(time.Millisecond)
	for _, swept := range []int{0, 1} {
		if swept == 1 && b.sweep(domain.AnswerRetention) != 1 {
			t.Error("the sweep found nothing")
		}
		b.get(path+"/data").refused(http.StatusNotFound, "data_expired", "")
		b.get(path+"/pdf").refused(http.StatusNotFound, "pdf_expired", "")
		got := b.get(path).status(http.StatusOK).object()
		if got["customer_name"] != "Jo Citizen" || got["status"] != "completed" || (got["data_erased_at"] != nil) != (swept == 1) {
			t.Errorf("after %d sweeps: %v", swept, got)
		}
		owner = b.staff(domain.RoleOwner)
		owner.wantPage(owner.get(page), http.StatusOK, "Jo Citizen", "Deleted", "1 Mar 2027", "keeps answers for a limited time")
		owner.wantPage(owner.get(page+"/data"), http.StatusNotFound)
	}
	owner.wantPage(owner.get(settings), http.StatusOK, `value="101"`, "2557")
	owner.wantPage(owner.get("/dashboard/test/audit"), http.StatusOK, "answer days: 0 → 101")

	// Who the customer is can still be erased, and is another matter.
	b.ok(b.service.Sessions.Erase(b.Context(), b.testScope(), done.ID, []domain.SessionID{done.ID}, "jo@customer.example", someone))
	b.get(path+"/data").refused(http.StatusNotFound, "data_erased", "")
	if got := b.sessionOf(done.ID); got.CustomerErasedAt == nil || !got.DataErasedAt.Before(b.clock.Now().Add(time.Millisecond)) || got.CustomerName != nil {
		t.Errorf("erased after its retention: %+v", got)
	}
}

// TestRetentionOfWhatWasNotSubmitted: what was entered in sessions that end
// without completion is erased 30 days after their end, or when the account
// wants it (D50).
func TestRetentionOfWhatWasNotSubmitted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const settings = "/dashboard/test/settings"
	days := 10
	expired := b.newSession(b.testScope(), domain.NewSession{ExpiresInDays: &days})
	cancelled := b.newSession(b.testScope(), domain.NewSession{})
	for _, session := range []*domain.Session{expired, cancelled} {
		b.open(session.ID)
		b.fill(session.ID, statement.PersonalDetailsSection)
		b.upload(session.ID, "payslip.pdf")
	}
	b.clock.advance(10 * 24 * time.Hour)
	b.call(apiCall{method: http.MethodDelete, path: "/sessions/" + cancelled.ID.String()}).status(http.StatusOK)
	b.ok(b.service.DB.InTx(b.Context(), func(tx *db.Tx) error { _, err := tx.ExpireSessions(b.Context(), b.clock.Now(), 10); return err }))
	owner := b.staff(domain.RoleOwner)
	for _, session := range []*domain.Session{expired, cancelled} {
		owner.wantPage(owner.get("/dashboard/test/sessions/"+session.ID.String()), http.StatusOK, "Kept until", "30 Dec 2026", "payslip.pdf")
	}
	b.clock.advance(5 * 24 * time.Hour)
	owner = b.staff(domain.RoleOwner)
	owner.wantPage(owner.get(settings+"/retention?unsubmitted_days=91"), http.StatusUnprocessableEntity, "Enter a number of days from 1 to 90")
	owner.wantPage(owner.get(settings+"/retention?unsubmitted_days="), http.StatusUnprocessableEntity, "Enter a number of days from 1 to 90")
	owner.wantPage(owner.get(settings+"/retention?unsubmitted_days=5"), http.StatusOK, "Answers and documents of 2 unsubmitted sessions will be deleted", "Leave it at 30 days")
	if n := b.sweep(domain.UnsubmittedRetention); n != 0 {
		t.Errorf("%d sessions were erased before their time", n)
	}
	owner.wantRedirect(owner.post(settings+"/retention", url.Values{"unsubmitted_days": {"5"}, "from_days": {"30"}}), settings)
	for _, swept := range []int{0, 2} {
		if swept > 0 && b.sweep(domain.UnsubmittedRetention) != swept {
			t.Errorf("the sweep didn't find %d sessions", swept)
		}
		for _, session := range []*domain.Session{expired, cancelled} {
			answer := owner.get("/dashboard/test/sessions/" + session.ID.String())
			owner.wantPage(answer, http.StatusOK, "Deleted", "5 Dec 2026", "jo@customer.example")
			if text := answer.Body.String(); strings.Contains(text, "payslip.pdf") || strings.Contains(text, "Kept until") {
				t.Errorf("after erasing %d the page still shows what was entered: %s", swept, text)
			}
		}
	}
	var left int
	b.ok(b.db.Raw().GetContext(b.Context(), &left, `SELECT (SELECT count(*) FROM section) + (SELECT count(*) FROM document) + (SELECT count(*) FROM session_key)`))
	if left != 0 {
		t.Errorf("%d rows of what was entered are left", left)
	}
	if got := b.get("/sessions/" + expired.ID.String()).status(http.StatusOK).object(); got["status"] != "expired" || got["data_erased_at"] == nil || got["customer_email"] != "jo@customer.example" {
		t.Errorf("the expired session is %v", got)
	}
}
