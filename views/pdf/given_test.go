package pdf

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
	"candor/views/i18n"
)

// given is a couple's statement as typed: amounts in periods of their own, as several, and
// shared.
func given() Statement {
	in := full()
	in.Answers.Personal.Household.Type = "couple"
	for name, typed := range map[string]map[string]string{
		statement.IncomeSection: {
			"employment_income.gross_salary": "3,786.56", "employment_income.gross_salary.period": "fortnight",
			"other_income.government_payments": "1,149", "other_income.government_payments.period": "fortnight",
		},
		statement.ExpensesSection: {
			"share": "50", "living.groceries": "300", "living.groceries.period": "week",
			"living.groceries.2": "120", "living.groceries.2.period": "month",
			"housing.utilities": "1,875", "housing.utilities.period": "quarter",
			"transport.fuel": "110.77", "transport.fuel.period": "week",
		},
		statement.LiabilitiesSection: {"mortgages.0.monthly_repayment": "890.77", "mortgages.0.monthly_repayment.period": "fortnight"},
	} {
		section := in.Answers.Section(name, submitted)
		values := section.Inputs()
		for input, text := range typed {
			values.Set(input, text)
		}
		if errs := section.Decode(values); len(errs) > 0 {
			panic(errs.Error())
		}
		in.Answers.KeepEntered(section)
	}
	return in
}

var (
	placedWord    = regexp.MustCompile(`<(?:page|word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">([^<]*)<)`)
	printedAmount = regexp.MustCompile(`^−?\$[\d,]+\.\d\d$`)
)

// A placed word is a word of a document, with its place from the top of the first page.
type placed struct {
	text               string
	left, right, y, of float64 // of: its height
}

func placedWords(t *testing.T, file []byte) (words []placed) {
	t.Helper()
	page := -1.0
	for _, m := range placedWord.FindAllStringSubmatch(poppler(t, file, "pdftotext", "-bbox", "FILE", "-"), -1) {
		if m[5] == "" {
			page++
			continue
		}
		var at [4]float64
		for i := range at {
			at[i], _ = strconv.ParseFloat(m[i+1], 64)
		}
		words = append(words, placed{m[5], at[0], at[2], page*pageHeight + at[1], at[3] - at[1]})
	}
	return words
}

// TestColumnsAddUp adds up the amounts at the right edges of the ledgers of income and
// expenses, as a person does with a ruler, and compares the sum with the total below.
func TestColumnsAddUp(t *testing.T) {
	t.Parallel()
	const edges = 2 // ledgers side by side
	for name, in := range map[string]Statement{"in the section's unit": full(), "as given": given(),
		"many scripts": international()} {
		words := placedWords(t, render(t, in).Bytes)
		for _, title := range []string{"Income", "Expenses"} {
			first := slices.IndexFunc(words, func(w placed) bool { return w.text == title && w.of > sectionSize })
			if first < 0 {
				t.Fatalf("%s: no title %s", name, title)
			}
			var sum, total statement.Cents
			var end float64
			for _, w := range words {
				if w.text == "Total" && w.left < marginX+1 && w.y > words[first].y && (end == 0 || w.y < end) {
					end = w.y
				}
			}
			for _, w := range words {
				width := (contentWidth - sheetGap) / edges
				atEdge := math.Abs(w.right-(marginX+contentWidth)) < 1 || math.Abs(w.right-(marginX+width)) < 1
				switch {
				case !printedAmount.MatchString(w.text) || !atEdge || w.y < words[first].y || w.y > end+3:
				case w.y > end-3:
					total = centsOf(t, w.text)
				default:
					sum += centsOf(t, w.text)
				}
			}
			if sum != total || total == 0 {
				t.Errorf("%s: the amounts of %s make %s, the total is %s", name, title, sum, total)
			}
		}
	}
}

// TestListsAddUp adds up what stands at the right of the lists' titles, which is the total
// of assets and that of liabilities: of property only a share counts. So are the lists'
// repayments, and the column of property's values, of which each is the customer's part.
func TestListsAddUp(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]Statement{"full": full(), "longest": longest()} {
		file := render(t, in).Bytes
		text := poppler(t, file, "pdftotext", "-layout", "FILE", "-")
		sums := map[string]statement.Cents{}
		for _, line := range subtotalLine.FindAllStringSubmatch(text, -1) {
			sums[strings.TrimSpace(line[1])] += centsOf(t, line[2])
		}
		answers := in.Answers
		if assets := sums["Total value"] + sums["Value of your share"]; assets != answers.Assets.Total() ||
			sums["Total owing"] != answers.Liabilities.Total() ||
			sums["Monthly repayments without cards"] != answers.Summary().TotalMonthlyRepayments {
			t.Errorf("%s: the lists make %v, want assets of %s, liabilities of %s and repayments of %s", name, sums,
				answers.Assets.Total(), answers.Liabilities.Total(), answers.Summary().TotalMonthlyRepayments)
		}
		if values := propertyValues(t, placedWords(t, file)); values != sums["Value of your share"] {
			t.Errorf("%s: the values of property make %s, the total is %s", name, values, sums["Value of your share"])
		}
	}
	if strings.Contains(textOf(t, render(t, sparse()).Bytes), "\nMonthly repayments") {
		t.Error("there is a total of no repayments")
	}
}

