package form_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// A cost is what a form takes of a customer. doc/form.md says how each is counted.
type cost struct{ taps, keys, words, sums, twice, wrong int }

func (c cost) String() string {
	return fmt.Sprintf("%d taps, %d keys, %d words, %d sums, %d typed twice, %d wrong periods", c.taps, c.keys, c.words, c.sums,
		c.twice, c.wrong)
}

// within reports whether nothing of c is more than the budget's.
func (c cost) within(budget cost) bool {
	return c.taps <= budget.taps && c.keys <= budget.keys && c.words <= budget.words && c.sums <= budget.sums &&
		c.twice <= budget.twice && c.wrong <= budget.wrong
}

// A fact is what a household knows, or reads from a paper: a text, or an amount
// with the period that the paper gives it for.
type fact struct{ text, period string }

// A household fills in the form as a thumb does, and counts what it takes. Every
// method does on the page what it counts.
type household struct {
	*harness.Customer
	tab    *browsertest.Tab
	typed  map[string]string
	papers map[string]fact // recurring amounts by their paths in the data object
	odd    []statement.DoubtCode
	page   string
	words  map[string]int // on the page as it has been seen so far
	cost
}

// newHousehold opens a new session's link on a phone.
func newHousehold(t *testing.T, name, email string) *household {
	t.Helper()
	h, base := harness.Listen(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: name, CustomerEmail: email, ReferenceID: "LOAN-417"})
	w := &household{
		Customer: &harness.Customer{Harness: h, ID: session.ID}, tab: browsertest.New(t, browsertest.Options{}),
		typed: map[string]string{}, papers: map[string]fact{}, words: map[string]int{},
	}
	w.tab.Open(base + h.Link(session.ID))
	w.tab.WaitForURL(w.Path(""))
	w.look()
	return w
}

// A sight is what a page shows once it is complete, and styled.
type sight struct {
	Path  string         // "" before that
	Words map[string]int // how often each can be seen in main
}

// see is the page's sight. A word has a letter. Of a select its choice counts; what only
// a screen reader reads out doesn't.
const see = `(() => {
	const main = document.querySelector("main");
	if (document.readyState !== "complete" || !main?.querySelector("h1")) return {};
	const Words = Object.create(null);
	const add = (text) => { for (const word of (text ?? "").split(/\s+/))
		if (/\p{L}/u.test(word)) Words[word] = (Words[word] ?? 0) + 1; };
	const walk = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const at = walk.currentNode.parentElement;
		if (at.checkVisibility({visibilityProperty: true, opacityProperty: true}) &&
			!at.closest(".visually-hidden, select, datalist")) add(walk.currentNode.data);
	}
	for (const list of main.querySelectorAll("select")) if (list.checkVisibility()) add(list.selectedOptions[0]?.text);
	return {Path: location.pathname, Words};
})()`

// look counts the words that have become visible on this page.
func (w *household) look() {
	w.Helper()
	var now sight
	testkit.Await(w, "the page isn't complete", func() bool {
		now = browsertest.Eval[sight](w.tab, see)
		return now.Path != ""
	})
	if w.page != now.Path {
		w.turn()
		w.page = now.Path
	}
	for word, n := range now.Words {
		w.words[word] = max(w.words[word], n)
	}
}

// turn ends a page: what was seen on it is counted.
func (w *household) turn() {
	seen := 0
	for _, n := range w.words {
		seen += n
	}
	if w.page != "" {
		w.Logf("%-60s %4d words, up to %s", w.page, seen, w.cost)
	}
	w.cost.words += seen
	w.words = map[string]int{}
}

// tap clicks what the selector finds.
func (w *household) tap(selector string) {
	w.Helper()
	w.tab.Click(selector)
	w.taps++
	w.look()
}

// press taps the main button and waits for the next page.
func (w *household) press(next string) {
	w.Helper()
	w.tab.WaitForTrue(`(document.querySelector(".save-status p")?.textContent ?? "Saved") !== ""`)
	w.look()
	w.tab.Screenshot("walk/" + path.Base(w.Name()) + "-" + path.Base(w.page))
	w.follow(".actions .button-primary", next)
}

// follow taps what leads to another page, and waits until that has replaced this one.
func (w *household) follow(selector, next string) {
	w.Helper()
	browsertest.Eval[bool](w.tab, watch)
	w.tab.Click(selector)
	w.taps++
	w.tab.WaitForURL(next)
	w.tab.WaitForTrue(arrived)
	w.look()
}

// tick says that the household has the kind; its first question takes the focus.
func (w *household) tick(kind string) {
	w.Helper()
	if !browsertest.Eval[bool](w.tab, fmt.Sprintf("document.getElementById(%q).checked", kind)) {
		w.tap(input(kind))
	}
}

// another adds an item to a list.
func (w *household) another(list, first string) {
	w.Helper()
	w.tab.Click(fmt.Sprintf("button[value=%q]", "add:"+list))
	w.taps++
	w.tab.WaitForFocus(first)
	w.look()
}

// to goes to an input: a tap on it or on the keyboard's Next, unless it has the
// focus already.
func (w *household) to(id string) {
	w.Helper()
	if browsertest.Eval[string](w.tab, "document.activeElement?.id ?? ''") != id {
		w.tap(input(id))
	}
}

