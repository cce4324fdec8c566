// Package statementtest has example statements for the tests of other
// packages. It doesn't know how a statement is stored, shown or sent.
package statementtest

import (
	"net/url"

	"candor/internal/statement"
)

// Values returns what a customer types into the named section for Full, by
// input name (D47). Every input is filled, with amounts as people write them.
// It is nil for the documents section and unknown names. The caller may change
// it.
func Values(section string) url.Values {
	typed, ok := answers()[section]
	if !ok {
		return nil
	}
	values := url.Values{}
	for name, text := range typed {
		values.Set(name, text)
	}
	return values
}

func answers() map[string]map[string]string {
	return map[string]map[string]string{
		statement.PersonalDetailsSection: {
			"full_name":            "Zoë Margaret O'Brien",
			"date_of_birth.day":    "27",
			"date_of_birth.month":  "3",
			"date_of_birth.year":   "1985",
			"occupation":           "Registered nurse",
			"employer":             "Royal Prince Alfred Hospital",
			"household.type":       "single",
			"household.dependants": "2",
			"address.street":       "Unit 4, 18 Wattle Street",
			"address.suburb":       "Marrickville",
			"address.state":        "NSW",
			"address.postcode":     "2204",
			"address.country":      "AU",
			"phone":                "0491 570 156",
			"email":                "zoe.obrien@example.com",
		},
		statement.IncomeSection: {
			"employment_income.gross_salary":          "$98,750",
			"employment_income.bonuses":               "2 500.50",
			"employment_income.allowances":            "1200",
			"other_income.rental_income":              "26,000.00",
			"other_income.dividends":                  "815.35",
			"other_income.interest":                   "212.07",
			"other_income.business_income":            "1,450",
			"other_income.government_payments":        "88.20",
			"other_income.government_payments.period": "fortnight",
			"other_income.child_support":              "3,900",
			"other_income.other":                      "150.75",
		},
		statement.AssetsSection:      assets(),
		statement.LiabilitiesSection: liabilities(),
		statement.ExpensesSection: {
			"housing.mortgage_rent":            "2,150",
			"housing.utilities":                "310.40",
			"housing.insurance":                "95.5",
			"housing.rates":                    "180",
			"transport.car_loan":               "420",
			"transport.fuel":                   "260",
			"transport.registration_insurance": "135.25",
			"living.groceries":                 "900",
			"living.clothing":                  "120",
			"living.medical":                   "245.80",
			"living.entertainment":             "310",
			"living.children":                  "640",
			"living.health_insurance":          "1,020",
			"living.health_insurance.period":   "quarter",
			"living.phone_internet":            "129.90",
			"commitments.debt_repayments":      "684.90",
			"commitments.child_support":        "55",
			"commitments.other":                "18.50",
		},
		statement.DeclarationSection: {
			"accepted":  "true",
			"full_name": "Zoë Margaret O'Brien",
		},
	}
}

// assets has a second property with a mortgage above its value: its net value
// is -$1,666.665 before rounding.
func assets() map[string]string {
	return map[string]string{
		"real_property.0.description":          "Family home",
		"real_property.0.address":              "Unit 4, 18 Wattle Street, Marrickville NSW 2204",
		"real_property.0.ownership":            "joint",
		"real_property.0.ownership_percentage": "50%",
		"real_property.0.current_value":        "$1,150,000",
		"real_property.0.mortgage_owing":       "612,400.75",
		"real_property.1.description":          "Rental flat",
		"real_property.1.address":              "7/211 Boundary Street, West End QLD 4101",
		"real_property.1.ownership":            "tenants_in_common",
		"real_property.1.ownership_percentage": "50",
		"real_property.1.current_value":        "480,000.00",
		"real_property.1.mortgage_owing":       "483,333.33",
		"vehicles.0.description":               "Toyota Corolla Ascent Sport 2021",
		"vehicles.0.value":                     "19,500",
		"vehicles.0.amount_owing":              "8,240.60",
		"vehicles.1.description":               "Box trailer",
		"vehicles.1.value":                     "850",
		"vehicles.1.amount_owing":              ".50",
		"bank_accounts.0.institution":          "Commonwealth Bank",
		"bank_accounts.0.account_type":         "transaction",
		"bank_accounts.0.balance":              "4,312.88",
		"bank_accounts.1.institution":          "ING",
		"bank_accounts.1.account_type":         "savings",
		"bank_accounts.1.balance":              "22,050",
		"superannuation.0.fund_name":           "Aware Super",
		"superannuation.0.balance":             "143,209.41",
		"investments.0.description":            "Vanguard Australian Shares Index ETF, 210 units",
		"investments.0.value":                  "21,483.00",
	}
}

func liabilities() map[string]string {
	return map[string]string{
		"mortgages.0.lender":                    "Westpac",
		"mortgages.0.property":                  "Unit 4, 18 Wattle Street, Marrickville NSW 2204",
		"mortgages.0.balance":                   "306,200.38",
		"mortgages.0.monthly_repayment":         "2,150",
		"mortgages.1.lender":                    "Bank of Queensland",
		"mortgages.1.property":                  "7/211 Boundary Street, West End QLD 4101",
		"mortgages.1.balance":                   "241,666.67",
		"mortgages.1.monthly_repayment":         "1,480.25",
		"personal_loans.0.lender":               "Plenti",
		"personal_loans.0.purpose":              "Bathroom renovation",
		"personal_loans.0.balance":              "6,800",
		"personal_loans.0.monthly_repayment":    "289.90",
		"credit_cards.0.issuer":                 "American Express",
		"credit_cards.0.limit":                  "10,000",
		"credit_cards.0.balance":                "1,942.17",
		"other_liabilities.0.description":       "Finance for Toyota Corolla Ascent Sport 2021",
		"other_liabilities.0.lender":            "Toyota Finance Australia",
		"other_liabilities.0.balance":           "8,240.60",
		"other_liabilities.0.monthly_repayment": "420",
		"other_liabilities.1.description":       "HELP study loan",
		"other_liabilities.1.lender":            "Australian Taxation Office",
		"other_liabilities.1.balance":           "11,316",
		"other_liabilities.1.monthly_repayment": "395",
	}
}
