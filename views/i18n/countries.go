package i18n

import (
	"context"
	"slices"
	"strings"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// Countries' codes in the order of their names, after Australia, as golang.org/x/text/collate
// puts them, which would be a fortieth of the program.
const (
	chineseOrder = `
AU AL DZ AF AR AE AW OM AZ EG ET IE EE AD AO AI AG AT AX BB PG BS PK PY PS BH PA BR BY BM BG MP MK BJ BE IS PR PL BA BO
BZ BW BT BF BI BV KP GQ DK DE TL TG DO DM RU EC ER FR FO PF GF TF MF VA PH FJ FI CV FK GM CG CD CO CR GD GL GE GG CU GP
GU GY KZ HT KR NL BQ SX HM ME HN KI DJ KG GN GW CA GH GA KH CZ ZW CM QA KY CC KM XK CI KW HR KE CK CW LV LS LA LB LT LR
LY LI RE LU RW RO MG IM MV MT MW MY ML MH MQ YT MU MR US UM AS VI MN MS BD PE FM MM MD MA MC MZ MX NA ZA AQ GS SS NR NI
NP NE NG NU NO NF PW PN PT JP SE CH SV WS RS SL SN CY SC SA BL CX ST SH KN LC SM PM VC LK SK SI SJ SZ SD SR SB SO TJ TW
TH TZ TO TC TT TN TV TR TM TK WF VU GT VE BN UG UA UY UZ GR ES EH SG NC NZ HU SY JM AM YE IQ IR IL IT IN ID GB VG IO JO
VN ZM JE TD GI CL CF CN MO HK`
	vietnameseOrder = `
AU SA AF EG AL DZ AD AO AI AG AT AR AM AW AZ IN PL BS BH BD BB MK BY BZ BJ BM BT BE BO BA BW PT BR BN BG BF BI BQ UM AE
CM KH CA CV TD CL CO KM CG CD CR DO CF CI HR CU CW DJ DM TW DK BV CX IM NF AS DE EC SV ER EE SZ ET FJ GA GM GH GI GL GD
GE GP GU GT GG GF GN GQ GW GY NL HT KR US HN HK HU GR IS ID IR IQ IE IL IT JM JE JO KZ KE KI XK KW KG IO PS TF LA LV LS
LB LR LY LI LT LU MA MO MG MW MY MV ML MT MQ MR MU YT MX FM MD MC ME MS MZ MN MM NO AQ GS ZA SS NA NR NP NC NZ RU JP NI
NE NG NU OM PK PW PA PG PY PE FR FI PH PF PR QA AX MP KY CC CK FK FO HM MH PN SB TC VG VI RE RO RW PM WS SM ST CZ SN RS
SC SL SG SX CY SK SI SO LK BL SH KN LC MF VC SD SR SJ SY TJ TZ ES EH TH VA TR SE CH TL TG TK TO KP TT CN TN TM TV UG UA
UY UZ VU VE VN GB WF YE ZM ZW`
)

// countryOrder has the place of each country in its language's order, by its English
// name.
var countryOrder = map[domain.Language]map[string]int{
	domain.SimplifiedChinese: addCountries(domain.SimplifiedChinese, simplifiedChinese, chineseOrder),
	domain.Vietnamese:        addCountries(domain.Vietnamese, vietnamese, vietnameseOrder),
}

// addCountries adds the countries' names to the catalogue (D82) and returns their order.
func addCountries(l domain.Language, catalogue map[string]string, codes string) map[string]int {
	place := map[string]int{}
	for code := range strings.FieldsSeq(codes) {
		place[code] = len(place)
	}
	column := 1 + slices.Index(domain.Languages[:], l)
	order := map[string]int{}
	for _, c := range statement.CountryNames() {
		code, english := c[0], c[1]
		catalogue[english], order[english] = c[column], place[code]
	}
	return order
}

// Sort puts options that are countries into the order of the context's language. Others
// stay as they are.
func Sort(ctx context.Context, options []form.Option) {
	order := countryOrder[Language(ctx)]
	slices.SortStableFunc(options, func(a, b form.Option) int { return order[a.Label] - order[b.Label] })
}
