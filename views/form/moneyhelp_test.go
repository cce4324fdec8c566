package form_test

import (
	"regexp"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/statement"
	view "candor/views/form"
)

// TestHelplineSaysItsLanguage: who reads the page in another language is told that the
// helpline speaks English, and who interprets; not of a partner's own line.
func TestHelplineSaysItsLanguage(t *testing.T) {
	t.Parallel()
	for _, language := range domain.Languages {
		for _, help := range []view.MoneyHelp{view.NationalDebtHelpline, {Text: "Hardship team"}} {
			page := sectionPage(new(statement.Statement).Section(statement.ExpensesSection, now))
			page.MoneyHelp = help
			var html strings.Builder
			if err := in(language, view.Section(page)).Render(t.Context(), &html); err != nil {
				t.Fatal(err)
			}
			if want := help.InEnglish && language != domain.English; strings.Contains(html.String(), `href="tel:131450"`) != want {
				t.Errorf("%s, %s: says who interprets: %t, want %t", language, help.Text, !want, want)
			}
			if language != domain.English && !regexp.MustCompile(`(?:1800 007 007</a>|Hardship team)[.。]`).MatchString(html.String()) {
				t.Errorf("%s, %s: runs into the next sentence", language, help.Text)
			}
		}
	}
}
