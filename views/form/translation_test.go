package form_test

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
	"candor/views/email"
	view "candor/views/form"
	"candor/views/i18n"
	"candor/views/pdf"
)

// bad are inputs that break each rule of some kind of field.
var bad = []string{
	"", "x", "1,5", "-1", "1.234", "9999999999999", "101", "0412 345 678" + strings.Repeat(" ", 30) + "9", "\x01", "\xff", "🦊",
	strings.Repeat("x", 600),
}

// badDates are a day, a month and a year.
var badDates = [][3]string{
	{"1", "", ""}, {"", "1", ""}, {"", "", "1990"}, {"1", "1", ""}, {"1", "", "1990"}, {"", "1", "1990"},
	{"31", "2", "1990"}, {"1", "1", "90"}, {"1", "1", "190"}, {"1", "1", "2190"}, {"1", "1", "1800"}, {"x", "1", "1990"},
	{"1", "1", "2020"}, {"1", "1", "1905"},
}

// wrongly are a section's inputs that leave its fields in all kinds of
// trouble, one kind after the other; its lists have one item each.
func wrongly(name string) []url.Values {
	var out []url.Values
	for n := range max(len(bad), len(badDates)) {
		values := url.Values{}
		set := func(path string, f form.Field) {
			for i, part := range f.Parts() {
				if f.Kind == form.KindDate {
					values.Set(path+part, badDates[n%len(badDates)][i])
				} else {
					values.Set(path+part, bad[n%len(bad)])
				}
			}
		}
		section := new(statement.Statement).Section(name, now)
		for _, g := range section.Groups {
			for _, f := range g.Fields {
				set(f.Name, f)
			}
			if g.List == nil {
				continue
			}
			for _, f := range g.List.ItemFields() {
				path := g.List.Name + ".0." + f.Name
				set(path, f)
				if n == 0 && f.Kind == form.KindMoney { // an item left wholly blank would be dropped
					values.Set(path, "1")
				}
			}
		}
		out = append(out, values)
	}
	abroad := url.Values{"address.country": {"NZ"}, "address.postcode": {strings.Repeat("1", 21)}, "phone": {"1"}}
	return append(out, url.Values{"address.postcode": {"0100"}}, url.Values{}, abroad, onlyTicked(name), untickedAnswers(name),
		tooMany(name), inPeriods(name, "999,999,999,999", "week"), inPeriods(name, "1", "quarter"))
}

// onlyTicked ticks each kind and answers nothing.
func onlyTicked(name string) url.Values {
	values := url.Values{}
	for _, g := range new(statement.Statement).Section(name, now).Groups {
		values.Add(form.HasInput, g.Kind())
	}
	return values
}

// untickedAnswers says that there is nothing, and answers.
func untickedAnswers(name string) url.Values {
	values := inPeriods(name, "1", "week")
	for key, other := range tooMany(name) {
		values[key] = other
	}
	values.Set(form.HasInput, form.HasNone)
	return values
}

// inPeriods answers each amount with two in that period.
func inPeriods(name, amount, period string) url.Values {
	values := url.Values{}
	set := func(path string, f form.Field) {
		if f.Kind == form.KindMoney && f.Period != form.Once {
			values[path], values[path+".period"] = []string{amount}, []string{period}
			values[path+".2"], values[path+".2.period"] = []string{amount}, []string{period}
		}
	}
	for _, g := range new(statement.Statement).Section(name, now).Groups {
		for _, f := range g.Fields {
			set(f.Name, f)
		}
		if g.List != nil {
			for _, f := range g.List.ItemFields() {
				set(g.List.Name+".0."+f.Name, f)
			}
		}
	}
	return values
}

