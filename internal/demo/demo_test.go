package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/internal/form"
	"candor/internal/sample"
	"candor/internal/statement"
	"candor/internal/testkit"
)

var now = time.Date(2026, 11, 20, 3, 4, 5, 0, time.UTC)

func TestArrivalsHaveAWeek(t *testing.T) {
	t.Parallel()
	made := arrivals(rand.New(rand.NewPCG(1, 1)), now, 2000)
	if !slices.IsSortedFunc(made, time.Time.Compare) {
		t.Error("they aren't in order")
	}
	if first, last := made[0], made[len(made)-1]; first.Before(now.AddDate(0, 0, -90)) || last.After(now) {
		t.Errorf("from %s to %s, want within 90 days until %s", first, last, now)
	}
	var byDay [7]int
	for _, at := range made {
		byDay[at.In(local).Weekday()]++
	}
	if byDay[time.Tuesday] < 3*byDay[time.Saturday] || byDay[time.Saturday] == 0 {
		t.Errorf("%d on Tuesdays and %d on Saturdays, want many and some", byDay[time.Tuesday], byDay[time.Saturday])
	}
	if again := arrivals(rand.New(rand.NewPCG(1, 1)), now, 2000); !slices.Equal(made, again) {
		t.Error("another time they are others")
	}
}

// What customers are made to answer is what the form takes, and what they are
// made to get wrong is what it refuses.
func TestAnswersAreRightAndSlipsWrong(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	r := rand.New(rand.NewPCG(1, 1))
	slipped := map[slip]bool{}
	for range 300 {
		p := sample.NewPerson(r)
		s := sample.NewStatement(r, p, now)
		s.Declaration = statement.Declaration{Accepted: true, FullName: p.Name, SignedAt: now}
		for _, section := range s.Sections(now) {
			if errs := section.Validate(); len(errs) > 0 {
				t.Fatalf("%s of %s: %v", section.Name, p.Name, errs)
			}
			for _, made := range slips[section.Name] {
				inputs := section.Inputs()
				if !inputs.Has(made.input) {
					continue
				}
				inputs.Set(made.input, made.typed)
				inputs.Del(form.SharingInput)
				slipped[made] = true
				if errs := new(statement.Statement).Section(section.Name, now).Decode(inputs); len(errs) == 0 {
					t.Fatalf("%s: %q in %s is taken", section.Name, made.typed, made.input)
				}
			}
		}
	}
	for name, of := range slips {
		for _, made := range of {
			if !slipped[made] {
				t.Errorf("%s: no typing error fits %s", name, made.input)
			}
		}
	}
}

// TestFewStatementsAreOdd makes up as many statements as the demo. The rules ask about at
// most 3 in 100 of them, and about each that is made odd by one rule (D79).
func TestFewStatementsAreOdd(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	r := rand.New(rand.NewPCG(1, 1))
	odd, by := 0, map[statement.DoubtCode]int{}
	for range Sessions {
		p := sample.NewPerson(r)
		s := sample.NewStatement(r, p, now)
		s.Declaration.FullName = p.Name
		found := s.Doubts(now)
		if len(found) > 0 {
			odd++
		}
		for _, d := range found {
			by[d.Code]++
		}
		for code, change := range oddities {
			before := slices.ContainsFunc(found, func(d statement.Doubt) bool { return d.Code == code })
			changed := *s
			changed.Entered = maps.Clone(s.Entered)
			change(&changed)
			if !before && !slices.ContainsFunc(changed.Doubts(now), func(d statement.Doubt) bool { return d.Code == code }) {
				t.Fatalf("%s isn't found in the statement of %s", code, p.Name)
			}
		}
	}
	t.Logf("%d of %d made-up statements are asked about: %v", odd, Sessions, by)
	if odd > Sessions*3/100 {
		t.Errorf("%d are more than 3 in 100", odd)
	}
	document, err := os.ReadFile("../../doc/form.md")
	if said := fmt.Sprintf("Of %d made-up statements, %d are asked about", Sessions, odd); err != nil ||
		!strings.Contains(string(document), said) {
		t.Errorf("doc/form.md doesn't say %q: %v", said, err)
	}
	for _, code := range statement.DoubtCode("").Enum() {
		if oddities[statement.DoubtCode(code)] == nil {
			t.Errorf("no statement is made odd by %s", code)
		}
	}
}

