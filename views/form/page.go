// Package form draws the customer's pages as templ components, with one typed
// struct for each page. It knows how sections and statements look. It must not
// know requests, the rules of sessions or storage: handlers fill the structs
// and choose the HTTP status.
//
// Every form works as a plain POST to its Action, answered by a redirect or by
// the whole page. The htmx attributes ask for the same documents and take
// <main> and the title out of them, so a handler answers both in the same way.
// Buttons are named "action"; their values are the Action constants.
//
// The h1 of a page takes the focus when the page appears, unless there is an
// error summary or Page.Focus names something else.
//
// Pages are in the language of their context (package i18n). What the structs
// hold is in English unless their fields say otherwise.
package form

import (
	"context"
	"strings"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
	"candor/views/i18n"
	"candor/views/ui"
)

// What the submit button named "action" can say, some with a colon and what they are
// about. A POST without an action means ActionContinue, on the documents page
// ActionUpload.
const (
	ActionContinue   = "continue" // check the answers, complete the section, go on
	ActionSave       = "save"     // keep what was typed, unchecked, go to the hub
	ActionLanguage   = "language" // "language:vi": keep what was typed, unchecked, show the page in that language
	ActionEvidence   = "evidence" // "evidence:bank_statement": keep what was typed, unchecked, go to the documents, of that category
	ActionAutosave   = "autosave" // keep what was typed, unchecked, and show it
	ActionKeep       = "keep"     // "keep:income.bonus": end a collision with the answer of this page
	ActionTake       = "take"     // "take:income.bonus": end it with the other answer
	ActionFillIn     = "only"     // "only:real_property.0.address": answer with the only value that is offered
	ActionUnion      = "join"     // "join:vehicles": end a list's collision with the items of both
	ActionConfirm    = "confirm"  // keep which odd answers are ticked
	ActionUpload     = "upload"   // store the chosen file and show the page again
	ActionDescribe   = "describe" // store the categories of documents and show the page again
	ActionAdd        = "add"      // "add:vehicles": add an item, or an amount to a field
	ActionRemove     = "remove"   // "remove:vehicles.2": remove an item, "remove:doc_…" a document
	ActionAddMissing = "offer"    // "offer:assets.vehicles.0.amount_owing": add an item that is offered
)

// Page is what every page has around its content.
type Page struct {
	Partner   string            // the partner's display name; "" where it isn't known
	Logo      *ui.Picture       // the partner's, shown in the name's place; nil for none
	Test      bool              // a test session (D9): shows the strip
	BrandURL  string            // style sheet setting --brand, --brand-ink, --brand-soft; "" for ours
	HomeURL   string            // the hub; "" where the link opens nothing any more
	Preview   string            // of a page to be looked at, which has no script, what is said of its colour; "" for others
	Closed    bool              // the form is closed: the browser deletes what it kept of it
	HelpEmail string            // the partner's contact for customers, or ""
	HelpPhone string            // likewise
	NextSteps string            // what happens after submission in the partner's words, "" for ours (D83)
	MoneyHelp MoneyHelp         // where customers in money trouble get free help
	Told      bool              // Announce is shown, too
	Announce  string            // read out by screen readers after a change: "Vehicle added", in the page's language
	Languages []domain.Language // to choose from
	Focus     string            // id of the element that takes the focus: a changed card, an added item; "" for the h1
}

// MoneyHelp is where people in money trouble get free help.
type MoneyHelp struct {
	Text, URL, Phone string
	InEnglish        bool // known to answer in English
}

// interpreters is TIS National, the Australian government's telephone interpreters, who call
// others for the caller. Source: tisnational.gov.au.
const interpreters = "131 450"

// NationalDebtHelpline is the free service of Australia's financial counsellors,
// for customers of partners that name none. Source: ASIC, moneysmart.gov.au,
// "Financial counselling", and ndh.org.au.
var NationalDebtHelpline = MoneyHelp{Text: "National Debt Helpline", URL: "https://ndh.org.au", Phone: "1800 007 007",
	InEnglish: true}

