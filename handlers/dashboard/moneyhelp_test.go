package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// TestMoneyHelp checks that forms say where help is free: the account's own line,
// else the National Debt Helpline.
func TestMoneyHelp(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	c := h.NewCustomer()
	c.WantPage(c.Get("expenses"), http.StatusOK).Shows("Money trouble? Free help: National Debt Helpline 1800 007 007").
		LeadsTo("https://ndh.org.au")

	owner, path := h.Staff(domain.RoleOwner), "/dashboard/test/settings"
	set := func(text, link string) url.Values {
		return url.Values{"name": {"Lender & Sons"}, "money_help": {text}, "money_help_url": {link}}
	}
	for link, want := range map[string]string{
		"http://lender.example/help": "starts with https://", "javascript:alert(1)": "starts with https://",
		"https://":       "starts with https://",
		"https://lender": "starts with https://", "https://a:b@lender.example": "starts with https://",
		"https://lender.example/" + strings.Repeat("x", 500): "500 characters",
	} {
		owner.WantPage(owner.Post(path, set("Hardship team", link)), http.StatusUnprocessableEntity, want).
			WantField("money_help_url", link)
	}
	owner.WantPage(owner.Post(path, set("", "https://lender.example")), http.StatusUnprocessableEntity, "Enter what the link is for")
	owner.WantRedirect(owner.Post(path, set("Hardship team 1300 555 010 "+harness.Hostile, "https://lender.example/hardship")), path)
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "money help")
	c.WantPage(c.Get("expenses"), http.StatusOK).Shows("Hardship team 1300 555 010").Hides("1800 007 007").
		LeadsTo("https://lender.example/hardship")
	owner.WantRedirect(owner.Post(path, set("Hardship team", "")), path)
	c.AnswerAll()
	c.WantRedirect(c.Sign())
	c.WantPage(c.Get(""), http.StatusOK).Shows("Free help: Hardship team").Hides("lender.example")
}

// TestReferenceForPeople checks that a session without a reference of the partner has
// one by which staff find it.
func TestReferenceForPeople(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: "jo@customer.example"})
	id := session.ID
	reference := domain.SessionReference(id)
	c := h.Customer(session)
	c.AnswerAll()
	c.WantRedirect(c.Sign())
	c.WantPage(c.Get(""), http.StatusOK).Shows("Your reference: " + reference)
	c.WantPage(c.Get("copy"), http.StatusOK).Shows("Your reference: " + reference)

	owner, list := h.Staff(domain.RoleOwner), "/dashboard/test/sessions"
	own := list + "/" + id.String()
	owner.WantPage(owner.Get(own), http.StatusOK, reference)
	plain := strings.ReplaceAll(reference, "-", "")
	for _, typed := range []string{reference, strings.ToLower(reference), plain, strings.NewReplacer("0", "O", "1",
		"l").Replace(plain), reference[:3] + " " + reference[4:], id.String()} {
		owner.WantRedirect(owner.Get(list+"?q="+url.QueryEscape(typed)), own)
	}
	owner.WantPage(owner.Get("/dashboard/live/sessions?q="+reference), http.StatusOK, "No session")
	stranger := h.StaffOf(h.NewAccount("other@lender.example", "starter").AccountID, domain.RoleOwner)
	stranger.WantPage(stranger.Get(list+"?q="+reference), http.StatusOK, "No session")
}
