// Package tracetest is a receiver of OpenTelemetry's traces for tests. It reads OTLP
// by its own definitions.
package tracetest

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"sync"
	"testing"

	"candor/internal/testkit"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A Span is what a test looks at.
type Span struct {
	Trace, ID, Parent string // in hexadecimal; Parent is "" for a root
	Name, Kind        string
	Failed            bool
	Attributes        map[string]string
}

// A Receiver keeps what it is sent.
type Receiver struct {
	URL string

	mu      sync.Mutex
	spans   []Span
	bodies  bytes.Buffer
	headers http.Header
	service string
}

// NewReceiver starts a receiver, which stops when t ends.
func NewReceiver(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{}
	server := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		var sent collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &sent)
		}
		if err != nil || request.Method != http.MethodPost || request.URL.Path != "/v1/traces" ||
			request.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s, %v: %v", request.Method, request.URL, request.Header, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.take(request.Header, body, &sent)
	}))
	r.URL = server.URL
	return r
}

func (r *Receiver) take(header http.Header, body []byte, sent *collector.ExportTraceServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers = header
	r.bodies.Write(body)
	for _, resource := range sent.GetResourceSpans() {
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				r.service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				span := Span{
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
					Parent: hex.EncodeToString(s.GetParentSpanId()),
					Name:   s.GetName(), Kind: s.GetKind().String(), Failed: s.GetStatus().GetCode() == 2, Attributes: map[string]string{},
				}
				for _, a := range s.GetAttributes() {
					span.Attributes[a.GetKey()] = a.GetValue().String()
				}
				r.spans = append(r.spans, span)
			}
		}
	}
}

// Spans returns what has arrived.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Span(nil), r.spans...)
}

// Bytes returns the bodies of all requests.
func (r *Receiver) Bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.bodies.Bytes())
}

// Header returns a header of the last request.
func (r *Receiver) Header(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.headers.Get(name)
}

// Service returns the name of the service that sent.
func (r *Receiver) Service() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.service
}
