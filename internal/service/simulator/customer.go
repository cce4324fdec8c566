package simulator

import (
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/sample"
	"candor/internal/service/forms"
	"candor/internal/statement"
)

// read reads the answers of data, which must be of sections that the goal asks
// to complete.
func (r *run) read(data json.RawMessage) error {
	given, errs := statement.ReadPrefill(data, r.now)
	var present map[string]json.RawMessage
	_ = json.Unmarshal(data, &present) // if it is no object, errs says so
	for name, answers := range present {
		if given != nil && given[name] == nil && string(answers) != "null" {
			given[name] = form.Given{} // a customer who has none of it
		}
	}
	var refused form.Errors
	for _, e := range errs {
		refused = append(refused, form.Error{Field: strings.TrimSuffix("data."+e.Field, "."), Rule: e.Rule})
	}
	for _, name := range statement.SectionNames {
		if _, ok := given[name]; ok && statement.SectionNumber(name) > r.to.sections() {
			refused = append(refused, form.Error{Field: "data." + name, Rule: form.Rule{Code: "beyond_goal", Value: string(r.to)}})
		}
	}
	r.given = given
	return domain.Invalid(refused...)
}

// customer is the made-up customer of a session, the same each time.
type customer struct {
	seed    [2]uint64
	made    *statement.Statement
	visitor domain.Visitor
	now     time.Time
}

func newCustomer(session *domain.Session, now time.Time) *customer {
	c := &customer{now: now, seed: [2]uint64{binary.BigEndian.Uint64(session.ID.UUID[:8]),
		binary.BigEndian.Uint64(session.ID.UUID[8:])}}
	r := c.random("")
	person := sample.NewPerson(r)
	c.made = sample.NewStatement(r, person, now)
	c.made.Personal.Email = session.CustomerEmail
	if session.CustomerName != nil {
		c.made.Personal.FullName = *session.CustomerName
	}
	c.visitor = domain.Visitor{UserAgent: sample.Pick(r, sample.Browsers), IPAddress: sample.Address(r)}
	return c
}

// random is what a section is made up with, whatever the others were.
func (c *customer) random(section string) *rand.Rand {
	return rand.New(rand.NewPCG(c.seed[0], c.seed[1]+uint64(statement.SectionNumber(section))))
}

// answer is what the customer types into a section: what data gives of it, and
// nothing else; of personal details the rest is made up. A section that data
// doesn't give is confirmed as a former session left it if that is valid (D101), else made
// up, and what the partner prefilled of it is confirmed if that makes a whole answer.
func (c *customer) answer(state *forms.State, name string, given form.Given) url.Values {
	section := c.section(state, name)
	prefill := state.Statement.Prefill[name]
	switch {
	case given == nil && state.Statement.Offers[name].Filled():
		if offered := state.Section(name); len(offered.Validate()) == 0 {
			section = offered
		}
	case given != nil && name != statement.PersonalDetailsSection:
		section = unshared(state.Empty(name))
		section.Prefill(given)
	default:
		section.Prefill(prefill)
		if len(section.Validate()) > 0 {
			section = c.section(state, name)
		}
		section.Prefill(given)
	}
	section.TickNone()
	return section.Inputs()
}

// section is a section with made-up answers, which agree with those of the
// sections before it.
func (c *customer) section(state *forms.State, name string) *form.Section {
	answers := *c.made
	switch name {
	case statement.LiabilitiesSection:
		answers = statement.Statement{Assets: state.Statement.Assets}
		sample.AddDebts(c.random(name), &answers)
	case statement.ExpensesSection:
		answers = statement.Statement{Personal: state.Statement.Personal, Income: state.Statement.Income,
			Assets: state.Statement.Assets, Liabilities: state.Statement.Liabilities}
		sample.AddExpenses(c.random(name), &answers)
	}
	return unshared(answers.Section(name, c.now))
}

// unshared answers a couple's question for the share if it isn't: the amounts of data are
// the customer's own (D78).
func unshared(section *form.Section) *form.Section {
	section.Walk(func(path string, f form.Field) {
		if path == statement.ShareInput && f.Asked() && f.Value.Empty() {
			f.Value.Parse(func(string) string { return "100" })
		}
	})
	return section
}
