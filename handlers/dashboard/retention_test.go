package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/testkit/harness"
)

// sweep erases what was entered, as the worker does.
func sweep(h *harness.Harness, kind domain.RetentionKind) (n int) {
	h.Helper()
	h.OK(h.Service.DB.InTx(h.Context(), func(tx *db.Tx) (err error) {
		n, err = tx.RetireData(h.Context(), kind, h.Clock.Now(), 100)
		return err
	}))
	return n
}

// TestRetentionOfAnswers: answers of completed sessions stay for as long as the
// account chooses; past that they can't be read, swept or not, and what says
// who the customer is stays until it is erased on request (D50).
func TestRetentionOfAnswers(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	const settings = "/dashboard/test/settings"
	done := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Jo Citizen"})
	h.Complete(done.ID)
	path, page := "/sessions/"+done.ID.String(), "/dashboard/test/sessions/"+done.ID.String()
	h.Clock.Advance(100 * 24 * time.Hour)
	owner := h.Staff(domain.RoleOwner)
	owner.WantPage(owner.Get(page), http.StatusOK, "Kept until you delete them", "Download JSON")
	for _, wrong := range []string{"89", "2558", "x", "-1"} {
		owner.WantPage(owner.Get(settings+"/retention?answer_days="+wrong), http.StatusUnprocessableEntity,
			"Enter a number of days from 90 to 2557, or leave it empty")
	}
	owner.WantPage(owner.Get(settings+"/retention?answer_days=101"), http.StatusOK, "Nothing is deleted now",
		"instead of being kept until you delete them")
	owner.WantPage(owner.Get(settings+"/retention?answer_days="), http.StatusOK, "Nothing would change")
	owner.WantPage(owner.Get(settings+"/retention?answer_days=100"), http.StatusOK, "Keep answers for 100 days?",
		"Answers of 1 completed statement will be deleted", "data_expired", "Keep it as it is")
	// No one agreed to another number than the review compared with.
	owner.WantRedirect(owner.Post(settings+"/retention", url.Values{"answer_days": {"100"}, "from_days": {"200"}}),
		settings+"/retention?answer_days=100")
	h.Get(path + "/data").WantStatus(http.StatusOK)

	for range 2 { // as a double click does
		owner.WantRedirect(owner.Post(settings+"/retention", url.Values{"answer_days": {"101"}, "from_days": {"0"}}), settings)
	}
	audited(h, domain.AuditAccountChanged, 1)
	owner.WantPage(owner.Get(page), http.StatusOK, "Kept until", "1 Mar 2027")
	h.Clock.Advance(24*time.Hour - time.Millisecond)
	h.Get(path + "/data").WantStatus(http.StatusOK)
	h.Clock.Advance(time.Millisecond)
	for _, swept := range []int{0, 1} {
		if swept == 1 && sweep(h, domain.AnswerRetention) != 1 {
			t.Error("the sweep found nothing")
		}
		h.Get(path+"/data").WantError(http.StatusNotFound, "data_expired", "")
		h.Get(path+"/pdf").WantError(http.StatusNotFound, "pdf_expired", "")
		got := h.Get(path).WantStatus(http.StatusOK).Object()
		if got["customer_name"] != "Jo Citizen" || got["status"] != "completed" || (got["data_erased_at"] != nil) != (swept == 1) {
			t.Errorf("after %d sweeps: %v", swept, got)
		}
		owner = h.Staff(domain.RoleOwner)
		owner.WantPage(owner.Get(page), http.StatusOK, "Jo Citizen", "Deleted", "1 Mar 2027", "keeps answers for a limited time")
		owner.WantPage(owner.Get(page+"/data"), http.StatusNotFound)
	}
	owner.WantPage(owner.Get(settings), http.StatusOK, "2557").WantField("answer_days", "101")
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "answer days: 0 → 101")

	// Who the customer is can still be erased, and is another matter.
	h.OK(h.Service.Sessions.Erase(h.Context(), h.TestScope(), done.ID, []domain.SessionID{done.ID}, "jo@customer.example",
		harness.Operator))
	h.Get(path+"/data").WantError(http.StatusNotFound, "data_erased", "")
	if got := h.SessionOf(done.ID); got.CustomerErasedAt == nil || !got.DataErasedAt.Before(h.Clock.Now().Add(time.Millisecond)) ||
		got.CustomerName != nil {
		t.Errorf("erased after its retention: %+v", got)
	}
}

