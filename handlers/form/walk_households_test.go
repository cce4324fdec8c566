package form_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/testkit/harness"
)

// figures are the numbers of a statement's data by their paths. Those that are 0 are left out.
type figures map[string]json.Number

// add collects the numbers of decoded JSON.
func (f figures) add(path string, value any) {
	switch of := value.(type) {
	case map[string]any:
		for key, member := range of {
			f.add(strings.TrimPrefix(path+"."+key, "."), member)
		}
	case []any:
		for i, item := range of {
			f.add(fmt.Sprint(path, ".", i), item)
		}
	case json.Number:
		if of != "0" {
			f[path] = of
		}
	}
}

// signed compares every number of the signed statement with what was worked out by hand,
// and counts the amounts whose period isn't the paper's.
func (w *household) signed(want figures) {
	w.Helper()
	data, err := w.Service.Sessions.Data(w.Context(), w.TestScope(), w.ID, harness.Operator)
	w.OK(err)
	var all map[string]any
	decoder := json.NewDecoder(strings.NewReader(toJSON(w, data.Statement)))
	decoder.UseNumber()
	w.OK(decoder.Decode(&all))
	entered, got := all["entered"].(map[string]any), figures{}
	delete(all, "entered")
	got.add("", all)
	for path, number := range got {
		if number != want[path] {
			w.Errorf("%s is %s, want %s", path, number, want[path])
		}
	}
	for path, number := range want {
		if got[path] == "" {
			w.Errorf("%s is 0, want %s", path, number)
		}
	}
	w.comparePeriods(got, entered)
	var odd []statement.DoubtCode
	for _, c := range data.Statement.Declaration.Confirmations {
		odd = append(odd, c.Code)
	}
	if !slices.Equal(odd, w.odd) {
		w.Errorf("confirmed %q, want %q", odd, w.odd)
	}
}

// comparePeriods compares what the statement says was typed with the household's papers:
// an amount in the unit of its section stands alone, any other among those entered.
func (w *household) comparePeriods(got figures, entered map[string]any) {
	w.Helper()
	for path, paper := range w.papers {
		said := fact{string(got[path]), string(form.Monthly)}
		if strings.HasPrefix(path, statement.IncomeSection) {
			said.period = string(form.Yearly)
		}
		if entry, other := entered[path].(map[string]any); other {
			said = fact{fmt.Sprint(entry["amount"]), fmt.Sprint(entry["period"])}
		}
		if said != paper {
			w.Logf("%s is %s a %s, the paper says %s a %s", path, said.text, said.period, paper.text, paper.period)
			w.wrong++
		}
		delete(entered, path)
	}
	if len(entered) > 0 {
		w.Errorf("no paper has %v", entered)
	}
}

// renter has one job, rents, and has a card, an account and a car.
func renter(t *testing.T) *household {
	w := newHousehold(t, "Jo Nguyen", "jo@customer.example")
	w.details("27", "03", "1985", "8/41 Rose Street", "Fitzroy", "3065", "0412345678", "single")

	w.tick("employment_income")
	w.answer("employment_income.gross_salary", fact{"2240", "fortnight"})
	w.press("/assets")

	w.tick("vehicles")
	w.answer("vehicles.0.description", fact{text: "Mazda 3 2016"})
	w.answer("vehicles.0.value", fact{text: "9500"})
	w.tick("bank_accounts")
	w.answer("bank_accounts.0.institution", fact{text: "ING"})
	w.answer("bank_accounts.0.balance", fact{text: "3150"})
	w.press("/liabilities")

	w.tick("credit_cards")
	w.answer("credit_cards.0.issuer", fact{text: "Zip"})
	w.answer("credit_cards.0.limit", fact{text: "2000"})
	w.answer("credit_cards.0.balance", fact{text: "640"})
	w.press("/expenses")

	w.tick("housing")
	w.answer("housing.mortgage_rent", fact{"1040", "fortnight"})
	w.sign("Jo Nguyen")
	return w
}

