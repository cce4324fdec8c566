package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// newSessionForm are the values of the form on the page.
func newSessionForm(p *page.Page) url.Values {
	for _, f := range p.Forms() {
		if f.Action == "/dashboard/test/sessions" && f.Method == "POST" {
			return f.Values()
		}
	}
	return nil
}

// TestAskAgain asks a customer again from the page of an ended session: the answers are
// offered, the notes shown, and the two sessions lead to each other (D101, D102).
func TestAskAgain(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	former := h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: "jo@customer.example", CustomerName: "Jo Citizen",
		Metadata: domain.Metadata{"desk": []byte(`"4"`)}})
	h.Open(former.ID)
	owner := h.Owner()
	path := "/dashboard/test/sessions/"
	owner.WantPage(owner.Get(path+former.ID.String()), http.StatusOK).Lacks("Ask again")
	h.Complete(former.ID)
	unopened := h.NewSession(h.TestScope(), domain.NewSession{})
	h.OK(cancelled(h, unopened))
	owner.WantPage(owner.Get(path+"new?like="+unopened.ID.String()), http.StatusOK, "Answers are not copied").
		Lacks("Offer the former answers")
	begun := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Customer(begun).Answer("income")
	h.OK(cancelled(h, begun))
	asks := owner.WantPage(owner.Get(path+begun.ID.String()), http.StatusOK).Link("Ask again")
	if got := newSessionForm(owner.WantPage(owner.Get(asks), http.StatusOK)).Get("prefill_from"); got == "" {
		t.Error("a cancelled session's answers aren't offered")
	}
	again := owner.WantPage(owner.Get(path+former.ID.String()), http.StatusOK).
		Lacks("New session for this customer").Link("Ask again")
	form := owner.WantPage(owner.Get(again), http.StatusOK, "Ask again", "Documents are not copied",
		"Its metadata are copied.").LeadsTo(path + former.ID.String())
	values := newSessionForm(form)
	if values.Get("prefill_from") == "" || values.Get("customer_email") != "jo@customer.example" || len(values["ask"]) != 0 {
		t.Errorf("the form has %v", values)
	}

	values["ask"] = []string{"income", "documents"}
	values.Set("note-documents", "The June payslip is missing a page.")
	values.Set("note-income", "See www.evil.example")
	values.Set("note-assets", "not ticked")
	refused := owner.WantPage(owner.Post("/dashboard/test/sessions", values), http.StatusUnprocessableEntity)
	refused.WantError("note-income", "The note must not contain a web address").
		WantField("note-documents", "The June payslip is missing a page.")
	values.Set("note-income", " ")
	owner.WantPage(owner.Post("/dashboard/test/sessions", values), http.StatusUnprocessableEntity).
		WantError("note-income", "Say what to do again in Income, or untick it")
	values["ask"] = []string{"documents"}
	values.Set("customer_email", "someone@else.example")
	owner.WantPage(owner.Post("/dashboard/test/sessions", values), http.StatusUnprocessableEntity).
		WantError("prefill_from", "The former answers belong to another email address. Keep that, or leave them out")
	values.Set("customer_email", "jo@customer.example")
	made := owner.Post("/dashboard/test/sessions", values).Header().Get("Location")
	id, err := domain.ParseSessionID(strings.TrimPrefix(made, path))
	h.OK(err)

	owner.WantPage(owner.Get(path+former.ID.String()+"/erase"), http.StatusOK, "With a copy of the answers of "+former.ID.String())
	after := harness.QueryOne[string](h, "SELECT after FROM audit_log WHERE action = $1", domain.AuditSessionCreated)
	if !strings.Contains(after, former.ID.String()) {
		t.Errorf("the audit log says %q", after)
	}
	customer := h.Customer(&domain.Session{ID: id})
	customer.WantPage(customer.Get(""), http.StatusOK).
		Shows("asks: The June payslip is missing a page.", "Your answers from last time").Hides("not ticked")
	owner.WantPage(owner.Get(path+former.ID.String()), http.StatusOK, "Continued by").LeadsTo(path + id.String())
	owner.WantPage(owner.Get(made), http.StatusOK, "Continues", "Asked for", "The June payslip is missing a page.").
		LeadsTo(path+former.ID.String()).
		Hides("Changed since", "Nothing changed")
	h.Complete(id)
	owner.WantPage(owner.Get(made), http.StatusOK, "Continues", "changed since")
}

// TestAskAgainNeedsTheRole: who may not read answers can't have them offered, also by a form
// of their own making, but can ask (D51, D102).
func TestAskAgainNeedsTheRole(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	former := h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: "jo@customer.example"})
	h.Complete(former.ID)
	support := h.Staff(domain.RoleSupport)
	path := "/dashboard/test/sessions/"
	form := support.WantPage(support.Get(path+"new?like="+former.ID.String()), http.StatusOK, "Answers are not copied").
		Hides("Offer the former answers")
	values := newSessionForm(form)
	values.Set("prefill_from", "on")
	values.Set("ask", "income")
	values.Set("note-income", "Is the bonus for the year?")
	support.WantPage(support.Post("/dashboard/test/sessions", values), http.StatusForbidden).Offers("Ask for customers’ data")
	values.Del("prefill_from")
	made := support.Post("/dashboard/test/sessions", values).Header().Get("Location")
	id, err := domain.ParseSessionID(strings.TrimPrefix(made, path))
	h.OK(err)
	customer := h.Customer(&domain.Session{ID: id})
	customer.WantPage(customer.Get("income"), http.StatusOK).
		Shows("asks: Is the bonus for the year?").Hides("from last time")
	if previous := h.SessionOf(id).PreviousSessionID; previous != nil {
		t.Errorf("it continues %v", previous)
	}
}
