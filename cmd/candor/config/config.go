// Package config reads the service's configuration from environment variables.
package config

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"candor/internal/billing"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/platform/mail"
	"candor/internal/webhook"
)

// Config is everything that can be configured. It is read once; cmd passes parts
// of it on, never the whole.
type Config struct {
	Development     bool
	Remote          bool   // other machines may reach development
	Addr            string // host:port to listen on
	MetricsAddr     string // host:port of the operators' metrics; "" for none
	BaseURL         string // without a slash at its end; "" in development: see PublicURL
	DatabaseURL     string // "" in development: a private PostgreSQL in DataDir
	DirectURL       string // PostgreSQL itself if DatabaseURL is a pooler in transaction mode; "" else
	MigrateURL      string // the database as the owner of its tables; "" if DatabaseURL's role owns them
	DataDir         string
	BackupFolder    string           // of scripts/backup.sh, or ""
	BlobsInS3       bool             // new documents go to S3, else to DataDir
	S3              blob.S3Config    // without a bucket it isn't used
	Keys            *keyring.Keyring // nil in development: generated into DataDir
	TrustedProxies  []netip.Prefix
	Schedule        webhook.Schedule
	RatePerMinute   int
	RateBurst       int
	FormRate        int
	StaffRate       int
	RedisURL        string // "": each process counts requests by itself
	SweepInterval   time.Duration
	RescueAfter     time.Duration
	PDFFont         string
	PDFCert         string // PEM file of who signs PDFs; "" with PDFKey: they aren't signed
	PDFKey          string // PEM file of its key
	SMTPURL         string // "": development stores emails in DataDir, production can't send them
	MailFrom        string
	SecurityContact string // where vulnerabilities are reported, a URI; "" if security.txt isn't served
	Terms           billing.Terms
	Stripe          Stripe
	DBConnections   int
	DBTimeout       time.Duration // that a request waits for the database
	MaxConnections  int
	ShutdownDelay   time.Duration // between SIGTERM and the end of a web process's address
	ShutdownTimeout time.Duration
	LogLevel        slog.Level
	Traces          Traces

	port    string         // PORT, used without CANDOR_ADDR
	delay   *time.Duration // CANDOR_SHUTDOWN_DELAY; nil for its default
	dueDays *int           // CANDOR_INVOICE_DUE_DAYS; nil for the default of the payment method
}

// A Variable is one environment variable.
type Variable struct {
	Name    string
	Default string
	Summary string
	set     func(text string) error // not called with an empty text
}

