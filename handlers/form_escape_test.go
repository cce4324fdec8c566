package handlers_test

import (
	"net/http"
	"testing"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/accounts"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
)

// TestAnswersAreEscaped stores markup wherever text is taken.
func TestAnswersAreEscaped(t *testing.T) {
	t.Parallel()
	const markup = `<script>alert("x")</script>'><img src=x onerror=alert(1)>`
	b := newBench(t)
	account, err := b.service.Accounts.Create(t.Context(), accounts.Params{Name: markup, Email: "odd@lender.example", Plan: "starter"}, someone)
	b.ok(err)
	b.account = account
	session := b.newSession(b.testScope(), domain.NewSession{CustomerName: "Zoë " + markup, ReferenceID: markup})
	c := b.customer(session)
	pages := []string{c.page(c.get(""), http.StatusOK), c.page(c.get("personal_details"), http.StatusOK)}
	for _, section := range statementtest.Full().Sections(b.clock.Now()) {
		if section.Name == statement.DeclarationSection {
			continue
		}
		values := statementtest.Values(section.Name)
		section.Walk(func(path string, f form.Field) {
			if f.Kind == form.KindText {
				values.Set(path, markup)
			}
		})
		c.redirects(c.post(section.Name, values))
		pages = append(pages, c.page(c.get(section.Name), http.StatusOK))
		section.Walk(func(path string, f form.Field) {
			for _, part := range f.Parts() {
				values.Set(path+part, markup)
			}
		})
		bad := b.newCustomer()
		pages = append(pages, bad.page(bad.post(section.Name, values), http.StatusUnprocessableEntity))
		pages = append(pages, bad.page(bad.get(section.Name), http.StatusOK), bad.page(bad.get("declaration"), http.StatusOK))
	}
	c.redirects(c.attach("other", markup, pdfOf(30), "continue"))
	pages = append(pages, c.page(c.get("documents"), http.StatusOK), c.page(c.get("declaration"), http.StatusOK))
	declaration := statementtest.Values("declaration")
	declaration.Set("full_name", markup)
	declaration.Del("accepted")
	pages = append(pages, c.page(c.post("declaration", declaration), http.StatusUnprocessableEntity))
	declaration.Set("accepted", "true")
	c.redirects(c.post("declaration", declaration))
	pages = append(pages, c.page(c.get(""), http.StatusOK))
	for _, page := range pages {
		hides(t, page, "<script>alert", "<img src=x", `onerror=alert(1)>`)
		shows(t, page, "&lt;script&gt;alert(")
	}
}
