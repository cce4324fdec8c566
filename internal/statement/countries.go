package statement

import (
	"cmp"
	"strings"
	"sync"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"candor/internal/form"
)

// Australia is the code of the country that an address starts with (D82).
const Australia = "AU"

// Countries are the options of an address's country by their ISO 3166-1 alpha-2 codes:
// Australia, then all others by name. The caller may not change them. The names in other
// languages are in views/i18n.
var Countries = sync.OnceValue(func() []form.Option {
	var out []form.Option
	names := display.Regions(language.English)
	for code := range strings.FieldsSeq(countryCodes) {
		name := cmp.Or(renamedCountries[code], names.Name(language.MustParseRegion(code)))
		out = append(out, form.Option{Code: code, Label: name})
	}
	return out
})

// renamedCountries are those with another name than in version 32 of Unicode's CLDR, which
// the library has.
var renamedCountries = map[string]string{
	"MK": "North Macedonia", "MM": "Myanmar", "SZ": "Eswatini", "TR": "Türkiye",
}

// countryCodes are in the order of their names. XK is Kosovo's code, which users of ISO 3166
// assign.
const countryCodes = `
AU AF AX AL DZ AS AD AO AI AQ AG AR AM AW AT AZ BS BH BD BB BY BE BZ BJ BM BT BO BA BW BV BR IO VG BN BG BF BI KH CM CA
CV BQ KY CF TD CL CN CX CC CO KM CG CD CK CR CI HR CU CW CY CZ DK DJ DM DO EC EG SV GQ ER EE SZ ET FK FO FJ FI FR GF PF
TF GA GM GE DE GH GI GR GL GD GP GU GT GG GN GW GY HT HM HN HK HU IS IN ID IR IQ IE IM IL IT JM JP JE JO KZ KE KI XK KW
KG LA LV LB LS LR LY LI LT LU MO MG MW MY MV ML MT MH MQ MR MU YT MX FM MD MC MN ME MS MA MZ MM NA NR NP NL NC NZ NI NE
NG NU NF KP MK MP NO OM PK PW PS PA PG PY PE PH PN PL PT PR QA RE RO RU RW WS SM ST SA SN RS SC SL SG SX SK SI SB SO ZA
GS KR SS ES LK BL SH KN LC MF PM VC SD SR SJ SE CH SY TW TJ TZ TH TL TG TK TO TT TN TR TM TC TV UM VI UG UA AE GB US UY
UZ VU VA VE VN WF EH YE ZM ZW`
