package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"candor/internal/billing"
	"candor/internal/platform/keyring"
	"candor/internal/platform/mail"
	"candor/internal/webhook"
)

// Config is everything that can be set. It is read once; parts of it are
// passed on, never the whole.
type Config struct {
	Development     bool
	Remote          bool   // development may be reached from other machines
	Addr            string // host:port to listen on
	MetricsAddr     string // host:port of the operators' metrics; "" for none
	BaseURL         string // without a slash at its end; "" in development: http://localhost and the port
	DatabaseURL     string // "" in development: a private PostgreSQL in DataDir
	MigrateURL      string // the database as the owner of its tables; "" where DatabaseURL's role is that
	DataDir         string
	Keys            *keyring.Keyring // nil in development: generated into DataDir
	TrustedProxies  []netip.Prefix
	Schedule        webhook.Schedule
	RatePerMinute   int
	RateBurst       int
	FormRate        int
	SweepInterval   time.Duration
	RescueAfter     time.Duration
	PDFFont         string
	SMTPURL         string // "": development keeps letters, production can't send them
	MailFrom        string
	Terms           billing.Terms
	Stripe          stripeConfig
	DBConnections   int
	MaxConnections  int
	ShutdownTimeout time.Duration
	LogLevel        slog.Level

	port    string // PORT, where CANDOR_ADDR isn't set
	dueDays *int   // CANDOR_INVOICE_DUE_DAYS; nil for what suits the way of payment
}

// variable is one line of the configuration: a name, what it says, and how its
// text becomes a field. The text is never empty: without a value and a fallback
// the field keeps its zero value.
type variable struct {
	name     string
	fallback string
	summary  string
	set      func(text string) error
}

// variables are read in this order, CANDOR_ENV first. README.md shows the
// same table.
func (c *Config) variables() []variable {
	return []variable{
		{"CANDOR_ENV", "development", "development or production", c.setEnv},
		{"CANDOR_ADDR", "", "host:port to listen on; localhost:8080, :8080 in production", setText(&c.Addr)},
		{"PORT", "", "the port alone, where CANDOR_ADDR isn't set", setText(&c.port)},
		{"CANDOR_DEVELOPMENT_REMOTE", "", "1 lets development listen on addresses that other machines reach", c.setRemote},
		{"CANDOR_METRICS_ADDR", "", "host:port for Prometheus' scrapes, for operators alone; none without it", setText(&c.MetricsAddr)},
		{"CANDOR_BASE_URL", "", "address under which customers and partners reach the service; https in production", c.setBaseURL},
		{"DATABASE_URL", "", "PostgreSQL; in development a private one without it", setText(&c.DatabaseURL)},
		{"CANDOR_MIGRATE_URL", "", "the same database as the owner of its tables, for candor migrate; DATABASE_URL's role then gets what the service needs alone", setText(&c.MigrateURL)},
		{"CANDOR_DATA_DIR", ".data", "folder of uploaded documents, and of the private PostgreSQL", setText(&c.DataDir)},
		{"CANDOR_SECRET_KEYS", "", "NAME:BASE64,… newest first: keys for links, cookies and secrets at rest", c.setKeys},
		{"CANDOR_TRUSTED_PROXIES", "", "addresses or networks, by commas, whose X-Forwarded-For is believed", c.setProxies},
		{"CANDOR_WEBHOOK_SCHEDULE", "0s,1m,5m,30m,2h,8h,24h", "delays before the attempts of a webhook delivery", c.setSchedule},
		{"CANDOR_RATE_PER_MINUTE", "100", "requests a minute of an account and mode", setCount(&c.RatePerMinute)},
		{"CANDOR_RATE_BURST", "200", "requests at once", setCount(&c.RateBurst)},
		{"CANDOR_FORM_RATE_PER_MINUTE", "600", "posts a minute to forms from one network; twice as many at once", setCount(&c.FormRate)},
		{"CANDOR_SWEEP_INTERVAL", "10s", "time between two sweeps for expired sessions and lost jobs", setDuration(&c.SweepInterval)},
		{"CANDOR_RESCUE_AFTER", "2m", "age at which a job whose process is gone starts again", setDuration(&c.RescueAfter)},
		{"CANDOR_PDF_FONT", "", "TrueType file for characters that DejaVu lacks, such as Chinese", setText(&c.PDFFont)},
		{"CANDOR_SMTP_URL", "", "mail server for letters to staff: smtp://user:password@host:587 or smtps://…:465", setText(&c.SMTPURL)},
		{"CANDOR_MAIL_FROM", "", "sender of these letters, such as Candor <no-reply@example.com>", setText(&c.MailFrom)},
		{"CANDOR_GST_PERCENT", "10", "GST that invoices include, 0 for none; two decimals at most", c.setGST},
		{"CANDOR_INVOICE_DUE_DAYS", "", "days from an invoice to its first payment; 14, 0 with Stripe", c.setDueDays},
		{"CANDOR_SELLER_NAME", "", "who sends the invoices, as on a letterhead", setText(&c.Terms.Seller.Name)},
		{"CANDOR_SELLER_ABN", "", "the seller's Australian Business Number", c.setABN},
		{"CANDOR_SELLER_ADDRESS", "", "the seller's address, its lines by semicolons", setLines(&c.Terms.Seller.Address)},
		{"CANDOR_BANK_DETAILS", "", "how invoices are paid by bank transfer, lines by semicolons", setLines(&c.Terms.Seller.Transfer)},
		{"CANDOR_STRIPE_SECRET_KEY", "", "Stripe collects invoices by card: its secret key", setText(&c.Stripe.secretKey)},
		{"CANDOR_STRIPE_WEBHOOK_SECRET", "", "signing secret of Stripe's webhooks to /billing/stripe", setText(&c.Stripe.webhookSecret)},
		{"CANDOR_STRIPE_API_URL", "", "another address than Stripe's, such as stripe-mock's; in development alone", setText(&c.Stripe.apiURL)},
		{"CANDOR_DB_CONNECTIONS", "20", "size of the connection pool", setCount(&c.DBConnections)},
		{"CANDOR_MAX_CONNECTIONS", "4096", "connections of clients at once; without trusted proxies half of them from one network", setCount(&c.MaxConnections)},
		{"CANDOR_SHUTDOWN_TIMEOUT", "30s", "time for requests and jobs to finish after SIGTERM", setDuration(&c.ShutdownTimeout)},
		{"CANDOR_LOG_LEVEL", "", "debug, info, warn or error; warn, info in production", c.setLogLevel},
	}
}

