package statement

import (
	"net/url"
	"slices"
	"strings"

	"candor/internal/form"
)

// owing is a debt that the assets mention.
type owing struct {
	path    string // of the amount in the data object
	thing   string // what it was borrowed for
	whole   Cents  // as in the assets
	share   string // of the thing, of a property
	balance Cents  // the customer's share
	list    string // the liabilities' list that it belongs to
	text    string // what the button that adds it says
	field   string // of the list's item that has the description
	value   string
	listed  Cents // in the liabilities, of one that differs
}

func (o owing) shared() bool { return o.balance != o.whole }

// owed are the debts that the assets mention, at the customer's share (D20).
func (a *Assets) owed() []owing {
	return slices.DeleteFunc(a.owing(), func(o owing) bool { return o.balance <= 0 })
}

// owing is what is owed on each thing on which something can be, also if it is nothing.
func (a *Assets) owing() []owing {
	var out []owing
	for i, p := range a.RealProperty {
		out = append(out, owing{
			path: item("assets.real_property", i, "mortgage_owing"), thing: p.Address, whole: p.MortgageOwing,
			balance: p.MortgageOwing.Share(p.OwnershipPercentage), share: p.share(),
			list: mortgageList, text: "Add the mortgage of {property}, {amount}", field: "property", value: p.Address,
		})
	}
	for i, v := range a.Vehicles {
		out = append(out, owing{
			path: item("assets.vehicles", i, "amount_owing"), thing: v.Description, whole: v.AmountOwing, balance: v.AmountOwing,
			list: personalLoanList, text: "Add the car loan for {vehicle}, {amount}", field: "purpose", value: loanFor(v),
		})
	}
	return out
}

// A listed debt can be one that the assets mention.
type listed struct {
	path, list, name string // the path of its balance in the data object
	balance          Cents
}

func (l *Liabilities) listed() []listed {
	var out []listed
	add := func(list string, i int, name string, balance Cents) {
		out = append(out, listed{item("liabilities."+list, i, "balance"), list, name, balance})
	}
	for i, m := range l.Mortgages {
		if *m != (Mortgage{}) { // else it isn't filled in yet
			add(mortgageList, i, m.Property, m.Balance)
		}
	}
	for i, o := range l.Other {
		add(otherDebtList, i, o.Description, o.Balance)
	}
	for i, p := range l.PersonalLoans {
		if *p != (PersonalLoan{}) {
			add(personalLoanList, i, strings.TrimPrefix(p.Purpose, loanPrefix), p.Balance)
		}
	}
	return out
}

// unlisted are the debts that the assets mention and the liabilities lack.
// Customers change names and amounts, so a debt is found by its name, else by
// its amount. A mortgage that names none of the properties can be for any of them.
func unlisted(a *Assets, l *Liabilities) []owing {
	left, debts := a.owed(), l.listed()
	for _, same := range []func(owing, listed) bool{
		func(o owing, d listed) bool { return sameName(o.thing, d.name) },
		func(o owing, d listed) bool { return d.balance == o.balance || d.balance == o.whole },
		func(o owing, d listed) bool {
			return o.list == mortgageList && d.list == mortgageList && !slices.ContainsFunc(a.RealProperty, func(p *Property) bool {
				return sameName(p.Address, d.name)
			})
		},
	} {
		left = slices.DeleteFunc(left, func(o owing) bool {
			i := slices.IndexFunc(debts, func(d listed) bool { return same(o, d) })
			if i >= 0 {
				debts = slices.Delete(debts, i, i+1)
			}
			return i >= 0
		})
	}
	return left
}

// differing are the debts that one line of the liabilities has by name, with another amount
// than the customer's share of what the assets say (D20), which can be nothing. A loan in parts, one for several
// things, and a mortgage that names no property tell nothing. The path is that of the amount to
// look at: of a share the liabilities', since the assets have the whole.
func differing(a *Assets, l *Liabilities) (out []owing) {
	things, owed, debts := a.owing(), a.owed(), l.listed()
	named := func(by []owing, d listed) (n int) {
		for _, o := range by {
			if sameName(o.thing, d.name) {
				n++
			}
		}
		return n
	}
	unnamed := slices.ContainsFunc(debts, func(d listed) bool { return d.list == mortgageList && named(things, d) == 0 })
	for _, o := range things {
		lines := slices.DeleteFunc(slices.Clone(debts), func(d listed) bool {
			return !sameName(o.thing, d.name) || o.balance == 0 && d.list != o.list // "Council rates, 12 Smith St"
		})
		others := 1 // with itself, the things on which the line can be owed
		if o.balance == 0 {
			others = 0
		}
		if len(lines) != 1 || named(owed, lines[0]) != others || o.list == mortgageList && unnamed {
			continue
		}
		if o.shared() {
			o.path = lines[0].path
		}
		o.listed = lines[0].balance
		// People round, and a share is a whole percent, which a third isn't.
		if max(o.listed-o.balance, o.balance-o.listed) > o.whole/100 {
			out = append(out, o)
		}
	}
	return out
}

// sameName reports whether one name has all words of the other in a row.
func sameName(one, other string) bool {
	one, other = words(one), words(other)
	return one != "" && other != "" && (strings.Contains(one, other) || strings.Contains(other, one))
}

// words are a name's words in lower case with a space around each, "" for none.
func words(s string) string {
	all := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune(" ,.", r) })
	if len(all) == 0 {
		return ""
	}
	return " " + strings.Join(all, " ") + " "
}

// missingDebts are the debts that are missing in the liabilities, to add.
func (s *Statement) missingDebts() []form.MissingItem {
	var out []form.MissingItem
	for _, o := range unlisted(&s.Assets, &s.Liabilities) {
		out = append(out, form.MissingItem{
			Name: o.path, List: o.list, Text: o.text, Args: []string{o.thing, "$" + o.balance.Grouped()},
			Inputs: url.Values{o.field: {o.value}, "balance": {o.balance.Grouped()}},
		})
	}
	return out
}
