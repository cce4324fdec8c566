package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// A PDF that isn't ready is no error, and not what was asked for either.
func TestAcceptedIsNoError(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	logCalls(h, h.NewSession(h.TestScope(), domain.NewSession{}).ID)
	developer := h.Staff(domain.RoleDeveloper)
	for status, want := range map[string]string{"202": "tag-info", "201": "tag-good", "422": "tag-warn", "500": "tag-danger"} {
		list := developer.WantPage(developer.Get("/dashboard/test/requests?status="+status), http.StatusOK, "Code")
		one := developer.WantPage(developer.Get(list.Leads("/dashboard/test/requests/req_")[0]), http.StatusOK)
		tags := 0
		for _, span := range append(list.All("span"), one.All("span")...) {
			if span.Text() == status {
				if tags++; !strings.Contains(span.Attr("class"), want) {
					t.Errorf("%s has the class %q, want %s", status, span.Attr("class"), want)
				}
			}
		}
		if tags < 2 {
			t.Errorf("%d tags %s, want one on each page", tags, status)
		}
		switch status {
		case "202":
			if one.Hides("Error code"); one.Fact("Code") != "pdf_not_ready" {
				t.Errorf("the code is %q", one.Fact("Code"))
			}
		case "422":
			if one.Fact("Error code") != "validation_error" {
				t.Errorf("the error code is %q", one.Fact("Error code"))
			}
		}
	}
}