// Variables lists the environment variables in the order in which they are read,
// CANDOR_ENV first. README.md has the same table.
func (c *Config) Variables() []Variable {
	return []Variable{
		{"CANDOR_ENV", "development", "development or production", c.setEnv},
		{"CANDOR_ADDR", "", "host:port to listen on; localhost:8080, :8080 in production", setText(&c.Addr)},
		{"PORT", "", "port to listen on, if CANDOR_ADDR isn't set", setText(&c.port)},
		{"CANDOR_DEVELOPMENT_REMOTE", "", "1 lets development listen on addresses that other machines can reach", c.setRemote},
		{"CANDOR_METRICS_ADDR", "", "host:port for Prometheus, for operators only; not served by default", setText(&c.MetricsAddr)},
		{"CANDOR_BASE_URL", "", "address at which customers and partners reach the service; https in production", c.setBaseURL},
		{"DATABASE_URL", "", "PostgreSQL, with several hosts for failover; in development a private one by default",
			setDatabase(&c.DatabaseURL)},
		{"CANDOR_DATABASE_DIRECT_URL", "",
			"PostgreSQL itself, if DATABASE_URL is a pooler in transaction mode such as PgBouncer: for LISTEN and migrations",
			setDatabase(&c.DirectURL)},
		{"CANDOR_MIGRATE_URL", "",
			"the same database as the owner of its tables, for candor migrate, which then grants DATABASE_URL's role only what the service needs", setDatabase(&c.MigrateURL)},
		{"CANDOR_DATA_DIR", ".data", "folder of uploaded documents, and of the private PostgreSQL", setText(&c.DataDir)},
		{"CANDOR_BACKUP_FOLDER", "", "backup.sh's folder, if this machine has it: how old backups are becomes a metric", setText(&c.BackupFolder)},
		{"CANDOR_BLOBS", "folder", "where new documents go: folder, in CANDOR_DATA_DIR, or s3", c.setBlobs},
		{"CANDOR_S3_ENDPOINT", "", "S3 service for documents, such as https://s3.ap-southeast-2.amazonaws.com", c.setS3Endpoint},
		{"CANDOR_S3_BUCKET", "", "bucket for documents", setText(&c.S3.Bucket)},
		{"CANDOR_S3_REGION", "us-east-1", "the bucket's region", setText(&c.S3.Region)},
		{"CANDOR_S3_ACCESS_KEY", "", "access key of the bucket", setText(&c.S3.AccessKey)},
		{"CANDOR_S3_SECRET_KEY", "", "secret key of the bucket", setText(&c.S3.SecretKey)},
		{"CANDOR_SECRET_KEYS", "", "NAME:BASE64,… newest first: keys for links, cookies and secrets at rest", c.setKeys},
		{"CANDOR_TRUSTED_PROXIES", "", "addresses or networks, separated by commas, whose X-Forwarded-For is trusted", c.setProxies},
		{"CANDOR_WEBHOOK_SCHEDULE", "0s,1m,5m,30m,2h,8h,24h", "delays before the attempts of a webhook delivery", c.setSchedule},
		{"CANDOR_RATE_PER_MINUTE", "100", "requests a minute for each account and mode", setCount(&c.RatePerMinute)},
		{"CANDOR_RATE_BURST", "200", "requests at once", setCount(&c.RateBurst)},
		{"CANDOR_FORM_RATE_PER_MINUTE", "600",
			"posts a minute to forms from one network; its browsers that have opened their form have a limit of their own, ten times as high; either allows twice this number at once", setCount(&c.FormRate)},
		{"CANDOR_STAFF_RATE_PER_MINUTE", "1200",
			"requests a minute to the dashboard by one person, half as many at once; three times as many for an account",
			setCount(&c.StaffRate)},
		{"CANDOR_REDIS_URL", "",
			"Redis or Valkey in which processes share their rate limits: redis://user:password@host:6379, rediss://… with TLS",
			c.setRedisURL},
		{"CANDOR_SWEEP_INTERVAL", "10s", "time between sweeps for expired sessions and lost jobs", setDuration(&c.SweepInterval)},
		{"CANDOR_RESCUE_AFTER", "2m",
			"age at which a claimed webhook, or a job that no other worker has taken up before, is started again after its process has died", setDuration(&c.RescueAfter)},
		{"CANDOR_PDF_FONT", "", "TrueType file for characters that the program's typefaces lack", setText(&c.PDFFont)},
		{"CANDOR_PDF_CERT", "",
			"PEM file of the certificate that signs statements as PDF, and of those that issued it; without it they aren't signed",
			setText(&c.PDFCert)},
		{"CANDOR_PDF_KEY", "", "PEM file of that certificate's private key, without a passphrase; only workers read it",
			setText(&c.PDFKey)},
		{"CANDOR_SMTP_URL", "", "mail server for emails to staff: smtp://user:password@host:587 or smtps://…:465", setText(&c.SMTPURL)},
		{"CANDOR_MAIL_FROM", "", "sender of these emails, such as Candor <no-reply@example.com>", setText(&c.MailFrom)},
		{"CANDOR_SECURITY_CONTACT", "", "where vulnerabilities are reported: mailto:security@example.com or https://…",
			c.setSecurityContact},
		{"CANDOR_GST_PERCENT", "10", "GST included in invoices, at most two decimals; 0 for none", c.setGST},
		{"CANDOR_INVOICE_DUE_DAYS", "", "days from an invoice to its first payment; 14, 0 with Stripe", c.setDueDays},
		{"CANDOR_SELLER_NAME", "", "the seller's name on invoices", setText(&c.Terms.Seller.Name)},
		{"CANDOR_SELLER_ABN", "", "the seller's Australian Business Number", c.setABN},
		{"CANDOR_SELLER_ADDRESS", "", "the seller's address, lines separated by semicolons", setLines(&c.Terms.Seller.Address)},
		{"CANDOR_BANK_DETAILS", "", "how to pay an invoice by bank transfer, lines separated by semicolons",
			setLines(&c.Terms.Seller.Transfer)},
		{"CANDOR_STRIPE_SECRET_KEY", "", "Stripe's secret key, to collect invoices by card", setText(&c.Stripe.SecretKey)},
		{"CANDOR_STRIPE_WEBHOOK_SECRET", "", "signing secret of Stripe's webhooks to /billing/stripe",
			setText(&c.Stripe.WebhookSecret)},
		{"CANDOR_STRIPE_API_URL", "", "address of a mock of Stripe, such as stripe-mock; development only", setText(&c.Stripe.APIURL)},
		{"CANDOR_DB_CONNECTIONS", "20", "size of the connection pool", setCount(&c.DBConnections)},
		{"CANDOR_DB_TIMEOUT", "10s", "how long a request waits for the database in all", setDuration(&c.DBTimeout)},
		{"CANDOR_MAX_CONNECTIONS", "4096", "open client connections; without trusted proxies at most half of them from one network",
			setCount(&c.MaxConnections)},
		{"CANDOR_SHUTDOWN_DELAY", "",
			"time after SIGTERM in which a web process still serves, with 503 at /readyz, so that load balancers leave it; 5s, 0s in development", c.setShutdownDelay},
		{"CANDOR_SHUTDOWN_TIMEOUT", "30s", "time for requests and jobs to finish after SIGTERM", setDuration(&c.ShutdownTimeout)},
		{"CANDOR_LOG_LEVEL", "", "debug, info, warn or error; warn, info in production", c.setLogLevel},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "",
			"address of an OTLP receiver for HTTP, such as http://localhost:4318, to export traces; none by default", c.setTraceEndpoint},
		{"OTEL_EXPORTER_OTLP_HEADERS", "", "NAME=VALUE,… headers for that receiver", c.setTraceHeaders},
		{"OTEL_TRACES_SAMPLER_ARG", "1", "part of the traces that is recorded, 0 to 1", c.setTraceRatio},
		{"OTEL_SERVICE_NAME", "candor", "the service's name in traces", setText(&c.Traces.Service)},
	}
}

