package form_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/static"
	view "candor/views/form"
	"candor/views/i18n"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// policy is what the server sends with every page of the form.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

var now = time.Date(2026, 10, 21, 9, 30, 0, 0, time.UTC)

func page() view.Page {
	return view.Page{Partner: "Harbour Lending", HomeURL: "/hub", HelpEmail: "help@harbour.example", HelpPhone: "1300 555 010",
		Test: true, MoneyHelp: view.NationalDebtHelpline}
}

// answered fills a section of a statement as a browser would.
func answered(t *testing.T, section *form.Section, inputs map[string]string) form.Errors {
	t.Helper()
	values := url.Values{}
	for name, value := range inputs {
		values.Set(name, value)
	}
	return section.Decode(values)
}

var (
	personalInputs = map[string]string{
		"full_name": "Jessica Nguyễn", "date_of_birth.day": "27", "date_of_birth.month": "3", "date_of_birth.year": "1985",
		"occupation": "Registered nurse", "employer": "Westside Health", "address.street": "12 Ocean Parade",
		"address.suburb": "Coogee", "address.state": "NSW", "address.postcode": "2034", "phone": "0412 345 678",
		"email": "jessica@example.com",
	}
	incomeInputs = map[string]string{
		"employment_income.gross_salary": "98,500", "employment_income.bonuses": "4000", "other_income.rental_income": "21840.50",
	}
	assetsInputs = map[string]string{
		"real_property.0.description": "Home", "real_property.0.address": "12 Ocean Parade, Coogee NSW 2034",
		"real_property.0.ownership":            "joint",
		"real_property.0.ownership_percentage": "50", "real_property.0.current_value": "1,450,000",
		"real_property.0.mortgage_owing": "612000",
		"vehicles.0.description":         "2021 Mazda CX-5", "vehicles.0.value": "28000", "vehicles.0.amount_owing": "9500",
		"bank_accounts.0.institution": "Commonwealth Bank", "bank_accounts.0.account_type": "savings",
		"bank_accounts.0.balance":    "18250.75",
		"superannuation.0.fund_name": "Aware Super", "superannuation.0.balance": "143000",
	}
	liabilitiesInputs = map[string]string{
		"mortgages.0.lender": "Westpac", "mortgages.0.property": "12 Ocean Parade", "mortgages.0.balance": "306000",
		"mortgages.0.monthly_repayment": "2100",
		"credit_cards.0.issuer":         "ANZ", "credit_cards.0.limit": "12000", "credit_cards.0.balance": "2310.40",
	}
	expensesInputs = map[string]string{
		"housing.mortgage_rent": "2100", "housing.utilities": "420", "housing.rates": "185", "transport.fuel": "260",
		"living.groceries": "980",
	}
	undescribed = []statement.Document{{ID: "doc_3", FileName: "IMG_4711.HEIC", SizeBytes: 2_400_000}}
	documents   = []statement.Document{
		{ID: "doc_1", Category: "income_evidence", FileName: "Payslip September 2026.pdf", SizeBytes: 348_211},
		{ID: "doc_2", Category: "bank_statement", FileName: "IMG_20261019_a-rather-long-name-that-a-phone-gave-to-a-photo-0001.heic",
			SizeBytes: 4_812_004},
	}
)

// example is a statement with every section answered.
func example(t *testing.T) *statement.Statement {
	t.Helper()
	s := &statement.Statement{Documents: documents}
	for name, inputs := range map[string]map[string]string{
		statement.PersonalDetailsSection: personalInputs, statement.IncomeSection: incomeInputs, statement.AssetsSection: assetsInputs,
		statement.LiabilitiesSection: liabilitiesInputs, statement.ExpensesSection: expensesInputs,
	} {
		if errs := answered(t, s.Section(name, now), inputs); len(errs) > 0 {
			t.Fatalf("example answers of %s are invalid: %v", name, errs)
		}
	}
	return s
}

func sectionPage(section *form.Section) view.SectionPage {
	return view.SectionPage{Page: page(), Section: section, Action: "/" + section.Name}
}

func hub(done ...view.TaskStatus) view.HubPage {
	h := view.HubPage{Page: page(), Customer: "Jessica Nguyễn", Expires: now.AddDate(0, 0, 30),
		Return: "https://my.harbour.example/"}
	for i, name := range statement.SectionNames {
		status := view.NotStarted
		if i < len(done) {
			status = done[i]
		}
		h.Tasks = append(h.Tasks, view.Task{Number: i + 1, Title: statement.Title(name), Hint: view.TaskHint(name), URL: "/" + name,
			Status: status})
	}
	return h
}

