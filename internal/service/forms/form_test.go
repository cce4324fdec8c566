package forms_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/forms"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/servicetest"
)

// fixture is the fixture of this package's tests.
type fixture struct{ *servicetest.Fixture }

func newFixture(t testing.TB, change ...func(*servicetest.Config)) *fixture {
	t.Helper()
	return &fixture{servicetest.NewFixture(t, change...)}
}

// However many requests open the form first, it is opened once.
func TestOpenFormOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	session := b.Session()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			state, err := b.Forms.Get(b.Ctx, session.ID)
			if err == nil {
				err = b.Forms.Open(b.Ctx, state, domain.Visitor{UserAgent: "Test/1 \xff\x00", IPAddress: "192.0.2.7"})
			}
			if err != nil || state.Session.Status != domain.InProgress || state.Session.AccessedAt == nil {
				t.Errorf("opened as %v, %v", state.Session, err)
			}
		})
	}
	wg.Wait()
	if kinds := b.Kinds(session.ID); len(kinds) != 1 || kinds[0] != domain.SessionAccessed {
		t.Fatalf("events %v, want one session.accessed", kinds)
	}
	got := servicetest.Payload[domain.AccessedPayload](b.Fixture, session.ID)
	if got.SessionID != session.ID || !got.AccessedAt.Equal(servicetest.Start) || got.UserAgent != "Test/1 \ufffd\x00" ||
		got.IPAddress != "192.0.2.7" {
		t.Errorf("payload %+v", got)
	}
	b.Pass(2 * time.Minute)
	if state := b.Open(session.ID); !state.Session.AccessedAt.Equal(servicetest.Start) {
		t.Errorf("opened again: accessed at %s", state.Session.AccessedAt)
	}
	if again, err := b.DB.SessionByID(b.Ctx, session.ID); err != nil ||
		!again.LastActivityAt.Equal(servicetest.Start.Add(2*time.Minute)) {
		t.Errorf("last activity %v, %v", again.LastActivityAt, err)
	}
}

func TestClosedFormsStayClosed(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	cancelled := b.Session()
	stale, err := b.Forms.Get(b.Ctx, cancelled.ID) // looked at before the cancellation
	b.OK(err)
	_, err = b.Sessions.Cancel(b.Ctx, b.Test(), cancelled.ID, servicetest.Someone)
	b.OK(err)
	b.OK(b.Forms.Open(b.Ctx, stale, domain.Visitor{}))
	if stale.Session.Status != domain.Cancelled || len(b.Kinds(cancelled.ID)) != 0 {
		t.Errorf("a cancelled session was opened: %s, %v", stale.Session.Status, b.Kinds(cancelled.ID))
	}
	b.Code("saving an unopened form", b.Fill(b.Session().ID, statement.IncomeSection), domain.CodeInvalidRequest)
	done := b.Submitted()
	for id, code := range map[domain.SessionID]domain.Code{
		cancelled.ID: domain.CodeSessionCancelled, done.ID: domain.CodeSessionCompleted, {}: domain.CodeSessionNotFound,
	} {
		b.Code("save", b.Fill(id, statement.IncomeSection), code)
		b.Code("draft", b.draft(id, statement.IncomeSection, url.Values{}), code)
		b.Code("documents", b.Forms.CompleteDocuments(b.Ctx, &domain.Session{ID: id}), code)
		b.Code("upload", b.upload(id, "other", "a.pdf", "%PDF-"), code)
		b.Code("removal", b.Forms.RemoveDocument(b.Ctx, &domain.Session{ID: id}, domain.NewDocumentID()), code)
		b.Code("submit", b.Submit(id), code)
	}
	if n := b.Count("SELECT count(*) FROM blob_garbage"); n != 0 {
		t.Errorf("closed forms took the bytes of %d uploads", n)
	}
}

