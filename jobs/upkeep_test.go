package jobs_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/platform/blob"
	"candor/internal/testkit"
	"candor/jobs"
)

// However often and concurrently its job runs, a session has one PDF and one
// event that says so.
func TestPDFIsMadeOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.completed("", now())
	for range 3 {
		b.tx(func(tx *db.Tx) error { return b.enqueuer.PDF(b.ctx, tx, s.ID) })
	}
	if n := b.count("SELECT count(*) FROM river_job"); n != 1 {
		t.Errorf("%d jobs of one session, want 1", n)
	}
	other := b.completed("", now())
	b.tx(func(tx *db.Tx) error { return b.enqueuer.PDF(b.ctx, tx, other.ID) })
	if n := b.count("SELECT count(*) FROM river_job"); n != 2 {
		t.Errorf("%d jobs of two sessions, want 2", n)
	}
	_, err := b.db.Raw().ExecContext(b.ctx, "INSERT INTO river_job (kind, queue, args, max_attempts) SELECT kind, queue, args, max_attempts FROM river_job, generate_series(1, 8)")
	b.ok(err)
	for range 2 {
		b.start(func(c *jobs.Config) { c.PDFWorkers = 4 })
	}
	b.eventually("all jobs", func() bool {
		return b.count("SELECT count(*) FROM river_job WHERE kind = 'statement_pdf' AND state = 'completed'") == 18
	})
	for _, session := range []*domain.Session{s, other} {
		content, err := b.vault.PDF(b.ctx, b.db, session.ID)
		b.ok(err)
		events := b.events(session, domain.SessionPDFReady)
		if len(events) != 1 || !strings.HasPrefix(string(content), "%PDF-") {
			t.Fatalf("%d events for a PDF of %d bytes", len(events), len(content))
		}
		got := data[domain.PDFReadyPayload](t, events[0].Body)
		want := domain.PDFReadyPayload{SessionID: session.ID, PDFURL: "https://candor.example/v1/sessions/" + session.ID.String() + "/pdf",
			FileSizeBytes: int64(len(content)), PageCount: got.PageCount}
		if got != want || got.PageCount < 2 {
			t.Errorf("payload %+v, want %+v", got, want)
		}
	}
	b.tx(func(tx *db.Tx) error { return b.enqueuer.PDF(b.ctx, tx, s.ID) }) // once done, it may be asked for again
	b.eventually("one more job", func() bool {
		return b.count("SELECT count(*) FROM river_job WHERE kind = 'statement_pdf' AND state = 'completed'") == 19
	})
	if n := len(b.events(s, domain.SessionPDFReady)); n != 1 {
		t.Errorf("%d events after a later run", n)
	}
}

// Several workers sweep at once: each overdue session expires with one
// event, by D48.
func TestExpirySweep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const n = 450 // more than two batches
	created := now().Add(-30*24*time.Hour - time.Minute)
	_, err := b.db.Raw().ExecContext(b.ctx, `
		INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, metadata, created_at, expires_at)
		SELECT gen_random_uuid(), $1, true, 'pending', 'financial_statement', 'jo@customer.example', '{}', $2, $2::timestamptz + interval '30 days'
		FROM generate_series(1, $3)`, b.scope.AccountID, created, n)
	b.ok(err)
	opened, later := b.session("", created), b.session("", now())
	active := created.Add(time.Hour)
	b.tx(func(tx *db.Tx) error {
		if _, err := tx.OpenSession(b.ctx, opened.ID, created); err != nil {
			return err
		}
		if _, err := tx.LockOpenSession(b.ctx, opened.ID, active); err != nil {
			return err
		}
		return tx.SetSectionsCompleted(b.ctx, opened.ID, 4)
	})
	b.ok(b.db.InTx(b.ctx, func(tx *db.Tx) error { return tx.SetDefaultURL(b.ctx, b.scope, nil) }))
	for range 3 {
		b.start(sweeping)
	}
	b.eventually("all to expire", func() bool { return b.count("SELECT count(*) FROM session WHERE status = 'expired'") == n+1 })
	if events, once := b.count("SELECT count(*) FROM event WHERE type = 'session.expired'"), b.count("SELECT count(DISTINCT session_id) FROM event"); events != n+1 || once != n+1 {
		t.Errorf("%d events of %d sessions, want %d", events, once, n+1)
	}
	if got, err := b.db.SessionByID(b.ctx, later.ID); err != nil || got.Status != domain.Pending {
		t.Errorf("a session that isn't due: %v, %v", got, err)
	}
	expires := form.At(opened.ExpiresAt)
	check := func(got, want domain.ExpiredPayload) {
		t.Helper()
		last := func(p domain.ExpiredPayload) string {
			if p.LastActivityAt == nil {
				return "never"
			}
			return p.LastActivityAt.UTC().String()
		}
		if got.SessionID != want.SessionID || !got.ExpiredAt.Equal(want.ExpiredAt.Time) || got.WasAccessed != want.WasAccessed ||
			got.ProgressPercentage != want.ProgressPercentage || last(got) != last(want) {
			t.Errorf("payload %+v, want %+v", got, want)
		}
	}
	at := form.At(active)
	check(data[domain.ExpiredPayload](t, b.events(opened, domain.SessionExpired)[0].Body),
		domain.ExpiredPayload{SessionID: opened.ID, ExpiredAt: expires, WasAccessed: true, ProgressPercentage: 57, LastActivityAt: &at})
	var never domain.Session
	b.ok(b.db.Raw().GetContext(b.ctx, &never, "SELECT id, expires_at FROM session WHERE accessed_at IS NULL AND status = 'expired' LIMIT 1"))
	check(data[domain.ExpiredPayload](t, b.events(&never, domain.SessionExpired)[0].Body),
		domain.ExpiredPayload{SessionID: never.ID, ExpiredAt: form.At(never.ExpiresAt)})
}

