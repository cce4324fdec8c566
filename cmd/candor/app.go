package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"

	"candor/cmd/candor/config"
	"candor/db"
	"candor/internal/billing"
	"candor/internal/billing/stripe"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/platform/mail"
	"candor/internal/platform/metrics"
	"candor/internal/platform/postgres"
	"candor/internal/platform/ratelimit"
	"candor/internal/platform/tracing"
	"candor/internal/service"
	"candor/internal/service/webhooks"
	"candor/internal/webhook"
	"candor/jobs"
)

// app is what the commands work on: the use cases, what they are made of, and
// what a process needs besides.
type app struct {
	services service.Services
	made     service.Config // what the services are made of
	db       *db.DB
	ring     *keyring.Keyring
	blobs    blob.Store
	files    *blob.Files      // the folder, which uploads go through, too
	postgres *privatePostgres // nil if DATABASE_URL is set
	dsn      string
	direct   string // PostgreSQL itself if dsn leads to a pooler; "" else
	ready    *readiness
	mail     mail.Sender
	devMail  *mail.Folder // nil if emails are sent
	moving   *blob.Moving // nil if documents have one place
	metrics  *metrics.Metrics
	tracer   *tracing.Tracer      // nil if traces aren't exported
	redis    *ratelimit.Redis     // nil if each process counts requests by itself
	stripe   billing.CardProvider // nil if invoices are paid by bank transfer
}

// targets is what webhooks may call. In development receivers share the service's name,
// localhost.
func targets(c config.Config) webhook.Policy {
	if c.Development {
		return webhook.Policy{Development: true}
	}
	own, err := url.Parse(c.PublicURL())
	if err != nil {
		return webhook.Policy{} // the configuration was read: it is one
	}
	return webhook.Policy{OwnHost: strings.ToLower(own.Hostname())}
}

// openApp opens keys, database and stores, and the use cases on top of them. In
// development it migrates. In production the schema must be up to date, because a
// release migrates once, before its processes start. PostgreSQL shows the command and the
// version beside each connection.
func openApp(ctx context.Context, command string, c config.Config, logger *slog.Logger) (_ *app, err error) {
	a := new(app)
	defer func() {
		if err == nil {
			return
		}
		a.close()
		if ctx.Err() != nil {
			err = ctx.Err() // an interrupt, whatever it looks like here
		}
	}()
	if err := openDataDir(c.DataDir); err != nil {
		return nil, err
	}
	if a.ring, err = openKeys(c); err != nil {
		return nil, err
	}
	if err := a.openDatabase(ctx, command, c); err != nil {
		return nil, err
	}
	if err := a.checkPooler(ctx); err != nil {
		return nil, err
	}
	if c.Development {
		err = db.Migrate(ctx, cmp.Or(a.direct, a.dsn))
	} else {
		err = schemaReady(ctx, a.db)
	}
	if err != nil {
		return nil, err
	}
	if err := a.openBlobs(ctx, c, logger); err != nil {
		return nil, err
	}
	if err := a.openMail(c, logger); err != nil {
		return nil, err
	}
	a.metrics = metrics.New(metrics.Source{
		Backlog: func(ctx context.Context) (db.DeliveryBacklog, error) {
			return a.db.DeliveryBacklog(ctx, domain.SystemClock.Now())
		},
		Pool: a.db.Stats, CommitWaits: a.db.CommitWaits, Signs: a.db.Signs,
		Free: a.files.Free, BackupFolder: c.BackupFolder, InBucket: c.BlobsInS3,
		Clock: domain.SystemClock.Now, Version: readVersion().Version,
	})
	if c.RedisURL != "" {
		hide := func(bucket string) string { return a.ring.Token("rate limit " + bucket) }
		if a.redis, err = ratelimit.Dial(c.RedisURL, hide, a.metrics, logger); err != nil {
			return nil, err
		}
	}
	inserter, err := jobs.NewInserter(a.db, logger)
	if err != nil {
		return nil, err
	}
	testLimiter, err := a.redis.Limiter("test event", webhooks.TestEventLimit)
	if err != nil {
		return nil, err
	}
	if c.Stripe.SecretKey != "" {
		a.stripe = stripe.New(stripe.Config{
			SecretKey: c.Stripe.SecretKey, WebhookSecret: c.Stripe.WebhookSecret, APIURL: c.Stripe.APIURL,
			Customers: billing.StoredCustomers{DB: a.db},
		})
	}
	policy := targets(c)
	a.made = service.Config{
		DB: a.db, Outbox: outbox.New(inserter, a.metrics), Ring: a.ring, Blobs: a.blobs, Policy: policy, BaseURL: c.PublicURL(),
		Clock: domain.SystemClock, Logger: logger, Terms: c.Terms, Cards: a.stripe, Observer: a.metrics,
		TestClient: webhook.NewClient(policy), TestLimiter: testLimiter,
	}
	a.services = service.New(a.made)
	return a, nil
}