func checkPage(s *statement.Statement) view.CheckPage {
	c := view.CheckPage{Page: page(), Documents: s.Documents, DocumentsURL: "/documents", Summary: s.Summary(),
		Action:      "/declaration",
		Declaration: s.Section(statement.DeclarationSection, now)}
	for _, section := range s.Sections(now) {
		if section.Name != statement.DeclarationSection {
			c.Sections = append(c.Sections, view.CheckedSection{Section: section, ChangeURL: "/" + section.Name + "?from=check"})
		}
	}
	return c
}

// odd is a statement in which everything is asked about.
func odd(t *testing.T) *statement.Statement {
	t.Helper()
	s := example(t)
	s.Personal.DateOfBirth = now.AddDate(-17, 0, 0)
	s.Personal.Address.State, s.Personal.Phone = "WA", "+64 4 472 3000"
	s.Assets.RealProperty[0].CurrentValue, s.Assets.RealProperty[0].Ownership = 50_000_000, "sole"
	s.Liabilities.PersonalLoans = []*statement.PersonalLoan{{Lender: "Wisr", Balance: 500_000, MonthlyRepayment: 20_000},
		{Lender: "Zip", Balance: 90_000}, {Lender: "Zip", Balance: 90_000}}
	for range s.Assets.RealProperty {
		s.Liabilities.Mortgages = append(s.Liabilities.Mortgages, &statement.Mortgage{Lender: "NAB", Property: "5 Hill Rd", Balance: 1})
	}
	s.Liabilities.Other = []*statement.OtherLiability{{Description: "Finance for the boat", Balance: 700_000,
		MonthlyRepayment: 30_000}}
	s.Assets.Vehicles = append(s.Assets.Vehicles, &statement.Vehicle{Description: "Tinny", AmountOwing: 2})
	s.Liabilities.PersonalLoans = append(s.Liabilities.PersonalLoans, &statement.PersonalLoan{Purpose: "Car loan, Tinny", Balance: 1,
		MonthlyRepayment: 10_000})
	s.Expenses.Housing.MortgageRent = 3_500_000
	s.Liabilities.Mortgages[0].MonthlyRepayment = 3_600_000
	s.Liabilities.CreditCards[0].Balance = 1_300_000
	s.Income.Employment = statement.EmploymentIncome{GrossSalary: 1_000_000, Bonuses: 2_000_000}
	s.Income.Other.Business = 20_000_000
	s.Expenses.Living.Groceries = 90_000_000
	s.DocumentsAsked, s.Documents = true, nil
	return s
}

// tooMuch are incomes that are probably those of a year.
func tooMuch(t *testing.T) *statement.Statement {
	t.Helper()
	s := example(t)
	var entries form.Entries
	for _, period := range form.Periods {
		entries = append(entries, form.Entry{Amount: 900_000_00, Period: period})
	}
	s.Entered = map[string]map[string]form.Entries{statement.IncomeSection: {"employment_income.gross_salary": entries}}
	s.Expenses.Housing.MortgageRent, s.Assets.RealProperty, s.Liabilities.Mortgages = 0, nil, nil
	s.Expenses.Living.Children = 300_000
	given := form.Given{"other_income.rental_income": json.RawMessage("1")}
	s.Prefill = statement.Prefill{statement.IncomeSection: given, statement.ExpensesSection: form.Given{
		"housing.utilities": json.RawMessage("1")}}
	return s
}