// readConfig reads the environment. Its error names everything that is
// missing or wrong, each with the remedy.
func readConfig(env func(string) (string, bool)) (Config, error) {
	var c Config
	var problems []string
	for _, v := range c.variables() {
		text, _ := env(v.name)
		text = strings.TrimSpace(text)
		if text == "" {
			text = v.fallback
		}
		if text == "" {
			continue
		}
		if err := v.set(text); err != nil {
			problems = append(problems, v.name+" "+err.Error())
		}
	}
	problems = append(problems, c.settle(func(name string) bool { return hasProblem(problems, name) })...)
	switch len(problems) {
	case 0:
		return c, nil
	case 1:
		return Config{}, errors.New(problems[0])
	}
	return Config{}, fmt.Errorf("the configuration has %d problems:\n  %s", len(problems), strings.Join(problems, "\n  "))
}

func hasProblem(problems []string, name string) bool {
	for _, p := range problems {
		if strings.HasPrefix(p, name+" ") {
			return true
		}
	}
	return false
}

// settle fills in what follows from other variables, and returns what is
// missing.
func (c *Config) settle(known func(name string) bool) []string {
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
	var missing []string
	if c.SMTPURL != "" {
		if _, err := mail.NewSMTP(c.SMTPURL, c.MailFrom); err != nil {
			missing = append(missing, "CANDOR_SMTP_URL "+err.Error())
		}
	}
	missing = append(missing, c.settleBilling()...)
	missing = append(missing, c.refuseRemote()...)
	if c.Development || known("CANDOR_ENV") {
		return missing
	}
	if c.BaseURL == "" && !known("CANDOR_BASE_URL") {
		missing = append(missing, "CANDOR_BASE_URL is missing: set it to the address customers open, such as https://forms.example.com")
	}
	if c.BaseURL != "" && !strings.HasPrefix(c.BaseURL, "https://") {
		missing = append(missing, "CANDOR_BASE_URL must begin with https:// in production")
	}
	if c.DatabaseURL == "" {
		missing = append(missing, "DATABASE_URL is missing: set it to a PostgreSQL, such as postgres://user:password@host:5432/candor")
	}
	if c.Keys == nil && !known("CANDOR_SECRET_KEYS") {
		missing = append(missing, "CANDOR_SECRET_KEYS is missing: set it to NAME:BASE64, such as k1:$(openssl rand -base64 32), and keep it for good")
	}
	return missing
}

// refuseRemote keeps development, whose demo account has a printed password and
// whose cookies go without TLS, on this machine unless it is asked for.
func (c *Config) refuseRemote() (problems []string) {
	if !c.Development || c.Remote {
		return nil
	}
	for _, v := range []struct{ name, addr string }{{"CANDOR_ADDR", c.Addr}, {"CANDOR_METRICS_ADDR", c.MetricsAddr}} {
		host, port, err := net.SplitHostPort(v.addr)
		if ip := net.ParseIP(host); err == nil && host != "localhost" && !ip.IsLoopback() {
			problems = append(problems, fmt.Sprintf(
				"%s is %s, which other machines can reach, and development has no protection from them: set it to localhost:%s, or set CANDOR_DEVELOPMENT_REMOTE=1 if you trust this network", v.name, v.addr, port))
		}
	}
	return problems
}

