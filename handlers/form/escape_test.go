package form_test

import (
	"net/http"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/accounts"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// TestAnswersAreEscaped stores markup wherever text is taken.
func TestAnswersAreEscaped(t *testing.T) {
	t.Parallel()
	const markup = `<script>alert("x")</script>'><img src=x onerror=alert(1)>`
	h := harness.New(t)
	account, err := h.Service.Accounts.Create(t.Context(), accounts.Params{Name: markup, Email: "odd@lender.example",
		Plan: "starter"}, harness.Operator)
	h.OK(err)
	h.Account = account
	session := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Zoë " + markup, ReferenceID: markup})
	c := h.Customer(session)
	pages := []*page.Page{c.WantPage(c.Get(""), http.StatusOK), c.WantPage(c.Get("personal_details"), http.StatusOK)}
	for _, section := range statementtest.Full().Sections(h.Clock.Now()) {
		if section.Name == statement.DeclarationSection {
			continue
		}
		values := statementtest.Values(section.Name)
		section.Walk(func(path string, f form.Field) {
			if f.Kind == form.KindText {
				values.Set(path, markup)
			}
		})
		c.WantRedirect(c.Post(section.Name, values))
		pages = append(pages, c.WantPage(c.Get(section.Name), http.StatusOK))
		section.Walk(func(path string, f form.Field) {
			for _, part := range f.Parts() {
				values.Set(path+part, markup)
			}
		})
		bad := h.NewCustomer()
		pages = append(pages, bad.WantPage(bad.Post(section.Name, values), http.StatusUnprocessableEntity))
		pages = append(pages, bad.WantPage(bad.Get(section.Name), http.StatusOK), bad.WantPage(bad.Get("declaration"), http.StatusOK))
	}
	c.WantRedirect(c.Attach("other", markup, harness.PDFOf(30), "continue"))
	pages = append(pages, c.WantPage(c.Get("documents"), http.StatusOK), c.WantPage(c.Get("declaration"), http.StatusOK))
	declaration := statementtest.Values("declaration")
	declaration.Set("full_name", markup)
	declaration.Del("accepted")
	pages = append(pages, c.WantPage(c.Post("declaration", declaration), http.StatusUnprocessableEntity))
	declaration.Set("accepted", "true")
	c.WantRedirect(c.Post("declaration", declaration))
	pages = append(pages, c.WantPage(c.Get(""), http.StatusOK))
	for _, page := range pages {
		for _, made := range []string{"<script>alert", "<img src=x", `onerror=alert(1)>`} {
			if strings.Contains(page.Source, made) {
				t.Errorf("the page has %s", made)
			}
		}
		page.Shows("<script>alert(")
	}
}