// tooMany are more items of each list, and more amounts of each question, than it can hold.
func tooMany(name string) url.Values {
	values := url.Values{}
	for _, g := range new(statement.Statement).Section(name, now).Groups {
		for i := range form.MaxListItems + 1 {
			for _, f := range g.Fields {
				values.Set(fmt.Sprintf("%s.%d", f.Name, i), "1")
			}
			if g.List != nil {
				values.Set(fmt.Sprintf("%s.%d.%s", g.List.Name, i, g.List.ItemFields()[0].Name), "x")
			}
		}
	}
	return values
}

// everyText are pages that between them say all that the form can say.
func everyText(t *testing.T) []templ.Component {
	t.Helper()
	var all []templ.Component
	for _, component := range pages(t) {
		all = append(all, component)
	}
	for _, name := range statement.SectionNames {
		if name == statement.DocumentsSection {
			continue
		}
		for _, values := range wrongly(name) {
			s := &statement.Statement{Personal: statement.PersonalDetails{Address: statement.Address{Street: "1 Home Street"}}}
			if name == statement.DeclarationSection {
				c := checkPage(s)
				c.Errors = c.Declaration.Decode(values)
				all = append(all, view.Check(c))
				continue
			}
			p := sectionPage(s.Section(name, now))
			p.Section.FromPage = true
			p.Errors = p.Section.Decode(values)
			all = append(all, view.Section(p))
		}
	}
	for _, values := range append(wrongly(statement.ExpensesSection), url.Values{"share": {"60"},
		"housing.mortgage_rent": {"600"}}) {
		s := &statement.Statement{Personal: statement.PersonalDetails{Household: statement.Household{Type: "couple"}}}
		p := sectionPage(s.Section(statement.ExpensesSection, now))
		p.Errors = p.Section.Decode(values)
		all = append(all, view.Section(p), view.Check(checkPage(s)), view.Hub(view.HubPage{Page: page(), Couple: true}))
	}
	for _, lives := range []string{"single", "couple"} {
		s := example(t)
		s.Personal.Address.Street, s.Personal.Household.Type = "5 King Street", lives // not where the mortgage is
		all = append(all, view.Section(sectionPage(s.Section(statement.ExpensesSection, now))),
			view.Section(sectionPage(s.Section(statement.IncomeSection, now))))
	}
	for _, problem := range []string{
		statement.NoFile, statement.NoCategory, statement.TooManyFiles, statement.FileEmpty, statement.FileTooLarge,
		statement.FileTypeUnknown, statement.FileDamaged, statement.PictureTooLarge,
		statement.UploadRunning, statement.TooMuchUploaded,
	} {
		all = append(all, view.Documents(view.DocumentsPage{Page: page(), Errors: form.Errors{{Field: "file", Message: problem}}}))
	}
	all = append(all, view.Landing(), view.Hub(hub(view.Completed, view.Completed, view.Completed, view.Completed, view.Completed,
		view.Completed, view.Completed)),
		view.Documents(view.DocumentsPage{Page: page(), Documents: slices.Repeat(documents, statement.MaxDocuments/2)}))
	unnamed := []statement.Document{{ID: "doc_1", FileName: "payslip.pdf"}, {ID: "doc_2", FileName: "a.pdf"},
		{ID: "doc_3", FileName: "b.pdf"}}
	all = append(all, view.Documents(view.DocumentsPage{Page: page(), Documents: unnamed}))
	for _, other := range []bool{false, true} {
		all = append(all, view.Documents(view.DocumentsPage{Page: page(), Documents: documents, Again: documents[0].ID,
			OtherCategory: other}))
	}
	for _, category := range statement.DocumentCategories {
		c := checkPage(example(t))
		c.Documents = []statement.Document{{Category: statement.DocumentCategory(category.Code), FileName: "a.pdf"}}
		all = append(all, view.Check(c))
	}
	for _, contact := range []view.Page{{HelpEmail: "a@b.example"}, {HelpPhone: "1300 555 010"}, {Partner: "Harbour"}} {
		all = append(all, view.Status(view.StatusPage{Page: contact, Kind: view.StatusCompleted}),
			view.Status(view.StatusPage{Page: contact, Kind: view.StatusExpired}))
	}
	whole := example(t) // the whole mortgage of half a home
	whole.Liabilities.Mortgages[0].Balance = whole.Assets.RealProperty[0].MortgageOwing
	asked := checkPage(whole)
	asked.Doubts = whole.Doubts(now)
	all = append(all, view.Check(asked))
	for _, stopped := range []bool{false, true} {
		all = append(all, view.Reminders(view.RemindersPage{Page: page(), Stopped: stopped}))
	}
	return append(all, templ.ComponentFunc(notices), copies(t))
}