var renterSigned = figures{
	"income.employment_income.gross_salary": "58240", // 2,240 × 26
	"income.total_gross_income":             "58240",
	"assets.vehicles.0.value":               "9500",
	"assets.bank_accounts.0.balance":        "3150",
	"assets.total_assets":                   "12650", // 9,500 + 3,150
	"liabilities.credit_cards.0.limit":      "2000",
	"liabilities.credit_cards.0.balance":    "640",
	"liabilities.total_liabilities":         "640",
	"expenses.housing.mortgage_rent":        "2253.33", // 1,040 × 26 = 27,040; ÷ 12 = 2,253.333…
	"expenses.total_monthly_expenses":       "2253.33",
	"summary.total_assets":                  "12650",
	"summary.total_liabilities":             "640",
	"summary.net_worth":                     "12010",   // 12,650 − 640
	"summary.total_monthly_income":          "4853.33", // 58,240 ÷ 12 = 4,853.333…
	"summary.total_monthly_expenses":        "2253.33",
	"summary.monthly_surplus":               "2600", // 4,853.33 − 2,253.33
}

// selfemployed is paid by the fortnight, has a business beside, and owns a home with a
// mortgage and council rates.
func selfemployed(t *testing.T) *household {
	w := newHousehold(t, "Lee Okafor", "lee@customer.example")
	w.details("02", "12", "1976", "5 Quarry Road", "Bendigo", "3550", "0412345670", "single")

	w.tick("employment_income")
	w.answer("employment_income.gross_salary", fact{"1850", "fortnight"})
	w.tick("business_income")
	w.answer("other_income.business_income", fact{"41250", "year"})
	w.press("/assets")

	w.tick("real_property")
	w.answer("real_property.0.description", fact{text: "Home"})
	w.tap(`button[value="only:real_property.0.address"]`)
	w.tab.WaitForFocus("real_property.0.address")
	w.tap(`input[name="real_property.0.ownership"][value=sole]`)
	w.answer("real_property.0.current_value", fact{text: "680000"})
	w.answer("real_property.0.mortgage_owing", fact{text: "312000"})
	w.tick("bank_accounts")
	w.answer("bank_accounts.0.institution", fact{text: "ING"})
	w.answer("bank_accounts.0.balance", fact{text: "6200"})
	w.press("/liabilities")

	w.suggestion("mortgages.0.lender", "I", "ING")
	w.answer("mortgages.0.monthly_repayment", fact{"1960", "month"})
	w.press("/expenses")

	w.answer("housing.mortgage_rent", fact{"1960", "month"})
	w.answer("housing.utilities", fact{"340", "quarter"})
	w.answer("housing.insurance", fact{"1680", "year"})
	w.answer("housing.rates", fact{"515", "quarter"})
	w.tick("living")
	w.answer("living.groceries", fact{"180", "week"})
	w.sign("Lee Okafor")
	return w
}

var selfemployedSigned = figures{
	"income.employment_income.gross_salary":       "48100", // 1,850 × 26
	"income.other_income.business_income":         "41250", // a year, not a fortnight: that would be 1,072,500
	"income.total_gross_income":                   "89350", // 48,100 + 41,250
	"assets.real_property.0.ownership_percentage": "100",
	"assets.real_property.0.current_value":        "680000",
	"assets.real_property.0.mortgage_owing":       "312000",
	"assets.real_property.0.net_value":            "368000", // 680,000 − 312,000
	"assets.bank_accounts.0.balance":              "6200",
	"assets.total_assets":                         "686200", // 680,000 + 6,200
	"liabilities.mortgages.0.balance":             "312000",
	"liabilities.mortgages.0.monthly_repayment":   "1960",
	"liabilities.total_liabilities":               "312000",
	"expenses.housing.mortgage_rent":              "1960",
	"expenses.housing.utilities":                  "113.33", // 340 × 4 = 1,360; ÷ 12 = 113.333…
	"expenses.housing.insurance":                  "140",    // 1,680 ÷ 12
	"expenses.housing.rates":                      "171.67", // 515 × 4 = 2,060; ÷ 12 = 171.666…
	"expenses.living.groceries":                   "780",    // 180 × 52 = 9,360; ÷ 12
	"expenses.total_monthly_expenses":             "3165",   // 1,960 + 113.33 + 140 + 171.67 + 780
	"summary.total_assets":                        "686200",
	"summary.total_liabilities":                   "312000",
	"summary.net_worth":                           "374200",  // 686,200 − 312,000
	"summary.total_monthly_income":                "7445.83", // 89,350 ÷ 12 = 7,445.833…
	"summary.total_monthly_expenses":              "3165",
	"summary.monthly_surplus":                     "4280.83", // 7,445.83 − 3,165
	"summary.total_monthly_repayments":            "1960",
}

