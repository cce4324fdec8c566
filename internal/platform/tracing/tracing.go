// Package tracing records traces of OpenTelemetry: requests, jobs, webhook attempts
// and the statements in between. Without a Tracer nothing is recorded, and that
// costs next to nothing.
//
// A span has a name and the attributes of this package, nothing else: no path, no
// argument, no text of an error. So nothing personal can come into a trace (D74).
package tracing

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdkresource "go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Kind is what a span stands for.
type Kind = trace.SpanKind

// The kinds.
const (
	Request   = trace.SpanKindServer   // a request that Candor answers
	Job       = trace.SpanKindConsumer // a job that another part has made
	Call      = trace.SpanKindClient   // a call of another server
	Statement = trace.SpanKindClient   // a statement in the database
)

// The attributes, by OpenTelemetry's names where it has one.
const (
	Method     = attribute.Key("http.request.method")
	Route      = attribute.Key("http.route") // a pattern, never a path
	StatusCode = attribute.Key("http.response.status_code")
	RequestID  = attribute.Key("candor.request_id") // as in the log and in X-Request-Id
	DeliveryID = attribute.Key("candor.delivery_id")
	Attempt    = attribute.Key("candor.attempt") // of a job or a delivery, from 1
	ErrorClass = attribute.Key("error.type")
)

// on is whether this process has a Tracer: Step then looks for a span.
var on atomic.Bool

// A Tracer starts traces. A nil Tracer starts none.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// New returns a Tracer that exports to an OTLP receiver. Stop it to export the last
// spans.
func New(c Config) *Tracer {
	resource := sdkresource.NewSchemaless(attribute.String("service.name", c.Service), attribute.String("service.version",
		c.Version))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithResource(resource),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(c.Ratio))),
		// drops what doesn't fit
		sdktrace.WithBatcher(newExporter(c), sdktrace.WithBatchTimeout(batchTime), sdktrace.WithExportTimeout(exportTimeout)),
	)
	on.Store(true)
	return &Tracer{provider: provider, tracer: provider.Tracer("candor")}
}

// Stop exports what is left, until ctx ends.
func (t *Tracer) Stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// A Span is a step of a trace. A nil Span records nothing.
type Span struct{ span trace.Span }

// Begin starts a trace, which the sampler may leave out.
func (t *Tracer) Begin(ctx context.Context, kind Kind, name string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithNewRoot())
	return ctx, &Span{span}
}

// Continue starts a span of the trace that Parent named.
func (t *Tracer) Continue(ctx context.Context, parent string, kind Kind, name string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, &Span{span}
}

// Step starts a span below ctx's. It is nil if ctx has none that is recorded; name
// isn't called then.
func Step(ctx context.Context, name func() string) (context.Context, *Span) {
	if !on.Load() {
		return ctx, nil
	}
	above := trace.SpanFromContext(ctx)
	if !above.IsRecording() {
		return ctx, nil
	}
	ctx, span := above.TracerProvider().Tracer("candor").Start(ctx, name(), trace.WithSpanKind(Statement))
	return ctx, &Span{span}
}

// Text sets an attribute.
func (s *Span) Text(key attribute.Key, value string) {
	if s != nil {
		s.span.SetAttributes(key.String(value))
	}
}

// Number sets an attribute.
func (s *Span) Number(key attribute.Key, value int) {
	if s != nil {
		s.span.SetAttributes(key.Int(value))
	}
}

// End ends the span.
func (s *Span) End(failed bool) {
	if s == nil {
		return
	}
	if failed {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// Parent names ctx's span for Continue, in another process as well. It is "" if the
// trace isn't recorded.
func Parent(ctx context.Context) string {
	if !on.Load() || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

type aboutKey struct{}

// About notes in ctx which delivery the next job is about, so that its attempts find
// the trace.
func About(ctx context.Context, delivery string) context.Context {
	if Parent(ctx) == "" {
		return ctx
	}
	return context.WithValue(ctx, aboutKey{}, delivery)
}

// Delivery returns what About noted, or "".
func Delivery(ctx context.Context) string {
	delivery, _ := ctx.Value(aboutKey{}).(string)
	return delivery
}
