package pdf

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"candor/internal/form"
	"candor/internal/statement"
)

var (
	created   = time.Date(2026, 11, 18, 22, 5, 0, 0, time.UTC)
	submitted = time.Date(2026, 11, 20, 3, 14, 15, 0, time.UTC)
)

func dollars(n int64) statement.Cents { return statement.Cents(n * 100) }

// full is a statement with an answer to every question, each different.
func full() Statement {
	return Statement{
		AccountName: "Harbour Lending Pty Ltd", Livemode: true,
		SessionID: "sess_01jd2m8x7fe4rsvk0w3zq9ny5t", ReferenceID: "HL-2026-00417",
		CreatedAt: created, SubmittedAt: submitted,
		Answers: &statement.Statement{
			Personal: statement.PersonalDetails{
				Household: statement.Household{Type: "single", Dependants: new(int)},
				FullName:  "Margaret Anne O'Connell", DateOfBirth: time.Date(1985, 3, 27, 0, 0, 0, 0, time.UTC),
				Occupation: "Registered nurse", Employer: "Royal Prince Alfred Hospital",
				Address: statement.Address{Street: "14/220 Enmore Road", Suburb: "Newtown", State: "NSW", Postcode: "2042", Country: "AU"},
				Phone:   "0412 345 678", Email: "margaret.oconnell@example.com",
			},
			Income: statement.Income{
				Employment: statement.EmploymentIncome{GrossSalary: 9_845_050, Bonuses: dollars(3_200), Allowances: dollars(1_875)},
				Other: statement.OtherIncome{
					Rental: dollars(24_960), Dividends: 41_237, Interest: 18_309,
					GovernmentPayments: 229_320, Business: dollars(1_450), ChildSupport: dollars(3_900), Other: 15_075,
				},
			},
			Assets:      fullAssets(),
			Liabilities: fullLiabilities(),
			Expenses: statement.Expenses{
				Housing:   statement.Housing{MortgageRent: dollars(2_610), Utilities: 31_250, Insurance: dollars(118), Rates: 20_433},
				Transport: statement.Transport{CarLoan: dollars(389), Fuel: dollars(240), RegistrationInsurance: dollars(155)},
				Living: statement.Living{
					Groceries: dollars(920), Clothing: dollars(130), Medical: 22_275, Entertainment: dollars(350),
					Children: dollars(640), HealthInsurance: dollars(340), PhoneInternet: 12_990,
				},
				Commitments: statement.Commitments{DebtRepayments: dollars(300), ChildSupport: dollars(55), Other: 1_850},
			},
			Documents: []statement.Document{
				{ID: "doc_1", Category: "identification", FileName: "driver-licence.heic", ContentType: "image/heic", SizeBytes: 2_411_725,
					SHA256: "30f5817d1df76a437a6e9171d30a657766c0a753be1d8cb0491d5901effe89a5"},
				{ID: "doc_2", Category: "income_evidence", FileName: "payslip October 2026.pdf", ContentType: "application/pdf",
					SizeBytes: 88_412, SHA256: "6efd1ec4c8c9476ea0f956f69b39fa7d87443fac7174fbad181273eb41c746de"},
				{ID: "doc_3", Category: "bank_statement", FileName: "CBA_transactions_2026-08_to_2026-10.pdf", ContentType: "application/pdf",
					SizeBytes: 640_211, SHA256: "2228fb7c4a1575b823373edb06be7d053a95007d56343e7f971b3f1f45037e7e"},
			},
			Declaration: statement.Declaration{Accepted: true, FullName: "Margaret A. O'Connell", SignedAt: submitted},
		},
	}
}