// retiree lives with her daughter. She has a part pension, the rent of a unit that is owned in shares, and income of a year.
func retiree(t *testing.T) *household {
	w := newHousehold(t, "Joan Petrov", "joan@customer.example")
	w.details("03", "03", "1951", "9 Sea Parade", "Glenelg", "5045", "0412345671", "single")

	w.tick("government_payments")
	w.answer("other_income.government_payments", fact{"480.25", "fortnight"})
	w.tick("rental_income")
	w.answer("other_income.rental_income", fact{"460", "week"})
	w.tick("investment_income")
	w.answer("other_income.dividends", fact{"12400", "year"})
	w.answer("other_income.interest", fact{"3150.75", "year"})
	w.press("/assets")

	w.tick("real_property")
	w.answer("real_property.0.description", fact{text: "Unit"})
	w.answer("real_property.0.address", fact{text: "4/12 Jetty Road, Glenelg SA 5045"})
	w.tap(`input[name="real_property.0.ownership"][value=tenants_in_common]`)
	w.answer("real_property.0.ownership_percentage", fact{text: "60"})
	w.answer("real_property.0.current_value", fact{text: "420000"})
	w.answer("real_property.0.mortgage_owing", fact{text: "90000"})
	w.tick("superannuation")
	w.answer("superannuation.0.fund_name", fact{text: "Hostplus"})
	w.answer("superannuation.0.balance", fact{text: "305000"})
	w.press("/liabilities")

	w.answer("mortgages.0.lender", fact{text: "ANZ"})
	w.answer("mortgages.0.monthly_repayment", fact{"366", "month"}) // 60 % of 610, which the bank's paper has for all owners
	w.press("/expenses")

	w.answer("housing.utilities", fact{"395", "quarter"})
	w.answer("housing.rates", fact{"625", "quarter"})
	w.tick("living")
	w.answer("living.groceries", fact{"155", "week"})
	w.answer("living.medical", fact{"120", "month"})
	w.answer("living.health_insurance", fact{"245", "month"})
	w.sign("Joan Petrov", "no_rent")
	return w
}

var retireeSigned = figures{
	"income.other_income.government_payments":     "12486.5", // 480.25 × 26
	"income.other_income.rental_income":           "23920",   // 460 × 52
	"income.other_income.dividends":               "12400",
	"income.other_income.interest":                "3150.75",
	"income.total_gross_income":                   "51957.25", // 12,486.50 + 23,920 + 12,400 + 3,150.75
	"assets.real_property.0.ownership_percentage": "60",
	"assets.real_property.0.current_value":        "420000",
	"assets.real_property.0.mortgage_owing":       "90000",
	"assets.real_property.0.net_value":            "198000", // (420,000 − 90,000) × 60%
	"assets.superannuation.0.balance":             "305000",
	"assets.total_assets":                         "557000", // 420,000 × 60% + 305,000
	"liabilities.mortgages.0.balance":             "54000",  // 90,000 × 60%
	"liabilities.mortgages.0.monthly_repayment":   "366",    // 610 × 60%
	"liabilities.total_liabilities":               "54000",
	"expenses.housing.mortgage_rent":              "366",
	"expenses.housing.utilities":                  "131.67", // 395 × 4 = 1,580; ÷ 12 = 131.666…
	"expenses.housing.rates":                      "208.33", // 625 × 4 = 2,500; ÷ 12 = 208.333…
	"expenses.living.groceries":                   "671.67", // 155 × 52 = 8,060; ÷ 12 = 671.666…
	"expenses.living.medical":                     "120",
	"expenses.living.health_insurance":            "245",
	"expenses.total_monthly_expenses":             "1742.67", // 366 + 131.67 + 208.33 + 671.67 + 120 + 245
	"summary.total_assets":                        "557000",
	"summary.total_liabilities":                   "54000",
	"summary.net_worth":                           "503000",  // 557,000 − 54,000
	"summary.total_monthly_income":                "4329.77", // 51,957.25 ÷ 12 = 4,329.770…
	"summary.total_monthly_expenses":              "1742.67",
	"summary.monthly_surplus":                     "2587.1", // 4,329.77 − 1,742.67
	"summary.total_monthly_repayments":            "366",
}

