package main

import (
	"context"
	"log/slog"
	"time"

	"candor/cmd/candor/config"
	"candor/internal/platform/tracing"
)

// lastTraces bounds the export of the last traces, so that a receiver that is down
// doesn't hold up a shutdown.
const lastTraces = 2 * time.Second

func startTracing(c config.Config, logger *slog.Logger) *tracing.Tracer {
	return tracing.New(tracing.Config{
		Endpoint: c.Traces.Endpoint, Headers: c.Traces.Headers, Service: c.Traces.Service, Ratio: c.Traces.Ratio,
		Version: readVersion().Version, Logger: logger,
	})
}

func stopTracing(ctx context.Context, t *tracing.Tracer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTraces)
	defer cancel()
	_ = t.Stop(ctx) // the exporter has warned
}
