package db_test

import (
	"encoding/json"
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
			if want := start.AddDate(0, 0, days[scope]); err != nil || missing != nil || !got.ExpiresAt.Equal(want) || !x.ExpiresAt.Equal(want) || got.CustomerEmail != x.CustomerEmail {
				t.Errorf("%v, %v: session %+v, stored %+v, want it to end %s", err, missing, x, got, want)
			}
		})
	}
	all.Wait()
	s.checkCounters("after sessions at the same time")
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
				_, err := s.Raw().ExecContext(s.ctx, `UPDATE session SET status = $2, accessed_at = $3, last_activity_at = $3 WHERE id = $1`, session.ID, status, start)
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

func TestRetireSessions(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	old := s.completed(s.scope, start, start, start)
	young := s.completed(s.scope, start, start, start.Add(time.Millisecond))
	docs := map[domain.SessionID]*domain.Document{}
	for _, session := range []*domain.Session{old, young} {
		doc := &domain.Document{ID: domain.NewDocumentID(), SessionID: session.ID, Category: "other", FileName: "f", ContentType: "image/png", SHA256: []byte{1}, UploadedAt: start}
		docs[session.ID] = doc
		s.tx(func(tx *db.Tx) error {
			first, err := tx.InsertPDF(s.ctx, session.ID, []byte("%PDF"), nil, 4, 1, start)
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
		if first, err := tx.InsertPDF(s.ctx, old.ID, []byte("%PDF"), nil, 4, 1, now); err != nil || first {
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

func TestPDF(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	done, open := s.completed(s.scope, start, start, start), s.session(s.scope, start)
	if missing, err := s.SessionsWithoutPDF(s.ctx, start, 5); err != nil || len(missing) != 1 || missing[0] != done.ID {
		t.Errorf("without PDF: %v, %v", missing, err)
	}
	if missing, err := s.SessionsWithoutPDF(s.ctx, start.Add(-1*time.Millisecond), 5); err != nil || len(missing) != 0 {
		t.Errorf("without PDF for long: %v, %v", missing, err)
	}
	_, err := s.PDF(s.ctx, done.ID)
	s.missing("PDF before it is made", err)
	for i, want := range []bool{true, false} {
		s.tx(func(tx *db.Tx) error {
			first, err := tx.InsertPDF(s.ctx, done.ID, []byte{'%', 0, 255, byte(i)}, nil, 4, 3, start)
			if err != nil || first != want {
				t.Errorf("PDF %d is the first: %v, %v; want %v", i, first, err, want)
			}
			if first, err := tx.InsertPDF(s.ctx, open.ID, []byte("%"), nil, 1, 1, start); err != nil || first {
				t.Errorf("PDF of an open session: %v, %v", first, err)
			}
			return nil
		})
	}
	if content, err := s.PDF(s.ctx, done.ID); err != nil || string(content) != "%\x00\xff\x00" {
		t.Errorf("PDF is %q, %v", content, err)
	}
	if got, err := s.SessionByID(s.ctx, done.ID); err != nil || !got.PDFReadyAt.Equal(start) {
		t.Errorf("ready at %v, %v", got.PDFReadyAt, err)
	}
}

func TestSections(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	id := s.session(s.scope, start).ID
	// Whatever is special to a text form of bytes comes back as it went.
	tricky := "\x01\x00{\"full_name\":\"a \\x41 \\ \n ü ' 😀\xff\"}"
	draft := `{"full_name":["\u0000 \\000 \" \\x"]}`
	load := func() db.Section {
		t.Helper()
		all, err := s.Sections(s.ctx, id)
		s.ok(err)
		if len(all) != 1 {
			t.Fatalf("%d sections, want 1", len(all))
		}
		return all[0]
	}
	s.tx(func(tx *db.Tx) error { return tx.SaveDraft(s.ctx, id, "income", []byte(draft), nil, start) })
	if got := load(); string(got.Draft) != draft || got.Answers != nil || got.CompletedAt != nil || !got.UpdatedAt.Equal(start) {
		t.Errorf("draft is %+v", got)
	}
	for i, want := range []bool{true, false} {
		now := start.Add(time.Duration(1+i) * time.Hour)
		s.tx(func(tx *db.Tx) error {
			first, err := tx.SaveSection(s.ctx, id, "income", []byte(tricky), now)
			if err != nil || first != want {
				t.Errorf("save %d is the first: %v, %v", i, first, err)
			}
			return nil
		})
		got := load()
		if string(got.Answers) != tricky || got.Draft != nil || !got.CompletedAt.Equal(start.Add(time.Hour)) || !got.UpdatedAt.Equal(now) {
			t.Errorf("saved section is %s, %+v", got.Answers, got)
		}
	}
	s.tx(func(tx *db.Tx) error { return tx.SaveDraft(s.ctx, id, "income", []byte(`{}`), nil, start) })
	if got := load(); string(got.Draft) != "{}" || string(got.Answers) != tricky || got.CompletedAt == nil {
		t.Errorf("draft over answers is %+v", got)
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	id, other := s.session(s.scope, start).ID, s.session(s.scope, start).ID
	var docs []*domain.Document
	for i := range 3 {
		doc := &domain.Document{ID: domain.NewDocumentID(), SessionID: id, Category: "other", FileName: fmt.Sprint(i), ContentType: "image/png", SizeBytes: 10 << 20, SHA256: []byte{0, 255}, UploadedAt: start}
		docs = append(docs, doc)
		s.ok(s.ReserveBlob(s.ctx, doc.ID, start))
	}
	garbage := func(want int) {
		t.Helper()
		if ids, err := s.BlobGarbage(s.ctx, start, 10); err != nil || len(ids) != want {
			t.Errorf("garbage %v, %v; want %d", ids, err, want)
		}
	}
	garbage(3)
	if ids, err := s.BlobGarbage(s.ctx, start.Add(-1*time.Millisecond), 10); err != nil || len(ids) != 0 {
		t.Errorf("garbage before it was reserved: %v, %v", ids, err)
	}
	for _, doc := range docs[:2] {
		s.tx(func(tx *db.Tx) error { return tx.InsertDocument(s.ctx, doc) })
	}
	garbage(1)
	all, err := s.Documents(s.ctx, id)
	if err != nil || len(all) != 2 || !reflect.DeepEqual(&all[0], docs[0]) || all[1].ID != docs[1].ID {
		t.Errorf("documents %+v, %v", all, err)
	}
	_, err = s.Document(s.ctx, other, docs[0].ID)
	s.missing("document of another session", err)
	s.tx(func(tx *db.Tx) error {
		s.missing("deleting it there", tx.DeleteDocument(s.ctx, other, docs[0].ID, start))
		s.ok(tx.DeleteDocument(s.ctx, id, docs[0].ID, start))
		s.missing("deleting it again", tx.DeleteDocument(s.ctx, id, docs[0].ID, start))
		return nil
	})
	garbage(2)
	s.ok(s.ForgetBlob(s.ctx, docs[0].ID))
	garbage(1)
	if left, err := s.Documents(s.ctx, id); err != nil || len(left) != 1 || left[0].ID != docs[1].ID {
		t.Errorf("documents that are left: %+v, %v", left, err)
	}
}

// cancel cancels a session in a transaction of its own.
func (s *store) cancel(scope domain.Scope, id domain.SessionID, now time.Time) (session *domain.Session, err error) {
	err = s.InTx(s.ctx, func(tx *db.Tx) error {
		session, err = tx.CancelSession(s.ctx, scope, id, now)
		return err
	})
	return session, err
}
