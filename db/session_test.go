package db_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
)

func TestSessionComesBackAsStored(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	name, reference, url := "Zoë \"Z\" \\", "REF 1", "https://example.com/a"
	want := s.session(s.scope, start, func(x *domain.Session) {
		x.CustomerName, x.ReferenceID, x.WebhookURL = &name, &reference, &url
		x.Metadata = domain.Metadata{"n": json.RawMessage("1e400000"), "s": json.RawMessage(`"a\u0000b"`), "t": json.RawMessage("true")}
	})
	got, err := s.Session(s.ctx, s.scope, want.ID)
	s.ok(err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("stored\n%+v\ncame back as\n%+v", want, got)
	}
	byID, err := s.SessionByID(s.ctx, want.ID)
	if err != nil || !reflect.DeepEqual(byID, want) {
		t.Errorf("SessionByID = %+v, %v", byID, err)
	}
	_, err = s.Session(s.ctx, domain.Scope{AccountID: s.scope.AccountID, Livemode: true}, want.ID)
	s.missing("session of the other mode", err)
	_, err = s.Session(s.ctx, s.newScope("Other"), want.ID)
	s.missing("session of another account", err)
	_, err = s.SessionByID(s.ctx, domain.SessionID{})
	s.missing("unknown session", err)
}

// Sessions that come at the same time share a statement. Each gets its own end and is
// counted, and one that can't be stored fails alone.
func TestSessionsAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	other, gone := s.newScope("Other"), domain.Scope{AccountID: domain.NewAccountID()}
	_, err := s.Raw().ExecContext(s.ctx, "UPDATE account SET default_expires_in_days = 7 WHERE id = $1", other.AccountID)
	s.ok(err)
	days := map[domain.Scope]int{s.scope: 30, other: 7, gone: 0}
	var all sync.WaitGroup
	for i := range 60 {
		scope := []domain.Scope{s.scope, other, gone}[i%3]
		x := &domain.Session{
			ID: domain.NewSessionID(), AccountID: scope.AccountID, Status: domain.Pending, FormType: domain.FinancialStatement,
			CustomerEmail: fmt.Sprintf("customer%d@example.com", i), CreatedAt: start,
		}
		all.Go(func() {
			err := s.InsertSession(s.ctx, x)
			if scope == gone {
				if !db.IsRefused(err) {
					t.Errorf("a session of no account: %v", err)
				}
				return
			}
			got, missing := s.Session(s.ctx, scope, x.ID)
			if want := start.AddDate(0, 0, days[scope]); err != nil || missing != nil || !got.ExpiresAt.Equal(want) ||
				!x.ExpiresAt.Equal(want) || got.CustomerEmail != x.CustomerEmail {
				t.Errorf("%v, %v: session %+v, stored %+v, want it to end %s", err, missing, x, got, want)
			}
		})
	}
	all.Wait()
	s.checkCounters("after sessions at the same time")
}

// A new session is sent again when its connection is lost, and found if it was committed.
// If it can't be sent again, its state isn't known: that isn't "try again".
func TestInsertIsSentAgain(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	insert := func() (*domain.Session, error) {
		x := &domain.Session{
			ID: domain.NewSessionID(), AccountID: s.scope.AccountID, Status: domain.Pending, FormType: domain.FinancialStatement,
			CustomerEmail: "jo@example.com", CreatedAt: start,
		}
		return x, s.InsertSession(s.ctx, x)
	}
	_, err := s.Raw().ExecContext(s.ctx, `
		CREATE SEQUENCE lost;
		CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF nextval('lost') % 100 < 2 THEN PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(60); END IF;
			RETURN NULL;
		END $$;
		CREATE TRIGGER lose AFTER INSERT ON session FOR EACH STATEMENT EXECUTE FUNCTION lose()`)
	s.ok(err)
	x, err := insert()
	s.ok(err)
	s.ok(s.InsertSession(s.ctx, x)) // as after a commit whose answer was lost
	var all int
	s.ok(s.Raw().GetContext(s.ctx, &all, `SELECT count(*) FROM session`))
	if all != 1 {
		t.Errorf("%d sessions, want the one that was sent three times", all)
	}
	s.checkCounters("after a session that was sent again")
	_, err = s.Raw().ExecContext(s.ctx, `ALTER SEQUENCE lost INCREMENT 100 RESTART 100`)
	s.ok(err)
	if _, err := insert(); err == nil || errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("a connection that is always lost: %v", err)
	}
}

// transition is a method that changes a session's state.
var transitions = map[string]func(s *store, id domain.SessionID, now time.Time) error{
	"cancel": func(s *store, id domain.SessionID, now time.Time) error {
		_, err := s.cancel(s.scope, id, now)
		return err
	},
	"open": func(s *store, id domain.SessionID, now time.Time) error {
		return s.InTx(s.ctx, func(tx *db.Tx) error { _, err := tx.OpenSession(s.ctx, id, now); return err })
	},
	"lock": func(s *store, id domain.SessionID, now time.Time) error {
		return s.InTx(s.ctx, func(tx *db.Tx) error { _, err := tx.LockOpenSession(s.ctx, id, now); return err })
	},
}

