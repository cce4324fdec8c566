// Package doctor examines what a running service needs, and names a remedy for what
// is wrong: database, clock, documents, keys, email, webhooks, workers. It writes
// nothing but a probe among the documents, which it deletes, and an empty commit. What it prints has no
// secret and no personal data.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"candor/cmd/candor/cli"
	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/platform/mail"
	"candor/internal/platform/pdfsign"
	"candor/internal/webhook"
)

// Timeout bounds a check of the command. They run at the same time.
const Timeout = 10 * time.Second

// Status is the outcome of a check.
type Status string

// The outcomes. Only a failed check makes the command fail.
const (
	OK      Status = "ok"
	Skipped Status = "skipped"
	Warning Status = "warning"
	Failed  Status = "failed"
)

// A Finding is what a check has found.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Result string `json:"result"`
	Remedy string `json:"remedy,omitempty"`
}

// A Report lists the findings, one for each check.
type Report struct {
	OK     bool      `json:"ok"` // no check failed
	Checks []Finding `json:"checks"`
}

// NewReport returns a report of the findings.
func NewReport(findings ...Finding) Report {
	r := Report{OK: true, Checks: findings}
	for _, f := range findings {
		r.OK = r.OK && f.Status != Failed
	}
	return r
}

// Text is a line for each check, and one for its remedy.
func (r Report) Text() string {
	table := cli.NewTable("STATUS", "CHECK", "RESULT")
	for _, f := range r.Checks {
		table.Row(f.Status, f.Check, f.Result)
		if f.Remedy != "" {
			table.Row("", "", "Remedy: "+f.Remedy)
		}
	}
	return table.String()
}

// Err is an error if a check failed, with a line for each that did: cron throws the table away
// and mails this.
func (r Report) Err() error {
	var failed strings.Builder
	n := 0
	for _, f := range r.Checks {
		if f.Status == Failed {
			n++
			fmt.Fprintf(&failed, "\n  %s: %s", f.Check, cli.Printable(f.Result))
		}
	}
	switch n {
	case 0:
		return nil
	case 1:
		return errors.New("1 check failed:" + failed.String())
	}
	return fmt.Errorf("%d checks failed:%s", n, failed.String())
}

// Config is what is examined.
type Config struct {
	Version     string
	Development bool // the database need not survive a crash, and emails stay in a folder
	Connections int  // CANDOR_DB_CONNECTIONS

	DB       *db.DB                          // nil if it can't be opened
	DBErr    error                           // why
	Readable []string                        // variables whose connections the network can read
	Ready    func(ctx context.Context) error // whether the schema is up to date
	Pooler   func(ctx context.Context) error // whether a pooler shares connections in the wrong place

	Ring     *keyring.Keyring // nil if the data folder can't be used
	Blobs    blob.Store       // nil if it can't be opened
	BlobsErr error            // why

	RedisURL string // "" if each process counts requests by itself

	PDFFont string                          // a TrueType file, "" for none
	Signer  func() (*pdfsign.Signer, error) // of PDFs; it returns nil if they aren't signed
	Mail    mail.Sender
	Client  *webhook.Client
	URL     string // to reach as webhooks do, "" for none
	Clock   domain.Clock
	Timeout time.Duration // of each check
}

// problem is what a check returns if it isn't satisfied.
type problem struct {
	status       Status
	text, remedy string
}

// Error returns the text and the remedy.
func (p *problem) Error() string { return p.text + ": " + p.remedy }

func warning(text, remedy string) error { return &problem{Warning, text, remedy} }
func failure(text, remedy string) error { return &problem{Failed, text, remedy} }
func skip(text string) error            { return &problem{Skipped, text, ""} }

// check is one check. Its result is shown if there is no error.
type check struct {
	name   string
	remedy string // of an error that is no problem, and if it takes too long
	run    func(ctx context.Context) (result string, err error)
}

