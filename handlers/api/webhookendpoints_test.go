package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/webhook"
)

const endpointsPath = "/webhook_endpoints"

// addEndpoint adds a webhook endpoint and returns its id.
func addEndpoint(h *harness.Harness, body map[string]any) string {
	h.Helper()
	got := h.Post(endpointsPath, body).WantStatus(http.StatusCreated).Object()
	return got["id"].(string)
}

// wantHealth records that one endpoint answered 200 and the other 500, and that the API
// shows it.
func wantHealth(h *harness.Harness, answered, failed string) {
	h.Helper()
	now, at := h.Clock.Now(), h.Clock.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	good, err := domain.ParseEndpointID(answered)
	h.OK(err)
	bad, err := domain.ParseEndpointID(failed)
	h.OK(err)
	h.OK(h.DB.RecordAttempts(h.Context(), nil, []db.EndpointHealth{{ID: good, At: now, SuccessAt: &now, StatusCode: 200},
		{ID: bad, At: now, Failures: 2, StatusCode: 500, ErrorClass: webhook.ClassStatus}}))
	for id, want := range map[string]string{
		answered: "map[consecutive_failures:0 failing_since:<nil> last_error_class:<nil> last_failure_at:<nil> last_status_code:200 " +
			"last_success_at:" + at + " status:ok]",
		failed: "map[consecutive_failures:2 failing_since:" + at + " last_error_class:status last_failure_at:" + at +
			" last_status_code:500 last_success_at:<nil> status:failing]",
	} {
		if got := fmt.Sprint(h.Get(endpointsPath + "/" + id).Object()["health"]); got != want {
			h.Errorf("the health is %s, want %s", got, want)
		}
	}
}

// A webhook endpoint through its life: added, listed, filtered, paused, resumed, deleted
// (D109 to D112).
func TestWebhookEndpoints(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	made := h.Post(endpointsPath, map[string]any{
		"url": "https://crm.lender.example/hook?key=1", "description": " CRM ", "event_types": []string{"session.expired",
			"session.expired"},
	}).WantStatus(http.StatusCreated).Object()
	id := made["id"].(string)
	kept := fmt.Sprintf("%v %v %v %v", made["event_types"], made["description"], made["default"], made["paused"])
	if kept != "[session.expired] CRM false false" || len(made["secret"].(string)) < 30 {
		t.Errorf("made %v", made)
	}
	all := addEndpoint(h, map[string]any{"url": "https://lender.example/all"})
	got := h.Get(endpointsPath + "/" + id).WantStatus(http.StatusOK).Object()
	if _, ok := got["secret"]; ok || got["url"] != made["url"] {
		t.Errorf("get: %v", got)
	}
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.RecordEvent(session, domain.PDFReadyPayload{SessionID: session.ID})
	h.RecordEvent(session, domain.ExpiredPayload{SessionID: session.ID})
	events := h.Get("/events").WantStatus(http.StatusOK).Object()["data"].([]any)
	for i, want := range []string{all, id + " " + all} {
		text := ""
		for _, d := range events[i].(map[string]any)["deliveries"].([]any) {
			text += " " + d.(map[string]any)["endpoint_id"].(string)
		}
		if text != " "+want {
			t.Errorf("event %d went to%s, want %s", i+1, text, want)
		}
	}
	wantHealth(h, id, all)
	change := func(body map[string]any) map[string]any {
		return h.Do(harness.Call{Method: http.MethodPatch, Path: endpointsPath + "/" + id, Body: body}).
			WantStatus(http.StatusOK).Object()
	}
	if got := change(map[string]any{"paused": true}); got["paused"] != true || got["description"] != "CRM" ||
		got["url"] != made["url"] {
		t.Errorf("paused: %v", got)
	}
	if got := change(map[string]any{"event_types": []string{}, "description": "",
		"url": "https://new.lender.example/"}); got["paused"] != true ||
		got["description"] != nil || len(got["event_types"].([]any)) != 0 || got["url"] != "https://new.lender.example/" {
		t.Errorf("changed: %v", got)
	}
	if got := change(map[string]any{"paused": false, "url": nil}); got["paused"] != false {
		t.Errorf("resumed: %v", got)
	}
	h.Do(harness.Call{Method: http.MethodDelete, Path: endpointsPath + "/" + id}).WantStatus(http.StatusOK)
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		h.Do(harness.Call{Method: method, Path: endpointsPath + "/" + id}).WantError(http.StatusNotFound, "not_found", "")
	}
	if list := h.Get(endpointsPath).Object()["data"].([]any); len(list) != 1 {
		t.Errorf("left are %v", list)
	}
	if cancelled := harness.QueryOne[int](h, `SELECT count(*) FROM delivery WHERE state = 'cancelled'`); cancelled != 1 {
		t.Errorf("%d deliveries are cancelled, want the one to the deleted endpoint", cancelled)
	}
}

