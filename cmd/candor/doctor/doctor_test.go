package doctor_test

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candor/cmd/candor/doctor"
	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/platform/mail"
	"candor/internal/platform/pdfsign"
	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/servicetest"
	"candor/internal/testkit/signtest"
	"candor/internal/webhook"
)

// patient is a service in development that lacks nothing, with an account and a
// worker's signs of life.
type patient struct {
	*testing.T
	doctor.Config
	dsn    string
	folder string // of the documents
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	f := servicetest.NewFixture(t)
	p := &patient{T: t, dsn: f.DSN, folder: filepath.Join(t.TempDir(), "documents")}
	p.exec(f.DB,
		`INSERT INTO river_leader (leader_id, elected_at, expires_at) VALUES ('worker', now(), now() + interval '1 minute')`)
	files, err := blob.NewFiles(p.folder)
	p.ok(err)
	server := mailServer(t, "235 fine")
	sender, err := mail.NewSMTP("smtp://user:hidden@"+server, "Candor <no-reply@candor.example>")
	p.ok(err)
	reached := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			t.Errorf("webhooks' probe is a %s", r.Method)
		}
		w.WriteHeader(http.StatusMethodNotAllowed) // a response is enough
	}))
	p.Config = doctor.Config{
		Version: "v1", Development: true, Connections: 5, DB: f.DB, Ring: f.Ring, Blobs: files, Mail: sender,
		Client: webhook.NewClient(webhook.Policy{Development: true}), URL: reached.URL + "/hidden", Clock: domain.SystemClock,
		Signer: signer(t, 31), Timeout: time.Minute,
	}
	p.Ready = func(ctx context.Context) error {
		pending, err := db.MigrationsPending(ctx, p.DB)
		if err == nil && pending {
			return errors.New("behind")
		}
		return err
	}
	p.Pooler = func(context.Context) error { return nil }
	t.Cleanup(p.Client.Close)
	return p
}

func (p *patient) ok(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *patient) exec(d *db.DB, statement string) {
	p.Helper()
	_, err := d.Raw().Exec(statement)
	p.ok(err)
}

// connect opens the patient's database with more parameters.
func (p *patient) connect(parameter string) {
	separator := "?"
	if strings.Contains(p.dsn, "?") {
		separator = "&"
	}
	p.DB = dbtest.Open(p.T, p.dsn+separator+parameter)
}

// signer signs PDFs for that many days.
func signer(t *testing.T, days int) func() (*pdfsign.Signer, error) {
	t.Helper()
	files := signtest.New(t, signtest.ECDSA(t), func(c *x509.Certificate) { c.NotAfter = time.Now().AddDate(0, 0, days) })
	return func() (*pdfsign.Signer, error) { return files.Signer(t), nil }
}

// mailServer answers a sign-in with reply.
func mailServer(t *testing.T, reply string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "220 here\r\n")
		for in := bufio.NewScanner(conn); in.Scan(); {
			switch verb, _, _ := strings.Cut(in.Text(), " "); strings.ToUpper(verb) {
			case "EHLO":
				fmt.Fprint(conn, "250-here\r\n250 AUTH CRAM-MD5\r\n")
			case "AUTH":
				fmt.Fprint(conn, "334 Y2hhbGxlbmdl\r\n")
				if in.Scan() {
					fmt.Fprintf(conn, "%s\r\n", reply)
				}
			case "*": // the client gives up
				fmt.Fprint(conn, "501 fine\r\n")
			case "QUIT":
				fmt.Fprint(conn, "221 bye\r\n")
				return
			default:
				t.Errorf("the mail server was told %q", in.Text())
				return
			}
		}
	}()
	return listener.Addr().String()
}

// brokenStore has what a test breaks of a Store.
type brokenStore struct {
	blob.Store
	put  func() error
	open func() (io.ReadCloser, error)
}

func (s brokenStore) Put(ctx context.Context, id string, r io.Reader) error {
	if s.put != nil {
		return s.put()
	}
	return s.Store.Put(ctx, id, r)
}

func (s brokenStore) Open(ctx context.Context, id string) (io.ReadCloser, error) {
	if s.open != nil {
		return s.open()
	}
	return s.Store.Open(ctx, id)
}

func find(t *testing.T, r doctor.Report, check string) doctor.Finding {
	t.Helper()
	for _, f := range r.Checks {
		if f.Check == check {
			return f
		}
	}
	t.Fatalf("no check is named %s", check)
	return doctor.Finding{}
}

