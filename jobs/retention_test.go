package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/platform/blob"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
	"candor/internal/webhook"
	"candor/jobs"
)

// heldUntil holds a form until each of the times.
func (h *harness) heldUntil(times ...time.Time) {
	h.Helper()
	at := hooktest.Now()
	session := &domain.StaffSession{
		Staff: domain.Staff{ID: domain.NewStaffID(), AccountID: h.Scope.AccountID, Email: "jo@lender.example",
			Role: domain.RoleOwner, CreatedAt: at},
		SessionID: domain.NewStaffSessionID(), Stage: domain.SignInFull, StartedAt: at, SeenAt: at, ConfirmedAt: at,
		ExpiresAt: at.Add(domain.StaffLifetime),
	}
	h.Tx(func(tx *db.Tx) error {
		if err := tx.InsertStaff(h.Ctx, &session.Staff, ""); err != nil {
			return err
		}
		if err := tx.InsertStaffSession(h.Ctx, session, []byte{1}); err != nil {
			return err
		}
		for _, expires := range times {
			if err := tx.HoldForm(h.Ctx, domain.NewHeldFormID(), session.SessionID, []byte("sealed"), expires, len(times)); err != nil {
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
	testkit.Slow(t)
	h := newHarness(t)
	end := hooktest.Now().Add(-30 * 24 * time.Hour)
	old, young := h.Session("", end.Add(-time.Hour)), h.Session("", end.Add(-time.Hour))
	for session, expiry := range map[*domain.Session]time.Time{old: end, young: end.Add(time.Hour)} {
		_, err := h.DB.Raw().ExecContext(h.Ctx, `UPDATE session SET status = 'expired', expires_at = $2 WHERE id = $1`,
			session.ID, expiry)
		h.OK(err)
		_, err = h.DB.Raw().ExecContext(h.Ctx,
			`INSERT INTO section (session_id, name, draft, updated_at) VALUES ($1, 'income', '\x01', now())`, session.ID)
		h.OK(err)
		h.OK(h.DB.InsertSessionKey(h.Ctx, session.ID, []byte{1}))
	}
	h.start()
	testkit.Await(h, "the old draft to go", func() bool {
		return h.Count(`SELECT count(*) FROM section WHERE session_id = $1`, old.ID) == 0
	})
	if keys := h.Count(`SELECT count(*) FROM session_key WHERE session_id = $1`, old.ID); keys != 0 {
		t.Errorf("%d data keys are left", keys)
	}
	if rows := h.Count(`SELECT count(*) FROM section s JOIN session_key USING (session_id) WHERE session_id = $1`,
		young.ID); rows != 1 {
		t.Errorf("%d rows of the younger session, want 1", rows)
	}
}

// undeletable is a place that refuses to delete some blobs.
type undeletable struct {
	blob.Place
	names map[string]bool
}

func (u undeletable) Delete(ctx context.Context, name string) error {
	if u.names[name] {
		return fmt.Errorf("%w: not permitted", blob.ErrUnavailable)
	}
	return u.Place.Delete(ctx, name)
}

// TestRetentionTakesTurns: what has more to do than the time of a run lets takes its turn
// with the rest.
func TestRetentionTakesTurns(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turns, last := 0, 0
	err := jobs.InBatches(ctx,
		func() (int, error) {
			if turns++; turns == 100 {
				cancel()
			}
			return 200, nil
		},
		func() (int, error) { return 0, errors.New("one that fails") },
		func() (int, error) { last++; return last % 2 * 200, nil })
	if last != 2 || err == nil || !strings.Contains(err.Error(), "one that fails") {
		t.Errorf("the last one ran %d times beside %d turns of the first, %v", last, turns, err)
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	start := hooktest.Now()
	old, young := h.completed("", start.Add(-domain.Retention)), h.completed("", start.Add(-domain.Retention+time.Hour))
	abandoned, uploading := domain.NewDocumentID(), domain.NewDocumentID()
	docs := map[*domain.Session]domain.DocumentID{old: domain.NewDocumentID(), young: domain.NewDocumentID()}
	put := func(id domain.DocumentID, at time.Time) {
		t.Helper()
		h.OK(h.DB.ReserveBlob(h.Ctx, id, at))
		h.OK(h.blobs.Put(h.Ctx, id.String(), strings.NewReader("x")))
	}
	stuck := map[string]bool{}
	for range 250 { // more than a batch
		id := domain.NewDocumentID()
		h.OK(h.DB.ReserveBlob(h.Ctx, id, start.Add(-2*time.Hour)))
		stuck[id.String()] = true
	}
	h.blobs = undeletable{h.blobs, stuck}
	put(abandoned, start.Add(-time.Hour))
	put(uploading, start.Add(-time.Minute))
	for s, id := range docs {
		put(id, start)
		h.Tx(func(tx *db.Tx) error {
			if _, err := tx.InsertPDF(h.Ctx, s.ID, domain.PDF{Content: []byte("%PDF"), Pages: 1}, nil, 4, start); err != nil {
				return err
			}
			return tx.InsertDocument(h.Ctx, &domain.Document{ID: id, SessionID: s.ID, Category: "other", FileName: "f",
				ContentType: "image/png", SHA256: []byte{1}, UploadedAt: start})
		})
	}
	key := db.IdempotencyKey{Scope: h.Scope, Path: "/", Key: "k"}
	h.Tx(func(tx *db.Tx) error {
		return tx.StoreResponse(h.Ctx, key, &db.StoredResponse{Fingerprint: []byte{1}, Status: 201, Response: []byte{1}},
			start.Add(-24*time.Hour))
	})
	call := func(at time.Time) domain.APIRequest { return domain.APIRequest{ID: domain.NewRequestID(at)} }
	recent := call(start.Add(-domain.RequestRetention + time.Hour))
	h.OK(h.DB.InsertAPIRequests(h.Ctx, []domain.APIRequest{call(start.Add(-domain.RequestRetention - time.Second)), recent}))
	h.heldUntil(start, start.Add(time.Hour))
	for _, at := range []time.Time{start.Add(-domain.TestEventRetention), start.Add(-time.Minute)} {
		h.OK(h.DB.InsertTestEvent(h.Ctx, domain.NewDeliveryID(), h.Scope.AccountID, []byte("{}"), at))
	}
	there := func(id domain.DocumentID) bool {
		r, err := h.blobs.Open(h.Ctx, id.String())
		if err == nil {
			h.OK(r.Close())
		} else if !errors.Is(err, blob.ErrNotFound) {
			h.Fatal(err)
		}
		return err == nil
	}
	var ahead atomic.Int64
	h.start(func(c *config) { c.Clock = func() time.Time { return start.Add(time.Duration(ahead.Load())) } })
	testkit.Await(h, "the old PDF to go", func() bool { return h.Count("SELECT count(*) FROM statement_pdf") == 1 })
	testkit.Await(h, "the abandoned blob to go", func() bool { return !there(abandoned) })
	testkit.Await(h, "the old answer to go", func() bool { return h.Count("SELECT count(*) FROM idempotency_key") == 0 })
	testkit.Await(h, "the old API request to go", func() bool { return h.Count("SELECT count(*) FROM api_request") == 1 })
	testkit.Await(h, "the old held form and test event to go", func() bool {
		return h.Count("SELECT count(*) FROM held_form") == 1 && h.Count("SELECT count(*) FROM test_event") == 1
	})
	if _, err := h.DB.APIRequest(h.Ctx, domain.Scope{}, recent.ID); err != nil {
		t.Errorf("the younger API request: %v", err)
	}
	if !there(uploading) || !there(docs[young]) || !there(docs[old]) {
		t.Error("a blob went before its time")
	}
	if _, err := h.DB.PDF(h.Ctx, young.ID); err != nil {
		t.Errorf("the younger PDF: %v", err)
	}
	if got, err := h.DB.SessionByID(h.Ctx, old.ID); err != nil || got.ErasedAt == nil {
		t.Errorf("the old session: %+v, %v", got, err)
	}
	ahead.Store(int64(59 * time.Minute)) // the younger session has a minute left
	_, err := h.DB.Raw().ExecContext(h.Ctx, "UPDATE blob_garbage SET created_at = created_at - interval '1 minute'")
	h.OK(err)
	_, err = h.DB.Raw().ExecContext(h.Ctx,
		"INSERT INTO river_job (kind, queue, args, max_attempts) VALUES ('retention', 'upkeep', '{}', 1)")
	h.OK(err)
	testkit.Await(h, "the old document's blob to go", func() bool { return !there(docs[old]) })
	if !there(docs[young]) {
		t.Error("the younger document's blob went")
	}
}

// TestSignInsAreRetired: expired rows of sign-ins are deleted, current ones stay.
func TestSignInsAreRetired(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	at := hooktest.Now()
	staff := domain.Staff{ID: domain.NewStaffID(), AccountID: h.Scope.AccountID, Email: "jo@lender.example", Role: domain.RoleOwner,
		CreatedAt: at}
	session := func(seen time.Time) *domain.StaffSession {
		return &domain.StaffSession{Staff: staff, SessionID: domain.NewStaffSessionID(), Stage: domain.SignInFull, StartedAt: seen,
			SeenAt: seen, ConfirmedAt: seen, ExpiresAt: seen.Add(domain.StaffLifetime)}
	}
	invitation := func(email string, expires time.Time) *domain.Invitation {
		return &domain.Invitation{ID: domain.NewInvitationID(), AccountID: h.Scope.AccountID, Email: email, Role: domain.RoleOwner,
			CreatedAt: at, ExpiresAt: expires}
	}
	h.Tx(func(tx *db.Tx) error {
		return errors.Join(
			tx.InsertStaff(h.Ctx, &staff, ""),
			tx.InsertStaffSession(h.Ctx, session(at), []byte("live")),
			tx.InsertStaffSession(h.Ctx, session(at.Add(-domain.StaffIdle)), []byte("ended")),
			tx.PutInvitation(h.Ctx, invitation("live@lender.example", at.Add(time.Hour))),
			tx.PutInvitation(h.Ctx, invitation("listed@lender.example", at.Add(-6*24*time.Hour))),
			tx.PutInvitation(h.Ctx, invitation("old@lender.example", at.Add(-8*24*time.Hour))),
		)
	})
	live := h.request(domain.RequestReset, "live@lender.example", at.Add(time.Hour))
	for i := range 250 { // more than a batch
		h.request(domain.RequestReset, "old@lender.example", at.Add(-8*24*time.Hour-time.Duration(i)*time.Second))
	}
	for subject, age := range map[string]time.Duration{"counts": time.Minute, "over": 16 * time.Minute} {
		h.OK(h.DB.CountAttempt(h.Ctx, at.Add(-age), db.Counter{Subject: []byte(subject), Free: 10, Window: 15 * time.Minute}))
	}
	_, err := h.DB.Raw().ExecContext(h.Ctx, "DELETE FROM river_job")
	h.OK(err)
	h.start()
	for query, want := range map[string]int{
		"SELECT count(*) FROM staff_session": 1, "SELECT count(*) FROM attempt_count": 1,
		"SELECT count(*) FROM staff_request": 1, "SELECT count(*) FROM invitation": 2,
	} {
		testkit.Await(h, query, func() bool { return h.Count(query) == want })
	}
	if _, err := h.DB.StaffRequest(h.Ctx, live.ID); err != nil {
		t.Errorf("the live request: %v", err)
	}
}

// The retention job erases previous secrets after a day.
func TestPreviousSecretIsErased(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	started := hooktest.Now()
	fresh := webhook.NewSecret()
	h.SwitchSecret(fresh)
	var ahead atomic.Int64
	h.start(func(c *config) { c.Clock = func() time.Time { return started.Add(time.Duration(ahead.Load())) } })
	retained := func(runs int) {
		h.Helper()
		testkit.Await(h, "retention", func() bool {
			return h.Count("SELECT count(*) FROM river_job WHERE kind = 'retention' AND state = 'completed'") >= runs
		})
	}
	retained(1)
	if h.Count("SELECT count(*) FROM webhook_endpoint WHERE previous_secret IS NOT NULL") != 1 {
		t.Error("a previous secret was erased before its time")
	}
	ahead.Store(int64(25 * time.Hour))
	_, err := h.DB.Raw().ExecContext(h.Ctx,
		"INSERT INTO river_job (kind, queue, args, max_attempts) VALUES ('retention', 'upkeep', '{}', 1)")
	h.OK(err)
	retained(2)
	if h.Count("SELECT count(*) FROM webhook_endpoint WHERE num_nonnulls(previous_secret, previous_secret_until) > 0") != 0 {
		t.Error("a previous secret outlived its day")
	}
	if got, err := delivery.SigningSecrets(h.Ctx, h.DB, h.Ring, h.Scope, nil); err != nil || len(got) != 1 || got[0] != fresh {
		t.Errorf("after it deliveries are signed with %d secrets, %v", len(got), err)
	}
}