// pages are all pages, each in the states that look different.
func pages(t *testing.T) map[string]templ.Component {
	t.Helper()
	s := example(t)
	section := func(name string) *form.Section { return s.Section(name, now) }

	invalid := sectionPage(new(statement.Statement).Section(statement.PersonalDetailsSection, now))
	invalid.Errors = answered(t, invalid.Section, map[string]string{"full_name": "J", "date_of_birth.day": "31",
		"date_of_birth.month": "2", "date_of_birth.year": "1985", "email": "jessica@"})
	invalidAssets := sectionPage(new(statement.Statement).Section(statement.AssetsSection, now))
	invalidAssets.Errors = answered(t, invalidAssets.Section, map[string]string{"real_property.0.description": "Home",
		"real_property.0.current_value": "lots"})
	left := sectionPage(new(statement.Statement).Section(statement.AssetsSection, now))
	left.Section.Read(url.Values{"has": {"vehicles"}, "vehicles.0.description.later": {"true"}, "vehicles.0.value.later": {"true"}})
	prefilled := sectionPage(section(statement.LiabilitiesSection))
	prefilled.Known = true
	prefilled.Notice = view.SuggestedNotice(t.Context())
	prefilled.Returning = true

	periods := new(statement.Statement).Section(statement.IncomeSection, now)
	periods.Read(inPeriods(statement.IncomeSection, "1,240.50", "fortnight"))
	collided := sectionPage(section(statement.PersonalDetailsSection))
	collided.Stored, collided.Collisions = new(statement.Statement).Section(statement.PersonalDetailsSection,
		now), []string{"full_name", "date_of_birth", "address.state"}
	collided.Stored.Read(url.Values{"full_name": {"Jess Nguyen"}, "date_of_birth.day": {"31"}, "date_of_birth.month": {"feb"}})
	collidedList := sectionPage(section(statement.AssetsSection))
	collidedList.Stored, collidedList.Collisions = collidedList.Section, []string{"vehicles", "real_property.0.current_value"}

	outdated := sectionPage(section(statement.ExpensesSection))
	outdated.Abroad = true
	outdated.Errors = outdated.Section.Decode(url.Values{form.SharingInput: {"all"}, "living.groceries": {"200"}})
	waiting := hub(view.Completed, view.ToFinish, view.InProgress)
	waiting.Languages = domain.Languages[:]
	waiting.Tasks[2].Gaps = []form.Gap{{Input: "real_property.0.mortgage_owing", Label: "Mortgage owing", Item: "property",
		Number: 1}, outdated.Section.Gaps()[0], {Input: "investments", Label: "Investments", Wrong: true},
		{Input: "vehicles.0.value", Label: "Value", Item: "vehicle", Number: 1, Left: true}}
	unsigned := checkPage(s)
	doubtful := checkPage(odd(t))
	doubtful.Doubts, doubtful.Asked = odd(t).Doubts(now), "The June payslip, please."
	doubtful.Confirmed, doubtful.Unconfirmed = []string{doubtful.Doubts[0].Key()}, doubtful.Doubts[1:]
	doubtful.Changed = true
	rich := checkPage(tooMuch(t))
	rich.Doubts = tooMuch(t).Doubts(now)
	spendsNothing := example(t)
	spendsNothing.Expenses, spendsNothing.Assets.RealProperty = statement.Expenses{}, nil
	spendsNothing.Income.Employment = statement.EmploymentIncome{Bonuses: 1}
	frugal := checkPage(spendsNothing)
	frugal.Doubts = spendsNothing.Doubts(now)
	poor := checkPage(new(statement.Statement))
	poor.Doubts = new(statement.Statement).Doubts(now)
	forgotten := sectionPage((&statement.Statement{Assets: s.Assets}).Section(statement.LiabilitiesSection, now))
	signed := checkPage(example(t))
	signed.Errors = signed.Declaration.Decode(url.Values{})
	signer := example(t)
	signer.Declaration.FullName = "Donald Duck"
	signer.Personal.Address.Street = "5 King Street" // and pays for another home
	another := checkPage(signer)
	another.Doubts = signer.Doubts(now)
	signer.Expenses.Housing.MortgageRent += 500_00 // its rent, typed over
	signer.Assets.RealProperty[0].Ownership, signer.Assets.RealProperty[0].OwnershipPercentage = "joint", 100
	signer.Income.Other.Rental = signer.Assets.RealProperty[0].CurrentValue / 5
	over := checkPage(signer)
	over.Doubts = signer.Doubts(now)
	corrected := example(t)
	corrected.Expenses.Housing.MortgageRent += 500_00
	over.Doubts = append(over.Doubts, corrected.Doubts(now)...)
	another.Unconfirmed = another.Doubts
	unfinished := checkPage(new(statement.Statement))
	unfinished.Unfinished = waiting.Tasks[:6]

	copied := checkPage(example(t))
	copied.Signed = &now
	copied.Sections = append(copied.Sections, view.CheckedSection{Section: section(statement.DeclarationSection)})
	for i := range copied.Sections {
		copied.Sections[i].ChangeURL = ""
	}
	copied.DocumentsURL = ""
	copied.Doubts = odd(t).Doubts(now)[:2]

	const note = "The June payslip is missing a page.\nPages 1 to 3, please."
	again := hub()
	again.Offered, again.Tasks[5].Asked = true, note
	all := map[string]templ.Component{
		"landing":            view.Landing(),
		"copy":               view.Copy(copied),
		"hub-new":            view.Hub(hub()),
		"hub-begun":          view.Hub(waiting),
		"hub-again":          view.Hub(again),
		"personal":           view.Section(sectionPage(section(statement.PersonalDetailsSection))),
		"personal-errors":    view.Section(invalid),
		"personal-collision": view.Section(collided),
		"assets-collision":   view.Section(collidedList),
		"income":             view.Section(sectionPage(section(statement.IncomeSection))),
		"income-periods":     view.Section(sectionPage(periods)),
		"assets-empty":       view.Section(sectionPage(new(statement.Statement).Section(statement.AssetsSection, now))),
		"assets":             view.Section(sectionPage(section(statement.AssetsSection))),
		"assets-errors":      view.Section(invalidAssets),
		"assets-later":       view.Section(left),
		"liabilities":        view.Section(prefilled),
		"expenses":           view.Section(sectionPage(section(statement.ExpensesSection))),
		"expenses-outdated":  view.Section(outdated),
		"documents-empty":    view.Documents(view.DocumentsPage{Page: page(), Action: "/documents"}),
		"documents-again": view.Documents(view.DocumentsPage{
			Page: page(), Action: "/documents", Asked: note, Former: []statement.FormerFile{{Name: "payslip-june.pdf"}},
		}),
		"documents": view.Documents(view.DocumentsPage{Page: page(), Action: "/documents", Documents: documents}),
		"documents-asked": view.Documents(view.DocumentsPage{Page: page(), Action: "/documents", Documents: undescribed,
			Errors: form.Errors{{Field: statement.CategoryField("doc_3"), Message: statement.NoCategory}}}),
		"documents-errors": view.Documents(view.DocumentsPage{Page: page(), Action: "/documents",
			Errors: form.Errors{{Field: "category", Message: statement.NoCategory}, {Field: "file", Message: statement.FileTooLarge}}}),
		"check":               view.Check(unsigned),
		"check-doubts":        view.Check(doubtful),
		"check-no-income":     view.Check(poor),
		"check-odd-amounts":   view.Check(rich),
		"check-low":           view.Check(frugal),
		"liabilities-offered": view.Section(forgotten),
		"check-another-name":  view.Check(another),
		"check-rent":          view.Check(over),
		"check-errors":        view.Check(signed),
		"check-unfinished":    view.Check(unfinished),
		"confirmation": view.Confirmation(view.ConfirmationPage{Page: page(), Reference: "LOAN-2026-00417", Submitted: now,
			Until: now.AddDate(0, 0, 30), CopyURL: "/copy", CopyReady: true, Return: "https://my.harbour.example/"}),
		"confirmation-making": view.Confirmation(view.ConfirmationPage{Page: page(), Reference: "sess_01kx2v8p9fe0pvr4y8m3n5t6qz",
			Submitted: now, CopyURL: "/copy", SelfURL: "/confirmation-making"}),
	}
	for _, kind := range []view.StatusKind{view.StatusExpired, view.StatusCancelled, view.StatusCompleted, view.StatusErased,
		view.StatusNotFound, view.StatusElsewhere, view.StatusTooMany, view.StatusBusy, view.StatusError, view.StatusUnsaved,
		view.StatusUnsent} {
		p := page()
		p.HomeURL, p.Test = "", false
		if kind == view.StatusNotFound {
			p = view.Page{}
		}
		all["status-"+string(kind)] = view.Status(view.StatusPage{Page: p, Kind: kind, When: now, RequestID: "01kx2v8p9f"})
	}
	return all
}

