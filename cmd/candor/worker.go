package main

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"

	"candor/cmd/candor/config"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/webhook"
	"candor/jobs"
	"candor/views/pdf"
)

func startWorker(ctx context.Context, c config.Config, a *app, logger *slog.Logger) (part, error) {
	fonts, err := pdf.LoadFonts(c.PDFFont)
	if err != nil {
		return part{}, fmt.Errorf("CANDOR_PDF_FONT: %w", err)
	}
	signer, err := openSigner(c)
	if err != nil {
		return part{}, err
	}
	if signer != nil {
		a.metrics.CertificateExpires(signer.Expires())
		if err := signer.Check(domain.SystemClock.Now()); err != nil {
			logger.ErrorContext(ctx, "PDFs wait: set CANDOR_PDF_CERT to a valid certificate and restart", "error", err)
		}
	}
	client := webhook.NewClient(targets(c))
	dispatcher := delivery.New(delivery.Config{
		DB: a.db, Ring: a.ring, Client: client, Schedule: c.Schedule, Clock: domain.SystemClock, Logger: logger, Observer: a.metrics,
		Tracer:    a.tracer,
		PollEvery: c.SweepInterval, RescueAfter: c.RescueAfter,
	})
	work := jobs.Config{
		DB: a.db, DSN: a.dsn, DirectDSN: a.direct, Outbox: a.made.Outbox, Dispatcher: dispatcher, Ring: a.ring, Blobs: a.blobs,
		Fonts: fonts, Signer: signer,
		Mail: a.mail, BaseURL: c.PublicURL(), Clock: domain.SystemClock, Logger: logger, Observer: a.metrics, Tracer: a.tracer,
		// Drawing takes a core. The others are for people who wait for a page.
		SweepEvery: c.SweepInterval, RescueAfter: c.RescueAfter, PDFWorkers: max(1, runtime.GOMAXPROCS(0)/2),
		Terms: c.Terms, Payments: a.stripe,
	}
	worker, err := jobs.NewWorker(ctx, work)
	if err != nil {
		return part{}, err
	}
	if err := worker.Start(ctx); err != nil {
		return part{}, err
	}
	dispatcher.Start()
	return part{stop: func(ctx context.Context) error {
		defer client.Close()
		var dispatched sync.WaitGroup
		dispatched.Go(func() { dispatcher.Stop(ctx) })
		defer dispatched.Wait()
		return worker.Stop(ctx)
	}}, nil
}