// The default URL is the first endpoint, the same object as in the dashboard (D109, D111).
func TestDefaultURLIsAnEndpoint(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	if list := h.Get(endpointsPath).Object()["data"].([]any); len(list) != 0 {
		t.Errorf("without a URL: %v", list)
	}
	h.OK(h.Service.Webhooks.SetDefaultURL(t.Context(), h.TestScope(), domain.Actor{Kind: domain.ActorOperator},
		"https://lender.example/hook"))
	first := h.Get(endpointsPath).Object()["data"].([]any)[0].(map[string]any)
	if first["default"] != true || first["url"] != "https://lender.example/hook" {
		t.Errorf("the default URL is listed as %v", first)
	}
	path := endpointsPath + "/" + first["id"].(string)
	h.Do(harness.Call{Method: http.MethodPatch, Path: path, Body: map[string]any{"url": "https://lender.example/new",
		"paused": true}}).WantStatus(http.StatusOK)
	if url, err := h.Service.Webhooks.DefaultURL(t.Context(), h.TestScope()); err != nil || url != "https://lender.example/new" {
		t.Errorf("the dashboard has %s, %v", url, err)
	}
	h.Do(harness.Call{Method: http.MethodDelete, Path: path}).WantStatus(http.StatusOK)
	h.OK(h.Service.Webhooks.SetDefaultURL(t.Context(), h.TestScope(), domain.Actor{Kind: domain.ActorOperator},
		"https://lender.example/again"))
	if again := h.Get(path).WantStatus(http.StatusOK).Object(); again["paused"] != false ||
		again["url"] != "https://lender.example/again" {
		t.Errorf("set again it is %v", again)
	}
}

// Bad input names the field; the 21st endpoint is refused; no other account's can be reached.
func TestWebhookEndpointMistakes(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	id := addEndpoint(h, map[string]any{"url": "https://lender.example/1"})
	h.Post(endpointsPath, map[string]any{}).WantError(http.StatusBadRequest, "invalid_request", "url")
	for _, test := range []struct {
		field string
		value any
		code  int
	}{
		{"url", "http://10.0.0.1/", 422},
		{"url", "https://user:password@lender.example/", 422},
		{"description", "two\nlines", 422},
		{"event_types.1", []string{"session.expired", "session.unknown"}, 422},
		{"event_types", "session.expired", 400},
		{"event_types", slices.Repeat([]string{"session.expired"}, 51), 422},
		{"paused", "true", 400},
	} {
		name := test.field
		if name == "event_types.1" {
			name = "event_types"
		}
		body, code := map[string]any{name: test.value}, "validation_error"
		if test.code == 400 {
			code = "invalid_request"
		}
		h.Do(harness.Call{Method: http.MethodPatch, Path: endpointsPath + "/" + id, Body: body}).WantError(test.code, code, test.field)
	}
	for i := range domain.MaxEndpoints - 1 {
		addEndpoint(h, map[string]any{"url": fmt.Sprintf("https://lender.example/%d", i)})
	}
	h.Post(endpointsPath, map[string]any{"url": "https://lender.example/21"}).WantError(http.StatusUnprocessableEntity,
		"validation_error", "url")
	by := domain.Actor{Kind: domain.ActorOperator}
	if err := h.Service.Webhooks.SetDefaultURL(t.Context(), h.TestScope(), by, "https://lender.example/"); err == nil {
		t.Error("the default URL became the 21st")
	}
	h.Get(endpointsPath+"/whe_nonsense").WantError(http.StatusNotFound, "not_found", "")
	other := h.NewAccount("broker@broker.example", "starter")
	for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
		h.Do(harness.Call{Method: method, Path: endpointsPath + "/" + id, Key: other.TestKey, Body: map[string]any{}}).
			WantError(http.StatusNotFound, "not_found", "")
	}
}

// Reading and changing need permissions of their own.
func TestWebhookEndpointsNeedTheirPermissions(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	read := h.RestrictedKey(domain.Permissions{domain.WebhookEndpointsRead})
	write := h.RestrictedKey(domain.Permissions{domain.WebhookEndpointsWrite})
	none := h.RestrictedKey(domain.Permissions{domain.SessionsRead, domain.SessionsWrite, domain.DataRead, domain.BillingRead})
	body := map[string]any{"url": "https://lender.example/hook"}
	for key, want := range map[string][2]int{read: {200, 403}, write: {403, 201}, none: {403, 403}} {
		h.Do(harness.Call{Method: http.MethodGet, Path: endpointsPath, Key: key}).WantStatus(want[0])
		h.Do(harness.Call{Method: http.MethodPost, Path: endpointsPath, Key: key, Body: body}).WantStatus(want[1])
	}
}