// serve answers each component at its name, and the built files.
func serve(t *testing.T, all map[string]templ.Component) string {
	t.Helper()
	if err := static.Check(); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+static.Prefix, http.StripPrefix(static.Prefix, http.FileServerFS(static.Files())))
	for name, component := range all {
		mux.Handle("GET /"+name, templ.Handler(component))
	}
	server := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		mux.ServeHTTP(w, r.WithContext(i18n.In(r.Context(), domain.Language(cmp.Or(r.URL.Query().Get("lang"),
			string(domain.English))))))
	}))
	return server.URL
}

// TestBrowserPages looks at each page in each language, and in English in one size in
// each colour scheme, as harness.Looks does. With -pictures it draws all. The other
// languages are shown in the English page's document.
func TestBrowserPages(t *testing.T) {
	t.Parallel()
	all, long := pages(t), longPages(t)
	maps.Copy(long, all)
	base := serve(t, long)
	names := slices.Sorted(maps.Keys(long))
	for some := range slices.Chunk(names, (len(names)+2)/3) {
		t.Run(some[0], func(t *testing.T) {
			t.Parallel()
			tab := browsertest.New(t, browsertest.Options{Touch: true})
			for _, name := range some {
				for _, language := range domain.Languages {
					if url := base + "/" + name + "?lang=" + string(language); language == domain.English {
						tab.Open(url)
					} else {
						showInstead(tab, url)
					}
					if all[name] != nil {
						look(t, tab, language, name)
					}
					// Of the others, what is longest in a translation is on the long pages and in notices.
					if language == domain.English || all[name] == nil || strings.HasPrefix(name, "status-") {
						read(t, tab, string(language)+"/"+name)
					}
				}
				tab.NoErrors()
				if t.Failed() {
					t.Fatalf("stopped at page %s", name)
				}
			}
		})
	}
}