// openDatabase connects to the configured server, or starts the private one.
func (a *app) openDatabase(ctx context.Context, command string, c config.Config) (err error) {
	a.dsn, a.direct = c.DatabaseURL, c.DirectURL
	if a.dsn == "" {
		if a.postgres, a.dsn, err = startPostgres(ctx, filepath.Join(c.DataDir, "postgres")); err != nil {
			return err
		}
	}
	name := "candor-" + command + "/" + readVersion().Version
	a.dsn = postgres.Named(a.dsn, name)
	if a.direct != "" {
		a.direct = postgres.Named(a.direct, name)
	}
	a.db, err = db.Open(ctx, a.dsn, db.Options{MaxOpenConns: c.DBConnections, DirectURL: a.direct})
	if err != nil {
		return fmt.Errorf("%w: check that the server runs and that DATABASE_URL is right (with ?sslmode=disable if it has no TLS)", err)
	}
	a.ready, err = openReadiness(ctx, a)
	return err
}

// checkPooler refuses a pooler in transaction mode where Candor doesn't expect one:
// results would reach the wrong requests, and LISTEN would hear nothing (D72).
func (a *app) checkPooler(ctx context.Context) error {
	if a.direct == "" {
		return refuseSharing(ctx, a.dsn, "DATABASE_URL",
			"set CANDOR_DATABASE_DIRECT_URL to PostgreSQL itself, beside it, or use pool_mode=session")
	}
	if err := refuseSharing(ctx, a.direct, "CANDOR_DATABASE_DIRECT_URL", "set it to PostgreSQL itself"); err != nil {
		return err
	}
	same, err := postgres.SameDatabase(ctx, a.dsn, a.direct)
	if err == nil && !same {
		return errors.New("CANDOR_DATABASE_DIRECT_URL leads to another database than DATABASE_URL: set both to the same one")
	}
	return err
}

func refuseSharing(ctx context.Context, dsn, variable, remedy string) error {
	shared, err := postgres.SharesConnections(ctx, dsn)
	if err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	if shared {
		return fmt.Errorf("%s leads to a pooler that shares a connection between clients (pool_mode=transaction): %s", variable, remedy)
	}
	return nil
}

// openBlobs chooses where documents go. With a bucket there are two places: what is
// in the other one is read from there until candor blobs move has moved it (D71).
func (a *app) openBlobs(ctx context.Context, c config.Config, logger *slog.Logger) error {
	files, err := blob.NewFiles(filepath.Join(c.DataDir, "documents"))
	a.files = files
	if err != nil || c.S3.Bucket == "" {
		a.blobs = files
		return err
	}
	bucket, err := blob.NewS3(c.S3, filepath.Join(c.DataDir, "uploads"))
	if err != nil {
		return err
	}
	switch err := bucket.Check(ctx); {
	case errors.Is(err, blob.ErrRefused):
		return fmt.Errorf("CANDOR_S3_BUCKET: %w", err)
	case err != nil:
		logger.WarnContext(ctx, "the bucket of documents can't be reached", "error", err)
	}
	a.moving = &blob.Moving{To: files, From: bucket}
	if c.BlobsInS3 {
		a.moving = &blob.Moving{To: bucket, From: files}
	}
	a.blobs = a.moving
	return nil
}

// openMail chooses where emails go: to the mail server, or in development to a
// folder.
func (a *app) openMail(c config.Config, logger *slog.Logger) (err error) {
	switch {
	case c.SMTPURL != "":
		a.mail, err = mail.NewSMTP(c.SMTPURL, c.MailFrom)
	case c.Development:
		a.devMail, err = mail.NewFolder(filepath.Join(c.DataDir, "mail"), logger)
		a.mail = a.devMail
	default:
		a.mail = mail.Nowhere{}
	}
	return err
}

// close closes what is open, also if openApp failed.
func (a *app) close() {
	if a.made.TestClient != nil {
		a.made.TestClient.Close()
	}
	if a.redis != nil {
		_ = a.redis.Close() // nothing is written that could be lost
	}
	if a.ready != nil {
		_ = a.ready.db.Close() // it only reads
	}
	if a.db != nil {
		_ = a.db.Close() // every transaction has ended
	}
	if a.postgres != nil {
		a.postgres.stop()
	}
}