// answer types a fact, unless the form has it already.
func (w *household) answer(id string, f fact) {
	w.Helper()
	if f.period != "" {
		w.papers[path.Base(w.page)+"."+id] = f
	}
	if w.tab.Value(input(id)) != "" && w.has(id, f) {
		return
	}
	w.to(id)
	if f.period != "" {
		w.sayPeriod(id, f)
	}
	w.counted(id, f.text)
	w.tab.Type(input(id), f.text)
	w.look()
}

// counted counts what is typed: its keys, and whether it was typed before.
func (w *household) counted(id, text string) {
	w.keys += utf8.RuneCountInString(text)
	if before, again := w.typed[text]; again && utf8.RuneCountInString(text) > 2 {
		w.Logf("%s is typed again, after %s", id, before)
		w.twice++
	}
	w.typed[text] = id
}

// has reports whether the form has the fact in that input.
func (w *household) has(id string, f fact) bool {
	w.Helper()
	got := strings.ReplaceAll(w.tab.Value(input(id)), ",", "")
	return strings.TrimSuffix(got, ".00") == f.text && (f.period == "" || w.tab.Value(input(id+".period")) == f.period)
}

// sayPeriod chooses the period of the paper's amount. If the form doesn't take it,
// the household must compute another amount.
func (w *household) sayPeriod(id string, f fact) {
	w.Helper()
	period := fmt.Sprintf("document.getElementById(%q)", id+".period")
	if !browsertest.Eval[bool](w.tab, "!!"+period) {
		w.Logf("%s doesn't take %s a %s", id, f.text, f.period)
		w.sums++
		return
	}
	if browsertest.Eval[string](w.tab, period+".value") != f.period {
		w.choose(id+".period", f.period)
	}
}

// choose picks from a list: a tap opens it and one picks.
func (w *household) choose(id, value string) {
	w.Helper()
	w.tab.Select(input(id), value)
	w.taps += 2
	w.look()
}

// suggestion types the first letters of a name and picks it from the
// suggestions.
func (w *household) suggestion(id, letters, name string) {
	w.Helper()
	w.to(id)
	offered := browsertest.Eval[[]string](w.tab, fmt.Sprintf("[...document.getElementById(%q).list.options].map((o) => o.value)",
		id))
	offered = slices.DeleteFunc(offered, func(o string) bool {
		return !strings.Contains(strings.ToLower(o), strings.ToLower(letters))
	})
	if !slices.Contains(offered[:min(len(offered), 4)], name) {
		w.Errorf("%s: after %q the first suggestions are %q, want %s among them", id, letters, offered, name)
	}
	w.keys += utf8.RuneCountInString(letters)
	w.tab.Type(input(id), name)
	w.taps++
	w.look()
}

// details fills in the personal details that the partner didn't give.
func (w *household) details(day, month, year, street, suburb, postcode, phone, lives string) {
	w.Helper()
	w.follow(".stack .button-primary", "/personal_details")
	w.to("date_of_birth.day")
	w.counted("date_of_birth", day+month+year)
	w.tab.Press(day + month + year)
	w.tab.WaitForFocus("date_of_birth.year")
	w.answer("address.street", fact{text: street})
	w.answer("address.suburb", fact{text: suburb})
	w.answer("address.postcode", fact{text: postcode})
	w.answer("phone", fact{text: phone})
	w.tap(`input[name="household.type"][value=` + lives + `]`)
	w.answer("household.dependants", fact{text: "0"})
	w.press("/income")
}

// sign checks the answers, confirms those that are odd and signs them.
func (w *household) sign(name string, odd ...statement.DoubtCode) {
	w.Helper()
	w.press("/documents")
	w.press("/declaration")
	w.odd = odd
	for i := range odd {
		w.tap(input(fmt.Sprint("right-", i+1)))
	}
	w.tap(input("accepted"))
	w.tab.WaitForFocus("full_name")
	w.keys += utf8.RuneCountInString(name) // the signature is meant to be typed
	w.tab.Type(input("full_name"), name)
	w.press(w.Path(""))
	w.tab.WaitForText("h1", "Your statement has been sent")
	w.look()
	w.turn()
}

// TestBrowserWhatTheFormTakes walks through the form with five households, holds what that takes
// against the budgets of doc/form.md, and what they signed against sums made by hand.
func TestBrowserWhatTheFormTakes(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	for name, each := range map[string]struct {
		budget cost
		walk   func(*testing.T) *household
		want   figures
	}{
		"renter":       {cost{taps: 28, keys: 100, words: 720}, renter, renterSigned},
		"couple":       {cost{taps: 64, keys: 345, words: 1000}, couple, coupleSigned},
		"selfemployed": {cost{taps: 35, keys: 110, words: 820}, selfemployed, selfemployedSigned},
		"retiree":      {cost{taps: 35, keys: 170, words: 810}, retiree, retireeSigned},
		"unemployed":   {cost{taps: 34, keys: 115, words: 850}, unemployed, unemployedSigned},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := each.walk(t)
			w.signed(each.want)
			t.Logf("%s: %s", name, w.cost)
			if !w.within(each.budget) {
				t.Errorf("the form takes %s; the budget is %s", w.cost, each.budget)
			}
		})
	}
}