// unemployed lives on a benefit, pays no rent and very little, and is over a card's limit:
// what is odd is asked about, and confirmed.
func unemployed(t *testing.T) *household {
	w := newHousehold(t, "Kim Ng", "kim@customer.example")
	w.details("21", "09", "2001", "1 Low Street", "Cairns", "4870", "0412345672", "single")

	w.tick("government_payments")
	w.answer("other_income.government_payments", fact{"793.65", "fortnight"})
	w.press("/assets")

	w.tick("vehicles")
	w.answer("vehicles.0.description", fact{text: "Ford Falcon"})
	w.answer("vehicles.0.value", fact{text: "1500"})
	w.answer("vehicles.0.amount_owing", fact{text: "3200"})
	w.press("/liabilities")

	w.answer("personal_loans.0.lender", fact{text: "Money3"})
	w.answer("personal_loans.0.monthly_repayment", fact{"180", "month"})
	w.another("personal_loans", "personal_loans.1.lender")
	w.answer("personal_loans.1.lender", fact{text: "Nimble"})
	w.answer("personal_loans.1.balance", fact{text: "150"})
	w.answer("personal_loans.1.monthly_repayment", fact{"200", "month"})
	w.tick("credit_cards")
	w.answer("credit_cards.0.issuer", fact{text: "NAB"})
	w.answer("credit_cards.0.limit", fact{text: "2000"})
	w.answer("credit_cards.0.balance", fact{text: "2350"})
	w.press("/expenses")

	w.tick("housing")
	w.answer("housing.mortgage_rent", fact{text: "0"})
	w.tick("living")
	w.answer("living.groceries", fact{"60", "week"})
	w.sign("Kim Ng", "low_expenses", "repayment_above_balance", "card_above_limit")
	return w
}

var unemployedSigned = figures{
	"income.other_income.government_payments":        "20634.9", // 793.65 × 26
	"income.total_gross_income":                      "20634.9",
	"assets.vehicles.0.value":                        "1500",
	"assets.vehicles.0.amount_owing":                 "3200",
	"assets.total_assets":                            "1500",
	"liabilities.personal_loans.0.balance":           "3200",
	"liabilities.personal_loans.0.monthly_repayment": "180",
	"liabilities.personal_loans.1.balance":           "150",
	"liabilities.personal_loans.1.monthly_repayment": "200",
	"liabilities.credit_cards.0.limit":               "2000",
	"liabilities.credit_cards.0.balance":             "2350",
	"liabilities.total_liabilities":                  "5700", // 3,200 + 150 + 2,350
	"expenses.housing.mortgage_rent":                 "0.00", // as it was typed
	"expenses.transport.car_loan":                    "180",  // the loan of the car
	"expenses.commitments.debt_repayments":           "200",  // the other loan
	"expenses.living.groceries":                      "260",  // 60 × 52 = 3,120; ÷ 12
	"expenses.total_monthly_expenses":                "640",  // 180 + 200 + 260
	"summary.total_assets":                           "1500",
	"summary.total_liabilities":                      "5700",
	"summary.net_worth":                              "-4200",   // 1,500 − 5,700
	"summary.total_monthly_income":                   "1719.58", // 20,634.90 ÷ 12 = 1,719.575
	"summary.total_monthly_expenses":                 "640",
	"summary.monthly_surplus":                        "1079.58", // 1,719.58 − 640
	"summary.total_monthly_repayments":               "380",     // 180 + 200
}

