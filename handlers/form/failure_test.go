package form_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// breaks makes every save fail until the returned function mends it.
func breaks(h *harness.Harness) (mend func()) {
	h.Helper()
	rename := func(statement string) {
		h.Helper()
		_, err := h.DB.Raw().ExecContext(h.Context(), statement)
		h.OK(err)
	}
	rename(`ALTER TABLE section ADD CONSTRAINT fails CHECK (false) NOT VALID`)
	return func() { rename(`ALTER TABLE section DROP CONSTRAINT fails`) }
}

// TestBrowserFailedPostKeepsWhatWasTyped sends a section while saves fail: it stays, says
// so, and is saved when that works again.
func TestBrowserFailedPostKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	c := h.NewCustomer()
	tab := browsertest.New(t, browsertest.Options{AllowStatus: []int{http.StatusInternalServerError}})
	arrive(tab, base, c, "personal_details")
	mend := breaks(h)
	tab.Type(input("phone"), "0400 000 001")
	tab.Click(".actions .button-primary")
	tab.WaitForText("#refusal", "This could not be saved. What you typed stays here.")
	tab.WaitForText(saveStatus, "Could not be saved")
	tab.Axe()
	tab.FitsWidth()
	tab.Screenshot("form/18-post-failed")
	if got := tab.Value(input("phone")); got != "0400 000 001" {
		t.Errorf("the phone is %q, want what was typed", got)
	}
	mend()
	tab.WaitForText(saveStatus, "Saved ")
	tab.WaitGone("#refusal > *")
	stored(c, "personal_details", "phone", "0400 000 001")
}

// TestBrowserPostWithoutConnection presses Continue while nothing arrives: beside the button
// the page says so, until it is pressed again.
func TestBrowserPostWithoutConnection(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "personal_details")
	c.line.state.Store(cut)
	tab.Type(input("phone"), "0400 000 001")
	tab.Click(".actions .button-primary")
	tab.WaitForText(saveStatus, "No connection. What you type stays here and is sent when it is back.")
	tab.WaitForText(".actions", "No connection. Press again when it is back.")
	tab.View("form/post-offline")
	c.line.state.Store(whole)
	tab.WaitForText(saveStatus, "Saved ")
	tab.WaitGone(".undone")
	stored(c.Customer, "personal_details", "phone", "0400 000 001")
	tab.Click(".actions .button-primary")
	tab.WaitForFocus("error-summary") // of what isn't filled in yet
}

// TestBrowserButtonsWithoutConnection presses buttons of lists and of the documents while
// nothing arrives: each says so beside it, and nothing else.
func TestBrowserButtonsWithoutConnection(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	c.AnswerAll()
	tab := c.device(t, "assets")
	press := func(button string) {
		t.Helper()
		c.line.state.Store(cut)
		tab.Click(button)
		tab.WaitForText(button+" + .undone", "No connection. Press again when it is back.")
		if got := browsertest.Eval[int](tab, `document.querySelectorAll(".undone").length`); got != 1 {
			t.Errorf("%d buttons say that they must be pressed again", got)
		}
		c.line.state.Store(whole)
	}
	press(`button.with-script[value="remove:real_property.0"]`)
	press(`[value="add:vehicles"]`)
	tab.View("form/add-offline")
	const total, shown = "#total_assets", `getComputedStyle(document.querySelector("#total_assets")).visibility`
	old := tab.Text(total)
	c.line.state.Store(cut)
	tab.Type(input("vehicles.0.value"), "31,000")
	tab.WaitForTrue(shown + ` === "hidden"`) // it isn't that of what is typed
	c.line.state.Store(whole)
	tab.WaitForTrue(shown + ` === "visible"`)
	if tab.Text(total) == old {
		t.Errorf("the total is still %s", old)
	}
	tab.Open(c.base + c.Path("documents"))
	press(".actions .button-primary")
	if got := tab.Text("#refusal"); got != "" {
		t.Errorf("the page says besides: %q", got)
	}
	tab.Click(".actions .button-primary")
	tab.WaitForURL(c.Path("declaration"))
}

// TestBrowserCopyIsAskedForAgain loses the connection after signing, while the copy is made.
func TestBrowserCopyIsAskedForAgain(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	c.AnswerAll()
	tab := c.device(t, "declaration")
	tab.Type(input("full_name"), statementtest.Full().Declaration.FullName)
	browsertest.Eval[bool](tab, `document.querySelectorAll("[name=right], [name=accepted]").forEach((tick) => tick.click()), true`)
	tab.Click(".actions .button-primary")
	tab.WaitForText("#copy", "being made")
	c.line.state.Store(cut)
	testkit.Await(t, "requests that fail", func() bool { return c.line.lost.Load() > 1 })
	if got := tab.Text("#refusal"); got != "" {
		t.Errorf("the page says %q", got)
	}
	c.StorePDF(c.ID, []byte("%PDF-1.7"))
	c.line.state.Store(whole)
	tab.WaitFor("#copy a[download]")
}

