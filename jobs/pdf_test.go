package jobs_test

import (
	"strings"
	"testing"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
)

// A session has one PDF and one session.pdf_ready, however often and concurrently
// its job runs.
func TestPDFIsMadeOnce(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	s := h.completed("", hooktest.Now())
	for range 3 {
		h.Tx(func(tx *db.Tx) error { return h.Outbox.PDF(h.Ctx, tx, s.ID) })
	}
	if n := h.Count("SELECT count(*) FROM river_job"); n != 1 {
		t.Errorf("%d jobs of one session, want 1", n)
	}
	other := h.completed("", hooktest.Now())
	h.Tx(func(tx *db.Tx) error { return h.Outbox.PDF(h.Ctx, tx, other.ID) })
	if n := h.Count("SELECT count(*) FROM river_job"); n != 2 {
		t.Errorf("%d jobs of two sessions, want 2", n)
	}
	_, err := h.DB.Raw().ExecContext(h.Ctx, "INSERT INTO river_job (kind, queue, args, max_attempts) SELECT kind, queue, args, max_attempts FROM river_job, generate_series(1, 8)")
	h.OK(err)
	for range 2 {
		h.start(func(c *config) { c.PDFWorkers = 4 })
	}
	h.Eventually("all jobs", func() bool {
		return h.Count("SELECT count(*) FROM river_job WHERE kind = 'statement_pdf' AND state = 'completed'") == 18
	})
	for _, session := range []*domain.Session{s, other} {
		content, err := h.vault.PDF(h.Ctx, h.DB, session.ID)
		h.OK(err)
		events := h.Events(session, domain.SessionPDFReady)
		if len(events) != 1 || !strings.HasPrefix(string(content), "%PDF-") {
			t.Fatalf("%d events for a PDF of %d bytes", len(events), len(content))
		}
		got := hooktest.Data[domain.PDFReadyPayload](t, events[0].Body)
		want := domain.PDFReadyPayload{SessionID: session.ID, PDFURL: "https://candor.example/v1/sessions/" + session.ID.String() + "/pdf",
			FileSizeBytes: int64(len(content)), PageCount: got.PageCount}
		if got != want || got.PageCount < 2 {
			t.Errorf("payload %+v, want %+v", got, want)
		}
	}
	h.Tx(func(tx *db.Tx) error { return h.Outbox.PDF(h.Ctx, tx, s.ID) }) // after the job is done, another may be inserted
	h.Eventually("one more job", func() bool {
		return h.Count("SELECT count(*) FROM river_job WHERE kind = 'statement_pdf' AND state = 'completed'") == 19
	})
	if n := len(h.Events(s, domain.SessionPDFReady)); n != 1 {
		t.Errorf("%d events after a later run", n)
	}
}
