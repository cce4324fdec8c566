package i18n_test

import (
	"slices"
	"testing"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/views/i18n"
)

// TestCountries checks that each language has a name of its own for each country, in the
// language's order after Australia.
func TestCountries(t *testing.T) {
	t.Parallel()
	for _, l := range domain.Languages {
		ctx := i18n.In(t.Context(), l)
		options := slices.Clone(statement.Countries())
		i18n.Sort(ctx, options)
		if options[0].Code != statement.Australia {
			t.Errorf("%s: starts with %v", l, options[0])
		}
		var names []string
		for _, o := range options[1:] {
			name := i18n.T(ctx, o.Label)
			if slices.Contains(names, name) || l == domain.SimplifiedChinese && name == o.Label {
				t.Errorf("%s: %s is %q", l, o.Code, name)
			}
			names = append(names, name)
		}
		order := collate.New(language.MustParse(string(l)))
		if !slices.IsSortedFunc(names, order.CompareString) {
			t.Errorf("%s: %q isn't sorted", l, names)
		}
	}
}