func TestHealthy(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	report := doctor.Examine(t.Context(), p.Config)
	if !report.OK || report.Err() != nil {
		t.Errorf("a service that lacks nothing:\n%s", report.Text())
	}
	for _, f := range report.Checks {
		// The tests' server isn't durable and has one role; this machine may lack a font.
		if f.Status != doctor.OK && f.Check != "settings" && f.Check != "role" && f.Check != "fonts" || f.Result == "" ||
			(f.Status == doctor.OK) != (f.Remedy == "") {
			t.Errorf("%+v", f)
		}
	}
	encoded, err := json.Marshal(report)
	if text := report.Text() + string(encoded); err != nil || strings.Contains(text, "hidden") || strings.Contains(text, "owner@") {
		t.Errorf("the report has a secret or an address: %s, %v", text, err)
	}
	if keys := find(t, report, "keys").Result; !strings.HasPrefix(keys, "test opens ") || strings.Contains(keys, " 0 ") {
		t.Errorf("keys: %q, want the number of values", keys)
	}
	err = filepath.WalkDir(p.folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			t.Errorf("the probe is left: %s", path)
		}
		return err
	})
	p.ok(err)
}

// Each thing is broken once. The other checks still run.
func TestBroken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		check  string
		status doctor.Status
		breaks func(p *patient)
		says   string
		remedy string
	}{
		"no database": {"database", doctor.Failed, func(p *patient) {
			p.DB, p.DBErr = nil, errors.New("connection refused")
		}, "connection refused", "DATABASE_URL"},
		"a standby": {"database", doctor.Failed, func(p *patient) {
			p.connect("default_transaction_read_only=on")
		}, "only be read", "target_session_attrs"},
		"a readable connection": {"database", doctor.Warning, func(p *patient) {
			p.Readable = []string{"DATABASE_URL"}
		}, "can be read or redirected on the network", "sslmode=verify-full to DATABASE_URL"},
		"a pooler in the wrong place": {"pooler", doctor.Failed, func(p *patient) {
			p.Pooler = func(context.Context) error { return errors.New("leads to a pooler") }
		}, "leads to a pooler", "pool_mode=session"},
		"an empty database": {"schema", doctor.Failed, func(p *patient) {
			p.DB = dbtest.Open(p.T, dbtest.EmptyDSN(p.T))
		}, "behind", "candor migrate"},
		"no extension": {"extensions", doctor.Failed, func(p *patient) {
			p.exec(p.DB, "DROP EXTENSION pg_trgm CASCADE")
		}, "pg_trgm is missing", "CREATE EXTENSION pg_trgm"},
		"a role without rights": {"role", doctor.Failed, func(p *patient) {
			p.exec(p.DB,
				"GRANT ALL ON ALL TABLES IN SCHEMA public TO pg_monitor; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO pg_monitor; REVOKE INSERT ON session FROM pg_monitor")
			p.connect("role=pg_monitor")
		}, "may not use session", "CANDOR_MIGRATE_URL"},
		"too few connections": {"settings", doctor.Failed, func(p *patient) { p.Connections = 100_000 }, "accepts", "max_connections"},
		"no durability": {"settings", doctor.Failed, func(p *patient) {
			p.Development = false
			p.connect("synchronous_commit=off")
		}, "is off: a crash", "on"},
		"a clock that is wrong": {"clock", doctor.Failed, func(p *patient) {
			p.Clock = func() time.Time { return time.Now().Add(-time.Hour - 20*time.Second) }
		}, "differs from the database's by 1h0m", "NTP"},
		"a clock that is a bit wrong": {"clock", doctor.Warning, func(p *patient) {
			p.Clock = func() time.Time { return time.Now().Add(4500 * time.Millisecond) }
		}, "by 4", "NTP"},
		"a missing key": {"keys", doctor.Failed, func(p *patient) {
			p.Ring = ring(p.T, "other")
		}, "the key test isn't configured, and sealed 2 webhook secrets", "CANDOR_SECRET_KEYS"},
		"another key of the name": {"keys", doctor.Failed, func(p *patient) { p.Ring = ring(p.T, "test") },
			"test doesn't open the webhook secrets", "restore"},
		"a folder that is gone": {"documents", doctor.Failed, func(p *patient) {
			p.ok(os.RemoveAll(p.folder))
			p.ok(os.WriteFile(p.folder, nil, 0o600))
		}, "store blob", "CANDOR_DATA_DIR"},
		"no data folder": {"documents", doctor.Failed, func(p *patient) {
			p.Blobs, p.BlobsErr = nil, errors.New("permission denied")
		}, "permission denied", "CANDOR_DATA_DIR"},
		"a store that forgets": {"documents", doctor.Failed, func(p *patient) {
			p.Blobs = brokenStore{Store: p.Blobs, open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }}
		}, "otherwise than it was written", "check the disk"},
		"a disk that hangs": {"documents", doctor.Failed, func(p *patient) {
			p.Timeout = 3 * time.Second
			hangs := make(chan struct{})
			p.Cleanup(func() { close(hangs) })
			p.Blobs = brokenStore{Store: p.Blobs, put: func() error { <-hangs; return nil }}
		}, "not finished in time", "CANDOR_DATA_DIR"},
		"no Redis": {"limits", doctor.Failed, func(p *patient) {
			p.RedisURL = "redis://:hidden@127.0.0.1:1"
		}, "connection refused", "CANDOR_REDIS_URL"},
		"a wrong font": {"fonts", doctor.Failed, func(p *patient) {
			p.PDFFont = "/nowhere.ttf"
		}, "nowhere.ttf", "CANDOR_PDF_FONT"},
		"a certificate of two weeks": {"signature", doctor.Warning, func(p *patient) {
			p.Signer = signer(p.T, 14)
		}, "signs PDFs as " + signtest.Subject, "get a new certificate"},
		"a certificate of yesterday": {"signature", doctor.Failed, func(p *patient) {
			p.Signer = signer(p.T, -1)
		}, "the certificate of " + signtest.Subject + " expired on ", "until then PDFs wait"},
		"a wrong certificate": {"signature", doctor.Failed, func(p *patient) {
			p.Signer = func() (*pdfsign.Signer, error) { return nil, errors.New("CANDOR_PDF_CERT can't be read") }
		}, "CANDOR_PDF_CERT can't be read", "workers don't start"},
		"no mail server": {"email", doctor.Warning, func(p *patient) {
			p.Mail = mail.Nowhere{}
		}, "no mail server", "CANDOR_SMTP_URL"},
		"a mail server that is down": {"email", doctor.Failed, func(p *patient) {
			p.Mail = smtp(p.T, "127.0.0.1:1")
		}, "refuses the connection", "CANDOR_SMTP_URL"},
		"a wrong password": {"email", doctor.Failed, func(p *patient) { p.Mail = smtp(p.T, mailServer(p.T, "535 user is unknown")) },
			"refuses the user or the password (535)", "CANDOR_SMTP_URL"},
		"no way out": {"webhooks", doctor.Failed, func(p *patient) { p.URL = "http://127.0.0.1:1" }, "connect: ", "port 443"},
		"no address": {"webhooks", doctor.Skipped, func(p *patient) { p.URL = "" }, "--url", ""},
		"a guarded host": {"webhooks", doctor.Failed, func(p *patient) {
			p.Client = webhook.NewClient(webhook.Policy{})
			p.URL = "https://127.0.0.1"
		}, "refused_target: ", "public internet"},
		"no resolver": {"webhooks", doctor.Failed, func(p *patient) {
			down := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("down") }
			p.Client = webhook.NewClient(webhook.Policy{}, webhook.WithResolver(&net.Resolver{PreferGo: true, Dial: down}))
			p.URL = "https://hooks.partner.example/hidden"
		}, "dns: ", "resolv.conf"},
		"no worker": {"workers", doctor.Failed, func(p *patient) {
			p.exec(p.DB, "DELETE FROM river_leader")
		}, "no worker is alive", "candor worker"},
		"a worker that doesn't work": {"workers", doctor.Failed, func(p *patient) {
			p.exec(p.DB,
				`INSERT INTO river_job (kind, args, max_attempts, state, scheduled_at) VALUES ('pdf', '{}', 25, 'available', now() - interval '10 minutes')`)
		}, "the oldest job has waited for 10m", "log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			tt.breaks(p)
			report := doctor.Examine(t.Context(), p.Config)
			f := find(t, report, tt.check)
			if f.Status != tt.status || !strings.Contains(f.Result, tt.says) || !strings.Contains(f.Remedy, tt.remedy) {
				t.Errorf("%+v, want it %s, saying %q and %q", f, tt.status, tt.says, tt.remedy)
			}
			if failed := tt.status == doctor.Failed; report.OK == failed || (report.Err() != nil) != failed {
				t.Errorf("OK is %t, %v:\n%s", report.OK, report.Err(), report.Text())
			}
			if strings.Contains(report.Text(), "hidden") {
				t.Errorf("the report has a secret:\n%s", report.Text())
			}
			for _, other := range []string{"version", "documents", "email"} {
				if f := find(t, report, other); other != tt.check && f.Status != doctor.OK {
					t.Errorf("%s is broken, too: %+v", other, f)
				}
			}
		})
	}
}

func ring(t *testing.T, name string) *keyring.Keyring {
	t.Helper()
	r, err := keyring.Parse(keyring.Generate(name))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func smtp(t *testing.T, server string) *mail.SMTP {
	t.Helper()
	s, err := mail.NewSMTP("smtp://user:hidden@"+server, "no-reply@candor.example")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
