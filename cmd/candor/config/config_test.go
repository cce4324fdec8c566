package config

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/internal/webhook"
)

func read(t *testing.T, env map[string]string) Config {
	t.Helper()
	c, err := Read(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := read(t, nil)
	if !c.Development || c.Addr != "localhost:8080" || c.PublicURL() != "http://localhost:8080" || c.DataDir != ".data" ||
		c.Schedule.String() != webhook.DefaultSchedule().String() || c.RatePerMinute != 100 || c.RateBurst != 200 ||
		c.SweepInterval != 10*time.Second ||
		c.RescueAfter != 2*time.Minute || c.LogLevel != slog.LevelWarn {
		t.Errorf("the defaults are %+v", c)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env       map[string]string
		addr, url string
	}{
		"PORT": {map[string]string{"PORT": "5000"}, "localhost:5000", "http://localhost:5000"},
		"CANDOR_ADDR": {map[string]string{"PORT": "5000", "CANDOR_ADDR": ":81", "CANDOR_DEVELOPMENT_REMOTE": "1"}, ":81",
			"http://localhost:81"},
		"every interface": {map[string]string{"CANDOR_ADDR": "0.0.0.0:81", "CANDOR_DEVELOPMENT_REMOTE": "1"}, "0.0.0.0:81",
			"http://localhost:81"},
		"loopback":       {map[string]string{"CANDOR_ADDR": "127.0.0.1:81"}, "127.0.0.1:81", "http://localhost:81"},
		"loopback, IPv6": {map[string]string{"CANDOR_ADDR": "[::1]:81"}, "[::1]:81", "http://localhost:81"},
		"a slash too many": {map[string]string{"CANDOR_BASE_URL": "https://forms.example.com/"},
			"localhost:8080", "https://forms.example.com"},
	} {
		c := read(t, tt.env)
		if c.Addr != tt.addr || c.PublicURL() != tt.url {
			t.Errorf("%s: %s and %s, want %s and %s", name, c.Addr, c.PublicURL(), tt.addr, tt.url)
		}
	}
}

// TestDevelopmentStaysOnThisMachine checks that other machines can't reach
// development, unless it is configured.
func TestDevelopmentStaysOnThisMachine(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"CANDOR_ADDR", "CANDOR_METRICS_ADDR"} {
		for addr, refused := range map[string]bool{
			"localhost:81": false, "127.0.0.1:81": false, "127.9.9.9:81": false, "[::1]:81": false,
			":81": true, "0.0.0.0:81": true, "[::]:81": true, "192.168.1.5:81": true, "my-laptop:81": true,
		} {
			env := map[string]string{name: addr}
			lookup := func(name string) (string, bool) { text, ok := env[name]; return text, ok }
			_, err := Read(lookup)
			if !refused && err != nil || refused && (err == nil || !strings.HasPrefix(err.Error(), name+" is "+addr) ||
				!strings.Contains(err.Error(), "localhost:81") || !strings.Contains(err.Error(), "CANDOR_DEVELOPMENT_REMOTE=1")) {
				t.Errorf("%s=%s: %v, want it refused with the remedy: %v", name, addr, err, refused)
			}
			env["CANDOR_DEVELOPMENT_REMOTE"] = "1"
			if _, err := Read(lookup); err != nil {
				t.Errorf("%s=%s, asked for: %v", name, addr, err)
			}
		}
	}
}

// TestBaseURLIsNoIPAddress covers what browsers treat as an IP address, where
// WebAuthn doesn't work.
func TestBaseURLIsNoIPAddress(t *testing.T) {
	t.Parallel()
	for host, refused := range map[string]bool{
		"192.0.2.1": true, "127.0.0.1:8080": true, "[::1]:8080": true, "[2001:db8::1]": true, "127.1": true, "0x7f000001": true,
		"192.0.2.1.":        true,
		"forms.example.com": false, "localhost:8080": false, "1.example.com": false,
	} {
		for _, base := range []string{"http://" + host, "https://" + host} {
			_, err := Read(func(name string) (string, bool) {
				value, ok := map[string]string{"CANDOR_BASE_URL": base}[name]
				return value, ok
			})
			if refused != (err != nil) || refused && !strings.Contains(err.Error(), "localhost") {
				t.Errorf("%s: %v, want it refused: %t, with the remedy", base, err, refused)
			}
		}
	}
}