// oddities make a statement odd by a rule.
var oddities = map[statement.DoubtCode]func(s *statement.Statement){
	"age":                func(s *statement.Statement) { s.Personal.DateOfBirth = now.AddDate(-17, 0, 0) },
	"state_postcode":     func(s *statement.Statement) { s.Personal.Address.State, s.Personal.Address.Postcode = "NSW", "3000" },
	"phone_country":      func(s *statement.Statement) { s.Personal.Phone = "+64 4 472 3000" },
	"no_income":          func(s *statement.Statement) { s.Income = statement.Income{} },
	"bonus_above_salary": func(s *statement.Statement) { s.Income.Employment.Bonuses = s.Income.Employment.GrossSalary + 1 },
	"income_period": func(s *statement.Statement) {
		section := s.Section(statement.IncomeSection, now)
		inputs := section.Inputs()
		inputs.Set("other_income.business_income", "41,250")
		inputs.Set("other_income.business_income.period", "fortnight")
		inputs.Add("has", "business_income")
		section.Decode(inputs)
		s.KeepEntered(section)
	},
	"given_period": func(s *statement.Statement) {
		s.Prefill = statement.Prefill{statement.ExpensesSection: form.Given{"housing.utilities": json.RawMessage("10")}}
		s.Expenses.Housing.Utilities = 100_10
		s.Personal.Household.Type, s.Expenses.Share = "single", nil
		s.Entered[statement.ExpensesSection] = nil
	},
	"business_above_salary": func(s *statement.Statement) {
		s.Income.Employment.GrossSalary, s.Income.Other.Business = 40_000_00, 400_010_00
	},
	"rent_above_value": func(s *statement.Statement) {
		s.Assets.RealProperty = []*statement.Property{{Address: "Home", CurrentValue: 100_000_00, OwnershipPercentage: 100}}
		s.Income.Other.Rental = 12_501_00
	},
	"rent_above_income":    func(s *statement.Statement) { s.Expenses.Housing.MortgageRent = s.Income.Monthly() + 1 },
	"expense_above_income": func(s *statement.Statement) { s.Expenses.Living.Groceries = s.Income.Monthly() + 1 },
	"no_rent": func(s *statement.Statement) {
		s.Assets.RealProperty, s.Liabilities.Mortgages, s.Expenses.Housing.MortgageRent, s.Expenses.Living.Groceries = nil, nil,
			0, 2_000_00
	},
	"low_expenses": func(s *statement.Statement) { s.Expenses = statement.Expenses{} },
	"repayment_of_all_owners": func(s *statement.Statement) {
		s.Assets.RealProperty = []*statement.Property{{Address: "Home", Ownership: "joint", OwnershipPercentage: 50}}
		s.Liabilities.Mortgages = []*statement.Mortgage{{Property: "Home", Balance: 100_000_00, MonthlyRepayment: 1_100_00}}
	},
	"joint_owner_share": func(s *statement.Statement) {
		s.Assets.RealProperty = []*statement.Property{{Address: "Home", Ownership: "joint", OwnershipPercentage: 100}}
	},
	"housing_above_repayments": func(s *statement.Statement) {
		s.Assets.RealProperty = []*statement.Property{{Address: "Home", Ownership: "sole", OwnershipPercentage: 100}}
		s.Liabilities.Mortgages = []*statement.Mortgage{{Property: "Home", Balance: 100_000_00, MonthlyRepayment: 1_00}}
		s.Expenses.Housing.MortgageRent, s.Entered[statement.ExpensesSection] = s.Income.Monthly(), nil
	},
	"sole_owner_share": func(s *statement.Statement) {
		s.Assets.RealProperty = []*statement.Property{{Address: "Home", Ownership: "sole", OwnershipPercentage: 50}}
	},
	"mortgage_above_value": func(s *statement.Statement) {
		s.Assets.RealProperty = []*statement.Property{{Address: "Home", OwnershipPercentage: 100, CurrentValue: 1, MortgageOwing: 2}}
	},
	statement.DebtNotListed: func(s *statement.Statement) {
		s.Assets.Vehicles = []*statement.Vehicle{{Description: "Boat", AmountOwing: 1_234_56}}
		s.Liabilities = statement.Liabilities{}
	},
	"debt_differs": func(s *statement.Statement) {
		s.Assets.Vehicles = []*statement.Vehicle{{Description: "Boat", AmountOwing: 1_234_56}}
		s.Liabilities.Other = []*statement.OtherLiability{{Description: "Boat", Balance: 1_000_00, MonthlyRepayment: 10_00}}
	},
	"mortgage_without_property": func(s *statement.Statement) {
		s.Assets.RealProperty, s.Liabilities.Mortgages = nil, []*statement.Mortgage{{Lender: "ANZ", Balance: 1}}
	},
	"debt_listed_twice": func(s *statement.Statement) {
		study := &statement.OtherLiability{Description: "HECS", Balance: 1_234_56}
		s.Liabilities.Other = []*statement.OtherLiability{study, study}
	},
	"debt_without_repayment": func(s *statement.Statement) {
		s.Liabilities.PersonalLoans = []*statement.PersonalLoan{{Lender: "Wisr", Balance: 1}}
	},
	"repayment_above_balance": func(s *statement.Statement) {
		s.Liabilities.PersonalLoans = []*statement.PersonalLoan{{Lender: "Wisr", Balance: 1, MonthlyRepayment: 2}}
	},
	"card_above_limit": func(s *statement.Statement) {
		s.Liabilities.CreditCards = []*statement.CreditCard{{Issuer: "Amex", Limit: 1, Balance: 2}}
	},
	"repayments_missing": func(s *statement.Statement) {
		s.Liabilities.Mortgages = []*statement.Mortgage{{Lender: "ANZ", Balance: 900_000_00, MonthlyRepayment: 9_000_00}}
	},
	"no_documents":          func(s *statement.Statement) { s.DocumentsAsked, s.Documents = true, nil },
	statement.SignatureName: func(s *statement.Statement) { s.Declaration.FullName = "Donald Duck" },
}

func TestPeopleAreTheSameEachTime(t *testing.T) {
	t.Parallel()
	people := func() (out []sample.Person) {
		r := rand.New(rand.NewPCG(2, 2))
		for range 50 {
			out = append(out, sample.NewPerson(r))
		}
		return out
	}
	if first := people(); !reflect.DeepEqual(first, people()) {
		t.Error("another time they are others")
	}
}