// Task is one section's line on the hub.
type Task struct {
	Number int // 1–7
	Title  string
	Hint   string // what the section asks for, in a few words
	URL    string
	Status TaskStatus
	Asked  string     // what the partner asks for there, in its words; "" for nothing
	Known  bool       // its answers are those of last time: a look and a tap
	Gaps   []form.Gap // what is left to answer of a section that was begun
}

// TaskStatus says how far a section is.
type TaskStatus string

// The statuses of a section.
const (
	NotStarted TaskStatus = "Not started"
	InProgress TaskStatus = "In progress"
	Completed  TaskStatus = "Completed"
	// ToFinish is a section that was completed and then changed to answers that
	// aren't valid: it counts as completed (D15), and can't be signed.
	ToFinish TaskStatus = "Changes to finish"
)

// counted reports whether the section was completed once.
func (s TaskStatus) counted() bool { return s == Completed || s == ToFinish }

// minutes is about how long a section takes most people with their papers at hand.
var minutes = map[string]int{
	statement.PersonalDetailsSection: 2, statement.IncomeSection: 2, statement.AssetsSection: 3, statement.LiabilitiesSection: 3,
	statement.ExpensesSection: 3, statement.DocumentsSection: 2, statement.DeclarationSection: 2,
}

// minutesOf is about how long a section takes: a minute if all its answers are known.
func minutesOf(section string, known bool) int {
	if known {
		return 1
	}
	return minutes[section]
}

// minutesLeft is about how long the sections take that aren't completed.
func (h HubPage) minutesLeft() (left int) {
	for _, t := range h.Tasks {
		if t.Status != Completed {
			left += minutesOf(statement.SectionNames[t.Number-1], t.Known)
		}
	}
	return left
}

// TaskHint says in a few words what the named section asks for, if its title is a
// hard word.
func TaskHint(section string) string {
	switch section {
	case statement.AssetsSection:
		return "What you own"
	case statement.LiabilitiesSection:
		return "What you owe"
	}
	return ""
}

// partnerName is the partner's name inside a sentence.
func (p Page) partnerName(ctx context.Context) string {
	if p.Partner == "" {
		return i18n.T(ctx, "the company that sent you the link")
	}
	return p.Partner
}

// mark is the letter on the partner's tile.
func (p Page) mark() string {
	for _, r := range p.Partner {
		return strings.ToUpper(string(r))
	}
	return ""
}

// errorTarget is the id of the element an error about the named input links
// to: the part of its field, the first tick of kinds, an error's own input otherwise.
func errorTarget(section *form.Section, name string) string {
	target := name
	if name == form.HasInput {
		return firstTick(section)
	}
	section.Walk(func(path string, f form.Field) {
		if path == name {
			target = name + f.ErrorPart()
		}
	})
	return target
}

// firstTick is the id of the first kind that can be ticked, after what is asked of all.
func firstTick(section *form.Section) string {
	for _, g := range section.Groups {
		if g.Kind() != "" {
			return g.Kind()
		}
	}
	return ""
}

// fieldID is the id of the element on a section's page that leads to the answer
// at that path: its tick if its questions aren't open.
func fieldID(section *form.Section, path string) string {
	for _, g := range section.Groups {
		for _, f := range g.Fields {
			switch {
			case f.Name != path:
			case f.Kind == form.KindOutput:
				return firstTick(section)
			case g.Kind() != "" && !section.Has(g.Kind()):
				return g.Kind()
			}
		}
	}
	return errorTarget(section, path)
}

// summaryItems lists the errors of a section for its error summary.
func summaryItems(section *form.Section, errs form.Errors) []ui.ErrorItem {
	items := make([]ui.ErrorItem, len(errs))
	for i, e := range errs {
		items[i] = ui.ErrorItem{Target: errorTarget(section, e.Field), Message: e.Message}
	}
	return items
}
