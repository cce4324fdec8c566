package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service"
	"candor/static"
	"candor/views/pdf"
)

func runWeb(ctx context.Context, p *process, args []string) error {
	return runRoles(ctx, p, "web", args, roles{web: true})
}

const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = time.Minute
	maxHeaderBytes    = 64 << 10
	rateKeys          = 100_000 // accounts and addresses remembered at once
	refusalDelay      = time.Second
)

func startWeb(c Config, a *app, listener net.Listener, logger *slog.Logger) (part, error) {
	if err := static.Check(); err != nil {
		return part{}, err
	}
	limiter, err := ratelimit.New(ratelimit.Config{PerMinute: c.RatePerMinute, Burst: c.RateBurst, Keys: rateKeys})
	if err != nil {
		return part{}, err
	}
	signedOut, err := ratelimit.New(ratelimit.SignedOut)
	if err != nil {
		return part{}, err
	}
	links, err := ratelimit.New(ratelimit.FormLink)
	if err != nil {
		return part{}, err
	}
	networks, err := ratelimit.New(ratelimit.Config{PerMinute: c.FormRate, Burst: 2 * c.FormRate, Keys: rateKeys})
	if err != nil {
		return part{}, err
	}
	fonts, err := pdf.LoadFonts(c.PDFFont)
	if err != nil {
		return part{}, fmt.Errorf("CANDOR_PDF_FONT: %w", err)
	}
	requests := service.NewRequestLog(a.db, logger, a.metrics.RequestsUnlogged)
	config := handlers.Config{
		Service: a.service, Logger: logger, Clock: domain.SystemClock, BaseURL: publicURL(c), Development: c.Development, Remote: c.Remote,
		TrustedProxies: c.TrustedProxies, Limiter: limiter, SignedOutLimiter: signedOut, RefusalDelay: refusalDelay, LinkLimiter: links, NetworkLimiter: networks, CookieKeys: a.ring.CookieKeys(), Ready: a.ready.check,
		Version: readVersion().Version, Answered: a.metrics.Answered, Called: requests.Add,
		Fonts: fonts,
	}
	if a.outbox != nil {
		config.Outbox = a.outbox
	}
	if a.stripe != nil {
		config.Stripe = a.stripe
	}
	handler, err := handlers.New(config)
	if err != nil {
		requests.Close()
		return part{}, err
	}
	// No ReadTimeout or WriteTimeout: a photo from a slow phone takes minutes.
	// The handler gives each request its own deadlines.
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug), // it names addresses, which are personal
	}
	failed := make(chan error, 1)
	go func() {
		if err := server.Serve(limitConnections(listener, c.MaxConnections, c.TrustedProxies)); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serve HTTP: %w", err)
		}
	}()
	return part{stop: func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		requests.Close() // the last requests' lines, too
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("some requests did not finish within CANDOR_SHUTDOWN_TIMEOUT and were cut off: %w", server.Close())
		}
		return err
	}, failed: failed}, nil
}

// listen returns a listener and the address it got; variable is what set it.
func listen(ctx context.Context, variable, addr string) (net.Listener, string, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, "", fmt.Errorf("%s must be host:port, such as localhost:8080 or :8080, not %q", variable, addr)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, "", fmt.Errorf("%s is in use by another program: end it, or set %s to another address, such as localhost:8081", addr, variable)
	case errors.Is(err, syscall.EACCES):
		return nil, "", fmt.Errorf("this user may not listen on %s: set %s to a port from 1024", addr, variable)
	case err != nil:
		return nil, "", fmt.Errorf("can't listen on %s: %w: set %s to an address of this machine", addr, err, variable)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return l, net.JoinHostPort(host, port), err
}
