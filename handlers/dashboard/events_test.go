package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// TestEventsPage: events are listed newest first with what became of them, found
// by any id and by type, and sent again from their own page. Another account's
// and the other mode's aren't found.
func TestEventsPage(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer := h.Staff(domain.RoleDeveloper)
	const path = "/dashboard/test/events"
	developer.WantPage(developer.Get(path), http.StatusOK, "No events yet")
	quiet := h.NewSession(h.TestScope(), domain.NewSession{})
	h.RecordEvent(quiet, domain.ExpiredPayload{SessionID: quiet.ID})
	hooked := h.NewSession(h.TestScope(), domain.NewSession{WebhookURL: "https://lender.example/hook"})
	for i := range 30 {
		h.RecordEvent(hooked, domain.PDFReadyPayload{SessionID: hooked.ID, PageCount: 7000 + i})
	}
	deliveries, err := h.DB.Deliveries(t.Context(), hooked.ID)
	h.OK(err)
	last := deliveries[29]
	h.Recorded(&last, domain.DeliveryFailed, 503, "status")

	first := developer.WantPage(developer.Get(path), http.StatusOK, "session.pdf_ready 31 "+hooked.ID.String()+" Failed",
		"session.pdf_ready 7 ").Offers("Older")
	if strings.Contains(first.Text(), "session.expired 1 ") {
		t.Error("the first page has the 31st event, too")
	}
	developer.WantPage(developer.Get(path+"?before=7"), http.StatusOK, "session.expired 1 "+quiet.ID.String()+" Not sent: no URL").
		Offers("Newest")
	event := path + "/" + last.EventID.String()
	for query, want := range map[string]bool{ // whether the last one is listed
		"q=" + last.EventID.String(): true, "q=" + last.ID.String(): true, "q=" + hooked.ID.String(): true, "q=31": true,
		"type=session.pdf_ready": true,
		"q=" + quiet.ID.String(): false, "q=30": false, "type=session.expired": false, "q=31&type=session.expired": false,
		"q=nonsense":                           false,
		"q=" + domain.NewDeliveryID().String(): false, "type=nonsense": false,
	} {
		if got := strings.Contains(developer.Get(path+"?"+query).Body.String(), event); got != want {
			t.Errorf("%s lists it: %t, want %t", query, got, want)
		}
	}
	developer.WantPage(developer.Get(path+"?q=nonsense"), http.StatusOK, "Enter an id such as")

	developer.WantPage(developer.Get(event), http.StatusOK, "The PDF is there", `"page_count": 7029`, "lender.example", "Failed").
		Offers("Send again", "Copy JSON").LeadsTo("/dashboard/test/webhooks/deliveries/" + last.ID.String())
	resend := "/dashboard/test/webhooks/deliveries/" + last.ID.String()
	developer.WantRedirect(developer.Post(resend+"/retry", nil), resend)
	developer.WantPage(developer.Get(event), http.StatusOK, "Pending").Offers("Retry now")
	events, err := h.DB.Events(t.Context(), quiet.ID)
	h.OK(err)
	developer.WantPage(developer.Get(path+"/"+events[0].ID.String()), http.StatusOK,
		"This event was not sent: no webhook URL was set").LeadsTo("/dashboard/test/webhooks/settings")

	stranger := h.StaffOf(h.NewAccount("other@lender.example", "starter").AccountID, domain.RoleOwner)
	for _, query := range []string{"?q=" + last.EventID.String(), "?q=" + last.ID.String(), "?q=" + hooked.ID.String(),
		"?q=31", ""} {
		if strings.Contains(stranger.Get(path+query).Body.String(), event) ||
			strings.Contains(developer.Get("/dashboard/live/events"+query).Body.String(), "/events/"+last.EventID.String()) {
			t.Errorf("%s shows another account's event, or the other mode's", query)
		}
	}
	stranger.WantPage(stranger.Get(event), http.StatusNotFound)
	developer.WantPage(developer.Get("/dashboard/live/events/"+last.EventID.String()), http.StatusNotFound)
	support := h.Staff(domain.RoleSupport)
	support.WantPage(support.Get(event), http.StatusForbidden)
}