// showInstead shows another page in the document of the one that is open. Its style sheet
// and scripts stay, and axe: opening a page takes longer than to look at it.
func showInstead(tab *browsertest.Tab, url string) {
	browsertest.Eval[bool](tab, fmt.Sprintf(`fetch(%q).then((response) => response.text()).then((text) => {
		const page = new DOMParser().parseFromString(text, "text/html");
		document.title = page.title;
		document.documentElement.lang = page.documentElement.lang;
		document.body.replaceChildren(...page.body.childNodes);
		return true;
	})`, url))
}

func look(t *testing.T, tab *browsertest.Tab, language domain.Language, name string) {
	t.Helper()
	looks := []browsertest.Options{{Device: browsertest.Phone}}
	if language == domain.English {
		looks = append(looks, browsertest.Options{Device: browsertest.Desktop, Dark: true})
	}
	if language == domain.English && browsertest.Pictures() {
		looks = append(looks, browsertest.Options{Device: browsertest.Phone, Dark: true},
			browsertest.Options{Device: browsertest.Desktop})
	}
	for _, look := range looks {
		tab.Resize(look.Device)
		tab.Dark(look.Dark)
		tab.Screenshot("views/" + string(language) + "/" + name)
		if failed := check(tab); failed != "" {
			t.Errorf("%s: %s", name, failed)
		}
		switch {
		case language != domain.English:
			tab.Axe(browsertest.TextRules...)
		case look.Device == browsertest.Desktop:
			tab.Axe(browsertest.LookRules...)
		default:
			tab.Axe()
		}
		tab.FitsWidth()
	}
	tab.Dark(false)
}

// check looks for what axe doesn't: small targets, more than one h1, error
// links that lead nowhere, inputs whose border is paler than 3:1 (WCAG 1.4.11).
func check(tab *browsertest.Tab) string {
	return browsertest.Eval[string](tab, `(() => {
		const h1 = document.querySelectorAll("h1").length;
		if (h1 !== 1) return h1 + " h1 elements";
		for (const a of document.querySelectorAll(".error-summary a")) {
			const id = decodeURIComponent(a.hash.slice(1));
			if (!document.getElementById(id)) return "error link to a missing id: " + id;
			if (!document.getElementById(id).matches("input, select, textarea, h2")) return "error link not to a field: " + id;
		}
		// WCAG 2.5.8 exempts links in a sentence.
		const inSentence = (a) => {
			let block = a;
			while (getComputedStyle(block).display === "inline") block = block.parentElement;
			return block !== a && block.textContent.trim() !== a.textContent.trim();
		};
		for (const e of document.querySelectorAll("a, button, input:not([type=hidden]), select, summary")) {
			if (e.closest(".visually-hidden, .skip-link") || !e.checkVisibility() ||
				e.localName === "a" && inSentence(e) && !e.closest(".site-footer")) continue;
			const covered = getComputedStyle(e, "::after").position === "absolute" ? e.offsetParent : null; // by the link's own box
			const {width, height} = (covered ?? e.closest("label") ?? e).getBoundingClientRect();
			if (height < 44 || width < 44) return "target only " + width + " by " + height + " px: " + e.outerHTML;
		}
		const luminance = (colour) => {
			const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map((v) => v / 255)
				.map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
			return 0.2126 * r + 0.7152 * g + 0.0722 * b;
		};
		const surface = luminance(getComputedStyle(document.querySelector(".site-header")).backgroundColor);
		for (const e of document.querySelectorAll(".input, .choice, .file")) {
			const border = luminance(getComputedStyle(e).borderTopColor);
			const contrast = (Math.max(border, surface) + 0.05) / (Math.min(border, surface) + 0.05);
			if (contrast < 3) return "border contrast only " + contrast.toFixed(2) + ": " + e.outerHTML.slice(0, 120);
		}
		const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
		const twice = ids.find((id, i) => ids.indexOf(id) !== i);
		return twice ? "id used twice: " + twice : "";
	})()`)
}

// in draws a component in another language.
func in(language domain.Language, component templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return component.Render(i18n.In(ctx, language), w)
	})
}
