package doctor

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"candor/db"
	"candor/internal/platform/mail"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/sealing"
	"candor/internal/webhook"
	"candor/views/pdf"
)

const (
	// otherConnections are what a process uses beyond its pool: readiness, the watch of
	// servers, the listener and the workers'.
	otherConnections = 12
	// skewWarning and skewFailure bound the difference of the clocks. Leases last
	// seconds, and codes of authenticators half a minute.
	skewWarning = time.Second
	skewFailure = 15 * time.Second
	// lowSpace and noSpace bound the free space for documents, of up to 10 MB each.
	lowSpace = 1 << 30
	noSpace  = 100 << 20
	// commitTime is how long a commit may take, which takes milliseconds.
	commitTime = 5 * time.Second
	// longWait is how long a job may wait for a worker, which takes milliseconds.
	longWait = time.Minute
)

// examination has the checks as its methods.
type examination struct{ Config }

// inDatabase is a check that needs the database.
func (e *examination) inDatabase(run func(ctx context.Context) (string, error)) func(ctx context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if e.DB == nil {
			return "", skip("not checked without the database")
		}
		return run(ctx)
	}
}

// inSchema is a check that needs Candor's tables.
func (e *examination) inSchema(run func(ctx context.Context) (string, error)) func(ctx context.Context) (string, error) {
	return e.inDatabase(func(ctx context.Context) (string, error) {
		if e.Ready(ctx) != nil {
			return "", skip("not checked before the schema is up to date")
		}
		return run(ctx)
	})
}

func (e *examination) version(context.Context) (string, error) {
	schema, err := db.SchemaFingerprint()
	return fmt.Sprintf("candor %s, %s, schema %s", e.Version, runtime.Version(), schema), err
}

func (e *examination) database(ctx context.Context) (string, error) {
	if e.DB == nil {
		return "", e.DBErr
	}
	started := time.Now()
	facts, err := e.DB.ServerFacts(ctx)
	switch {
	case err != nil:
		return "", err
	case facts.VersionNumber < db.MinServerVersion:
		return "", failure("PostgreSQL "+facts.Version+" is too old", "upgrade it to version 15 or newer")
	case facts.ReadOnly:
		return "", failure("the server can only be read", "name the primary in DATABASE_URL, or add target_session_attrs=read-write")
	}
	result := fmt.Sprintf("PostgreSQL %s answers in %s", facts.Version, time.Since(started).Round(100*time.Microsecond))
	return result, DatabaseWarning(e.Readable)
}

func (e *examination) pooler(ctx context.Context) (string, error) {
	return "statements and LISTEN have the connections that they need", e.Pooler(ctx)
}

func (e *examination) schema(ctx context.Context) (string, error) {
	if err := e.Ready(ctx); err != nil {
		return "", failure(err.Error(), "run candor migrate")
	}
	return "up to date", nil
}

func (e *examination) extensions(ctx context.Context) (string, error) {
	facts, err := e.DB.ServerFacts(ctx)
	if err != nil {
		return "", err
	}
	for _, name := range db.RequiredExtensions {
		if !slices.Contains(facts.Extensions, name) {
			return "", failure(name+" is missing, so searches fail", "as a superuser in this database: CREATE EXTENSION "+name)
		}
	}
	return strings.Join(db.RequiredExtensions, ", "), nil
}

func (e *examination) role(ctx context.Context) (string, error) {
	missing, err := e.DB.MissingRights(ctx)
	if err != nil {
		return "", err
	}
	if len(missing) > 0 {
		return "", failure("the role may not use "+strings.Join(missing, ", "),
			"run candor migrate with CANDOR_MIGRATE_URL, which grants DATABASE_URL's role what it needs")
	}
	may, err := e.DB.MayRewriteAudit(ctx)
	if err != nil {
		return "", failure("the audit log's privileges can't be read", "run candor migrate")
	}
	return "has every right that it needs, and can't rewrite the audit log", RoleWarning(may)
}

func (e *examination) settings(ctx context.Context) (string, error) {
	f, err := e.DB.ServerFacts(ctx)
	if err != nil {
		return "", err
	}
	need := e.Connections + otherConnections
	crash := failure
	if e.Development {
		crash = warning
	}
	switch {
	case f.Encoding != "UTF8":
		return "", failure("the database's encoding is "+f.Encoding, "create the database with the encoding UTF8, and restore into it")
	case f.MaxConnections < need:
		return "", failure(fmt.Sprintf("the server accepts %d connections, and a process uses up to %d", f.MaxConnections, need),
			"raise max_connections, or lower CANDOR_DB_CONNECTIONS")
	case !f.Fsync || !f.FullPageWrites:
		return "", crash("fsync or full_page_writes is off: a crash can destroy the database", "set both on in postgresql.conf")
	case f.SynchronousCommit == "off":
		return "", crash("synchronous_commit is off: a crash loses what was acknowledged",
			"set it to on, for the server and for the role")
	case f.MaxConnections-f.Connections < need:
		return "", warning(fmt.Sprintf("%d of %d connections are in use, and one more process uses up to %d", f.Connections,
			f.MaxConnections, need), "raise max_connections, or lower CANDOR_DB_CONNECTIONS")
	case f.CharacterType == "C" || f.CharacterType == "POSIX":
		return "", warning("the database's locale is "+f.CharacterType+
			": names with other letters than A to Z are found only as they are written",
			"create the database with a UTF-8 locale such as C.UTF-8, and restore into it")
	}
	return fmt.Sprintf("UTF8, commits survive a crash, %d of %d connections are in use", f.Connections, f.MaxConnections), nil
}