func fullAssets() statement.Assets {
	return statement.Assets{
		RealProperty: []*statement.Property{
			{Description: "Family home", Address: "14/220 Enmore Road, Newtown NSW 2042", Ownership: "joint", OwnershipPercentage: 50,
				CurrentValue: dollars(1_150_000), MortgageOwing: 61_240_015},
			{Description: "Investment unit", Address: "3/9 Glebe Street, Parramatta NSW 2150", Ownership: "tenants_in_common",
				OwnershipPercentage: 75, CurrentValue: dollars(540_000), MortgageOwing: dollars(588_000)},
		},
		Vehicles: []*statement.Vehicle{
			{Description: "Toyota Corolla Ascent 2021", Value: dollars(21_500), AmountOwing: dollars(9_860)},
			{Description: "Vespa Primavera 150", Value: dollars(4_300)},
		},
		BankAccounts: []*statement.BankAccount{
			{Institution: "Commonwealth Bank", AccountType: "transaction", Balance: 412_081},
			{Institution: "ING", AccountType: "term_deposit", Balance: dollars(25_000)},
		},
		Superannuation: []*statement.SuperFund{{FundName: "Aware Super", Balance: 13_877_742}},
		Investments: []*statement.Investment{
			{Description: "CSL Limited, 60 shares", Value: dollars(17_940)},
			{Description: "Vanguard Diversified High Growth ETF", Value: 3_311_006},
		},
	}
}

func fullLiabilities() statement.Liabilities {
	return statement.Liabilities{
		Mortgages: []*statement.Mortgage{
			{Lender: "Westpac", Property: "14/220 Enmore Road, Newtown NSW 2042", Balance: 30_620_008, MonthlyRepayment: dollars(1_930)},
			{Lender: "Macquarie Bank", Property: "3/9 Glebe Street, Parramatta NSW 2150", Balance: dollars(441_000),
				MonthlyRepayment: dollars(2_745)},
		},
		PersonalLoans: []*statement.PersonalLoan{{Lender: "Latitude", Purpose: "Kitchen renovation", Balance: dollars(11_350),
			MonthlyRepayment: dollars(412)}},
		CreditCards: []*statement.CreditCard{
			{Issuer: "American Express", Limit: dollars(12_000), Balance: 184_355},
			{Issuer: "Afterpay", Limit: dollars(1_500), Balance: dollars(265)},
		},
		Other: []*statement.OtherLiability{{Description: "Finance for Toyota Corolla Ascent 2021", Lender: "Toyota Finance",
			Balance: dollars(9_860), MonthlyRepayment: dollars(389)}},
	}
}

// sparse has only the required answers.
func sparse() Statement {
	in := full()
	in.Livemode, in.ReferenceID = false, ""
	in.Answers = &statement.Statement{
		Personal: statement.PersonalDetails{FullName: "Jo Li", DateOfBirth: time.Date(2001, 12, 1, 0, 0, 0, 0, time.UTC),
			Address: statement.Address{Street: "1 High St", Suburb: "Kew", State: "VIC", Postcode: "3101", Country: "AU"},
			Phone:   "03 9999 1234", Email: "jo@example.com"},
		Declaration: statement.Declaration{Accepted: true, FullName: "Jo Li", SignedAt: submitted},
	}
	in.Answers.Expenses.Living.Groceries = dollars(400)
	return in
}

// renter has one job, rents, and has a card, an account and a car.
func renter() Statement {
	in := sparse()
	in.Livemode, in.ReferenceID = true, "LOAN-417"
	s := in.Answers
	s.Personal.Household = statement.Household{Type: "single", Dependants: new(int)}
	s.Income.Employment.GrossSalary = dollars(58_240)
	s.Assets.Vehicles = []*statement.Vehicle{{Description: "Mazda 3 2016", Value: dollars(9_500)}}
	s.Assets.BankAccounts = []*statement.BankAccount{{Institution: "ING", AccountType: "transaction", Balance: dollars(3_150)}}
	s.Liabilities.CreditCards = []*statement.CreditCard{{Issuer: "Zip", Limit: dollars(2_000), Balance: dollars(640)}}
	s.Expenses = statement.Expenses{Housing: statement.Housing{MortgageRent: 225_333}}
	s.Entered = map[string]map[string]form.Entries{
		statement.IncomeSection:   {"employment_income.gross_salary": {{Amount: 224_000, Period: form.Fortnightly}}},
		statement.ExpensesSection: {"housing.mortgage_rent": {{Amount: 104_000, Period: form.Fortnightly}}},
	}
	return in
}

const world = "Nguyễn Thị Łukasz Ελένη Сергей محمد 王小明"