func TestConfigurationPrintsNoSecret(t *testing.T) {
	t.Parallel()
	const key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	for _, dsn := range []string{"postgres://u:hidden@h/candor?password=hidden", "host=h password=hidden"} {
		c := read(t, map[string]string{
			"CANDOR_SECRET_KEYS": "k7:" + key, "DATABASE_URL": dsn,
			"CANDOR_SMTP_URL": "smtp://u:hidden@mail.example:587", "CANDOR_MAIL_FROM": "no-reply@example.com",
			"CANDOR_REDIS_URL": "rediss://u:hidden@redis.example:6379",
		})
		text := fmt.Sprint(c.LogValue())
		if strings.Contains(text, "hidden") || strings.Contains(text, key) {
			t.Errorf("the configuration prints a secret: %s", text)
		}
		if !strings.Contains(text, "k7") {
			t.Errorf("the configuration does not name its keys: %s", text)
		}
	}
}

// A certificate without its key signs nothing, and the other way round.
func TestCertificateAndKeyBelongTogether(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]string{"CANDOR_PDF_CERT": "CANDOR_PDF_KEY", "CANDOR_PDF_KEY": "CANDOR_PDF_CERT"} {
		env := map[string]string{name: "/etc/candor/some.pem"}
		_, err := Read(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if want := name + " is set without " + other + ": set both to sign PDFs, or neither"; err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	c := read(t, map[string]string{"CANDOR_PDF_CERT": "/etc/candor/cert.pem", "CANDOR_PDF_KEY": "/etc/candor/hidden.pem"})
	if text := fmt.Sprint(c.LogValue()); !strings.Contains(text, "pdf_cert=/etc/candor/cert.pem") ||
		strings.Contains(text, "hidden") {
		t.Errorf("the configuration prints %s", text)
	}
}

func TestMailServer(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]map[string]string{
		"no sender":   {"CANDOR_SMTP_URL": "smtp://u:hidden@mail.example:587"},
		"bad sender":  {"CANDOR_SMTP_URL": "smtp://u:hidden@mail.example:587", "CANDOR_MAIL_FROM": "Candor"},
		"no scheme":   {"CANDOR_SMTP_URL": "u:hidden@mail.example:587", "CANDOR_MAIL_FROM": "a@example.com"},
		"bad port":    {"CANDOR_SMTP_URL": "smtp://u:hidden@mail.example:99999", "CANDOR_MAIL_FROM": "a@example.com"},
		"unreadable":  {"CANDOR_SMTP_URL": "smtp://u:hid/den@mail.example", "CANDOR_MAIL_FROM": "a@example.com"},
		"with a path": {"CANDOR_SMTP_URL": "smtp://mail.example/hidden", "CANDOR_MAIL_FROM": "a@example.com"},
	} {
		_, err := Read(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if err == nil || !strings.HasPrefix(err.Error(), "CANDOR_SMTP_URL ") || strings.Contains(err.Error(), "hid") {
			t.Errorf("%s: %v, want an error of CANDOR_SMTP_URL that shows no password", name, err)
		}
	}
}

func TestReadmeHasEveryVariable(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range new(Config).Variables() {
		row := ""
		for line := range strings.SplitSeq(string(readme), "\n") {
			if strings.HasPrefix(line, "| `"+v.Name+"` |") {
				row = line
			}
		}
		if row == "" || !strings.Contains(row, v.Default) {
			t.Errorf("README.md's table has no row for %s with its default %q", v.Name, v.Default)
		}
	}
}

// TestSecretsInFiles: each secret can be in a file, and no error shows a part of it.
func TestSecretsInFiles(t *testing.T) {
	t.Parallel()
	file := func(content string) string {
		path := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c := read(t, map[string]string{
		"DATABASE_URL_FILE":      file("postgres://candor:hidden@db.example:5432/candor?sslmode=require\n"),
		"CANDOR_REDIS_URL_FILE":  file("  redis://:hidden@redis.example:6379 \r\n"),
		"CANDOR_S3_REGION_FILE":  file("no secret"),
		"CANDOR_SMTP_URL_FILE":   "",
		"CANDOR_SECRET_KEYS":     "",
		"CANDOR_SMTP_URL":        "",
		"CANDOR_DATA_DIR":        "/elsewhere",
		"CANDOR_MIGRATE_URL":     "postgres://owner@db.example/candor",
		"CANDOR_METRICS_ADDR":    "localhost:9090",
		"OTEL_SERVICE_NAME_FILE": "no secret",
	})
	if !strings.Contains(c.DatabaseURL, "hidden@db.example") || c.RedisURL != "redis://:hidden@redis.example:6379" ||
		c.S3.Region != "us-east-1" {
		t.Errorf("read as %q, %q and %q", c.DatabaseURL, c.RedisURL, c.S3.Region)
	}
	// A new variable with such a name is a secret, unless it is said here to be none.
	secret := regexp.MustCompile(`URL|KEY|SECRET|PASSWORD|TOKEN|HEADERS`) // of scripts/backup.sh, too
	open := []string{"CANDOR_BASE_URL", "CANDOR_PDF_KEY", "CANDOR_STRIPE_API_URL"}
	files := 0
	for _, v := range new(Config).Variables() {
		if v.File() != "" {
			files++
		}
		if want := secret.MatchString(v.Name) && !slices.Contains(open, v.Name); want != (v.File() != "") {
			t.Errorf("%s can be in a file: %t, want %t", v.Name, !want, want)
		}
	}
	if files != len(secrets) {
		t.Errorf("%d of %d secrets are variables", files, len(secrets))
	}
	for want, env := range map[string]map[string]string{
		"CANDOR_REDIS_URL is set, and CANDOR_REDIS_URL_FILE, too": {"CANDOR_REDIS_URL": "redis://:hidden@r",
			"CANDOR_REDIS_URL_FILE": file("redis://:hidden@r")},
		"DATABASE_URL can't be read from the file of DATABASE_URL_FILE: no such file": {"DATABASE_URL_FILE": "/nowhere/hidden"},
		"CANDOR_SMTP_URL is empty":                                    {"CANDOR_SMTP_URL_FILE": file(" \n")},
		"CANDOR_SECRET_KEYS can't be read":                            {"CANDOR_SECRET_KEYS_FILE": file("hidden")},
		"DATABASE_URL must be PostgreSQL's, not an address of mysql:": {"DATABASE_URL": "mysql://root:hidden@h/db"},
	} {
		_, err := Read(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// systemd gives a service the files of /etc/candor/secrets as credentials. One beside a
// variable that is set is an error.
func TestCredentials(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, content := range map[string]string{"candor_CANDOR_REDIS_URL": "redis://:hidden@redis.example:6379\n",
		"candor_CANDOR_S3_REGION": "eu-west-1", "CANDOR_S3_BUCKET": "not Candor's"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"CREDENTIALS_DIRECTORY": folder}
	if c := read(t, env); c.RedisURL != "redis://:hidden@redis.example:6379" || c.S3.Region != "eu-west-1" || c.S3.Bucket != "" {
		t.Errorf("read as %q, %q and %q", c.RedisURL, c.S3.Region, c.S3.Bucket)
	}
	env["CANDOR_REDIS_URL"] = "redis://redis.example"
	_, err := Read(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	const want = "CANDOR_REDIS_URL is set, and systemd's credential candor_CANDOR_REDIS_URL, too"
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestSeller(t *testing.T) {
	t.Parallel()
	c := read(t, map[string]string{
		"CANDOR_SELLER_ABN": "51824753556", "CANDOR_SELLER_ADDRESS": "1 High St; Hobart TAS 7000", "CANDOR_BANK_DETAILS": "BSB 062-000",
	})
	if c.Terms.Seller.ABN != "51 824 753 556" || strings.Join(c.Terms.Seller.Address, "|") != "1 High St|Hobart TAS 7000" ||
		len(c.Terms.Seller.Transfer) != 1 {
		t.Errorf("seller %+v", c.Terms.Seller)
	}
	for from, contact := range map[string]string{"Candor <accounts@example.com>": "accounts@example.com", "no-reply@example.com": "",
		"Candor <NoReply@example.com>": "", "do_not_reply+x@example.com": "",
		"noreplies@example.com": "noreplies@example.com", "": ""} {
		if c := read(t, map[string]string{"CANDOR_MAIL_FROM": from}); c.Terms.Contact != contact {
			t.Errorf("with mail from %q, partners are told to write to %q, want %q", from, c.Terms.Contact, contact)
		}
	}
	for _, bad := range []string{"51 824 753 557", "5182475355", "518247535560", "51824753a56", "１１８２４７５３５５６"} {
		if _, err := Read(func(name string) (string, bool) {
			return bad, name == "CANDOR_SELLER_ABN"
		}); err == nil || !strings.Contains(err.Error(), "CANDOR_SELLER_ABN must be") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestConfigOfBlobs(t *testing.T) {
	t.Parallel()
	bucket := map[string]string{
		"CANDOR_S3_ENDPOINT": "https://s3.example", "CANDOR_S3_BUCKET": "docs", "CANDOR_S3_ACCESS_KEY": "key",
		"CANDOR_S3_SECRET_KEY": "hidden",
	}
	if c := read(t, nil); c.BlobsInS3 || c.S3.Bucket != "" {
		t.Errorf("by default %+v", c.S3)
	}
	c := read(t, bucket)
	if c.BlobsInS3 || c.S3.Bucket != "docs" || c.S3.Region != "us-east-1" {
		t.Errorf("a bucket to read from: %t, %+v", c.BlobsInS3, c.S3)
	}
	for _, text := range []string{fmt.Sprint(c.LogValue()), fmt.Sprintf("%+v", c), fmt.Sprint(c.S3)} {
		if strings.Contains(text, "hidden") {
			t.Errorf("the configuration prints a secret: %s", text)
		}
	}
	bucket["CANDOR_BLOBS"] = "s3"
	if c := read(t, bucket); !c.BlobsInS3 {
		t.Error("documents don't go to the bucket")
	}
	for name, value := range map[string]string{
		"CANDOR_BLOBS": "disk", "CANDOR_S3_ENDPOINT": "s3.example", "CANDOR_S3_BUCKET": "", "CANDOR_S3_ACCESS_KEY": "",
		"CANDOR_S3_SECRET_KEY": " ",
	} {
		_, err := Read(func(asked string) (string, bool) {
			if asked == name {
				return value, true
			}
			v, ok := bucket[asked]
			return v, ok
		})
		if err == nil || !strings.HasPrefix(err.Error(), name+" ") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s=%q: %v", name, value, err)
		}
	}
}

func TestTraces(t *testing.T) {
	t.Parallel()
	c := read(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318",
		"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20hidden, x=1", "OTEL_TRACES_SAMPLER_ARG": "0.05"})
	if c.Traces.Headers["authorization"] != "Bearer hidden" || c.Traces.Headers["x"] != "1" || c.Traces.Ratio != 0.05 ||
		c.Traces.Service != "candor" {
		t.Errorf("%#v", c.Traces.Headers)
	}
	if text := fmt.Sprint(c.LogValue()) + fmt.Sprintf("%+v", c); strings.Contains(text, "hidden") {
		t.Errorf("the configuration prints a secret: %s", text)
	}
	if off := read(t, nil).Traces; off.Endpoint != "" || off.Ratio != 1 {
		t.Errorf("by default %+v", off)
	}
	for name, values := range map[string][]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": {"localhost:4318", "grpc://localhost:4317", "http://u:hidden@localhost:4318",
			"http://localhost:4318?key=hidden"},
		"OTEL_EXPORTER_OTLP_HEADERS": {"hidden", "=hidden", "x=%zzhidden", "x=%0ahidden"},
		"OTEL_TRACES_SAMPLER_ARG":    {"-1", "1.1", "NaN", "half"},
	} {
		for _, value := range values {
			_, err := Read(func(n string) (string, bool) { v, ok := map[string]string{name: value}[n]; return v, ok })
			if err == nil || !strings.HasPrefix(err.Error(), name+" ") || strings.Contains(err.Error(), "hidden") {
				t.Errorf("%s=%s: %v, want an error that names the variable alone", name, value, err)
			}
		}
	}
}
