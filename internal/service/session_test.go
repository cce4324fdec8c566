package service_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/statement"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.opened()
	got, err := b.Sessions.Cancel(b.ctx, b.test(), session.ID, someone)
	if err != nil || got.Status != domain.Cancelled || !got.CancelledAt.Equal(start) {
		t.Errorf("Cancel = %+v, %v", got, err)
	}
	if kinds := b.kinds(session.ID); len(kinds) != 1 {
		t.Errorf("events %v, want none of the cancellation", kinds)
	}
	overdue, pending := b.session(), b.session()
	_, err = b.DB.Raw().ExecContext(b.ctx, "UPDATE session SET expires_at = $2 WHERE id = $1", overdue.ID, start)
	b.ok(err)
	for id, code := range map[domain.SessionID]domain.Code{
		session.ID: domain.CodeSessionCancelled, b.submitted().ID: domain.CodeSessionCompleted,
		overdue.ID: domain.CodeSessionExpired, {}: domain.CodeSessionNotFound,
	} {
		_, err := b.Sessions.Cancel(b.ctx, b.test(), id, someone)
		b.code("cancelling", err, code)
	}
	_, err = b.Sessions.Cancel(b.ctx, b.live(), pending.ID, someone)
	b.code("cancelling with a key of the other mode", err, domain.CodeSessionNotFound)
}

func TestReadersSeeExpiryAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.opened()
	b.pass(30*24*time.Hour - time.Millisecond)
	for _, want := range []domain.Status{domain.InProgress, domain.Expired} {
		got, err := b.Sessions.Get(b.ctx, b.test(), session.ID)
		if err != nil || got.Status != want {
			t.Errorf("status %s, %v; want %s", got.Status, err, want)
		}
		list, total, err := b.Sessions.List(b.ctx, b.test(), domain.SessionFilter{Status: want}, domain.Page{Number: 1, Size: 20})
		if err != nil || total != 1 || len(list) != 1 || list[0].Status != want {
			t.Errorf("list of %s: %+v, %d, %v", want, list, total, err)
		}
		state, err := b.Forms.Get(b.ctx, session.ID)
		if err != nil || state.Session.Status != want || (state.Statement == nil) != (want == domain.Expired) {
			t.Errorf("form of %s: %+v, %v", want, state, err)
		}
		b.pass(time.Millisecond)
	}
	b.code("saving", b.fill(session.ID, statement.IncomeSection), domain.CodeSessionExpired)
	_, err := b.Sessions.Data(b.ctx, b.test(), session.ID, someone)
	b.code("data", err, domain.CodeSessionNotCompleted)
}

func TestDataPDFAndDocuments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.filled()
	b.ok(b.upload(session.ID, "identification", "a.pdf", "%PDF-1.7"))
	docs, err := b.DB.Documents(b.ctx, session.ID)
	b.ok(err)
	id := docs[0].ID
	read := func(scope domain.Scope) [3]error {
		_, data := b.Sessions.Data(b.ctx, scope, session.ID, someone)
		_, pdf := b.Sessions.PDF(b.ctx, scope, session.ID, someone)
		content, document := b.Sessions.Document(b.ctx, scope, session.ID, id, someone)
		if document == nil {
			b.ok(content.Close())
		}
		return [3]error{data, pdf, document}
	}
	expect := func(when string, got [3]error, want ...domain.Code) {
		t.Helper()
		for i, code := range want {
			if code == "" && got[i] != nil {
				t.Errorf("%s: read %d gives %v", when, i, got[i])
			} else if code != "" {
				b.code(when, got[i], code)
			}
		}
	}
	const notYet, unknown = domain.CodeSessionNotCompleted, domain.CodeSessionNotFound
	expect("before submission", read(b.test()), notYet, notYet, notYet)
	b.ok(b.submit(session.ID))
	expect("of the other mode", read(b.live()), unknown, unknown, unknown)
	expect("before the PDF", read(b.test()), "", domain.CodePDFNotReady, "")
	b.ok(b.DB.InTx(b.ctx, func(tx *db.Tx) error {
		_, err := b.Vault.InsertPDF(b.ctx, tx, session.ID, []byte("%PDF"), 1, start)
		return err
	}))
	expect("with the PDF", read(b.test()), "", "", "")
	content, err := b.Sessions.Document(b.ctx, b.test(), session.ID, id, someone)
	b.ok(err)
	bytes, err := io.ReadAll(content)
	if err != nil || string(bytes) != "%PDF-1.7" || content.ContentType != "application/pdf" || content.FileName != "a.pdf" {
		t.Errorf("document %q, %+v, %v", bytes, content.Document, err)
	}
	b.ok(content.Close())
	_, err = b.Sessions.Document(b.ctx, b.test(), session.ID, domain.NewDocumentID(), someone)
	b.code("unknown document", err, domain.CodeDocumentNotFound)
	_, err = b.Sessions.Document(b.ctx, b.test(), b.submitted().ID, id, someone)
	b.code("another session's document", err, domain.CodeDocumentNotFound)
	b.pass(domain.Retention)
	expect("past retention", read(b.test()), "", domain.CodePDFExpired, domain.CodeDocumentNotFound)
}

func TestSessionURL(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.session()
	url := b.Sessions.URL(session.ID)
	token, ok := strings.CutPrefix(url, "https://candor.example/f/"+session.ID.String()+"/")
	if !ok || len(token) < 22 {
		t.Fatalf("link %s", url)
	}
	if id, valid := b.Forms.CheckLink(session.ID.String(), token); !valid || id != session.ID {
		t.Error("the link doesn't open its session")
	}
	for _, bad := range [][2]string{{session.ID.String(), token + "x"}, {session.ID.String(), ""}, {b.session().ID.String(), token}, {"x", token}} {
		if _, valid := b.Forms.CheckLink(bad[0], bad[1]); valid {
			t.Errorf("%v opens a session", bad)
		}
	}
	if n := b.count("SELECT count(*) FROM session s WHERE strpos(s::text, $1) > 0", token); n != 0 {
		t.Error("the token is in the database")
	}
}