// copies are PDFs in the page's language that between them have every text (D59).
func copies(t *testing.T) templ.Component {
	t.Helper()
	fonts, err := pdf.LoadFonts("")
	if err != nil {
		t.Fatal(err)
	}
	partly, repaid, another := example(t), example(t), example(t)
	partly.Expenses.Housing.MortgageRent, partly.Declaration.Accepted = 1, true
	partly.Entered = map[string]map[string]form.Entries{statement.IncomeSection: {"employment_income.gross_salary": {
		{Amount: 1, Period: form.Weekly}, {Amount: 1, Period: form.Fortnightly}, {Amount: 1, Period: form.Quarterly}}}}
	repaid.Expenses = statement.Expenses{Housing: statement.Housing{MortgageRent: 1_000_000},
		Transport:   statement.Transport{CarLoan: 1_000_000},
		Commitments: statement.Commitments{DebtRepayments: 1_000_000}}
	repaid.Offers = map[string]statement.Offer{statement.DocumentsSection: {From: "sess_01m7xsggnverxbaf5yh399t1b6"}}
	another.Declaration.FullName, another.Expenses = "Donald Duck", statement.Expenses{}
	another.Personal.Household.Type = "couple"
	return templ.ComponentFunc(func(ctx context.Context, _ io.Writer) error {
		for _, answers := range []*statement.Statement{partly, repaid, another, {}} {
			if _, err := pdf.RenderCopy(ctx, pdf.Statement{SubmittedAt: now, Answers: answers}, fonts); err != nil {
				return err
			}
		}
		return nil
	})
}

// notices says what handlers announce.
func notices(ctx context.Context, _ io.Writer) error {
	for _, text := range []string{view.SavedNotice, view.UploadedNotice, view.RemovedNotice, view.FollowedNotice} {
		i18n.T(ctx, text)
	}
	l := new(statement.Statement).Section(statement.AssetsSection, now).List("vehicles")
	view.ItemAdded(ctx, l, 0)
	view.ItemRemoved(ctx, l, 0)
	view.PrefilledNotice(ctx, "Harbour")
	view.OfferedNotice(ctx, false)
	view.OfferedNotice(ctx, true)
	view.SuggestedNotice(ctx)
	view.RepaymentsNotice(ctx, false)
	view.RepaymentsNotice(ctx, true)
	email.Received(ctx, &domain.Account{Name: "Harbour"}, &domain.Session{CompletedAt: &now})
	linkEmails(ctx)
	return nil
}

// linkEmails says what emails with a link do.
func linkEmails(ctx context.Context) {
	name, address, phone := "Jo", "help@harbour.example", "1300 555 010"
	session := &domain.Session{CustomerName: &name, Status: domain.InProgress}
	again := &domain.Session{PreviousSessionID: new(domain.SessionID)}
	email.Link(ctx, email.LinkParts{Partner: &domain.Account{Name: "Harbour"}, Session: again, Kind: domain.LinkItself})
	for _, kind := range []domain.LinkEmailKind{domain.LinkItself, domain.LinkUnopened1, domain.LinkUnfinished1, domain.LinkEnding} {
		email.Link(ctx, email.LinkParts{Partner: &domain.Account{Name: "Harbour", HelpEmail: &address, HelpPhone: &phone},
			Session: session, Kind: kind, Section: "Assets"})
	}
}

