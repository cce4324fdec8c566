package tracing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	otlp "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	batchTime     = 2 * time.Second // between two exports
	exportTimeout = 10 * time.Second
)

// Config is where and how traces are exported.
type Config struct {
	Endpoint string            // of the OTLP receiver, such as http://localhost:4318
	Headers  map[string]string // of each request, for the receiver
	Service  string            // the service's name in traces
	Version  string            // of this program
	Ratio    float64           // of the traces that are recorded, 0 to 1
	Logger   *slog.Logger
}

// exporter sends spans by OTLP over HTTP. It is our own because OpenTelemetry's
// links gRPC and its gateway, which Candor doesn't use.
type exporter struct {
	url     string
	headers map[string]string
	client  *http.Client
	logger  *slog.Logger
	down    atomic.Bool // since the last export, so that an outage is one warning
}

var _ sdktrace.SpanExporter = (*exporter)(nil)

func newExporter(c Config) *exporter {
	return &exporter{url: strings.TrimSuffix(c.Endpoint, "/") + "/v1/traces", headers: c.Headers,
		client: &http.Client{Timeout: exportTimeout}, logger: c.Logger}
}

// ExportSpans sends spans once. What can't be sent is dropped: it must not fill the
// memory.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.send(ctx, spans)
	if was := e.down.Swap(err != nil); err != nil && !was {
		e.logger.WarnContext(ctx, "traces can't be exported and are dropped: check OTEL_EXPORTER_OTLP_ENDPOINT and its receiver",
			"error", err)
	} else if err == nil && was {
		e.logger.InfoContext(ctx, "traces are exported again")
	}
	return nil // the SDK would print the error, each time
}

// Shutdown closes the connections.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

func (e *exporter) send(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := proto.Marshal(message(spans))
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range e.headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := e.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection is kept
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver answered with status %d", response.StatusCode)
	}
	return nil
}

// message is OTLP's request for spans of one provider.
func message(spans []sdktrace.ReadOnlySpan) *collector.ExportTraceServiceRequest {
	out := make([]*otlp.Span, len(spans))
	for i, s := range spans {
		id, traceID := s.SpanContext().SpanID(), s.SpanContext().TraceID()
		out[i] = &otlp.Span{
			TraceId: traceID[:], SpanId: id[:], Name: s.Name(), Kind: kinds[s.SpanKind()], Attributes: attributes(s.Attributes()),
			StartTimeUnixNano: uint64(s.StartTime().UnixNano()), EndTimeUnixNano: uint64(s.EndTime().UnixNano()),
			Status: &otlp.Status{Code: statuses[int(s.Status().Code)]}, Flags: uint32(s.SpanContext().TraceFlags()),
		}
		if parent := s.Parent().SpanID(); parent.IsValid() {
			out[i].ParentSpanId = parent[:]
		}
	}
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*otlp.ResourceSpans{{
		Resource:   &resource.Resource{Attributes: attributes(spans[0].Resource().Attributes())},
		ScopeSpans: []*otlp.ScopeSpans{{Scope: &common.InstrumentationScope{Name: spans[0].InstrumentationScope().Name}, Spans: out}},
	}}}
}

var kinds = map[trace.SpanKind]otlp.Span_SpanKind{
	trace.SpanKindServer: otlp.Span_SPAN_KIND_SERVER, trace.SpanKindClient: otlp.Span_SPAN_KIND_CLIENT,
	trace.SpanKindConsumer: otlp.Span_SPAN_KIND_CONSUMER,
}

// statuses are OTLP's by OpenTelemetry's codes: unset, error, ok.
var statuses = [...]otlp.Status_StatusCode{otlp.Status_STATUS_CODE_UNSET, otlp.Status_STATUS_CODE_ERROR,
	otlp.Status_STATUS_CODE_OK}

func attributes(list []attribute.KeyValue) []*common.KeyValue {
	out := make([]*common.KeyValue, len(list))
	for i, a := range list {
		value := &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: a.Value.String()}}
		if a.Value.Type() == attribute.INT64 {
			value.Value = &common.AnyValue_IntValue{IntValue: a.Value.AsInt64()}
		}
		out[i] = &common.KeyValue{Key: string(a.Key), Value: value}
	}
	return out
}