func TestTransitionsAreConditional(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	allowed := map[domain.Status]map[string]bool{
		domain.Pending:    {"cancel": true, "open": true},
		domain.InProgress: {"cancel": true, "lock": true},
	}
	for _, status := range domain.Statuses {
		for name, run := range transitions {
			for _, overdue := range []bool{false, true} {
				session := s.session(s.scope, start)
				_, err := s.Raw().ExecContext(s.ctx, `UPDATE session SET status = $2, accessed_at = $3, last_activity_at = $3 WHERE id = $1`,
					session.ID, status, start)
				s.ok(err)
				now := session.ExpiresAt.Add(-time.Millisecond)
				if overdue {
					now = session.ExpiresAt
				}
				err = run(s, session.ID, now)
				if allowed[status][name] && !overdue {
					s.ok(err)
				} else {
					s.refused(fmt.Sprintf("%s of a session that is %s, overdue %v", name, status, overdue), err)
				}
			}
		}
	}
	session := s.session(s.scope, start)
	_, err := s.cancel(s.newScope("Other"), session.ID, start)
	s.refused("cancelling another account's session", err)
}

func TestOpenTouchComplete(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	id := s.session(s.scope, start).ID
	at := func(minutes time.Duration) time.Time { return start.Add(minutes * time.Minute) }
	activity := func(want time.Time) {
		t.Helper()
		if got, err := s.SessionByID(s.ctx, id); err != nil || !got.LastActivityAt.Equal(want) || !got.AccessedAt.Equal(at(1)) {
			t.Errorf("last activity %v, accessed %v, %v; want %v", got.LastActivityAt, got.AccessedAt, err, want)
		}
	}
	s.ok(transitions["open"](s, id, at(1)))
	activity(at(1))
	s.ok(s.TouchSession(s.ctx, id, at(2)))
	activity(at(1)) // not more than a minute after
	s.ok(s.TouchSession(s.ctx, id, at(3)))
	activity(at(3))
	s.ok(transitions["lock"](s, id, at(4)))
	activity(at(4))
	s.tx(func(tx *db.Tx) error {
		locked, err := tx.LockOpenSession(s.ctx, id, at(5))
		s.ok(err)
		s.ok(tx.SetSectionsCompleted(s.ctx, id, 3))
		done := at(5)
		locked.CompletedAt, locked.SectionsCompleted = &done, 7
		s.ok(tx.CompleteSession(s.ctx, locked))
		s.refused("completing again", tx.CompleteSession(s.ctx, locked))
		return nil
	})
	got, err := s.SessionByID(s.ctx, id)
	if err != nil || got.Status != domain.Completed || !got.CompletedAt.Equal(at(5)) || got.SectionsCompleted != 7 {
		t.Errorf("completed session is %+v, %v", got, err)
	}
	s.ok(s.TouchSession(s.ctx, id, at(9)))
	activity(at(5))
}

func TestExpireSessions(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	due := map[domain.SessionID]bool{}
	// The two oldest are another account's: the transactions below would else
	// count in one row if their connections' shards are the same, and the second
	// would wait for the first, which waits for it.
	other := s.newScope("Other")
	for i := range 5 {
		scope := s.scope
		if i >= 3 {
			scope = other
		}
		due[s.session(scope, start.Add(-time.Duration(i)*time.Hour)).ID] = true
	}
	s.session(s.scope, start.Add(time.Millisecond)) // not due
	s.completed(s.scope, start, start, start)
	s.ok(transitions["cancel"](s, s.session(s.scope, start).ID, start))
	now := start.Add(30 * 24 * time.Hour)
	expire := func(tx *db.Tx, limit, want int) {
		t.Helper()
		got, err := tx.ExpireSessions(s.ctx, now, limit)
		if err != nil || len(got) != want {
			t.Errorf("expired %d, %v; want %d", len(got), err, want)
		}
		for _, session := range got {
			if !due[session.ID] || session.Status != domain.Expired {
				t.Errorf("expired %s (%s)", session.ID, session.Status)
			}
			delete(due, session.ID)
		}
	}
	s.tx(func(first *db.Tx) error {
		expire(first, 2, 2)
		s.tx(func(second *db.Tx) error { expire(second, 9, 3); return nil }) // what the first holds is left out
		return nil
	})
	s.tx(func(tx *db.Tx) error { expire(tx, 9, 0); return nil })
	s.checkCounters("after expiry")
}

// Two sweeps would deadlock in the counters of their events if one had the sessions of
// test mode first and the other those of live mode.
func TestExpiredSessionsAreSorted(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	live := s.scope
	live.Livemode = !s.scope.Livemode
	scopes := []domain.Scope{s.scope, live, s.newScope("Other")}
	for i := range 12 {
		s.session(scopes[i%len(scopes)], start.Add(-time.Duration(i)*time.Hour))
	}
	s.tx(func(tx *db.Tx) error {
		got, err := tx.ExpireSessions(s.ctx, start.Add(30*24*time.Hour), 12)
		var changes int
		for i := range got {
			if i > 0 && got[i].Scope() != got[i-1].Scope() {
				changes++
			}
		}
		if len(got) != 12 || changes != 2 || err != nil {
			t.Errorf("%d sessions, of another scope than the one before %d times, %v", len(got), changes, err)
		}
		return nil
	})
}

