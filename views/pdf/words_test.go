package pdf

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/testkit"
	"candor/views/i18n"
)

var amount = regexp.MustCompile(`−?\$[0-9,]+\.[0-9]{2}`)

// copies are statements that between them have every text.
func copies() map[string]Statement {
	repaid, unrepaid, another, unplaced := full(), full(), full(), full()
	repaid.Answers.Expenses.Housing.MortgageRent, repaid.Answers.Expenses.Commitments.DebtRepayments = dollars(4_675), dollars(412)
	unrepaid.Answers.Expenses = statement.Expenses{}
	another.Answers.Declaration = statement.Declaration{Accepted: true, FullName: "Donald Duck", SignedAt: submitted,
		Confirmations: []statement.Confirmation{
			{Code: statement.SignatureName, Path: "declaration.full_name"}}}
	unplaced.Answers.Personal.Address.State = ""
	return map[string]Statement{"full": full(), "sparse": sparse(), "given": given(), "repaid": repaid, "unrepaid": unrepaid,
		"another": another, "unplaced": unplaced}
}

func renderCopy(ctx context.Context, t *testing.T, in Statement) Result {
	t.Helper()
	result, err := RenderCopy(ctx, in, loadFonts(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Uncovered) > 0 {
		t.Errorf("a copy lacks %q", result.Uncovered)
	}
	return result
}

// TestCopyInTheCustomersLanguage draws copies that between them have every text: each
// text is translated, and its English stands below it (D59).
func TestCopyInTheCustomersLanguage(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	for _, language := range domain.Languages[1:] {
		said := map[string]bool{}
		ctx := i18n.Reporting(t.Context(), language, func(text string, known bool) {
			if said[text] = known; !known {
				t.Errorf("%s: no translation of %q", language, text)
			}
		})
		var drawn strings.Builder
		for _, in := range copies() {
			drawn.WriteString(squash(poppler(t, renderCopy(ctx, t, in).Bytes, "pdftotext", "-raw", "FILE", "-")))
		}
		text := strings.ToLower(drawn.String())
		delete(said, dateLayout)
		delete(said, localTime)
		delete(said, "Summary") // in the outline
		for english := range said {
			for _, whole := range []string{english, withoutBrackets(i18n.T(i18n.In(t.Context(), language), english), english)} {
				for _, part := range form.Place.Split(whole, -1) {
					if !strings.Contains(text, strings.ToLower(squash(part))) {
						t.Errorf("%s: no copy has %q", language, part)
					}
				}
			}
		}
	}
}

// dates are when the statement was submitted, started, and submitted in the foot.
var dates = map[domain.Language][]string{
	domain.SimplifiedChinese: {"2026年11月20日 14:14:15 (UTC+11:00)", "2026年11月19日", "提交于 2026年11月20日"},
	domain.Vietnamese:        {"14:14:15, 20 tháng 11, 2026 (UTC+11:00)", "19 tháng 11, 2026", "ngày 20 tháng 11, 2026"},
}

// TestCopyIsWhatWasSigned compares a copy with the document: the amounts and the
// attached data are the same; and in English it is the same file.
func TestCopyIsWhatWasSigned(t *testing.T) {
	t.Parallel()
	in := full()
	original := render(t, in)
	if again := renderCopy(i18n.In(t.Context(), domain.English), t, in); !slices.Equal(again.Bytes, original.Bytes) {
		t.Error("the copy in English is another document")
	}
	want := amount.FindAllString(textOf(t, original.Bytes), -1)
	slices.Sort(want)
	for _, language := range domain.Languages[1:] {
		copied := renderCopy(i18n.In(t.Context(), language), t, in)
		text := textOf(t, copied.Bytes)
		if strings.Contains(text, "JSON") || strings.Contains(text, "bytes") {
			t.Errorf("%s: the copy speaks of files to the customer", language)
		}
		for _, want := range dates[language] {
			if !strings.Contains(squash(text), squash(want)) {
				t.Errorf("%s: the copy lacks %q", language, want)
			}
		}
		got := amount.FindAllString(text, -1)
		slices.Sort(got)
		if !slices.Equal(slices.Compact(got), slices.Compact(slices.Clone(want))) {
			t.Errorf("%s: amounts\n%q, want\n%q", language, got, want)
		}
		_, data := attachedData(t, copied.Bytes)
		if _, signed := attachedData(t, original.Bytes); !bytes.Equal(data, signed) {
			t.Errorf("%s: other data are attached", language)
		}
	}
}