// TestRetentionOfWhatWasNotSubmitted: what was entered in sessions that end
// without completion is erased 30 days after their end, or when the account
// wants it (D50).
func TestRetentionOfWhatWasNotSubmitted(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	const settings = "/dashboard/test/settings"
	days := 10
	expired := h.NewSession(h.TestScope(), domain.NewSession{ExpiresInDays: &days})
	cancelled := h.NewSession(h.TestScope(), domain.NewSession{})
	for _, session := range []*domain.Session{expired, cancelled} {
		h.Open(session.ID)
		h.Fill(session.ID, statement.PersonalDetailsSection)
		h.Upload(session.ID, "payslip.pdf")
	}
	h.Clock.Advance(10 * 24 * time.Hour)
	h.Do(harness.Call{Method: http.MethodDelete, Path: "/sessions/" + cancelled.ID.String()}).WantStatus(http.StatusOK)
	h.OK(h.Service.DB.InTx(h.Context(), func(tx *db.Tx) error {
		_, err := tx.ExpireSessions(h.Context(), h.Clock.Now(), 10)
		return err
	}))
	owner := h.Staff(domain.RoleOwner)
	for _, session := range []*domain.Session{expired, cancelled} {
		owner.WantPage(owner.Get("/dashboard/test/sessions/"+session.ID.String()), http.StatusOK, "Kept until", "30 Dec 2026",
			"1 document uploaded")
	}
	h.Clock.Advance(5 * 24 * time.Hour)
	owner = h.Staff(domain.RoleOwner)
	owner.WantPage(owner.Get(settings+"/retention?unsubmitted_days=91"), http.StatusUnprocessableEntity,
		"Enter a number of days from 1 to 90")
	owner.WantPage(owner.Get(settings+"/retention?unsubmitted_days="), http.StatusUnprocessableEntity,
		"Enter a number of days from 1 to 90")
	owner.WantPage(owner.Get(settings+"/retention?unsubmitted_days=5"), http.StatusOK,
		"Answers and documents of 2 unsubmitted sessions will be deleted", "Leave it at 30 days")
	if n := sweep(h, domain.UnsubmittedRetention); n != 0 {
		t.Errorf("%d sessions were erased before their time", n)
	}
	owner.WantRedirect(owner.Post(settings+"/retention", url.Values{"unsubmitted_days": {"5"}, "from_days": {"30"}}), settings)
	for _, swept := range []int{0, 2} {
		if swept > 0 && sweep(h, domain.UnsubmittedRetention) != swept {
			t.Errorf("the sweep didn't find %d sessions", swept)
		}
		for _, session := range []*domain.Session{expired, cancelled} {
			answer := owner.Get("/dashboard/test/sessions/" + session.ID.String())
			owner.WantPage(answer, http.StatusOK, "Deleted", "5 Dec 2026", "jo@customer.example")
			if text := answer.Body.String(); strings.Contains(text, "1 document uploaded") || strings.Contains(text, "Kept until") {
				t.Errorf("after erasing %d the page still shows what was entered: %s", swept, text)
			}
		}
	}
	if left := harness.QueryOne[int](h,
		`SELECT (SELECT count(*) FROM section) + (SELECT count(*) FROM document) + (SELECT count(*) FROM session_key)`); left != 0 {
		t.Errorf("%d rows of what was entered are left", left)
	}
	if got := h.Get("/sessions/" + expired.ID.String()).WantStatus(http.StatusOK).Object(); got["status"] != "expired" ||
		got["data_erased_at"] == nil || got["customer_email"] != "jo@customer.example" {
		t.Errorf("the expired session is %v", got)
	}
}