// What was begun through a link that was renewed since changes nothing.
func TestRenewedLinkChangesNothing(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	session := b.Session()
	stale, err := b.Forms.Get(b.Ctx, session.ID)
	b.OK(err)
	_, err = b.Sessions.RenewLink(b.Ctx, b.Test(), session.ID, servicetest.Someone)
	b.OK(err)
	b.Code("opening", b.Forms.Open(b.Ctx, stale, domain.Visitor{}), domain.CodeSessionNotFound)
	if kinds := b.Kinds(session.ID); len(kinds) != 0 {
		t.Errorf("a renewed link opened the form: %v", kinds)
	}
	b.Open(session.ID)
	b.Code("opening late", b.Forms.Open(b.Ctx, stale, domain.Visitor{}), domain.CodeSessionNotFound)
	b.Code("save", b.Fill(session.ID, statement.IncomeSection), domain.CodeSessionNotFound)
	b.Code("documents", b.Fill(session.ID, statement.DocumentsSection), domain.CodeSessionNotFound)
	b.Code("upload", b.upload(session.ID, "other", "a.pdf", "%PDF-"), domain.CodeSessionNotFound)
	b.Code("removal", b.Forms.RemoveDocument(b.Ctx, session, domain.NewDocumentID()), domain.CodeSessionNotFound)
	b.Code("categories", b.Forms.DescribeDocuments(b.Ctx, session, nil), domain.CodeSessionNotFound)
	b.Code("confirmation", b.Forms.Confirm(b.Ctx, session, nil), domain.CodeSessionNotFound)
	b.Code("submit", b.Submit(session.ID), domain.CodeSessionNotFound)
}

// One customer's way through the form, with the events it sends (D15, D16).
func TestFormToSubmission(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	reference := "REF 1"
	session := b.Session(func(w *domain.NewSession) { w.ReferenceID = reference })
	b.Open(session.ID)
	want := []domain.EventType{domain.SessionAccessed}
	b.Pass(61*time.Minute + 30*time.Second)
	order := []string{"documents", "assets", "personal_details", "expenses", "income", "liabilities"}
	for i, name := range order {
		var e *domain.Error
		if err := b.Submit(session.ID); !errors.As(err, &e) || e.Code != domain.CodeValidation || len(e.Fields) != 6-i {
			t.Fatalf("submitting with %d sections: %v", i, err)
		}
		for range 2 { // the second time is an edit
			b.OK(b.Fill(session.ID, name))
		}
		want = append(want, domain.SessionSectionCompleted)
		got := servicetest.Payload[domain.SectionCompletedPayload](b.Fixture, session.ID)
		if expect := (domain.SectionCompletedPayload{SessionID: session.ID, Section: statement.SectionName(name),
			SectionNumber: statement.SectionNumber(name), SectionsTotal: 7,
			SectionsCompleted: i + 1, ProgressPercentage: []int{14, 29, 43, 57, 71, 86}[i]}); got != expect {
			t.Errorf("payload %+v, want %+v", got, expect)
		}
	}
	if err := b.Fill(session.ID, statement.DeclarationSection); err == nil {
		t.Error("the declaration was saved without submitting")
	}
	b.OK(b.Submit(session.ID))
	want = append(want, domain.SessionSectionCompleted, domain.SessionCompleted)
	if kinds := b.Kinds(session.ID); !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
	now, sum := b.Clock.Now(), statementtest.Full().Summary()
	got := servicetest.Payload[domain.CompletedPayload](b.Fixture, session.ID)
	if got.SessionID != session.ID || !got.CompletedAt.Equal(now) || got.FormType != "financial_statement" ||
		*got.ReferenceID != reference || got.DurationMinutes != 62 ||
		got.Summary != (domain.CompletedSummary{TotalAssets: sum.TotalAssets, TotalLiabilities: sum.TotalLiabilities,
			NetWorth: sum.NetWorth}) {
		t.Errorf("payload %+v", got)
	}
	data, err := b.Sessions.Data(b.Ctx, b.Test(), session.ID, servicetest.Someone)
	b.OK(err)
	if data.Session.Status != domain.Completed || data.Session.SectionsCompleted != 7 || !data.Session.CompletedAt.Equal(now) ||
		!data.Statement.Declaration.SignedAt.Equal(now) || data.Statement.Declaration.FullName != "Jo Customer" ||
		!data.Statement.Declaration.Accepted {
		t.Errorf("data %+v, %+v", data.Session, data.Statement.Declaration)
	}
	full := statementtest.Full()
	full.Documents, full.Declaration = nil, data.Statement.Declaration
	if gotJSON, wantJSON := toJSON(b, data.Statement), toJSON(b, full); gotJSON != wantJSON {
		t.Errorf("answers came back as\n%s\nwant\n%s", gotJSON, wantJSON)
	}
	if n := b.Count("SELECT count(*) FROM river_job WHERE kind = 'statement_pdf'"); n != 1 {
		t.Errorf("%d PDF jobs, want 1", n)
	}
	if state, err := b.Forms.Get(b.Ctx, session.ID); err != nil || state.Statement != nil ||
		state.Session.Status != domain.Completed {
		t.Errorf("the form of a completed session shows answers: %+v, %v", state, err)
	}
}