func TestEveryTextIsTranslatedAndUsed(t *testing.T) {
	t.Parallel()
	for _, language := range domain.Languages[1:] {
		t.Run(string(language), func(t *testing.T) {
			t.Parallel()
			used, missing := map[string]bool{}, map[string]bool{}
			ctx := i18n.Reporting(t.Context(), language, func(text string, known bool) {
				used[text] = true
				if !known {
					missing[text] = true
				}
			})
			for _, component := range everyText(t) {
				if err := component.Render(ctx, io.Discard); err != nil {
					t.Fatal(err)
				}
			}
			for text := range missing {
				t.Errorf("no translation: %q", text)
			}
			for text, translation := range i18n.Texts(language) {
				if !used[text] {
					t.Errorf("translation of what the form doesn't say: %q", text)
				}
				if got, want := places(translation), places(text); !slices.Equal(got, want) {
					t.Errorf("%q has the places %q, its English %q", translation, got, want)
				}
				if translation == "" || strings.TrimSpace(translation) != translation {
					t.Errorf("translation of %q is %q", text, translation)
				}
			}
		})
	}
}

func places(text string) []string {
	out := form.Place.FindAllString(text, -1)
	slices.Sort(out)
	return slices.Compact(out)
}

// TestNothingEnglishIsLeft looks for words of the texts that don't go through
// the catalogue: what is written in a template as it is.
func TestNothingEnglishIsLeft(t *testing.T) {
	t.Parallel()
	tags := regexp.MustCompile(`(?s)<script.*?</script>|<p lang="en-AU">.*?</p>|<[^>]*>`)
	latin := regexp.MustCompile(`[A-Za-z]{3,}`)
	// What stays as it is in Chinese: names, what was typed, and what stands
	// behind a term as it is on Australian papers.
	ours := regexp.MustCompile(
		`\([A-Za-z ,&/’-]+\)|Candor|English|Harbour Lending|Jessica Nguyễn|(help|name)@[a-z.]+|my\.harbour\.example|LOAN-|National Debt Helpline|PDF|JPEG|PNG|HEIC`)
	ctx := i18n.In(t.Context(), domain.SimplifiedChinese)
	all := pages(t)
	for _, name := range []string{"hub-new", "hub-begun", "assets-empty", "documents-empty", "personal-errors", "status-expired",
		"status-error", "confirmation", "check-unfinished"} {
		var b strings.Builder
		if err := all[name].Render(ctx, &b); err != nil {
			t.Fatal(err)
		}
		text := ours.ReplaceAllString(tags.ReplaceAllString(b.String(), " "), "")
		if left := latin.FindAllString(text, -1); len(left) > 0 {
			t.Errorf("%s: %q", name, left)
		}
	}
}

func TestDatesAndOrder(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 10, 21, 9, 0, 0, 0, time.UTC)
	for language, want := range map[domain.Language]string{
		domain.English: "21 October 2026", domain.SimplifiedChinese: "2026年10月21日", domain.Vietnamese: "21 tháng 10, 2026",
	} {
		if got := i18n.DayOf(i18n.In(t.Context(), language), day); got != want {
			t.Errorf("%s: %q, want %q", language, got, want)
		}
	}
}

func TestHostileNamesInTranslations(t *testing.T) {
	t.Parallel()
	h := hub()
	h.Partner, h.HelpEmail, h.Customer = `<script>{email}"`, `"><b>{partner}`, "{partner}<i>"
	for _, language := range domain.Languages {
		var b strings.Builder
		if err := view.Hub(h).Render(i18n.In(t.Context(), language), &b); err != nil {
			t.Fatal(err)
		}
		for _, raw := range []string{"<script>{", "<b>", "<i>"} {
			if strings.Contains(b.String(), raw) {
				t.Errorf("%s: the page has %s", language, raw)
			}
		}
		for _, want := range []string{"&lt;script&gt;{email}&#34;", "{partner}&lt;i&gt;", "&#34;&gt;&lt;b&gt;{partner}"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: the page lacks %s", language, want)
			}
		}
	}
}