// Errors are what is wrong with the settings: a sentence each, which starts with the
// name of its variable and has the remedy.
type Errors []string

// Error lists them.
func (e Errors) Error() string {
	if len(e) == 1 {
		return e[0]
	}
	return fmt.Sprintf("the configuration has %d errors:\n  %s", len(e), strings.Join(e, "\n  "))
}

// Read reads the environment. Its error is Errors and names every variable that is
// missing or invalid; the Config then has the valid ones.
func Read(env func(name string) (string, bool)) (Config, error) {
	var c Config
	var errs Errors
	for _, v := range c.Variables() {
		text, err := v.read(env)
		if err != nil {
			errs = append(errs, err.Error())
			continue
		}
		if text == "" {
			text = v.Default
		}
		if text == "" {
			continue
		}
		if err := v.set(text); err != nil {
			errs = append(errs, v.Name+" "+err.Error())
		}
	}
	errs = append(errs, c.settle(func(name string) bool {
		return slices.ContainsFunc(errs, func(e string) bool { return strings.HasPrefix(e, name+" ") })
	})...)
	if len(errs) == 0 {
		return c, nil
	}
	return c, errs
}

// settle sets what depends on several variables, and returns their errors.
// invalid reports whether a variable has an error already.
func (c *Config) settle(invalid func(name string) bool) (errs []string) {
	host := ""
	if c.Development {
		host = "localhost"
	}
	if c.Addr == "" {
		c.Addr = host + ":" + "8080"
		if c.port != "" {
			c.Addr = host + ":" + c.port
		}
	}
	if c.SMTPURL != "" {
		if _, err := mail.NewSMTP(c.SMTPURL, c.MailFrom); err != nil {
			errs = append(errs, "CANDOR_SMTP_URL "+err.Error())
		}
	}
	if c.DirectURL != "" && c.DatabaseURL == "" && !invalid("DATABASE_URL") {
		errs = append(errs, "CANDOR_DATABASE_DIRECT_URL is set without DATABASE_URL: set DATABASE_URL to the pooler, or unset this")
	}
	if c.PDFCert != "" && c.PDFKey == "" {
		errs = append(errs, "CANDOR_PDF_CERT is set without CANDOR_PDF_KEY: set both to sign PDFs, or neither")
	}
	if c.PDFKey != "" && c.PDFCert == "" {
		errs = append(errs, "CANDOR_PDF_KEY is set without CANDOR_PDF_CERT: set both to sign PDFs, or neither")
	}
	errs = append(errs, c.settleBilling()...)
	errs = append(errs, c.settleBlobs(invalid)...)
	errs = append(errs, c.checkRemote()...)
	if !c.Development {
		c.ShutdownDelay = shutdownDelay
	}
	if c.delay != nil {
		c.ShutdownDelay = *c.delay
	}
	if c.Development || invalid("CANDOR_ENV") {
		return errs
	}
	if c.BaseURL == "" && !invalid("CANDOR_BASE_URL") {
		errs = append(errs, "CANDOR_BASE_URL is missing: set it to the address customers open, such as https://forms.example.com")
	}
	if c.BaseURL != "" && !strings.HasPrefix(c.BaseURL, "https://") {
		errs = append(errs, "CANDOR_BASE_URL must begin with https:// in production")
	}
	if c.DatabaseURL == "" && !invalid("DATABASE_URL") {
		errs = append(errs, "DATABASE_URL is missing: set it to a PostgreSQL, such as postgres://user:password@host:5432/candor")
	}
	if c.Keys == nil && !invalid("CANDOR_SECRET_KEYS") {
		errs = append(errs,
			"CANDOR_SECRET_KEYS is missing: set it to NAME:BASE64, such as k1:$(openssl rand -base64 32), and keep it for good")
	}
	return errs
}

