package sessions_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/forms"
	"candor/internal/statement"
	"candor/internal/testkit/servicetest"
)

// fixture is the fixture of this package's tests.
type fixture struct{ *servicetest.Fixture }

func newFixture(t testing.TB, change ...func(*servicetest.Config)) *fixture {
	t.Helper()
	return &fixture{servicetest.NewFixture(t, change...)}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	session := b.Opened()
	got, err := b.Sessions.Cancel(b.Ctx, b.Test(), session.ID, servicetest.Someone)
	if err != nil || got.Status != domain.Cancelled || !got.CancelledAt.Equal(servicetest.Start) {
		t.Errorf("Cancel = %+v, %v", got, err)
	}
	if kinds := b.Kinds(session.ID); len(kinds) != 1 {
		t.Errorf("events %v, want none of the cancellation", kinds)
	}
	overdue, pending := b.Session(), b.Session()
	_, err = b.DB.Raw().ExecContext(b.Ctx, "UPDATE session SET expires_at = $2 WHERE id = $1", overdue.ID, servicetest.Start)
	b.OK(err)
	for id, code := range map[domain.SessionID]domain.Code{
		session.ID: domain.CodeSessionCancelled, b.Submitted().ID: domain.CodeSessionCompleted,
		overdue.ID: domain.CodeSessionExpired, {}: domain.CodeSessionNotFound,
	} {
		_, err := b.Sessions.Cancel(b.Ctx, b.Test(), id, servicetest.Someone)
		b.Code("cancelling", err, code)
	}
	_, err = b.Sessions.Cancel(b.Ctx, b.Live(), pending.ID, servicetest.Someone)
	b.Code("cancelling with a key of the other mode", err, domain.CodeSessionNotFound)
}

func TestReadersSeeExpiryAtOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	session := b.Opened()
	b.Pass(30*24*time.Hour - time.Millisecond)
	for _, want := range []domain.Status{domain.InProgress, domain.Expired} {
		got, err := b.Sessions.Get(b.Ctx, b.Test(), session.ID)
		if err != nil || got.Status != want {
			t.Errorf("status %s, %v; want %s", got.Status, err, want)
		}
		list, total, err := b.Sessions.List(b.Ctx, b.Test(), domain.SessionFilter{Status: want}, domain.Page{Number: 1, Size: 20})
		if err != nil || total != 1 || len(list) != 1 || list[0].Status != want {
			t.Errorf("list of %s: %+v, %d, %v", want, list, total, err)
		}
		state, err := b.Forms.Get(b.Ctx, session.ID)
		if err != nil || state.Session.Status != want || (state.Statement == nil) != (want == domain.Expired) {
			t.Errorf("form of %s: %+v, %v", want, state, err)
		}
		b.Pass(time.Millisecond)
	}
	b.Code("saving", b.Fill(session.ID, statement.IncomeSection), domain.CodeSessionExpired)
	_, err := b.Sessions.Data(b.Ctx, b.Test(), session.ID, servicetest.Someone)
	b.Code("data", err, domain.CodeSessionNotCompleted)
}

func TestDataPDFAndDocuments(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	session := b.Filled()
	b.OK(b.Forms.AddDocument(b.Ctx, session, forms.Upload{Category: "identification", FileName: "a.pdf",
		Content: strings.NewReader("%PDF-1.7")}))
	docs, err := b.DB.Documents(b.Ctx, session.ID)
	b.OK(err)
	id := docs[0].ID
	read := func(scope domain.Scope) [3]error {
		_, data := b.Sessions.Data(b.Ctx, scope, session.ID, servicetest.Someone)
		_, pdf := b.Sessions.PDF(b.Ctx, scope, session.ID, servicetest.Someone)
		content, document := b.Sessions.Document(b.Ctx, scope, session.ID, id, servicetest.Someone)
		if document == nil {
			b.OK(content.Close())
		}
		return [3]error{data, pdf, document}
	}
	expect := func(when string, got [3]error, want ...domain.Code) {
		t.Helper()
		for i, code := range want {
			if code == "" && got[i] != nil {
				t.Errorf("%s: read %d gives %v", when, i, got[i])
			} else if code != "" {
				b.Code(when, got[i], code)
			}
		}
	}
	const notYet, unknown = domain.CodeSessionNotCompleted, domain.CodeSessionNotFound
	expect("before submission", read(b.Test()), notYet, notYet, notYet)
	b.OK(b.Submit(session.ID))
	expect("of the other mode", read(b.Live()), unknown, unknown, unknown)
	expect("before the PDF", read(b.Test()), "", domain.CodePDFNotReady, "")
	b.OK(b.DB.InTx(b.Ctx, func(tx *db.Tx) error {
		_, err := b.Vault.InsertPDF(b.Ctx, tx, session.ID, domain.PDF{Content: []byte("%PDF"), Pages: 1}, servicetest.Start)
		return err
	}))
	expect("with the PDF", read(b.Test()), "", "", "")
	content, err := b.Sessions.Document(b.Ctx, b.Test(), session.ID, id, servicetest.Someone)
	b.OK(err)
	bytes, err := io.ReadAll(content)
	if err != nil || string(bytes) != "%PDF-1.7" || content.ContentType != "application/pdf" || content.FileName != "a.pdf" {
		t.Errorf("document %q, %+v, %v", bytes, content.Document, err)
	}
	b.OK(content.Close())
	_, err = b.Sessions.Document(b.Ctx, b.Test(), session.ID, domain.NewDocumentID(), servicetest.Someone)
	b.Code("unknown document", err, domain.CodeDocumentNotFound)
	_, err = b.Sessions.Document(b.Ctx, b.Test(), b.Submitted().ID, id, servicetest.Someone)
	b.Code("another session's document", err, domain.CodeDocumentNotFound)
	b.Pass(domain.Retention)
	expect("past retention", read(b.Test()), "", domain.CodePDFExpired, domain.CodeDocumentNotFound)
}

func TestSessionURL(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	session := b.Session()
	url := b.Sessions.URL(session, true)
	token, ok := strings.CutPrefix(url, "https://candor.example/f/"+session.ID.String()+"/")
	if !ok || len(token) < 22 {
		t.Fatalf("link %s", url)
	}
	if id, _, valid := b.Forms.CheckLink(session.ID.String(), token); !valid || id != session.ID {
		t.Error("the link doesn't open its session")
	}
	for _, bad := range [][2]string{{session.ID.String(), token + "x"}, {session.ID.String(), ""}, {b.Session().ID.String(), token},
		{"x", token}} {
		if _, _, valid := b.Forms.CheckLink(bad[0], bad[1]); valid {
			t.Errorf("%v opens a session", bad)
		}
	}
	if n := b.Count("SELECT count(*) FROM session s WHERE strpos(s::text, $1) > 0", token); n != 0 {
		t.Error("the token is in the database")
	}
}
