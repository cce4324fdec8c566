package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/process"
)

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	write := func(content string) string {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	complete := process.ProductionEnvironment(t, "postgres://u:hidden@db.example/candor")
	complete = complete.With("CANDOR_SECRET_KEYS", "", "CANDOR_SECRET_KEYS_FILE", write(complete["CANDOR_SECRET_KEYS"]))
	for name, tt := range map[string]struct {
		env  process.Environment
		code int
		want []string
	}{
		"complete": {complete, 0, []string{"The settings have no errors.\n",
			"Warning: the connection to the database can be read", "Warning: invoices include GST", "Warning: no mail server"}},
		"without warnings": {complete.With("CANDOR_GST_PERCENT", "0", "CANDOR_SMTP_URL", "smtps://u:hidden@mail.example",
			"CANDOR_MAIL_FROM", "a@example.com",
			"DATABASE_URL", "postgres:///candor?host=/run/postgresql", "CANDOR_PDF_FONT", "../../views/pdf/testdata/none.ttf"), 1,
			[]string{"CANDOR_PDF_FONT"}},
		"everything wrong": {complete.With(
			"CANDOR_BASE_URL", "http://forms.example.com", "CANDOR_SECRET_KEYS_FILE", write("k1:hidden"), "CANDOR_ADDR", "8080",
			"CANDOR_METRICS_ADDR", "localhost", "DATABASE_URL", "postgres://u:hidden@h:x/", "CANDOR_MIGRATE_URL", "hidden",
			"CANDOR_DATA_DIR", write(""), "CANDOR_RATE_BURST", "none", "CANDOR_BASEURL", "hidden",
			"CANDOR_REDIS_URL_FILE", "/nowhere", "CANDOR_S3_BUCKET_FILE", "hidden"), 1, []string{
			"the configuration has 11 errors:", "CANDOR_REDIS_URL can't be read from the file of CANDOR_REDIS_URL_FILE",
			"CANDOR_S3_BUCKET_FILE is not a setting", "CANDOR_BASE_URL must begin with https://", "CANDOR_SECRET_KEYS can't be read",
			"CANDOR_ADDR must be host:port", "CANDOR_METRICS_ADDR must be host:port",
			"DATABASE_URL has a port that isn't a number", "CANDOR_MIGRATE_URL ", "CANDOR_DATA_DIR can't be used",
			"CANDOR_RATE_BURST must be a whole number", "CANDOR_BASEURL is not a setting"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := process.Run(t, tt.env, "config", "check")
			for _, want := range tt.want {
				if !strings.Contains(r.Stdout+r.Stderr, want) {
					t.Errorf("it doesn't say %q", want)
				}
			}
			if r.Code != tt.code || strings.Contains(r.Stdout+r.Stderr, "hidden") || t.Failed() {
				t.Errorf("exit code %d, want %d and no secret:\n%s%s", r.Code, tt.code, r.Stdout, r.Stderr)
			}
		})
	}
}

// TestPackagedSettings checks the file of settings that packages install: it lacks
// what only the operator knows, and every line of it that is turned on is a setting.
func TestPackagedSettings(t *testing.T) {
	t.Parallel()
	const packaged = "../../packaging/candor.env"
	path, err := filepath.Abs(packaged)
	if err != nil {
		t.Fatal(err)
	}
	r := process.Run(t, nil, "--env-file", path, "config", "check")
	if r.Code != 1 || !strings.Contains(r.Stderr, "has 2 errors") || !strings.Contains(r.Stderr, "CANDOR_BASE_URL is missing") ||
		!strings.Contains(r.Stderr, "CANDOR_SECRET_KEYS is missing") {
		t.Errorf("the packaged settings: exit code %d, %s", r.Code, r.Stderr)
	}
	content, err := os.ReadFile(packaged)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^#(CANDOR_)`).ReplaceAllString(string(content), "$1")
	all := filepath.Join(t.TempDir(), "candor.env")
	if err := os.WriteFile(all, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	given := process.Environment{"CANDOR_BASE_URL": "https://forms.example.com",
		"CANDOR_SECRET_KEYS": process.ProductionEnvironment(t, "")["CANDOR_SECRET_KEYS"]}
	if r := process.Run(t, given, "--env-file="+all, "config", "check"); r.Code != 0 {
		t.Errorf("with the operator's settings: exit code %d, %s", r.Code, r.Stderr)
	}
}

func TestEnvFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		text string
		want string // in the error; "" for none
	}{
		"quotes, comments, spaces": {"# a comment\n\n  CANDOR_ENV = \n", "line 3 must be NAME=value"},
		"a value with signs":       {"CANDOR_MAIL_FROM=Candor <a=b@example.com>\nCANDOR_ENV=\"development\"\r\n", ""},
		"no equals sign":           {"hidden\n", "line 1 must be NAME=value"},
		"export":                   {"export CANDOR_ENV=development\n", "line 1 must be NAME=value"},
		"wrong value":              {"CANDOR_RATE_BURST='none'\n", "CANDOR_RATE_BURST must be a whole number"},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := process.Run(t, nil, "--env-file", path, "config", "check")
		if (tt.want == "") != (r.Code == 0) || !strings.Contains(r.Stderr, tt.want) || strings.Contains(r.Stderr, "hidden") {
			t.Errorf("%s: exit code %d, %s; want %q", name, r.Code, r.Stderr, tt.want)
		}
	}
	if r := process.Run(t, nil, "--env-file", filepath.Join(dir, "none"), "version"); r.Code != 1 ||
		!strings.Contains(r.Stderr, "no such file") {
		t.Errorf("a missing file: exit code %d, %s", r.Code, r.Stderr)
	}
	if r := process.Run(t, nil, "--env-file"); r.Code != 2 || !strings.Contains(r.Stderr, "needs the path") {
		t.Errorf("no file: exit code %d, %s", r.Code, r.Stderr)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.ProductionEnvironment(t, dbtest.DSN(t))
	candor := process.Serve(t, env, "web")
	env = env.With("CANDOR_ADDR", strings.TrimPrefix(candor.URL, "http://"))
	if r := process.Run(t, env, "health"); r.Code != 0 || r.Stdout != "alive\n" {
		t.Errorf("a running process: exit code %d, %s%s", r.Code, r.Stdout, r.Stderr)
	}
	candor.Stop()
	if r := process.Run(t, env, "health"); r.Code != 1 || !strings.Contains(r.Stderr, "doesn't answer") {
		t.Errorf("a stopped process: exit code %d, %s", r.Code, r.Stderr)
	}
}