// Of several workers one leads and asks for the periodic jobs.
func TestPeriodicJobsDontPileUp(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newBench(t)
	began := time.Now()
	for range 3 {
		b.start(sweeping)
	}
	const kinds = "kind IN ('session_expiry', 'stranded_work')"
	b.eventually("ten runs", func() bool {
		return b.count("SELECT count(*) FROM river_job WHERE "+kinds+" AND state = 'completed'") >= 20
	})
	runs, most := b.count("SELECT count(*) FROM river_job WHERE "+kinds), 2*int(time.Since(began)/(100*time.Millisecond)+3)
	if runs > most {
		t.Errorf("%d runs in %s, want at most %d", runs, time.Since(began), most)
	}
	b.eventually("no backlog", func() bool { return b.count("SELECT count(*) FROM river_job WHERE state = 'available'") <= 2 })
	if n := b.count("SELECT count(*) FROM river_job WHERE state IN ('discarded', 'retryable') OR errors IS NOT NULL"); n != 0 {
		t.Errorf("%d runs failed", n)
	}
}

// Work whose job is gone gets a new one.
func TestStrandedWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, nil)
	long := now().Add(-2 * time.Minute)
	s, done := b.session(hook.URL, long), b.completed("", long)
	b.tx(func(tx *db.Tx) error { return b.enqueuer.SessionEvent(b.ctx, tx, s, section(s, 1), long) })
	_, err := b.db.Raw().ExecContext(b.ctx, "DELETE FROM river_job")
	b.ok(err)
	b.start(sweeping)
	b.delivery(s, domain.DeliveryDelivered)
	b.eventually("the PDF", func() bool { return len(b.events(done, domain.SessionPDFReady)) == 1 })
	if n := len(hook.requests()); n != 1 {
		t.Errorf("%d webhooks, want 1", n)
	}
}