// commits tries one. If it hangs, so do those of requests.
func (e *examination) commits(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	started := time.Now()
	err := e.DB.TryCommit(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return "", failure(fmt.Sprintf("a commit has waited for %s: a synchronous replica doesn't confirm it, or the disk hangs",
			commitTime),
			"look at the replica that synchronous_standby_names names (SELECT * FROM pg_stat_replication); doc/operations.md, A half-dead database")
	}
	return fmt.Sprintf("acknowledged in %s", time.Since(started).Round(100*time.Microsecond)), err
}

func (e *examination) archive(ctx context.Context) (string, error) {
	f, err := e.DB.ServerFacts(ctx)
	switch {
	case err != nil:
		return "", err
	case f.Archives && f.ArchiveFails:
		return "", failure("archive_command fails or hangs: the WAL stays on the database's disk until that is full and the database stops",
			"the database's log has the error; look whether its user may write in the archive's folder, at the space there, and whether it hangs")
	case f.Archives:
		return "the WAL is archived", nil
	case f.Restored:
		return "", warning("the database was restored and archive_mode is off: another restore loses all that came since",
			"take the last steps that restore.sh printed")
	}
	return "archive_mode is off: a restore loses what came since the last backup", nil
}

// clock compares the clocks by the fastest of three questions.
func (e *examination) clock(ctx context.Context) (string, error) {
	var skew, fastest time.Duration
	for i := range 3 {
		before := e.Clock()
		theirs, err := e.DB.ServerTime(ctx)
		if err != nil {
			return "", err
		}
		took := e.Clock().Sub(before)
		if i == 0 || took < fastest {
			fastest, skew = took, before.Add(took/2).Sub(theirs)
		}
	}
	text := fmt.Sprintf("differs from the database's by %s", skew.Abs().Round(time.Millisecond))
	const remedy = "keep both clocks right by NTP: timedatectl shows whether they are"
	switch {
	case skew.Abs() > skewFailure:
		return "", failure(text, remedy)
	case skew.Abs() > skewWarning:
		return "", warning(text, remedy)
	}
	return text, nil
}

// keys opens a value of each kind and key, and counts the values by key.
func (e *examination) keys(ctx context.Context) (string, error) {
	if e.Ring == nil {
		return "", skip("not checked without the data folder, which has development's key")
	}
	probes, err := sealing.New(sealing.Config{DB: e.DB, Ring: e.Ring}).Probes(ctx)
	if err != nil {
		return "", err
	}
	counts, order := map[string]int{}, strings.Split(e.Ring.String(), ",")
	for _, p := range probes {
		if !p.Configured {
			return "", failure(fmt.Sprintf("the key %s isn't configured, and sealed %d %s", p.Key, p.Values, p.Kind),
				"add it to CANDOR_SECRET_KEYS, after the first one")
		}
		if !p.Opens {
			return "", failure(fmt.Sprintf("the key %s doesn't open the %s that it sealed", p.Key, p.Kind),
				"another key has its name: restore the one that CANDOR_SECRET_KEYS had before")
		}
		counts[p.Key] += p.Values
	}
	var parts []string
	for _, name := range order {
		parts = append(parts, fmt.Sprintf("%s opens %d values", name, counts[name]))
	}
	return strings.Join(parts, ", "), nil
}

// probeFolder ends a probe's id, and so names its folder. No document's id ends in
// it, so no document comes into a folder that another user made here.
const probeFolder = "_uu"

