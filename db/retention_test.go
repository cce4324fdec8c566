package db_test

import (
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
)

// entered gives a session an answer, a data key, a document and a PDF.
func (s *store) entered(session *domain.Session) *domain.Session {
	s.Helper()
	for _, statement := range []string{
		`INSERT INTO section (session_id, name, answers, updated_at) VALUES ($1, 'income', '\x01', now())`,
		`INSERT INTO session_key (session_id, sealed) VALUES ($1, '\x01')`,
	} {
		_, err := s.Raw().ExecContext(s.ctx, statement, session.ID)
		s.ok(err)
	}
	doc := &domain.Document{ID: domain.NewDocumentID(), SessionID: session.ID, Category: "other", FileName: "f",
		ContentType: "image/png", SHA256: []byte{1}, UploadedAt: start}
	s.tx(func(tx *db.Tx) error { return tx.InsertDocument(s.ctx, doc) })
	return session
}

// expired is a session that expired at that time.
func (s *store) expired(scope domain.Scope, at time.Time) *domain.Session {
	s.Helper()
	session := s.session(scope, start, func(x *domain.Session) { x.ExpiresAt = at })
	s.tx(func(tx *db.Tx) error { _, err := tx.ExpireSessions(s.ctx, at, 10); return err })
	return session
}

func (s *store) kept(session *domain.Session) (rows int) {
	s.Helper()
	s.ok(s.Raw().GetContext(s.ctx, &rows, `
		SELECT (SELECT count(*) FROM section WHERE session_id = $1) + (SELECT count(*) FROM session_key WHERE session_id = $1)
			+ (SELECT count(*) FROM document WHERE session_id = $1)`, session.ID))
	return rows
}

// TestRetireData: what was entered is erased by the days that each account has
// set, at the end of the session and no earlier, and the session stays (D50).
func TestRetireData(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	brief, usual := s.scope, s.newScope("Usual")
	s.tx(func(tx *db.Tx) error {
		account, err := tx.LockAccount(s.ctx, brief.AccountID)
		if err != nil {
			return err
		}
		account.UnsubmittedDays, account.AnswerDays = 1, 90
		return tx.UpdateAccount(s.ctx, account)
	})
	ended := start.Add(time.Hour)
	cancelled := s.entered(s.session(brief, start))
	_, err := s.cancel(brief, cancelled.ID, ended)
	s.ok(err)
	expired, late := s.entered(s.expired(brief, ended)), s.entered(s.expired(brief, ended.Add(time.Millisecond)))
	other := s.entered(s.expired(usual, ended))
	open := s.entered(s.session(brief, start, func(x *domain.Session) { x.ExpiresAt = start.AddDate(1, 0, 0) }))
	answered := s.entered(s.completed(brief, start, start, ended))
	forEver := s.entered(s.completed(usual, start, start, ended))

	retire := func(kind domain.RetentionKind, at time.Time, limit, want int, erased ...*domain.Session) {
		t.Helper()
		s.tx(func(tx *db.Tx) error {
			n, err := tx.RetireData(s.ctx, kind, at, limit)
			if n != want {
				t.Errorf("%s at %s erased %d, want %d", kind, at, n, want)
			}
			return err
		})
		for _, session := range erased {
			got, err := s.SessionByID(s.ctx, session.ID)
			if err != nil || got.DataErasedAt == nil || !got.DataErasedAt.Equal(at) || got.CustomerErasedAt != nil ||
				got.CustomerEmail != session.CustomerEmail || s.kept(session) != 0 {
				t.Errorf("%s at %s left %d rows of %+v, %v", kind, at, s.kept(session), got, err)
			}
		}
	}
	day := ended.Add(24 * time.Hour)
	for limit, want := range map[int]int{1: 1, 10: 2} {
		if n, err := s.CountRetained(s.ctx, brief.AccountID, domain.UnsubmittedRetention, ended, limit); err != nil || n != want {
			t.Errorf("counted %d, %v; want %d", n, err, want)
		}
	}
	retire(domain.UnsubmittedRetention, day.Add(-time.Millisecond), 10, 0)
	s.tx(func(first *db.Tx) error { // what another sweep holds is left out
		if n, err := first.RetireData(s.ctx, domain.UnsubmittedRetention, day, 1); err != nil || n != 1 {
			t.Errorf("the first sweep erased %d, %v", n, err)
		}
		retire(domain.UnsubmittedRetention, day, 10, 1)
		return nil
	})
	retire(domain.UnsubmittedRetention, day, 10, 0, expired, cancelled)
	retire(domain.UnsubmittedRetention, day.Add(time.Millisecond), 10, 1, late)
	retire(domain.UnsubmittedRetention, ended.Add(30*24*time.Hour), 10, 1, other)
	retire(domain.UnsubmittedRetention, start.AddDate(2, 0, 0), 10, 0)

	retire(domain.AnswerRetention, ended.Add(90*24*time.Hour-time.Millisecond), 10, 0)
	retire(domain.AnswerRetention, ended.Add(90*24*time.Hour), 10, 1, answered)
	retire(domain.AnswerRetention, start.AddDate(50, 0, 0), 10, 0)
	for _, session := range []*domain.Session{open, forEver} {
		if got, err := s.SessionByID(s.ctx, session.ID); err != nil || got.DataErasedAt != nil || s.kept(session) != 3 {
			t.Errorf("%d rows are kept of %+v, %v", s.kept(session), got, err)
		}
	}
	if garbage, err := s.BlobGarbage(s.ctx, start.AddDate(50, 0, 0), 10); err != nil || len(garbage) != 5 {
		t.Errorf("%d blobs are garbage, %v; want 5", len(garbage), err)
	}
	s.checkCounters("after retention")
}

// TestRetentionIsFair: accounts with more than fits into many batches don't keep another's
// answers from going.
func TestRetentionIsFair(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	small := s.newScope("Small")
	ended := start.Add(time.Hour)
	for range 30 {
		s.completed(s.scope, start, start, ended)
	}
	last := s.entered(s.completed(small, start, start, ended))
	_, err := s.Raw().ExecContext(s.ctx, `UPDATE account SET answer_days = 90`)
	s.ok(err)
	for range 30 { // before the last of the 31 with all but certainty
		s.tx(func(tx *db.Tx) error {
			_, err := tx.RetireData(s.ctx, domain.AnswerRetention, start.AddDate(1, 0, 0), 1)
			return err
		})
	}
	if n := s.kept(last); n != 0 {
		t.Errorf("%d rows of the small account's session are left", n)
	}
}
