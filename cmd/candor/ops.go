package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/metrics"
)

// scrapeWrite bounds how long a scrape's answer may take to send.
const scrapeWrite = 30 * time.Second

// newMetrics counts what the process does and reads the rest from the app's
// database, which may be opened later.
func newMetrics(a *app) *metrics.Metrics {
	return metrics.New(metrics.Source{
		Backlog: func(ctx context.Context) (db.DeliveryBacklog, error) {
			return a.db.DeliveryBacklog(ctx, domain.SystemClock.Now())
		},
		Pool: func() sql.DBStats { return a.db.Stats() }, Clock: domain.SystemClock.Now, Version: readVersion().Version,
	})
}

// startOps serves the metrics and health at an address of the operators' own.
func startOps(a *app, listener net.Listener, logger *slog.Logger) part {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := a.ready.check(r.Context()); err != nil {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readHeaderTimeout, WriteTimeout: scrapeWrite, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() {
		if err := server.Serve(netutil.LimitListener(listener, opsConnections)); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serve metrics: %w", err)
		}
	}()
	return part{stop: server.Shutdown, failed: failed}
}
