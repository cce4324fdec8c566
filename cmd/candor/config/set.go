package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"candor/internal/domain"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/platform/postgres"
	"candor/internal/platform/ratelimit"
	"candor/internal/webhook"
)

func setText(to *string) func(string) error {
	return func(text string) error {
		*to = text
		return nil
	}
}

// setDatabase reads a connection string of PostgreSQL.
func setDatabase(to *string) func(string) error {
	return func(text string) (err error) {
		*to, err = postgres.Address(text)
		return err
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
			return errors.New("must be a duration above zero, such as 30s or 2m")
		}
		*to = d
		return nil
	}
}

// shutdownDelay is the default of CANDOR_SHUTDOWN_DELAY in production: longer than
// load balancers take to notice a 503 at /readyz.
const shutdownDelay = 5 * time.Second

func (c *Config) setShutdownDelay(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("must be a duration, such as 5s, or 0s")
	}
	c.delay = &d
	return nil
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
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return errors.New("must be an address without a path, such as https://forms.example.com")
	}
	// Browsers take "127.1" and "0x7f000001" for IP addresses, and refuse every
	// name whose last label is a number.
	labels := strings.Split(strings.TrimSuffix(u.Hostname(), "."), ".")
	last := labels[len(labels)-1]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || strings.Contains(u.Hostname(), ":") {
		return errors.New(
			"must name a domain such as forms.example.com, or localhost in development, not an IP address: passkeys don't work on IP addresses")
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

func (c *Config) setRedisURL(text string) error {
	c.RedisURL = text
	return ratelimit.CheckURL(text)
}

func (c *Config) setSecurityContact(text string) error {
	u, err := url.Parse(text)
	if err != nil || strings.ContainsAny(text, " \r\n") ||
		(u.Scheme != "https" || u.Host == "") && (u.Scheme != "mailto" || !strings.Contains(u.Opaque, "@")) {
		return errors.New("must be mailto: and an address, or an address that begins with https://")
	}
	c.SecurityContact = text
	return nil
}

func (c *Config) setLogLevel(text string) error {
	if err := c.LogLevel.UnmarshalText([]byte(text)); err != nil {
		return errors.New("must be debug, info, warn or error")
	}
	return nil
}

// setGST reads a percentage with at most two decimals.
func (c *Config) setGST(text string) error {
	invalid := errors.New("must be a percentage from 0 to 100 with at most two decimals, such as 10 or 12.5")
	whole, fraction, dotted := strings.Cut(text, ".")
	if len(whole) > 3 || len(fraction) > 2 || dotted && fraction == "" {
		return invalid
	}
	n, err := strconv.ParseUint(whole+(fraction + "00")[:2], 10, 32)
	if err != nil || whole == "" || n > 100_00 {
		return invalid
	}
	c.Terms.GSTBasisPoints = int(n)
	return nil
}

func (c *Config) setDueDays(text string) error {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n > 365 {
		return errors.New("must be a whole number of days from 0 to 365")
	}
	days := int(n)
	c.dueDays = &days
	return nil
}

func (c *Config) setABN(text string) error {
	abn, ok := domain.ParseABN(text)
	if !ok {
		return errors.New("must be an Australian Business Number of 11 digits, such as 51 824 753 556")
	}
	c.Terms.Seller.ABN = abn
	return nil
}

// setLines reads lines separated by semicolons.
func setLines(to *[]string) func(string) error {
	return func(text string) error {
		for line := range strings.SplitSeq(text, ";") {
			*to = append(*to, strings.TrimSpace(line))
		}
		return nil
	}
}

func (c *Config) setBlobs(text string) error {
	if text != "folder" && text != "s3" {
		return errors.New("must be folder or s3")
	}
	c.BlobsInS3 = text == "s3"
	return nil
}

func (c *Config) setS3Endpoint(text string) error {
	c.S3.Endpoint = text
	return blob.CheckEndpoint(text)
}

// settleBlobs returns the errors of a bucket that is named in part.
func (c *Config) settleBlobs(invalid func(name string) bool) (errs []string) {
	variables := []struct{ name, value, what string }{
		{"CANDOR_S3_ENDPOINT", c.S3.Endpoint, "the address of the S3 service, such as https://s3.ap-southeast-2.amazonaws.com"},
		{"CANDOR_S3_BUCKET", c.S3.Bucket, "the name of a bucket, which must exist"},
		{"CANDOR_S3_ACCESS_KEY", c.S3.AccessKey, "an access key that may read, write, delete and list in the bucket"},
		{"CANDOR_S3_SECRET_KEY", c.S3.SecretKey, "the secret of CANDOR_S3_ACCESS_KEY"},
	}
	wanted := c.BlobsInS3
	for _, v := range variables {
		wanted = wanted || v.value != ""
	}
	for _, v := range variables {
		if wanted && v.value == "" && !invalid(v.name) {
			errs = append(errs, v.name+" is missing: set it to "+v.what)
		}
	}
	return errs
}

// Traces is where and how traces are exported, by OpenTelemetry's variables.
type Traces struct {
	Endpoint string // "" for nowhere
	Headers  map[string]string
	Service  string
	Ratio    float64 // of the traces that are recorded
}

// LogValue hides the headers.
func (t Traces) LogValue() slog.Value { return slog.StringValue(t.String()) }

// String hides the headers when a Config is printed.
func (t Traces) String() string {
	if t.Endpoint == "" {
		return "off"
	}
	return t.Endpoint + " " + strconv.FormatFloat(t.Ratio, 'g', -1, 64)
}

func (c *Config) setTraceEndpoint(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return errors.New("must be the address of an OTLP receiver for HTTP, such as http://localhost:4318")
	}
	c.Traces.Endpoint = text
	return nil
}

// setTraceHeaders reads name=value,… with percent-encoded values.
func (c *Config) setTraceHeaders(text string) error {
	c.Traces.Headers = map[string]string{}
	for item := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(item, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil || strings.ContainsAny(name+value, "\r\n") {
			return errors.New("must be NAME=VALUE, separated by commas, with percent-encoded values")
		}
		c.Traces.Headers[name] = value
	}
	return nil
}

func (c *Config) setTraceRatio(text string) (err error) {
	c.Traces.Ratio, err = strconv.ParseFloat(text, 64)
	if err != nil || !(c.Traces.Ratio >= 0 && c.Traces.Ratio <= 1) {
		return errors.New("must be a number from 0 to 1")
	}
	return nil
}
