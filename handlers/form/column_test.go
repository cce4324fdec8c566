package form_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// TestColumnsAddUp reads the check page and the copy as a person does who adds up the
// amounts of a section (D77): they come to its total. What was typed stands beside them,
// and so does a typed 0.
func TestColumnsAddUp(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	tell(c, map[string]url.Values{
		statement.IncomeSection: {
			"employment_income.gross_salary": {"2,240"}, "employment_income.gross_salary.period": {"fortnight"},
			"employment_income.gross_salary.2": {"300"}, "employment_income.gross_salary.2.period": {"week"},
			"employment_income.bonuses": {"0"}, "employment_income.allowances": {""},
		},
		statement.LiabilitiesSection: {"other_liabilities.1.monthly_repayment": {""}},
		statement.ExpensesSection: {
			"housing.utilities": {"1,000"}, "housing.utilities.period": {"year"}, "living.groceries": {"260"},
			"living.groceries.period": {"week"},
			"living.clothing":         {"0"}, "living.clothing.period": {"week"}, "living.medical": {""},
		},
	})
	check := c.WantPage(c.Get("declaration"), http.StatusOK)
	values := signing(asked(c)...)
	c.WantRedirect(c.Post("declaration", values))
	for _, p := range []*page.Page{check, c.WantPage(c.Get("copy"), http.StatusOK)} {
		p.Shows("Monthly income before tax", "Left each month before tax")
		p.Shows("Bathroom renovation Lender Plenti Balance owing") // a debt stands under its name, as on its page
		p.Shows("Balance owing $11,316.00 None: repayment")        // although another debt has one
		column(t, p, "Income", "Total yearly income before tax",
			"$2,240.00 fortnightly + $300.00 weekly", "$73,840.00 yearly", "Bonuses $0.00 yearly", "None: allowances")
		column(t, p, "Expenses", "Total monthly expenses",
			"Utilities $1,000.00 yearly $83.33 monthly", "Groceries $260.00 weekly $1,126.67 monthly",
			"Clothing $0.00 weekly $0.00 monthly", "None: medical costs")
		lists(t, p, "Assets", "Total assets", []string{"Current value", "Value", "Balance"}, "Value of your share $825,000.00",
			"Current value $1,150,000.00 × 50% $575,000.00", "Mortgage owing $612,400.75 × 50% $306,200.38")
		lists(t, p, "Liabilities", "Total liabilities", []string{"Balance owing"}, "Total owing $547,867.05")
	}
}

// lists adds up the amounts with those labels in a section of lists: they come to the total below
// each list of several items, and together to the total of the summary.
func lists(t *testing.T, p *page.Page, title, total string, labels []string, texts ...string) {
	t.Helper()
	amount := func(dd *page.Page) form.Cents {
		cents, ok := form.ParseAmount(strings.TrimSpace(dd.Text()))
		if !ok {
			t.Errorf("%s: %q is no amount", title, dd.Text())
		}
		return cents
	}
	named := func(dt *page.Page) func(string) bool {
		return func(label string) bool {
			rest, ok := strings.CutPrefix(strings.TrimSpace(dt.Text()), label)
			return ok && (rest == "" || strings.HasPrefix(rest, " $")) // as it was given
		}
	}
	var sum form.Cents
	section := sectionOf(t, p, title).Shows(texts...)
	for _, group := range section.All("div") {
		if group.Attr("class") != "summary-group" {
			continue
		}
		var list form.Cents
		items := 0
		names, amounts := group.All("dt"), group.All("dd")
		for i, dt := range names {
			switch {
			case slices.ContainsFunc(labels, named(dt)):
				list, items = list+amount(amounts[i]), items+1
			case slices.ContainsFunc([]string{"Value of your share", "Total value", "Total owing"}, named(dt)):
				if said := amount(amounts[i]); said != list {
					t.Errorf("%s: a list adds up to %s, the page says %s", title, list, said)
				}
				items = 0
			}
		}
		if items > 1 {
			t.Errorf("%s: a list of %d has no total", title, items)
		}
		sum += list
	}
	for where, in := range map[string]*page.Page{"section": section, "page": p} {
		if said := in.Fact(total); said != sum.String() {
			t.Errorf("%s: the column adds up to %s, the %s says %s", title, sum, where, said)
		}
	}
}

func sectionOf(t *testing.T, p *page.Page, title string) *page.Page {
	t.Helper()
	i := slices.IndexFunc(p.All("section"), func(s *page.Page) bool {
		heads := s.All("h2")
		return len(heads) > 0 && heads[0].Text() == title
	})
	if i < 0 {
		t.Fatalf("the page has no %s", title)
	}
	return p.All("section")[i]
}

// column adds up the amounts of the section with that title.
func column(t *testing.T, p *page.Page, title, total string, texts ...string) {
	t.Helper()
	section := sectionOf(t, p, title).Shows(texts...)
	labels, amounts := section.All("dt"), section.All("dd")
	var sum, said form.Cents
	for i, dd := range amounts {
		text, _, _ := strings.Cut(strings.TrimSpace(dd.Text()), " ")
		cents, ok := form.ParseAmount(text)
		if !ok {
			t.Errorf("%s: %q is no amount", title, dd.Text())
		}
		if strings.TrimSpace(labels[i].Text()) == total {
			said = cents
		} else {
			sum += cents
		}
	}
	if sum != said || said == 0 {
		t.Errorf("%s: the column adds up to %s, the page says %s", title, sum, said)
	}
}
