package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

var endpointInPath = regexp.MustCompile(`whe_[0-9a-z]{26}`)

// An owner adds an endpoint, sees its secret once, filters, pauses, rotates and deletes it.
func TestEndpointPages(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Owner()
	path := "/dashboard/test/webhooks/endpoints"
	owner.WantPage(owner.Get("/dashboard/test/webhooks"), http.StatusOK).LeadsTo(path + "/new")
	owner.WantPage(owner.Get(path+"/new"), http.StatusOK, "New webhook endpoint")
	bad := url.Values{"url": {"http://10.0.0.1/"}, "event_types": {"session.expired"}}
	owner.WantPage(owner.Post(path, bad), http.StatusUnprocessableEntity, "must")
	added := owner.WantPage(owner.Post(path, url.Values{"url": {"https://crm.lender.example/hook?key=1"}, "description": {"CRM"},
		"event_types": {"session.expired"}}),
		http.StatusOK, "Webhook endpoint added", "whsec_")
	id := endpointInPath.FindString(added.Link("Go to the endpoint"))
	mine := path + "/" + id
	owner.WantPage(owner.Get("/dashboard/test/webhooks"), http.StatusOK, "CRM", "1 event type").LeadsTo(mine)
	shown := owner.WantPage(owner.Get(mine), http.StatusOK, "CRM", "Nothing sent yet").Offers("Pause", "Delete endpoint",
		"Create new secret")
	if shown.Field("url").Value != "https://crm.lender.example/hook?key=1" {
		t.Errorf("the page has the URL %q", shown.Field("url").Value)
	}
	owner.WantRedirect(owner.Post(mine+"/pause", nil), mine)
	owner.WantPage(owner.Get(mine), http.StatusOK, "Paused. Webhooks are recorded and wait").Offers("Resume")
	owner.WantRedirect(owner.Post(mine+"/resume", nil), mine)
	owner.WantPage(owner.Get(mine), http.StatusOK, "Resumed").Offers("Pause")
	endpoint, err := domain.ParseEndpointID(id)
	h.OK(err)
	signs := func(of *domain.EndpointID) string {
		secrets, err := delivery.SigningSecrets(t.Context(), h.DB, h.Service.Ring, h.TestScope(), of)
		h.OK(err)
		return secrets[0]
	}
	first, own := signs(nil), signs(&endpoint)
	form := url.Values{"endpoint": {id}}
	owner.WantPage(owner.Post("/dashboard/test/webhooks/secret/next", form), http.StatusOK, "Copy your new webhook secret").
		LeadsTo(mine)
	owner.WantPage(owner.Get(mine), http.StatusOK, "New secret created")
	owner.WantRedirect(owner.Post("/dashboard/test/webhooks/secret/switch", form), mine)
	owner.WantPage(owner.Get(mine), http.StatusOK).Offers("Restore previous secret")
	if signs(nil) != first || signs(&endpoint) == own {
		t.Error("the rotation changed another endpoint’s secret, or not this one’s")
	}
	owner.WantPage(owner.Post("/dashboard/test/webhooks/secret/show", form), http.StatusOK, signs(&endpoint))
	owner.WantRedirect(owner.Post(mine, url.Values{"url": {"https://crm.lender.example/new"}, "description": {"Customer relations"},
		"event_types": {"session.expired", "session.completed"}}), mine)
	owner.WantPage(owner.Get(mine), http.StatusOK, "Saved", "Customer relations", "crm.lender.example/new")
	asked := owner.WantPage(owner.Get(mine), http.StatusOK, "if you gave it more than 15 minutes ago").All("details")
	if last := asked[len(asked)-1]; last.Shows("what is pending is cancelled").Forms() == nil {
		t.Error("the endpoint is deleted without a question")
	}
	owner.WantRedirect(owner.Post(mine+"/delete", nil), "/dashboard/test/webhooks")
	owner.WantPage(owner.Get("/dashboard/test/webhooks"), http.StatusOK, "Endpoint deleted").Hides("Customer relations")
	if got := owner.Get(mine); got.Code != http.StatusNotFound {
		t.Errorf("a deleted endpoint’s page is %d", got.Code)
	}
	wantEntries(owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK),
		"Webhook endpoint added", "Webhook endpoint changed", "Switched to the next secret", "Webhook endpoint deleted")
}
