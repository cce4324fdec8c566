package tracing_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"candor/internal/platform/tracing"
	"candor/internal/testkit"
	"candor/internal/testkit/tracetest"
)

func config(url string, logs *testkit.LogBuffer) tracing.Config {
	return tracing.Config{
		Endpoint: url + "/", Headers: map[string]string{"X-Token": "let me in"}, Service: "candor-test", Version: "v1", Ratio: 1,
		Logger: slog.New(slog.NewTextHandler(logs, nil)),
	}
}

// A trace goes from a request through its statement to a job in another process.
func TestTrace(t *testing.T) {
	t.Parallel()
	receiver := tracetest.NewReceiver(t)
	var logs testkit.LogBuffer
	tracer := tracing.New(config(receiver.URL, &logs))
	ctx, request := tracer.Begin(t.Context(), tracing.Request, "GET /x")
	request.Number(tracing.StatusCode, 500)
	request.Text(tracing.Route, "/x")
	_, step := tracing.Step(ctx, func() string { return "db.X" })
	step.End(false)
	_, job := tracer.Continue(context.Background(), tracing.Parent(ctx), tracing.Job, "job x")
	job.End(false)
	request.End(true)
	if err := tracer.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := map[string]tracetest.Span{}
	for _, s := range receiver.Spans() {
		spans[s.Name] = s
	}
	root, below, other := spans["GET /x"], spans["db.X"], spans["job x"]
	if len(spans) != 3 || root.Parent != "" || below.Parent != root.ID || other.Parent != root.ID || below.Trace != root.Trace ||
		other.Trace != root.Trace {
		t.Errorf("spans %+v, want one trace", spans)
	}
	if !root.Failed || below.Failed || root.Kind != "SPAN_KIND_SERVER" || below.Kind != "SPAN_KIND_CLIENT" ||
		other.Kind != "SPAN_KIND_CONSUMER" ||
		!strings.Contains(root.Attributes["http.response.status_code"], "500") ||
		!strings.Contains(root.Attributes["http.route"], "/x") {
		t.Errorf("spans %+v", spans)
	}
	if receiver.Service() != "candor-test" || receiver.Header("X-Token") != "let me in" || logs.String() != "" {
		t.Errorf("service %q, header %q, log %q", receiver.Service(), receiver.Header("X-Token"), logs.String())
	}
}

// Without a Tracer nothing is recorded, and a trace that isn't sampled isn't passed on.
func TestNoTrace(t *testing.T) {
	t.Parallel()
	var none *tracing.Tracer
	ctx, span := none.Begin(t.Context(), tracing.Request, "GET /x")
	span.Text(tracing.Route, "/x")
	span.Number(tracing.StatusCode, 200)
	span.End(false)
	_, span = none.Continue(ctx, "", tracing.Job, "job x")
	if span != nil || ctx != t.Context() || tracing.Parent(ctx) != "" || tracing.Delivery(tracing.About(ctx, "whd_1")) != "" ||
		none.Stop(ctx) != nil {
		t.Error("a nil Tracer records")
	}
	receiver := tracetest.NewReceiver(t)
	c := config(receiver.URL, new(testkit.LogBuffer))
	c.Ratio = 0
	tracer := tracing.New(c)
	ctx, span = tracer.Begin(t.Context(), tracing.Request, "GET /x")
	if _, step := tracing.Step(ctx, func() string {
		t.Error("a step is named")
		return ""
	}); step != nil || tracing.Parent(ctx) != "" {
		t.Error("a trace that isn't sampled continues")
	}
	span.End(false)
	if err := tracer.Stop(t.Context()); err != nil || len(receiver.Bytes()) > 0 {
		t.Errorf("%v, exported %d bytes", err, len(receiver.Bytes()))
	}
}

// A receiver that is down costs a warning, whatever the number of spans.
func TestReceiverDown(t *testing.T) {
	t.Parallel()
	var logs testkit.LogBuffer
	tracer := tracing.New(config("http://127.0.0.1:1", &logs))
	for range 5000 { // more than a few exports
		_, span := tracer.Begin(t.Context(), tracing.Request, "GET /x")
		span.End(false)
	}
	if err := tracer.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(logs.String(), "traces can't be exported"); n != 1 || strings.Count(logs.String(), "\n") != 1 ||
		strings.Contains(logs.String(), "let me in") {
		t.Errorf("logged %q, want one warning", logs.String())
	}
}