// heldUntil holds a form for each time, until then.
func (b *bench) heldUntil(times ...time.Time) {
	b.Helper()
	at := now()
	session := &domain.StaffSession{
		Staff:     domain.Staff{ID: domain.NewStaffID(), AccountID: b.scope.AccountID, Email: "jo@lender.example", Role: domain.RoleOwner, CreatedAt: at},
		SessionID: domain.NewStaffSessionID(), Stage: domain.SignInFull, StartedAt: at, SeenAt: at, ConfirmedAt: at, ExpiresAt: at.Add(domain.StaffLifetime),
	}
	b.tx(func(tx *db.Tx) error {
		if err := tx.InsertStaff(b.ctx, &session.Staff, ""); err != nil {
			return err
		}
		if err := tx.InsertStaffSession(b.ctx, session, []byte{1}); err != nil {
			return err
		}
		for _, expires := range times {
			if err := tx.HoldForm(b.ctx, domain.NewHeldFormID(), session.SessionID, []byte("sealed"), expires, len(times)); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestUnsubmittedDataGoes: the worker erases what was entered in sessions that
// ended without completion 30 days ago (D50).
func TestUnsubmittedDataGoes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	end := now().Add(-30 * 24 * time.Hour)
	old, young := b.session("", end.Add(-time.Hour)), b.session("", end.Add(-time.Hour))
	for session, expiry := range map[*domain.Session]time.Time{old: end, young: end.Add(time.Hour)} {
		_, err := b.db.Raw().ExecContext(b.ctx, `UPDATE session SET status = 'expired', expires_at = $2 WHERE id = $1`, session.ID, expiry)
		b.ok(err)
		_, err = b.db.Raw().ExecContext(b.ctx, `INSERT INTO section (session_id, name, draft, updated_at) VALUES ($1, 'income', '\x01', now())`, session.ID)
		b.ok(err)
		b.ok(b.db.InsertSessionKey(b.ctx, session.ID, []byte{1}))
	}
	b.start()
	b.eventually("the old draft to go", func() bool { return b.count(`SELECT count(*) FROM section WHERE session_id = $1`, old.ID) == 0 })
	if keys := b.count(`SELECT count(*) FROM session_key WHERE session_id = $1`, old.ID); keys != 0 {
		t.Errorf("%d data keys are left", keys)
	}
	if rows := b.count(`SELECT count(*) FROM section s JOIN session_key USING (session_id) WHERE session_id = $1`, young.ID); rows != 1 {
		t.Errorf("%d rows of the younger session, want 1", rows)
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	start := now()
	old, young := b.completed("", start.Add(-domain.Retention)), b.completed("", start.Add(-domain.Retention+time.Hour))
	abandoned, uploading := domain.NewDocumentID(), domain.NewDocumentID()
	docs := map[*domain.Session]domain.DocumentID{old: domain.NewDocumentID(), young: domain.NewDocumentID()}
	put := func(id domain.DocumentID, at time.Time) {
		t.Helper()
		b.ok(b.db.ReserveBlob(b.ctx, id, at))
		b.ok(b.blobs.Put(b.ctx, id.String(), strings.NewReader("x")))
	}
	put(abandoned, start.Add(-time.Hour))
	put(uploading, start.Add(-time.Minute))
	for s, id := range docs {
		put(id, start)
		b.tx(func(tx *db.Tx) error {
			if _, err := tx.InsertPDF(b.ctx, s.ID, []byte("%PDF"), 4, 1, start); err != nil {
				return err
			}
			return tx.InsertDocument(b.ctx, &domain.Document{ID: id, SessionID: s.ID, Category: "other", FileName: "f", ContentType: "image/png", SHA256: []byte{1}, UploadedAt: start})
		})
	}
	key := db.IdempotencyKey{Scope: b.scope, Path: "/", Key: "k"}
	b.tx(func(tx *db.Tx) error {
		return tx.StoreResponse(b.ctx, key, &db.StoredResponse{Fingerprint: []byte{1}, Status: 201, Response: []byte{1}}, start.Add(-24*time.Hour))
	})
	call := func(at time.Time) domain.APIRequest { return domain.APIRequest{ID: domain.NewRequestID(at)} }
	recent := call(start.Add(-domain.RequestRetention + time.Hour))
	b.ok(b.db.InsertAPIRequests(b.ctx, []domain.APIRequest{call(start.Add(-domain.RequestRetention - time.Second)), recent}))
	b.heldUntil(start, start.Add(time.Hour))
	for _, at := range []time.Time{start.Add(-domain.TestEventRetention), start.Add(-time.Minute)} {
		b.ok(b.db.InsertTestEvent(b.ctx, domain.NewDeliveryID(), b.scope.AccountID, []byte("{}"), at))
	}
	there := func(id domain.DocumentID) bool {
		r, err := b.blobs.Open(b.ctx, id.String())
		if err == nil {
			b.ok(r.Close())
		} else if !errors.Is(err, blob.ErrNotFound) {
			b.Fatal(err)
		}
		return err == nil
	}
	var ahead atomic.Int64
	b.start(func(c *jobs.Config) { c.Clock = func() time.Time { return start.Add(time.Duration(ahead.Load())) } })
	b.eventually("the old PDF to go", func() bool { return b.count("SELECT count(*) FROM statement_pdf") == 1 })
	b.eventually("the abandoned blob to go", func() bool { return !there(abandoned) })
	b.eventually("the old answer to go", func() bool { return b.count("SELECT count(*) FROM idempotency_key") == 0 })
	b.eventually("the old API request to go", func() bool { return b.count("SELECT count(*) FROM api_request") == 1 })
	b.eventually("the old held form and test event to go", func() bool {
		return b.count("SELECT count(*) FROM held_form") == 1 && b.count("SELECT count(*) FROM test_event") == 1
	})
	if _, err := b.db.APIRequest(b.ctx, domain.Scope{}, recent.ID); err != nil {
		t.Errorf("the younger API request: %v", err)
	}
	if !there(uploading) || !there(docs[young]) || !there(docs[old]) {
		t.Error("a blob went before its time")
	}
	if _, err := b.db.PDF(b.ctx, young.ID); err != nil {
		t.Errorf("the younger PDF: %v", err)
	}
	if got, err := b.db.SessionByID(b.ctx, old.ID); err != nil || got.ErasedAt == nil {
		t.Errorf("the old session: %+v, %v", got, err)
	}
	ahead.Store(int64(59 * time.Minute)) // the younger session has a minute left
	_, err := b.db.Raw().ExecContext(b.ctx, "UPDATE blob_garbage SET created_at = created_at - interval '1 minute'")
	b.ok(err)
	_, err = b.db.Raw().ExecContext(b.ctx, "INSERT INTO river_job (kind, queue, args, max_attempts) VALUES ('retention', 'upkeep', '{}', 1)")
	b.ok(err)
	b.eventually("the old document's blob to go", func() bool { return !there(docs[old]) })
	if !there(docs[young]) {
		t.Error("the younger document's blob went")
	}
}