// TestFailedPostWithoutScript sends the same form again, as a browser does that reloads
// the page that says so.
func TestFailedPostWithoutScript(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	mend := breaks(c.Harness)
	typed := url.Values{"phone": {"0400 000 001"}}
	c.WantPage(c.Post("personal_details", typed), http.StatusInternalServerError).
		Shows("Reload this page to send it again. Nothing you typed is lost.")
	mend()
	c.WantPage(c.Post("personal_details", typed), http.StatusUnprocessableEntity).WantField("phone", "0400 000 001")
	stored(c, "personal_details", "phone", "0400 000 001")
}

// TestUnprintableNames posts characters that no PDF can show (D80). The customer is shown them,
// and neither they nor the year that was meant are kept with the rule.
func TestUnprintableNames(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	for _, odd := range []string{"🦊", "😀", "ไ"} {
		typed := url.Values{"full_name": {"Mia " + odd + " Chen"}, "date_of_birth.day": {"27"}, "date_of_birth.month": {"3"},
			"date_of_birth.year": {"85"}}
		c.WantPage(c.Post("personal_details", typed), http.StatusUnprocessableEntity).
			Shows("Full name has a character we can’t print: "+odd+". Use English letters", "Did you mean 1985?")
	}
	const want = "date_of_birth Date of birth must have a year of four digits\n" +
		"full_name Full name has a character we can’t print. Use English letters"
	for _, kept := range []string{`SELECT DISTINCT unnest(problems) FROM section`,
		`SELECT field || ' ' || problem FROM form_problem_count`,
	} {
		if got := harness.QueryOne[string](c.Harness, `SELECT string_agg(p, E'\n' ORDER BY p) FROM (`+kept+
			`) AS k (p) WHERE p ~ '^(full_name|date_of_birth) '`); got != want {
			t.Errorf("%s: %s\nwant %s", kept, got, want)
		}
	}
}

// TestDatesAreSplit pastes a whole date into a field for its day.
func TestDatesAreSplit(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.WantRedirect(c.Post("personal_details", url.Values{"action": {"save"}, "date_of_birth.day": {"27/03/1985"}}))
	stored(c, "personal_details", "date_of_birth.day", "27", "date_of_birth.month", "3", "date_of_birth.year", "1985")
	for _, tt := range []struct{ day, year, message, leadsTo string }{
		{"27 March 85", "", "Date of birth must have a year of four digits. Did you mean 1985?", "#date_of_birth.year"},
		{"27", "1985", "Date of birth must include a month", "#date_of_birth.month"},
	} {
		p := c.WantPage(c.Post("personal_details", url.Values{"date_of_birth.day": {tt.day}, "date_of_birth.year": {tt.year}}),
			http.StatusUnprocessableEntity)
		if got := p.Link(tt.message); got != tt.leadsTo {
			t.Errorf("%q leads to %s", tt.message, got)
		}
	}
}

func TestBrowserDatesAreSplit(t *testing.T) {
	t.Parallel()
	typing := newTyping(t)
	tab := typing.device(t, "personal_details")
	for _, tt := range []struct{ pasted, day, month, year string }{
		{"March 27, 1985", "27", "March", "1985"}, {"1985 Mar 27", "27", "Mar", "1985"}, {"1985-03-27", "27", "03", "1985"},
	} {
		browsertest.Eval[bool](tab, fmt.Sprintf(`(() => {
			const day = document.getElementById("date_of_birth.day");
			day.focus();
			day.value = %q;
			return day.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertFromPaste" }));
		})()`, tt.pasted))
		for part, want := range map[string]string{"day": tt.day, "month": tt.month, "year": tt.year} {
			if got := tab.Value(input("date_of_birth." + part)); got != want {
				t.Errorf("%s: the %s is %q, want %q", tt.pasted, part, got, want)
			}
		}
	}
	tab.WaitForText(saveStatus, "Saved ")
	stored(typing.Customer, "personal_details", "date_of_birth.month", "3")
}

// TestAmountsComeBackWithCommas checks what the inputs of amounts say.
func TestAmountsComeBackWithCommas(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	for typed, want := range map[string]string{"A$1234.5": "1,234.50", "85000": "85,000", "12,50": "12,50", "0": "0"} {
		c.WantRedirect(c.Post("income", url.Values{"action": {"save"}, "employment_income.gross_salary": {typed}}))
		stored(c, "income", "employment_income.gross_salary", want)
	}
	c.WantPage(c.Post("income", url.Values{"has": {"employment_income"}, "employment_income.gross_salary": {"lots"}}),
		http.StatusUnprocessableEntity).
		Shows("must be an amount in dollars, like 1250 or 1,250.50")
}
