package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// TestReturnURLInTheDashboard: staff give it, see it, and get it again in a new session for the
// same customer (D96).
func TestReturnURLInTheDashboard(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	const list, back = "/dashboard/test/sessions", "https://my.lender.example/loans?id=4711"
	values := url.Values{"customer_email": {"jo@customer.example"}, "expires_in_days": {"30"}, "return_url": {"my.lender.example"}}
	refused := support.WantPage(support.Post(list, values), http.StatusUnprocessableEntity)
	refused.WantError("return_url", "start with https://").WantField("return_url", "my.lender.example")
	values.Set("return_url", " "+back+" ")
	path := support.Post(list, values).Header().Get("Location")
	if got := support.WantPage(support.Get(path), http.StatusOK).Fact("Return URL"); got != back {
		t.Errorf("the session's page has %q", got)
	}
	again := support.WantPage(support.Get(list+"/new?like="+strings.TrimPrefix(path, list+"/")), http.StatusOK)
	again.WantField("return_url", back)
}
