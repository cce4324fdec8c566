package statement

import (
	"slices"
	"time"

	"candor/internal/form"
)

// PersonalDetails identifies the customer.
type PersonalDetails struct {
	FullName    string
	DateOfBirth time.Time
	Occupation  string
	Employer    string
	Household   Household
	Address     Address
	Phone       string
	Email       string
}

// Household says who lives on this money (D78).
type Household struct {
	Type       string // single or couple; "" if it wasn't asked
	Dependants *int   // children and others, nil if it wasn't asked
}

// The Household.Types of who lives with a partner, and of who doesn't.
const couple, single = "couple", "single"

var households = []form.Option{
	{Code: couple, Label: "With a partner"},
	{Code: single, Label: "Without a partner"},
}

// maxDependants is the most that a customer can have.
const maxDependants = 20

// Couple reports whether the customer lives with a partner.
func (h Household) Couple() bool { return h.Type == couple }

// alone reports whether the customer has said that they don't.
func (h Household) alone() bool { return h.Type == single }

// Address is an Australian address (D2), or one abroad (D82).
type Address struct {
	Street   string
	Suburb   string
	State    string // code, NSW; "" abroad
	Postcode string // four digits; any text abroad, or ""
	Country  string // ISO 3166-1 alpha-2; "" for Australia as long as it isn't answered
}

// Abroad reports whether the address isn't in Australia.
func (a *Address) Abroad() bool {
	return a.Country != Australia && slices.ContainsFunc(Countries(), func(o form.Option) bool { return o.Code == a.Country })
}

// Ages at which people can't fill in the form are below and above these (D82).
const minAge, maxAge = 16, 110

var states = []form.Option{
	{Code: "ACT", Label: "Australian Capital Territory"},
	{Code: "NSW", Label: "New South Wales"},
	{Code: "NT", Label: "Northern Territory"},
	{Code: "QLD", Label: "Queensland"},
	{Code: "SA", Label: "South Australia"},
	{Code: "TAS", Label: "Tasmania"},
	{Code: "VIC", Label: "Victoria"},
	{Code: "WA", Label: "Western Australia"},
}

func (p *PersonalDetails) section(now time.Time) *form.Section {
	fullName := form.Text(&p.FullName, "full_name", "Full name").Fills("name").
		Asks("Enter your full name").Hints("As on your licence or passport.")
	postcode := form.Postcode(&p.Address.Postcode, "address.postcode", "Postcode", p.Address.Abroad).Fills("postal-code").
		Asks("Enter your postcode")
	state := form.Choice(&p.Address.State, "address.state", "State or territory", states).Fills("address-level1").
		Asks("Select your state or territory")
	state.When = func() bool { return !p.Address.Abroad() }
	state.Otherwise = func() string { return stateOf(p.Address.Postcode) }
	state.Awaits = func() bool { return postcode.Value.Empty() || postcode.Value.ErrorMessage() != "" }
	country := form.Country(&p.Address.Country, "address.country", "Country", Countries()).Fills("country").Presets(Australia)
	country.Otherwise = func() string { return Australia }
	born := form.PastDate(&p.DateOfBirth, "date_of_birth", "Date of birth", now).Fills("bday").
		Asks("Enter your date of birth").Hints("For example, 27 3 1985.").
		Checked(func() string { return p.refusedAge(now) })
	section := &form.Section{
		Name:  PersonalDetailsSection,
		Title: "Personal details",
		Groups: []form.Group{
			{Fields: []form.Field{
				fullName,
				born,
				form.Text(&p.Occupation, "occupation", "Occupation").Fills("organization-title").NotRequired(),
				form.Text(&p.Employer, "employer", "Employer").Fills("organization").NotRequired(),
				form.Choice(&p.Household.Type, "household.type", "You live", households).RequiredOnPage().
					Asks("Select whether you live with a partner"),
				form.NumberOrNull(&p.Household.Dependants, maxDependants, "household.dependants", "Dependants").RequiredOnPage().
					Asks("Enter how many dependants you have, 0 for none").Hints("Whom you support. 0 for none."),
			}},
			{Title: "Home address", Fields: []form.Field{
				form.LongText(&p.Address.Street, "address.street", "Street address").Fills("street-address").
					Asks("Enter your street address"),
				form.Text(&p.Address.Suburb, "address.suburb", "Suburb").Fills("address-level2").
					Asks("Enter your suburb"),
				state,
				postcode,
				country,
			}},
			{Title: "Contact", Fields: []form.Field{
				form.Phone(&p.Phone, "phone", "Phone number", p.Address.Abroad).Asks("Enter your phone number"),
				form.Email(&p.Email, "email", "Email address").Asks("Enter your email address"),
			}},
		},
	}
	for _, g := range section.Groups {
		for i := range g.Fields {
			g.Fields[i].Known = true
		}
	}
	return section
}

// age is how many birthdays the customer had on the day of now where the customer lives.
func (p *PersonalDetails) age(now time.Time) int {
	zone, _ := p.Address.Zone()
	now = now.In(zone)
	born := p.DateOfBirth
	years := now.Year() - born.Year()
	if now.Month() < born.Month() || now.Month() == born.Month() && now.Day() < born.Day() {
		years--
	}
	return years
}

// refusedAge is what is wrong with a date of birth that is too late or too early, or "".
// What is stored is read without a time, and isn't refused.
func (p *PersonalDetails) refusedAge(now time.Time) string {
	switch age := p.age(now); {
	case now.IsZero():
	case age < minAge:
		return "must be at least 16 years ago. Check the year: younger people can’t use this form"
	case age > maxAge:
		return "must be at most 110 years ago. Check the year"
	}
	return ""
}
