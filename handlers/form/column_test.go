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
		column(t, p, "Income", "Total yearly income before tax",
			"$2,240.00 fortnightly + $300.00 weekly", "$73,840.00 yearly", "Bonuses $0.00 yearly", "None: allowances")
		column(t, p, "Expenses", "Total monthly expenses",
			"Utilities $1,000.00 yearly $83.33 monthly", "Groceries $260.00 weekly $1,126.67 monthly",
			"Clothing $0.00 weekly $0.00 monthly", "None: medical costs")
	}
}

// column adds up the amounts of the section with that title.
func column(t *testing.T, p *page.Page, title, total string, texts ...string) {
	t.Helper()
	i := slices.IndexFunc(p.All("section"), func(s *page.Page) bool {
		heads := s.All("h2")
		return len(heads) > 0 && heads[0].Text() == title
	})
	if i < 0 {
		t.Fatalf("the page has no %s", title)
	}
	section := p.All("section")[i].Shows(texts...)
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
