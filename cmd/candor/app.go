package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"

	"candor/db"
	"candor/internal/billing/stripe"
	"candor/internal/domain"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/platform/mail"
	"candor/internal/platform/metrics"
	"candor/internal/platform/ratelimit"
	"candor/internal/service"
	"candor/internal/webhook"
	"candor/jobs"
)

// app is what the commands work with, opened in the order of its fields.
type app struct {
	postgres *privatePostgres // nil where DATABASE_URL names a server
	dsn      string
	db       *db.DB
	ready    *readiness
	ring     *keyring.Keyring
	blobs    blob.Store
	enqueuer *jobs.Enqueuer
	mail     mail.Sender
	outbox   *mail.Folder     // nil where letters are sent
	tester   *webhook.Client  // of test events
	stripe   *stripe.Provider // nil where invoices are paid by bank transfer
	service  *service.Service
	metrics  *metrics.Metrics
}

// openApp opens the database, the keys and the stores, and puts the use cases
// on them. In development it migrates; in production the schema must be up to
// date, because a release migrates once, before its processes start.
func openApp(ctx context.Context, c Config, logger *slog.Logger) (_ *app, err error) {
	a := new(app)
	defer func() {
		if err == nil {
			return
		}
		a.close()
		if ctx.Err() != nil {
			err = ctx.Err() // interrupted: how it shows at this point is of no interest
		}
	}()
	if err := openDataDir(c.DataDir); err != nil {
		return nil, err
	}
	if a.ring, err = openKeys(c); err != nil {
		return nil, err
	}
	if err := a.openDatabase(ctx, c); err != nil {
		return nil, err
	}
	if c.Development {
		err = db.Migrate(ctx, a.dsn)
	} else {
		err = schemaReady(ctx, a.db)
	}
	if err != nil {
		return nil, err
	}
	if a.blobs, err = blob.NewFiles(filepath.Join(c.DataDir, "documents")); err != nil {
		return nil, err
	}
	if err := a.openMail(c, logger); err != nil {
		return nil, err
	}
	a.metrics = newMetrics(a)
	if a.enqueuer, err = jobs.NewEnqueuer(a.db, logger, a.metrics); err != nil {
		return nil, err
	}
	policy := webhook.Policy{Development: c.Development}
	a.tester = webhook.NewClient(policy)
	limiter, err := ratelimit.New(service.TestEventLimit)
	if err != nil {
		return nil, err
	}
	use := service.Config{
		DB: a.db, Enqueuer: a.enqueuer, Ring: a.ring, Blobs: a.blobs, Policy: policy, BaseURL: publicURL(c),
		Clock: domain.SystemClock, Logger: logger, Terms: c.Terms, Observer: a.metrics, TestClient: a.tester, TestLimiter: limiter,
	}
	if a.stripe = openStripe(c, a.db); a.stripe != nil {
		use.Cards = a.stripe
	}
	a.service = service.New(use)
	return a, nil
}

// openMail finds where letters go: to the mail server, or in development into
// a folder.
func (a *app) openMail(c Config, logger *slog.Logger) (err error) {
	switch {
	case c.SMTPURL != "":
		a.mail, err = mail.NewSMTP(c.SMTPURL, c.MailFrom)
	case c.Development:
		a.outbox, err = mail.NewFolder(filepath.Join(c.DataDir, "mail"), logger)
		a.mail = a.outbox
	default:
		a.mail = mail.Nowhere{}
	}
	return err
}

// openDatabase connects to the given server, or starts the private one.
func (a *app) openDatabase(ctx context.Context, c Config) (err error) {
	a.dsn = c.DatabaseURL
	if a.dsn == "" {
		if a.postgres, a.dsn, err = startPostgres(ctx, filepath.Join(c.DataDir, "postgres")); err != nil {
			return err
		}
	}
	a.db, err = db.Open(ctx, a.dsn, db.Options{MaxOpenConns: c.DBConnections})
	if err != nil {
		return fmt.Errorf("%w: see that the server runs and DATABASE_URL is right (with ?sslmode=disable where it has no TLS)", err)
	}
	a.ready, err = openReadiness(ctx, a.dsn)
	return err
}

var errSchemaBehind = errors.New("the database's schema is behind this program: run candor migrate")

// warnOfRole says it where the service's role could rewrite the audit log.
func (a *app) warnOfRole(ctx context.Context, logger *slog.Logger) {
	may, err := a.db.MayRewriteAudit(ctx)
	switch {
	case err != nil:
		logger.WarnContext(ctx, "can't tell what the database's role may do", "error", err)
	case may:
		logger.WarnContext(ctx, "the service's database role could rewrite the audit log: give the tables an owner of their own by CANDOR_MIGRATE_URL")
	}
}

// warnOfDatabase warns if someone on the network could read what is stored on
// its way to the database.
func (c *Config) warnOfDatabase(ctx context.Context, logger *slog.Logger) {
	for _, one := range []struct{ variable, dsn string }{{"DATABASE_URL", c.DatabaseURL}, {"CANDOR_MIGRATE_URL", c.MigrateURL}} {
		if one.dsn == "" {
			continue
		}
		if readable, err := db.Readable(one.dsn); err == nil && readable {
			logger.WarnContext(ctx, "the connection to the database can be read or redirected on the network: reach it by a unix socket or a loopback address, or add sslmode=verify-full to "+one.variable)
		}
	}
}

// close lets go of everything; an app that was opened in part too.
func (a *app) close() {
	if a.tester != nil {
		a.tester.Close()
	}
	if a.ready != nil {
		_ = a.ready.db.Close() // nothing is left to lose
	}
	if a.db != nil {
		_ = a.db.Close()
	}
	if a.postgres != nil {
		a.postgres.stop()
	}
}

// publicURL is the base URL. Development derives it from the address, with
// localhost for a loopback address: passkeys don't work on IP addresses.
func publicURL(c Config) string {
	if c.BaseURL != "" {
		return c.BaseURL
	}
	host, port, err := net.SplitHostPort(c.Addr)
	if ip := net.ParseIP(host); err != nil || host == "" || ip.IsUnspecified() || ip.IsLoopback() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}