// Examine runs every check.
func Examine(ctx context.Context, c Config) Report {
	e := &examination{c}
	const askDatabase = "look at the database's log, and run candor doctor again"
	checks := []check{
		{"version", "", e.version},
		{"database", "check that the server runs and that DATABASE_URL is right (with ?sslmode=disable if it has no TLS)", e.database},
		{"pooler", "correct DATABASE_URL and CANDOR_DATABASE_DIRECT_URL, or use pool_mode=session", e.inDatabase(e.pooler)},
		{"schema", askDatabase, e.inDatabase(e.schema)},
		{"extensions", askDatabase, e.inDatabase(e.extensions)},
		{"role", askDatabase, e.inDatabase(e.role)},
		{"settings", askDatabase, e.inDatabase(e.settings)},
		{"commits", askDatabase, e.inDatabase(e.commits)},
		{"archive", askDatabase, e.inDatabase(e.archive)},
		{"clock", askDatabase, e.inDatabase(e.clock)},
		{"keys", "run candor keys check, which takes its time", e.inSchema(e.keys)},
		{"documents",
			"let the service's user write in CANDOR_DATA_DIR, on a disk that has space; with a bucket, check the variables CANDOR_S3_…",
			e.documents},
		{"limits",
			"check that Redis or Valkey runs and that CANDOR_REDIS_URL is right; until then each process counts requests by itself",
			e.limits},
		{"fonts", "set CANDOR_PDF_FONT to a TrueType file", e.fonts},
		{"signature", "correct CANDOR_PDF_CERT and CANDOR_PDF_KEY: until then workers don't start", e.signature},
		{"email", "check CANDOR_SMTP_URL", e.email},
		{"webhooks", "let this machine look up names and open connections to port 443", e.webhooks},
		{"workers", "start candor worker, or look at its log", e.inSchema(e.workers)},
	}
	findings := make([]Finding, len(checks))
	var all sync.WaitGroup
	for i, one := range checks {
		all.Go(func() { findings[i] = one.find(ctx, c.Timeout) })
	}
	all.Wait()
	return NewReport(findings...)
}

// find runs a check, and leaves it behind if it takes too long: a file system that
// hangs doesn't know contexts.
func (k check) find(ctx context.Context, timeout time.Duration) Finding {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found := make(chan Finding, 1)
	go func() {
		result, err := k.run(ctx)
		found <- k.finding(result, err)
	}()
	select {
	case f := <-found:
		return f
	case <-ctx.Done():
		return k.finding("", ctx.Err())
	}
}

func (k check) finding(result string, err error) Finding {
	var p *problem
	switch {
	case err == nil:
		return Finding{k.name, OK, result, ""}
	case errors.As(err, &p):
		return Finding{k.name, p.status, p.text, p.remedy}
	case errors.Is(err, context.DeadlineExceeded):
		return Finding{k.name, Failed, "not finished in time", k.remedy}
	}
	return Finding{k.name, Failed, err.Error(), k.remedy}
}

// The warnings that a start logs, too. Each is nil if there is nothing to warn of.

// RoleWarning is about what the service's database role may do.
func RoleWarning(mayRewriteAudit bool) error {
	if !mayRewriteAudit {
		return nil
	}
	return warning("the service's database role has every right, and could rewrite the audit log",
		"set CANDOR_MIGRATE_URL, so that another role owns the tables")
}

// DatabaseWarning is about variables whose connections the network can read.
func DatabaseWarning(readable []string) error {
	if len(readable) == 0 {
		return nil
	}
	return warning("the connection to the database can be read or redirected on the network",
		"use a unix socket or a loopback address, or add sslmode=verify-full to "+strings.Join(readable, " and "))
}

// CertificateWarning is about the end of the certificate that signs PDFs; nil signs none.
// One that has ended is more than a warning.
func CertificateWarning(signer *pdfsign.Signer, now time.Time) error {
	if signer == nil || signer.Check(now) != nil || !signer.ExpiresSoon(now) {
		return nil
	}
	return warning("the certificate that signs PDFs as "+signer.Subject()+" expires on "+signer.Expires().Format("2 January 2006"),
		"get a new certificate, set CANDOR_PDF_CERT and CANDOR_PDF_KEY and restart; once it has expired, no PDF is made")
}

// MailWarning is about email that can't be sent.
func MailWarning(hasServer bool) error {
	if hasServer {
		return nil
	}
	return warning("no mail server: staff can't be invited, sign up or reset a password", "set CANDOR_SMTP_URL and CANDOR_MAIL_FROM")
}