// checkRemote refuses an address in development that other machines can reach,
// unless CANDOR_DEVELOPMENT_REMOTE allows it: the demo account's password is
// printed and cookies are sent without TLS.
func (c *Config) checkRemote() (errs []string) {
	if !c.Development || c.Remote {
		return nil
	}
	for _, v := range []struct{ name, addr string }{{"CANDOR_ADDR", c.Addr}, {"CANDOR_METRICS_ADDR", c.MetricsAddr}} {
		host, port, err := net.SplitHostPort(v.addr)
		ip := net.ParseIP(host)
		if err == nil && host != "localhost" && !ip.IsLoopback() {
			errs = append(errs, fmt.Sprintf(
				"%s is %s, which other machines can reach, and development is not protected from them: set it to localhost:%s, or set CANDOR_DEVELOPMENT_REMOTE=1 if you trust this network", v.name, v.addr, port))
		}
	}
	return errs
}

// LogValue shows the configuration without its secrets.
func (c Config) LogValue() slog.Value {
	database := "private"
	if c.DatabaseURL != "" {
		database = "given"
		if u, err := url.Parse(c.DatabaseURL); err == nil && u.Scheme != "" {
			database = cmp.Or(u.Host, u.Query().Get("host")) + u.Path
		}
	}
	keys := "generated"
	if c.Keys != nil {
		keys = c.Keys.String()
	}
	redis := "none"
	if u, err := url.Parse(c.RedisURL); err == nil && c.RedisURL != "" {
		redis = u.Scheme + "://" + u.Host
	}
	mailServer := "none"
	if u, err := url.Parse(c.SMTPURL); err == nil && u.Host != "" {
		mailServer = u.Host
	}
	return slog.GroupValue(
		slog.Bool("development", c.Development), slog.Bool("remote", c.Remote), slog.String("addr", c.Addr),
		slog.String("metrics_addr", c.MetricsAddr), slog.String("base_url", c.BaseURL),
		slog.String("database", database), slog.String("data_dir", c.DataDir),
		slog.String("backup_folder", c.BackupFolder), slog.Bool("blobs_in_s3", c.BlobsInS3),
		slog.Any("s3", c.S3), slog.String("secret_keys", keys),
		slog.Any("trusted_proxies", c.TrustedProxies), slog.String("webhook_schedule", c.Schedule.String()),
		slog.Int("rate_per_minute", c.RatePerMinute), slog.Int("rate_burst", c.RateBurst), slog.String("redis", redis),
		slog.Duration("sweep_interval", c.SweepInterval), slog.Duration("rescue_after", c.RescueAfter),
		slog.Int("gst_basis_points", c.Terms.GSTBasisPoints), slog.Int("invoice_due_days", c.Terms.DueDays),
		slog.String("payments", c.paymentMethod()),
		slog.String("pdf_font", c.PDFFont), slog.String("pdf_cert", c.PDFCert), slog.String("mail_server", mailServer),
		slog.String("mail_from", c.MailFrom),
		slog.String("security_contact", c.SecurityContact),
		slog.Int("db_connections", c.DBConnections), slog.Duration("db_timeout", c.DBTimeout),
		slog.Int("max_connections", c.MaxConnections),
		slog.Duration("shutdown_delay", c.ShutdownDelay), slog.Duration("shutdown_timeout", c.ShutdownTimeout),
		slog.String("log_level", c.LogLevel.String()), slog.Any("traces", c.Traces),
	)
}

// PublicURL is BaseURL. In development it defaults to the address to listen on,
// with localhost for a loopback address: passkeys don't work on IP addresses.
func (c *Config) PublicURL() string {
	if c.BaseURL != "" {
		return c.BaseURL
	}
	host, port, err := net.SplitHostPort(c.Addr)
	if ip := net.ParseIP(host); err != nil || host == "" || ip.IsUnspecified() || ip.IsLoopback() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}