// couple are self-employed, with two properties, three vehicles and four debts.
// One of them fills in the form.
func couple(t *testing.T) *household {
	w := newHousehold(t, "Sam Rossi", "sam@customer.example")
	w.details("09", "11", "1979", "12 Banksia Avenue", "Hawthorn", "3122", "0398765432", "couple")

	w.tick("business_income")
	w.answer("other_income.business_income", fact{"96400", "year"})
	w.press("/assets")
	w.coupleOwns()
	w.press("/liabilities")
	w.coupleOwes()
	w.press("/expenses")
	w.coupleSpends()
	w.sign("Sam Rossi")
	return w
}

// coupleOwns enters properties, vehicles and an account.
func (w *household) coupleOwns() {
	w.Helper()
	w.tick("real_property")
	w.answer("real_property.0.description", fact{text: "Home"})
	w.tap(`button[value="only:real_property.0.address"]`)
	w.tab.WaitForFocus("real_property.0.address")
	w.tap(`input[name="real_property.0.ownership"][value=joint]`)
	w.answer("real_property.0.ownership_percentage", fact{text: "50"})
	w.answer("real_property.0.current_value", fact{text: "1150000"})
	w.answer("real_property.0.mortgage_owing", fact{text: "480000"})
	w.another("real_property", "real_property.1.description")
	w.answer("real_property.1.description", fact{text: "Unit"})
	w.answer("real_property.1.address", fact{text: "3/7 Lake Street, Geelong VIC 3220"})
	w.tap(`input[name="real_property.1.ownership"][value=joint]`)
	w.answer("real_property.1.ownership_percentage", fact{text: "50"})
	w.answer("real_property.1.current_value", fact{text: "520000"})
	w.answer("real_property.1.mortgage_owing", fact{text: "310000"})

	w.tick("vehicles")
	w.answer("vehicles.0.description", fact{text: "Mazda CX-5 2021"})
	w.answer("vehicles.0.value", fact{text: "32000"})
	w.answer("vehicles.0.amount_owing", fact{text: "18500"})
	w.another("vehicles", "vehicles.1.description")
	w.answer("vehicles.1.description", fact{text: "Toyota HiLux 2016"})
	w.answer("vehicles.1.value", fact{text: "21500"})
	w.another("vehicles", "vehicles.2.description")
	w.answer("vehicles.2.description", fact{text: "Trailer"})
	w.answer("vehicles.2.value", fact{text: "1200"})

	w.tick("bank_accounts")
	w.answer("bank_accounts.0.institution", fact{text: "ANZ"})
	w.answer("bank_accounts.0.balance", fact{text: "8400"})
}

// coupleOwes enters Sam's half of two mortgages, the finance of a car and a card, which are Sam's alone.
func (w *household) coupleOwes() {
	w.Helper()
	w.suggestion("mortgages.0.lender", "A", "ANZ")
	w.answer("mortgages.0.monthly_repayment", fact{"605", "fortnight"}) // half of 1,210, which the bank's paper has for both
	w.answer("mortgages.1.lender", fact{text: "NAB"})
	w.answer("mortgages.1.monthly_repayment", fact{"445", "fortnight"}) // half of 890, which the bank's paper has for both
	w.tick("credit_cards")
	w.suggestion("credit_cards.0.issuer", "A", "ANZ")
	w.answer("credit_cards.0.limit", fact{text: "8000"})
	w.answer("credit_cards.0.balance", fact{text: "2300"})
	w.answer("personal_loans.0.lender", fact{text: "Toyota Finance"})
	w.answer("personal_loans.0.monthly_repayment", fact{"234", "fortnight"})
}

// coupleSpends enters what isn't known from the debts, as each bill of the household says it.
func (w *household) coupleSpends() {
	w.Helper()
	w.answer("share", fact{text: "50"})
	w.answer("housing.mortgage_rent", fact{"2275", "month"})
	w.answer("housing.utilities", fact{"390", "quarter"})
	w.answer("housing.insurance", fact{"1420", "year"})
	w.answer("housing.rates", fact{"480", "quarter"})
	w.answer("transport.car_loan", fact{"507", "month"})
	w.answer("transport.fuel", fact{"85", "week"})
	w.answer("transport.registration_insurance", fact{"1860", "year"})
	w.tick("living")
	w.answer("living.groceries", fact{"260", "week"})
	w.answer("living.clothing", fact{"120", "month"})
	w.answer("living.medical", fact{"75", "month"})
	w.answer("living.entertainment", fact{"60", "week"})
}

