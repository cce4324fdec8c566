package i18n

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// renamedCountries are those with another name than in version 32 of Unicode's CLDR, which
// the library has (D82).
var renamedCountries = map[domain.Language]map[string]string{
	domain.SimplifiedChinese: {"MK": "北马其顿"},
	domain.Vietnamese:        {"MK": "Bắc Macedonia", "SZ": "Eswatini"},
}

// countryOrder has the place of each country in its language's order, by its English
// name.
var countryOrder = map[domain.Language]map[string]int{
	domain.SimplifiedChinese: addCountries(domain.SimplifiedChinese, simplifiedChinese),
	domain.Vietnamese:        addCountries(domain.Vietnamese, vietnamese),
}

// addCountries adds the countries to the catalogue and returns their order.
func addCountries(l domain.Language, catalogue map[string]string) map[string]int {
	tag := language.MustParse(string(l))
	names, collator := display.Regions(tag), collate.New(tag)
	countries := slices.Clone(statement.Countries())
	for _, o := range countries {
		catalogue[o.Label] = cmp.Or(renamedCountries[l][o.Code], names.Name(language.MustParseRegion(o.Code)))
	}
	slices.SortFunc(countries[1:], func(a, b form.Option) int { // Australia stays first
		return collator.CompareString(catalogue[a.Label], catalogue[b.Label])
	})
	order := map[string]int{}
	for i, o := range countries {
		order[o.Label] = i
	}
	return order
}

// Sort puts options that are countries into the order of the context's language. Others
// stay as they are.
func Sort(ctx context.Context, options []form.Option) {
	order := countryOrder[Language(ctx)]
	slices.SortStableFunc(options, func(a, b form.Option) int { return order[a.Label] - order[b.Label] })
}
