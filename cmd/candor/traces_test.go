package main_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/process"
	"candor/internal/testkit/tracetest"
)

// A session is followed in traces from the requests that change it, through the job,
// to the webhook's attempt. What is exported has nothing personal, no key and no
// path, and the receiver of the webhook isn't told of the trace.
func TestTraces(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	traces := tracetest.NewReceiver(t)
	env := process.NewEnvironment(t).With("OTEL_EXPORTER_OTLP_ENDPOINT", traces.URL, "OTEL_EXPORTER_OTLP_HEADERS",
		"x-token=let%20me%20in")
	a := process.CreateAccount(t, env)
	hooks := hooktest.NewReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Traceparent") != "" {
			t.Errorf("the webhook has %v", r.Header)
		}
	})
	hooks.SetSecret(a.TestWebhookSecret)
	p := process.Serve(t, env, "serve")
	partner := process.NewPartner(t, p.URL, a.TestKey)
	s := partner.CreateSession(hooks.URL)
	form := process.OpenForm(t, s.SessionURL)
	form.Complete("personal_details")
	hooks.Wait("session.section_completed", 1)
	status, _, body := partner.Do(http.MethodPost, "/test/sessions/"+s.ID+"/advance", `{"to":"completed"}`)
	if status != http.StatusOK {
		t.Fatalf("advance returned %d %s", status, body)
	}
	hooks.Wait("session.completed", 1)
	for _, request := range []string{"POST /f/:session/personal_details", "POST /v1/test/sessions/:id/advance"} {
		testkit.Await(t, "the trace of "+request, func() bool { return followed(traces.Spans(), request) })
	}
	p.Stop()

	for _, span := range traces.Spans() {
		if span.Name == "db" || strings.Contains(span.Name, "://") {
			t.Errorf("a span is named %q", span.Name)
		}
	}
	personal := []string{"zoe.obrien", "Zoë", "Brien", "loan-7", "Acme", s.ID, a.TestKey, a.TestWebhookSecret, a.AccountID,
		hooks.URL, "127.0.0.1",
		s.SessionURL[strings.LastIndex(s.SessionURL, "/")+1:], "let me in"}
	for _, values := range statementtest.Values("personal_details") {
		for _, value := range values {
			if len(value) > 4 {
				personal = append(personal, value)
			}
		}
	}
	exported := traces.Bytes()
	for _, text := range personal {
		if bytes.Contains(exported, []byte(text)) {
			t.Errorf("the traces have %q", text)
		}
	}
	if len(exported) < 1000 || len(personal) < 18 || traces.Header("X-Token") != "let me in" {
		t.Errorf("%d bytes searched for %d texts", len(exported), len(personal))
	}
}

// followed reports whether the request's trace has its statements, its job and the
// attempt.
func followed(spans []tracetest.Span, request string) bool {
	for _, root := range spans {
		if root.Name != request {
			continue
		}
		below := map[string]bool{}
		for _, s := range spans {
			if s.Trace == root.Trace && s.Parent == root.ID {
				below[s.Name] = true
			}
		}
		if below["db.InsertEvent"] && below["db.Commit"] && below["job webhook_wake"] && below["webhook attempt"] {
			return true
		}
	}
	return false
}