var coupleSigned = figures{
	"income.other_income.business_income":            "96400",
	"income.total_gross_income":                      "96400",
	"assets.real_property.0.ownership_percentage":    "50",
	"assets.real_property.0.current_value":           "1150000",
	"assets.real_property.0.mortgage_owing":          "480000",
	"assets.real_property.0.net_value":               "335000", // (1,150,000 − 480,000) × 50%
	"assets.real_property.1.ownership_percentage":    "50",
	"assets.real_property.1.current_value":           "520000",
	"assets.real_property.1.mortgage_owing":          "310000",
	"assets.real_property.1.net_value":               "105000", // (520,000 − 310,000) × 50%
	"assets.vehicles.0.value":                        "32000",
	"assets.vehicles.0.amount_owing":                 "18500",
	"assets.vehicles.1.value":                        "21500",
	"assets.vehicles.2.value":                        "1200",
	"assets.bank_accounts.0.balance":                 "8400",
	"assets.total_assets":                            "898100",  // 1,150,000 × 50% + 520,000 × 50% + 32,000 + 21,500 + 1,200 + 8,400
	"liabilities.mortgages.0.balance":                "240000",  // 480,000 × 50%
	"liabilities.mortgages.0.monthly_repayment":      "1310.83", // half of 1,210 is 605; × 26 = 15,730; ÷ 12 = 1,310.833…
	"liabilities.mortgages.1.balance":                "155000",  // 310,000 × 50%
	"liabilities.mortgages.1.monthly_repayment":      "964.17",  // half of 890 is 445; × 26 = 11,570; ÷ 12 = 964.166…
	"liabilities.personal_loans.0.balance":           "18500",
	"liabilities.personal_loans.0.monthly_repayment": "507", // 234 × 26 = 6,084; ÷ 12
	"liabilities.credit_cards.0.limit":               "8000",
	"liabilities.credit_cards.0.balance":             "2300",
	"liabilities.total_liabilities":                  "415800", // 240,000 + 155,000 + 18,500 + 2,300
	"expenses.share":                                 "50",     // of what the household spends; debts are the customer's own part
	"expenses.housing.mortgage_rent":                 "2275",   // 1,310.83 + 964.17
	"expenses.housing.utilities":                     "65",     // 390 × 4 ÷ 12 = 130; × 50%
	"expenses.housing.insurance":                     "59.17",  // 1,420 ÷ 12 × 50% = 59.166…
	"expenses.housing.rates":                         "80",     // 480 × 4 ÷ 12 = 160; × 50%
	"expenses.transport.car_loan":                    "507",
	"expenses.transport.fuel":                        "184.17", // 85 × 52 = 4,420; ÷ 12 × 50% = 184.166…
	"expenses.transport.registration_insurance":      "77.5",   // 1,860 ÷ 12 = 155; × 50%
	"expenses.living.groceries":                      "563.33", // 260 × 52 = 13,520; ÷ 12 × 50% = 563.333…
	"expenses.living.clothing":                       "60",     // 120 × 50%
	"expenses.living.medical":                        "37.5",   // 75 × 50%
	"expenses.living.entertainment":                  "130",    // 60 × 52 = 3,120; ÷ 12 = 260; × 50%
	// 2,275 + 65 + 59.17 + 80 + 507 + 184.17 + 77.50 + 563.33 + 60 + 37.50 + 130
	"expenses.total_monthly_expenses":  "4038.67",
	"summary.total_assets":             "898100",
	"summary.total_liabilities":        "415800",
	"summary.net_worth":                "482300",  // 898,100 − 415,800
	"summary.total_monthly_income":     "8033.33", // 96,400 ÷ 12 = 8,033.333…
	"summary.total_monthly_expenses":   "4038.67",
	"summary.monthly_surplus":          "3994.66", // 8,033.33 − 4,038.67
	"summary.total_monthly_repayments": "2782",    // 1,310.83 + 964.17 + 507
}
