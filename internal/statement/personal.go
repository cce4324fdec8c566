package statement

import (
	"time"

	"candor/internal/form"
)

// PersonalDetails identifies the customer.
type PersonalDetails struct {
	FullName    string
	DateOfBirth time.Time
	Occupation  string
	Employer    string
	Address     Address
	Phone       string
	Email       string
}

// Address is an Australian address (D2).
type Address struct {
	Street   string
	Suburb   string
	State    string // code, NSW
	Postcode string // four digits
}

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
	state := form.Choice(&p.Address.State, "address.state", "State or territory", states).Fills("address-level1").
		Asks("Select your state or territory")
	state.Otherwise = func() string { return stateOf(p.Address.Postcode) }
	born := form.PastDate(&p.DateOfBirth, "date_of_birth", "Date of birth", now).Fills("bday").
		Asks("Enter your date of birth").Hints("For example, 27 3 1985.")
	return &form.Section{
		Name:  PersonalDetailsSection,
		Title: "Personal details",
		Groups: []form.Group{
			{Fields: []form.Field{
				fullName,
				born,
				form.Text(&p.Occupation, "occupation", "Occupation").Fills("organization-title").OrNone(),
				form.Text(&p.Employer, "employer", "Employer").Fills("organization").OrNone(),
			}},
			{Title: "Home address", Fields: []form.Field{
				form.LongText(&p.Address.Street, "address.street", "Street address").Fills("street-address").
					Asks("Enter your street address"),
				form.Text(&p.Address.Suburb, "address.suburb", "Suburb").Fills("address-level2").
					Asks("Enter your suburb"),
				state,
				form.Digits(&p.Address.Postcode, 4, "address.postcode", "Postcode").Fills("postal-code").
					Asks("Enter your postcode"),
			}},
			{Title: "Contact", Fields: []form.Field{
				form.Phone(&p.Phone, "phone", "Phone number").Asks("Enter your phone number"),
				form.Email(&p.Email, "email", "Email address").Asks("Enter your email address"),
			}},
		},
	}
}