func (e *examination) documents(ctx context.Context) (_ string, err error) {
	if e.Blobs == nil {
		return "", e.BlobsErr
	}
	content := make([]byte, 64<<10)
	_, _ = rand.Read(content) // never fails
	id := "doctor_" + hex.EncodeToString(content[:8]) + probeFolder
	defer func() {
		if gone := e.Blobs.Delete(context.WithoutCancel(ctx), id); err == nil && gone != nil {
			err = gone
		}
	}()
	if err := e.Blobs.Put(ctx, id, bytes.NewReader(content)); err != nil {
		return "", err
	}
	stored, err := e.Blobs.Open(ctx, id)
	if err != nil {
		return "", err
	}
	back, err := io.ReadAll(stored)
	if err := errors.Join(err, stored.Close()); err != nil {
		return "", err
	}
	if !bytes.Equal(back, content) {
		return "", failure("a probe was read otherwise than it was written", "check the disk or the store")
	}
	const works = "a probe was written, read and deleted"
	folder, ok := e.Blobs.(interface{ Free() (uint64, error) })
	if !ok {
		return works, nil
	}
	free, err := folder.Free()
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s; %d MB are free", works, free>>20)
	switch {
	case free < noSpace:
		return "", failure(text, "make space on the disk of CANDOR_DATA_DIR")
	case free < lowSpace:
		return "", warning(text, "make space on the disk of CANDOR_DATA_DIR")
	}
	return text, nil
}

func (e *examination) limits(ctx context.Context) (string, error) {
	if e.RedisURL == "" {
		return "each process counts requests by itself", nil
	}
	return "Redis answers: processes share their rate limits", ratelimit.Check(ctx, e.RedisURL)
}

func (e *examination) fonts(context.Context) (string, error) {
	if _, err := pdf.LoadFonts(e.PDFFont); err != nil {
		return "", err
	}
	if e.PDFFont == "" {
		return "those of the program", nil
	}
	return "those of the program, and " + e.PDFFont, nil
}

func (e *examination) signature(context.Context) (string, error) {
	signer, err := e.Signer()
	if err != nil {
		return "", err
	}
	if signer == nil {
		return "PDFs aren't signed", nil
	}
	if err := signer.Check(e.Clock.Now()); err != nil {
		return "", failure(err.Error(), "set CANDOR_PDF_CERT and CANDOR_PDF_KEY and restart the workers: until then PDFs wait")
	}
	text := fmt.Sprintf("PDFs are signed by %s (certificate of %s) until %s", signer.Subject(), signer.Issuer(),
		signer.Expires().Format("2 January 2006"))
	return text, CertificateWarning(signer, e.Clock.Now())
}

func (e *examination) email(ctx context.Context) (string, error) {
	switch server := e.Mail.(type) {
	case *mail.SMTP:
		encrypted, err := server.Check(ctx)
		if err != nil {
			return "", err
		}
		if !encrypted {
			return server.String() + " accepts this machine, without TLS on the loopback interface", nil
		}
		return server.String() + " accepts this machine and its sign-in, with TLS; nothing was sent", nil
	case *mail.Folder:
		return "development stores emails in a folder", nil
	}
	return "", MailWarning(false)
}

// webhookRemedies are by the class of the error.
var webhookRemedies = map[string]string{
	webhook.ClassDNS:           "check this machine's resolver (/etc/resolv.conf), and the name",
	webhook.ClassConnect:       "let this machine open connections to port 443, directly: webhooks use no proxy",
	webhook.ClassTimeout:       "let this machine open connections to port 443, directly: webhooks use no proxy",
	webhook.ClassTLS:           "install ca-certificates, check the clock, and try another host",
	webhook.ClassRefusedTarget: "give the https address of a host on the public internet",
}

func (e *examination) webhooks(ctx context.Context) (string, error) {
	if e.URL == "" {
		return "", skip("not checked: give --url, such as https://example.com, to try the way that webhooks take")
	}
	class, text := e.Client.Reach(ctx, e.URL)
	if class != "" {
		return "", failure(class+": "+text, webhookRemedies[class])
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return "", errors.New("the URL is not valid")
	}
	return u.Scheme + "://" + u.Host + " answers", nil
}

func (e *examination) workers(ctx context.Context) (string, error) {
	signs, err := e.DB.WorkerSigns(ctx)
	if err != nil {
		return "", err
	}
	backlog, err := e.DB.DeliveryBacklog(ctx, e.Clock.Now())
	if err != nil {
		return "", err
	}
	since := func(at *time.Time, now time.Time) time.Duration {
		if at == nil {
			return 0
		}
		return max(0, now.Sub(*at)).Round(time.Second)
	}
	job, delivery := since(signs.OldestJob, signs.ServerTime), since(backlog.OldestDue, e.Clock.Now())
	switch {
	case !signs.Leads:
		return "", failure("no worker is alive", "start candor worker, or candor serve")
	case job > longWait:
		return "", failure(fmt.Sprintf("the oldest job has waited for %s", job),
			"look at the workers' log for failing jobs, or start more workers")
	case delivery > longWait:
		return "", warning(fmt.Sprintf("the oldest due webhook has waited for %s", delivery),
			"a dead endpoint, or too few workers: the log's webhook attempts name the account, and candor webhooks endpoints --account lists its endpoints")
	case signs.LastJob == nil:
		return "a worker is alive, and no job has waited for long", nil
	}
	return fmt.Sprintf("a worker is alive, the last job ended %s ago, and none has waited for long",
		since(signs.LastJob, signs.ServerTime)), nil
}