func toJSON(b *fixture, s *statement.Statement) string {
	b.Helper()
	raw, err := s.MarshalJSON()
	b.OK(err)
	return string(raw)
}

// A draft is shown again, undoes no completion and keeps from signing.
func TestDrafts(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	session := b.Filled()
	values := statementtest.Values(statement.IncomeSection)
	values.Set("employment_income.gross_salary", `a "lot" \x41`)
	b.OK(b.draft(session.ID, statement.IncomeSection, values))
	state, err := b.Forms.Get(b.Ctx, session.ID)
	b.OK(err)
	shown := state.Section(statement.IncomeSection)
	if got := shown.Inputs(); got.Get("employment_income.gross_salary") != `a "lot" \x41` || len(shown.Validate()) != 1 {
		t.Errorf("the draft is shown as %v", got)
	}
	if !state.Sections[statement.IncomeSection].Completed || !slices.Equal(state.Unfinished(), []string{statement.IncomeSection}) {
		t.Errorf("unfinished: %v of %+v", state.Unfinished(), state.Sections)
	}
	var e *domain.Error
	if err := b.Submit(session.ID); !errors.As(err, &e) || fmt.Sprint(e.Fields) != fmt.Sprint(form.Errors{{Field: "income",
		Rule: form.Rule{Code: "unfinished"}}}) {
		t.Errorf("signing over a draft: %v", err)
	}
	b.OK(b.Fill(session.ID, statement.IncomeSection))
	b.OK(b.Submit(session.ID))
}

// What is known already is filled in (D20), until the customer has answered.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	session := b.Session(func(w *domain.NewSession) { w.CustomerName = "Jo Customer" })
	state := b.Open(session.ID)
	got := state.Section(statement.PersonalDetailsSection).Inputs()
	if got.Get("full_name") != "Jo Customer" || got.Get("email") != "jo@customer.example" || got.Get("phone") != "" {
		t.Errorf("personal details start with %v", got)
	}
	if got := state.Section(statement.LiabilitiesSection); got.List("mortgages").Len() != 0 {
		t.Errorf("liabilities start with %v before there are assets", got.Inputs())
	}
	b.OK(b.Fill(session.ID, statement.AssetsSection))
	state = b.Open(session.ID)
	want := statement.SuggestLiabilities(&statementtest.Full().Assets)
	liabilities := state.Section(statement.LiabilitiesSection)
	if n, m := liabilities.List("mortgages").Len(), liabilities.List("other_liabilities").Len(); n != len(want.Mortgages) ||
		m != len(want.Other) || n+m == 0 {
		t.Errorf("liabilities start with %d mortgages and %d others, want %d and %d", n, m, len(want.Mortgages), len(want.Other))
	}
	none := forms.Change{Edit: form.Edit{Ours: url.Values{form.HasInput: {form.HasNone}}}, Action: forms.Complete}
	_, err := b.edit(session.ID, statement.LiabilitiesSection, nil, none)
	b.OK(err)
	b.OK(b.Fill(session.ID, statement.PersonalDetailsSection))
	state = b.Open(session.ID)
	if got := state.Section(statement.LiabilitiesSection); got.List("mortgages").Len() != 0 {
		t.Errorf("answered liabilities are filled in again: %v", got.Inputs())
	}
	if got := state.Section(statement.PersonalDetailsSection).Inputs(); got.Get("full_name") != statementtest.Full().
		Personal.FullName {
		t.Errorf("answered personal details are shown as %v", got)
	}
	if state.Section("unknown") != nil || state.Section(statement.DocumentsSection) != nil {
		t.Error("a section that has no fields is described")
	}
}