// propertyValues is the sum of the amounts whose right edge is that of the first of their
// titles, “Current value”, between it and the vehicles.
func propertyValues(t *testing.T, words []placed) (sum statement.Cents) {
	t.Helper()
	title := slices.IndexFunc(words, func(w placed) bool { return w.text == "Current" })
	if title < 0 {
		t.Fatal("there are no values of property")
	}
	top, edge := words[title].y, words[title+1].right
	end := slices.IndexFunc(words, func(w placed) bool { return w.text == "Vehicles" && w.y > top })
	for _, w := range words {
		if printedAmount.MatchString(w.text) && math.Abs(w.right-edge) < 1 && w.y > top && w.y < words[end].y {
			sum += centsOf(t, w.text)
		}
	}
	return sum
}

var subtotalLine = regexp.MustCompile(`(?m)(  Total value|  Value of your share|  Total owing|^Monthly repayments without cards) +(\$[\d,.]+)$`)

func centsOf(t *testing.T, text string) statement.Cents {
	t.Helper()
	n, err := strconv.ParseInt(strings.NewReplacer("$", "", ",", "", ".", "", "−", "-").Replace(text), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return statement.Cents(n)
}

// TestTallLedgers draws ledgers with as many amounts as a field takes, which are taller than
// a page: each amount is on one.
func TestTallLedgers(t *testing.T) {
	t.Parallel()
	in := full()
	section := in.Answers.Section(statement.ExpensesSection, submitted)
	values, n := section.Inputs(), 0
	section.Walk(func(path string, f form.Field) {
		for _, part := range []string{"", ".2", ".3", ".4", ".5", ".6", ".7", ".8", ".9", ".10", ".11", ".12"} {
			if f.Another != "" {
				n++
				values.Set(path+part, strconv.Itoa(12_345_000+n))
				values.Set(path+part+".period", "fortnight")
			}
		}
	})
	if errs := section.Decode(values); len(errs) > 0 || n == 0 {
		t.Fatal(n, errs)
	}
	in.Answers.KeepEntered(section)
	for _, language := range domain.Languages {
		found := map[string]bool{}
		for _, w := range placedWords(t, renderCopy(i18n.In(t.Context(), language), t, in).Bytes) {
			if y := math.Mod(w.y, pageHeight); y >= contentTop && y+w.of < contentBottom+1 {
				found[w.text] = true
			}
		}
		for i := range n {
			if want := dollars(12_345_001 + int64(i)).String(); !found[want] {
				t.Errorf("%s: no page has %s", language, want)
			}
		}
	}
}

// TestGivenAmounts prints each amount in both forms.
func TestGivenAmounts(t *testing.T) {
	t.Parallel()
	text := squash(poppler(t, render(t, given()).Bytes, "pdftotext", "-raw", "FILE", "-"))
	for _, s := range []string{
		"Gross salary $3,786.56 a fortnight $98,450.56", "Utilities $1,875.00 a quarter × 50% $312.50", "$110.77 a week × 50%",
		"($300.00 a week + $120.00 a month) × 50% $710.00", "$890.77 a fortnight $1,930.00", "As given",
	} {
		if !strings.Contains(text, squash(s)) {
			t.Errorf("the document lacks %q:\n%s", s, text)
		}
	}
	if !strings.Contains(strings.SplitN(textOf(t, render(t, given()).Bytes), "\f", 2)[0], onePerson) {
		t.Error("the first page of a couple's statement doesn't say that it is one person's")
	}
	if strings.Contains(textOf(t, render(t, full()).Bytes), onePerson) {
		t.Error("the statement of who lives without a partner speaks of one")
	}
	if strings.Contains(text, squash("…")) {
		t.Error("a title is cut where a column stands beside it")
	}
	alone := full()
	for _, p := range alone.Answers.Assets.RealProperty {
		p.OwnershipPercentage = 100
	}
	if strings.Contains(squash(textOf(t, render(t, alone).Bytes)), squash("As given")) {
		t.Error("a column without amounts has a title")
	}
}
