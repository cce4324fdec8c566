package statement

import (
	_ "embed"
	"strings"
	"sync"

	"candor/internal/form"
)

// Australia is the code of the country that an address starts with (D82).
const Australia = "AU"

// countryTable has a line for each country: its ISO 3166-1 alpha-2 code and Unicode's CLDR
// names of it in the form's languages. Australia is first, then all others by their English
// names. XK is Kosovo's code, which users of ISO 3166 assign.
//
//go:embed countries.tsv
var countryTable string

// CountryNames are the lines of countries.tsv: a code, then a name for each of
// domain.Languages. The caller may not change them.
var CountryNames = sync.OnceValue(func() (out [][]string) {
	for line := range strings.Lines(countryTable) {
		out = append(out, strings.Split(strings.TrimSpace(line), "\t"))
	}
	return out
})

// Countries are the options of an address's country in the order of countries.tsv. The
// caller may not change them.
var Countries = sync.OnceValue(func() (out []form.Option) {
	for _, c := range CountryNames() {
		out = append(out, form.Option{Code: c[0], Label: c[1]})
	}
	return out
})
