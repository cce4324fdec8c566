package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candor/intake"
)

func TestSettingsAreOnTheForm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.staff(intake.RoleOwner)
	path := "/dashboard/test/settings"
	owner.wantPage(owner.get(path), http.StatusOK, "Lender &amp; Sons")
	owner.wantPage(owner.post(path, url.Values{"name": {""}, "help_email": {"x"}, "help_phone": {"call me"}, "brand_colour": {"red"}}), http.StatusUnprocessableEntity,
		"Enter the name", "help@example.com", "telephone number such as", "six hex digits", `value="red"`)
	owner.wantRedirect(owner.post(path, url.Values{"name": {hostile}, "help_email": {"help@lender.example"}, "help_phone": {"1300 123 456"}, "brand_colour": {"#B0241C"}}), path)
	owner.wantPage(owner.get(path), http.StatusOK, "Settings saved", "help@lender.example", `value="#b0241c"`)

	customer := b.newCustomer()
	page := customer.page(customer.get(""), http.StatusOK)
	for _, want := range []string{"help@lender.example", "1300 123 456", `href="/brand/b0241c.css"`, "&lt;script&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the form lacks %s", want)
		}
	}
	sheet := owner.get("/brand/b0241c.css")
	if sheet.Code != http.StatusOK || !strings.HasPrefix(sheet.Header().Get("Content-Type"), "text/css") || !strings.Contains(sheet.Body.String(), "--brand:light-dark(#b0241c,") {
		t.Errorf("style sheet: %d, %s", sheet.Code, sheet.Body)
	}
	for _, path := range []string{"/brand/b0241c", "/brand/red.css", "/brand/b0241c.css.css"} {
		owner.wantPage(owner.get(path), http.StatusNotFound)
	}
	owner.wantPage(owner.get("/dashboard/test/audit"), http.StatusOK, "account.changed", "brand_colour: b0241c")
}