func TestRetireSessions(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	old := s.completed(s.scope, start, start, start)
	young := s.completed(s.scope, start, start, start.Add(time.Millisecond))
	docs := map[domain.SessionID]*domain.Document{}
	for _, session := range []*domain.Session{old, young} {
		doc := &domain.Document{ID: domain.NewDocumentID(), SessionID: session.ID, Category: "other", FileName: "f",
			ContentType: "image/png", SHA256: []byte{1}, UploadedAt: start}
		docs[session.ID] = doc
		s.tx(func(tx *db.Tx) error {
			first, err := tx.InsertPDF(s.ctx, session.ID, domain.PDF{Content: []byte("%PDF"), Pages: 1}, nil, 4, start)
			if err != nil || !first {
				t.Errorf("InsertPDF = %v, %v", first, err)
			}
			return tx.InsertDocument(s.ctx, doc)
		})
	}
	now := start.Add(domain.Retention)
	for _, want := range []int{1, 0} {
		s.tx(func(tx *db.Tx) error {
			if n, err := tx.RetireSessions(s.ctx, now, 10); err != nil || n != want {
				t.Errorf("retired %d, %v; want %d", n, err, want)
			}
			return nil
		})
	}
	_, err := s.PDF(s.ctx, old.ID)
	s.missing("PDF past its retention", err)
	_, err = s.Document(s.ctx, old.ID, docs[old.ID].ID)
	s.missing("document past its retention", err)
	if _, err := s.PDF(s.ctx, young.ID); err != nil {
		t.Errorf("younger PDF: %v", err)
	}
	if garbage, err := s.BlobGarbage(s.ctx, now, 10); err != nil || len(garbage) != 1 || garbage[0] != docs[old.ID].ID {
		t.Errorf("garbage %v, %v", garbage, err)
	}
	if got, err := s.SessionByID(s.ctx, old.ID); err != nil || !got.ErasedAt.Equal(now) || got.Status != domain.Completed {
		t.Errorf("retired session is %+v, %v", got, err)
	}
	s.tx(func(tx *db.Tx) error { // a PDF that comes late is not kept
		if first, err := tx.InsertPDF(s.ctx, old.ID, domain.PDF{Content: []byte("%PDF"), Pages: 1}, nil, 4, now); err != nil || first {
			t.Errorf("PDF after retirement: %v, %v", first, err)
		}
		return nil
	})
}

// TestRetentionOfTheAccount: what is deleted goes by the days that each account
// has set.
func TestRetentionOfTheAccount(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	brief, usual := s.scope, s.newScope("Usual")
	s.tx(func(tx *db.Tx) error {
		account, err := tx.LockAccount(s.ctx, brief.AccountID)
		if err != nil {
			return err
		}
		account.RetentionDays = 1
		return tx.UpdateAccount(s.ctx, account)
	})
	live := domain.Scope{AccountID: brief.AccountID, Livemode: true}
	for _, scope := range []domain.Scope{brief, brief, live, usual} {
		s.completed(scope, start, start, start)
	}
	day := start.Add(24 * time.Hour)
	young := s.completed(brief, day, day, day)
	for _, limit := range []int{2, 10} {
		if n, err := s.CountRetained(s.ctx, brief.AccountID, domain.FileRetention, start, limit); err != nil || n != min(3, limit) {
			t.Errorf("counted %d, %v; want %d", n, err, min(3, limit))
		}
	}
	retire := func(now time.Time, limit, want int) {
		t.Helper()
		s.tx(func(tx *db.Tx) error {
			if n, err := tx.RetireSessions(s.ctx, now, limit); err != nil || n != want {
				t.Errorf("retired %d at %s, %v; want %d", n, now, err, want)
			}
			return nil
		})
	}
	retire(day.Add(-time.Millisecond), 10, 0)
	s.tx(func(first *db.Tx) error { // what another sweep holds is left out
		if n, err := first.RetireSessions(s.ctx, day, 1); err != nil || n != 1 {
			t.Errorf("the first sweep retired %d, %v", n, err)
		}
		retire(day, 10, 2)
		return nil
	})
	retire(day, 10, 0)
	if n, err := s.CountRetained(s.ctx, brief.AccountID, domain.FileRetention, day, 10); err != nil || n != 1 {
		t.Errorf("%d are left, %v; want the younger one", n, err)
	}
	if got, err := s.SessionByID(s.ctx, young.ID); err != nil || got.ErasedAt != nil {
		t.Errorf("the younger one: %+v, %v", got, err)
	}
	retire(start.Add(domain.Retention), 10, 2) // the younger one, and the other account's
}

// cancel cancels a session in a transaction of its own.
func (s *store) cancel(scope domain.Scope, id domain.SessionID, now time.Time) (session *domain.Session, err error) {
	err = s.InTx(s.ctx, func(tx *db.Tx) error {
		session, err = tx.CancelSession(s.ctx, scope, id, now)
		return err
	})
	return session, err
}