func setText(to *string) func(string) error {
	return func(text string) error {
		*to = text
		return nil
	}
}

func setCount(to *int) func(string) error {
	return func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return errors.New("must be a whole number from 1")
		}
		*to = n
		return nil
	}
}

func setDuration(to *time.Duration) func(string) error {
	return func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return errors.New("must be a time span above zero, such as 30s or 2m")
		}
		*to = d
		return nil
	}
}

func (c *Config) setEnv(text string) error {
	if text != "development" && text != "production" {
		return errors.New("must be development or production")
	}
	c.Development = text == "development"
	if c.Development {
		c.LogLevel = slog.LevelWarn
	}
	return nil
}

func (c *Config) setRemote(text string) error {
	if text != "0" && text != "1" {
		return errors.New("must be 0 or 1")
	}
	c.Remote = text == "1"
	return nil
}

func (c *Config) setBaseURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return errors.New("must be an address without a path, such as https://forms.example.com")
	}
	// "127.1" and "0x7f000001" are IP addresses to a browser: it refuses each
	// name whose last label is a number.
	labels := strings.Split(strings.TrimSuffix(u.Hostname(), "."), ".")
	last := labels[len(labels)-1]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || strings.Contains(u.Hostname(), ":") {
		return errors.New("must name a domain such as forms.example.com, or localhost in development, not an IP address: passkeys don't work on IP addresses")
	}
	c.BaseURL = u.Scheme + "://" + u.Host
	return nil
}

func (c *Config) setKeys(text string) (err error) {
	c.Keys, err = keyring.Parse(text)
	if err != nil {
		return fmt.Errorf("can't be read: %w", err)
	}
	return nil
}

func (c *Config) setProxies(text string) error {
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			addr, addrErr := netip.ParseAddr(item)
			if addrErr != nil {
				return fmt.Errorf("has %q, which must be an address or a network such as 10.0.0.0/8", item)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		c.TrustedProxies = append(c.TrustedProxies, prefix)
	}
	return nil
}

func (c *Config) setSchedule(text string) (err error) {
	c.Schedule, err = webhook.ParseSchedule(text)
	if err != nil {
		return fmt.Errorf("can't be read: %w", err)
	}
	return nil
}

func (c *Config) setLogLevel(text string) error {
	if err := c.LogLevel.UnmarshalText([]byte(text)); err != nil {
		return errors.New("must be debug, info, warn or error")
	}
	return nil
}

// LogValue shows the configuration without its secrets.
func (c Config) LogValue() slog.Value {
	database := "private"
	if c.DatabaseURL != "" {
		database = "given"
		if u, err := url.Parse(c.DatabaseURL); err == nil && u.Host != "" {
			database = u.Host + u.Path
		}
	}
	keys := "generated"
	if c.Keys != nil {
		keys = c.Keys.String()
	}
	mailServer := "none"
	if u, err := url.Parse(c.SMTPURL); err == nil && u.Host != "" {
		mailServer = u.Host
	}
	return slog.GroupValue(
		slog.Bool("development", c.Development), slog.Bool("remote", c.Remote), slog.String("addr", c.Addr), slog.String("metrics_addr", c.MetricsAddr), slog.String("base_url", c.BaseURL),
		slog.String("database", database), slog.String("data_dir", c.DataDir), slog.String("secret_keys", keys),
		slog.Any("trusted_proxies", c.TrustedProxies), slog.String("webhook_schedule", c.Schedule.String()),
		slog.Int("rate_per_minute", c.RatePerMinute), slog.Int("rate_burst", c.RateBurst),
		slog.Duration("sweep_interval", c.SweepInterval), slog.Duration("rescue_after", c.RescueAfter),
		slog.Int("gst_basis_points", c.Terms.GSTBasisPoints), slog.Int("invoice_due_days", c.Terms.DueDays), slog.String("payments", c.payments()),
		slog.String("pdf_font", c.PDFFont), slog.String("mail_server", mailServer), slog.String("mail_from", c.MailFrom), slog.Int("db_connections", c.DBConnections), slog.Int("max_connections", c.MaxConnections),
		slog.Duration("shutdown_timeout", c.ShutdownTimeout), slog.String("log_level", c.LogLevel.String()),
	)
}

// openDataDir makes the data folder and checks that it can be written.
func openDataDir(dir string) error {
	unusable := func(err error) error {
		return fmt.Errorf("can't write in the data folder: %w: make it writable, or set CANDOR_DATA_DIR to another folder", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return unusable(err)
	}
	probe, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return unusable(err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return unusable(err)
	}
	return nil
}
