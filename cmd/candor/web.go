package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"candor/cmd/candor/config"
	"candor/handlers"
	"candor/handlers/dashboard/auth"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/requestlog"
	"candor/static"
	"candor/views/pdf"
)

const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = time.Minute
	maxHeaderBytes    = 64 << 10
	rateKeys          = 100_000 // accounts and addresses that a limiter remembers
	refusalDelay      = time.Second
	attemptWait       = 10 * time.Second // in the API’s description
)

func startWeb(c config.Config, a *app, listener net.Listener, logger *slog.Logger) (part, error) {
	if err := static.Check(); err != nil {
		return part{}, err
	}
	limits, err := openLimits(c, a.redis)
	if err != nil {
		return part{}, err
	}
	fonts, err := pdf.LoadFonts(c.PDFFont)
	if err != nil {
		return part{}, fmt.Errorf("CANDOR_PDF_FONT: %w", err)
	}
	requests := requestlog.NewWriter(a.db, logger, a.metrics.RequestsUnlogged)
	config := handlers.Config{
		Services: a.services,
		Logger:   logger, Clock: domain.SystemClock, BaseURL: c.PublicURL(), Development: c.Development, Remote: c.Remote,
		TrustedProxies: c.TrustedProxies, Limiter: limits.api, Rate: apiRate(c), Schedule: c.Schedule,
		SignedOutLimiter: limits.signedOut,
		StaffLimits:      limits.staff, RefusalDelay: refusalDelay, AttemptWait: attemptWait,
		LinkLimiter: limits.links, OpenedLimiter: limits.opened, NetworkLimiter: limits.networks, CookieKeys: a.ring.CookieKeys(),
		Ready:   a.ready.check,
		Version: readVersion().Version, SecurityContact: c.SecurityContact, Answered: a.metrics.Answered, Called: requests.Add,
		Fonts: fonts, Stripe: a.stripe, Tracer: a.tracer, DatabaseTime: c.DBTimeout,
	}
	if a.devMail != nil {
		config.DevMail = a.devMail
	}
	handler, err := handlers.New(config)
	if err != nil {
		requests.Close()
		return part{}, err
	}
	// No ReadTimeout or WriteTimeout: a photo from a slow phone takes minutes.
	// The handler gives each request its own deadlines.
	server := &http.Server{
		Handler: leavable(handler, a.ready), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       slog.NewLogLogger(logger.Handler(), slog.LevelDebug), // it has addresses, which are personal data
	}
	server.RegisterOnShutdown(a.services.Webhooks.EndWaits)
	server.RegisterOnShutdown(a.services.Live.End)
	failed := make(chan error, 1)
	go func() {
		if err := server.Serve(limitConnections(listener, c.MaxConnections, c.TrustedProxies)); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serve HTTP: %w", err)
		}
	}()
	return part{stop: func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		requests.Close() // after the last request
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("some requests did not finish within CANDOR_SHUTDOWN_TIMEOUT and were cut off: %w", server.Close())
		}
		return err
	}, failed: failed}, nil
}

// leavable asks clients of a process that is about to end to open another connection
// for their next request: one that arrives while a kept connection is closed is lost,
// and a proxy must not send a POST twice.
func leavable(handler http.Handler, ready *readiness) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ready.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}

// limits are the buckets of the web server. Processes share those of a name.
type limits struct {
	api, signedOut, links, opened, networks ratelimit.Limiter
	staff                                   auth.Limits
}

// apiRate is the limit of an account's requests to the API.
func apiRate(c config.Config) ratelimit.Config {
	return ratelimit.Config{PerMinute: c.RatePerMinute, Burst: c.RateBurst, Keys: rateKeys}
}

func openLimits(c config.Config, redis *ratelimit.Redis) (l limits, err error) {
	for _, one := range []struct {
		to   *ratelimit.Limiter
		name string
		ratelimit.Config
	}{
		{&l.api, "api", apiRate(c)},
		{&l.signedOut, "signed out", ratelimit.SignedOut},
		{&l.staff.Person, "staff", ratelimit.StaffPerson(c.StaffRate)},
		{&l.staff.Account, "staff account", ratelimit.StaffAccount(c.StaffRate)},
		{&l.staff.Changes, "staff change", ratelimit.StaffChange},
		{&l.staff.Exports, "staff export", ratelimit.StaffExport},
		{&l.links, "link", ratelimit.FormLink},
		{&l.opened, "opened form", ratelimit.Config{PerMinute: ratelimit.Opened * c.FormRate, Burst: 2 * c.FormRate, Keys: rateKeys}},
		{&l.networks, "form", ratelimit.Config{PerMinute: c.FormRate, Burst: 2 * c.FormRate, Keys: rateKeys}},
	} {
		if *one.to, err = redis.Limiter(one.name, one.Config); err != nil {
			return limits{}, err
		}
	}
	return l, nil
}