// international has names from many scripts.
func international() Statement {
	in := full()
	in.Livemode = false
	in.AccountName = "Crédit Łódź & Søn"
	in.Answers.Personal.FullName = world
	in.Answers.Personal.Employer = "שלום בע״מ (ABC 12)"
	in.Answers.Personal.Address.Street = "شقة 12، شارع الملك فيصل 45"
	in.Answers.Declaration.FullName = world
	in.Answers.Assets.BankAccounts[0].Institution = "中国工商银行悉尼分行"
	in.Answers.Documents[0].FileName = "ສະບາຍດີ 👩‍👩‍👧 IMG.heic"
	return in
}

// longest has lists of 50 items, the longest texts and the highest amounts.
func longest() Statement {
	in := full()
	in.Livemode = false
	address := strings.TrimSpace(strings.Repeat("Unit 14 of the Old Wharf Building, 220 Very Long Esplanade, ", 9))[:500]
	name := strings.TrimSpace(strings.Repeat("Maximiliana Featherstonehaugh ", 7))[:200]
	const most = statement.Cents(99_999_999_999_999)
	in.AccountName, in.ReferenceID = name, strings.Repeat("R-", 50)
	s := in.Answers
	s.Personal.FullName, s.Personal.Address.Street, s.Declaration.FullName = name, address, name
	s.Assets, s.Liabilities = statement.Assets{}, statement.Liabilities{}
	for i := range 50 {
		n := fmt.Sprintf(" %02d", i+1)
		s.Assets.RealProperty = append(s.Assets.RealProperty, &statement.Property{Description: "Property" + n, Address: "4 Hill St" + n,
			Ownership: "sole", OwnershipPercentage: 100, CurrentValue: dollars(int64(i) * 50_000), MortgageOwing: dollars(490_000)})
		s.Assets.Vehicles = append(s.Assets.Vehicles, &statement.Vehicle{Description: "Vehicle" + n, Value: dollars(int64(i) * 900)})
		s.Assets.BankAccounts = append(s.Assets.BankAccounts, &statement.BankAccount{Institution: "Bank" + n, AccountType: "savings",
			Balance: dollars(int64(i))})
		s.Assets.Superannuation = append(s.Assets.Superannuation, &statement.SuperFund{FundName: "Fund" + n,
			Balance: dollars(int64(i) * 7)})
		s.Assets.Investments = append(s.Assets.Investments, &statement.Investment{Description: "Shares" + n,
			Value: dollars(int64(i) * 11)})
		s.Liabilities.Mortgages = append(s.Liabilities.Mortgages, &statement.Mortgage{Lender: "Lender" + n, Property: "4 Hill St" + n,
			Balance: dollars(490_000), MonthlyRepayment: dollars(3_000)})
		s.Liabilities.PersonalLoans = append(s.Liabilities.PersonalLoans, &statement.PersonalLoan{Lender: "Loan" + n, Purpose: "Travel",
			Balance: dollars(5_000), MonthlyRepayment: dollars(200)})
		s.Liabilities.CreditCards = append(s.Liabilities.CreditCards, &statement.CreditCard{Issuer: "Card" + n, Limit: dollars(10_000),
			Balance: dollars(2_000)})
		s.Liabilities.Other = append(s.Liabilities.Other, &statement.OtherLiability{Description: "Debt" + n, Lender: "A friend",
			Balance: dollars(50), MonthlyRepayment: dollars(5)})
	}
	s.Assets.RealProperty[3] = &statement.Property{Description: address, Address: address, Ownership: "tenants_in_common",
		OwnershipPercentage: 33, CurrentValue: most, MortgageOwing: most - 1}
	s.Assets.RealProperty[7].Address = strings.Repeat("x", 500)
	s.Liabilities.Mortgages[49].Property = address
	for i := range 20 {
		s.Documents = append(s.Documents, statement.Document{Category: "other", FileName: fmt.Sprintf("scan-%02d-%s.pdf", i+1,
			strings.Repeat("long", i*3)), ContentType: "application/pdf", SizeBytes: 10 << 20, SHA256: fmt.Sprintf("%064x", i)})
	}
	return in
}

func loadFonts(t testing.TB, fallback string) *Fonts {
	t.Helper()
	fonts, err := LoadFonts(fallback)
	if err != nil {
		t.Fatalf("LoadFonts(%q): %v", fallback, err)
	}
	return fonts
}
