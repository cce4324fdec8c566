package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestTraces(t *testing.T) {
	t.Parallel()
	c := read(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318",
		"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20hidden, x=1", "OTEL_TRACES_SAMPLER_ARG": "0.05"})
	if c.Traces.Headers["authorization"] != "Bearer hidden" || c.Traces.Headers["x"] != "1" || c.Traces.Ratio != 0.05 ||
		c.Traces.Service != "candor" {
		t.Errorf("%#v", c.Traces.Headers)
	}
	if text := fmt.Sprint(c.LogValue()) + fmt.Sprintf("%+v", c); strings.Contains(text, "hidden") {
		t.Errorf("the configuration prints a secret: %s", text)
	}
	if off := read(t, nil).Traces; off.Endpoint != "" || off.Ratio != 1 {
		t.Errorf("by default %+v", off)
	}
	for name, values := range map[string][]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": {"localhost:4318", "grpc://localhost:4317", "http://u:hidden@localhost:4318",
			"http://localhost:4318?key=hidden"},
		"OTEL_EXPORTER_OTLP_HEADERS": {"hidden", "=hidden", "x=%zzhidden", "x=%0ahidden"},
		"OTEL_TRACES_SAMPLER_ARG":    {"-1", "1.1", "NaN", "half"},
	} {
		for _, value := range values {
			_, err := Read(func(n string) (string, bool) { v, ok := map[string]string{name: value}[n]; return v, ok })
			if err == nil || !strings.HasPrefix(err.Error(), name+" ") || strings.Contains(err.Error(), "hidden") {
				t.Errorf("%s=%s: %v, want an error that names the variable alone", name, value, err)
			}
		}
	}
}
