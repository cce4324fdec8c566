package form_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candor/internal/statement/statementtest"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// TestCustomerAbroad signs a statement of a customer in London, whose address has no
// state (D82).
func TestCustomerAbroad(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.WantPage(c.Get("personal_details"), http.StatusOK).WantField("address.country", "preset").Shows("State or territory")
	c.AnswerAll()
	values := statementtest.Values("personal_details")
	for name, typed := range map[string]string{"address.suburb": "London", "address.postcode": "SW1A 1AA",
		"phone": "020 7946 0958"} {
		values.Set(name, typed)
	}
	c.WantPage(c.Post("personal_details", values), http.StatusUnprocessableEntity).
		WantError("address.postcode", "choose your country").WantError("phone", "If it isn’t Australian, start with +")
	values.Set("address.country", "GB")
	c.WantPage(c.Post("personal_details", values), http.StatusUnprocessableEntity).WantField("address.country", "GB").
		WantField("address.postcode", "SW1A 1AA").Hides("State or territory").WantError("phone",
		"must start with + and the code of its country")
	values.Set("phone", "+442079460958")
	c.WantRedirect(c.Post("personal_details", values))
	c.WantPage(c.Get("personal_details"), http.StatusOK).WantField("phone", "+44 20 7946 0958")
	c.WantPage(c.Get("declaration"), http.StatusOK).Shows("Unit 4, 18 Wattle Street, London, SW1A 1AA, United Kingdom",
		"+44 20 7946 0958")
	c.WantRedirect(c.Sign())
	data, err := c.Service.Sessions.Data(t.Context(), c.TestScope(), c.ID, harness.Operator)
	c.OK(err)
	text, err := json.Marshal(data.Statement)
	c.OK(err)
	if want := `"suburb":"London","state":"","postcode":"SW1A 1AA","country":"GB"},"phone":"+44 20 7946 0958"`; !strings.Contains(
		string(text), want) {
		t.Errorf("the data lack %s: %.400s", want, text)
	}
}

// TestScriptKnowsNoCountry completes the section with the contract's inputs alone (D47).
func TestScriptKnowsNoCountry(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	values := statementtest.Values("personal_details")
	values.Del("address.country")
	values.Set("phone", "0398765432")
	c.WantRedirect(c.Post("personal_details", values))
	c.WantPage(c.Get("personal_details"), http.StatusOK).WantField("address.country", "preset").WantField("phone", "(03) 9876 5432")
	for _, phone := range []string{"0000000000", "0412 345 67"} {
		values.Set("phone", phone)
		c.WantPage(c.Post("personal_details", values), http.StatusUnprocessableEntity).WantError("phone",
			"must be complete, with its area code").WantField("phone", phone)
	}
	c.WantPage(c.Post("personal_details", url.Values{}), http.StatusUnprocessableEntity)
}

// TestBrowserCountryHidesState chooses a country: the state goes at once with script
// and without, and comes back.
func TestBrowserCountryHidesState(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	c := h.NewCustomer()
	for name, options := range ways {
		tab := browsertest.New(t, options)
		arrive(tab, base, c, "personal_details")
		state := `document.getElementById("address.state").checkVisibility()`
		tab.WaitForTrue(state)
		tab.Screenshot("abroad/" + strings.ReplaceAll(name, " ", "-") + "-australia")
		tab.Select(input("address.country"), "GB")
		tab.WaitForTrue("!" + state)
		tab.Screenshot("abroad/" + strings.ReplaceAll(name, " ", "-") + "-abroad")
		tab.Select(input("address.country"), "preset")
		tab.WaitForTrue(state)
	}
}
