package main_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"candor/cmd/candor/config"
	"candor/db"
	"candor/internal/platform/devpg"
	"candor/internal/platform/keyring"
	"candor/internal/testkit"
	"candor/internal/testkit/process"
	"candor/internal/testkit/s3test"
)

// A service is backed up while it runs, and restored on an empty machine to a moment
// between two sessions: what came before is whole, what came after isn't there, and
// candor verify finds nothing wrong.
func TestDrillRestore(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.NewEnvironment(t)
	restoring(t, env, filepath.Join(env["CANDOR_DATA_DIR"], "documents"))
}

// TestDrillRestoreWithDocumentsInS3 is TestDrillRestore with a bucket. It outlives the machine, and
// has a document from after the moment, too.
func TestDrillRestoreWithDocumentsInS3(t *testing.T) {
	t.Parallel()
	bucket := s3test.Start(t)
	restoring(t, process.NewEnvironment(t).With(bucket.Settings()...).With("CANDOR_BLOBS", "s3"), "")
}

// restoring is TestDrillRestore of a service whose documents are in the folder, or in S3 for "".
func restoring(t *testing.T, env process.Environment, documents string) {
	t.Helper()
	dir := openDir(t)
	kept, wal := filepath.Join(dir, "kept"), filepath.Join(dir, "kept", "wal")
	primary := startArchiving(t, filepath.Join(dir, "a"), wal)
	env = env.With("CANDOR_SWEEP_INTERVAL", "1s", "CANDOR_SECRET_KEYS", keyring.Generate("k1"), "DATABASE_URL",
		primary.DSN("candor"))
	a, hooks := process.CreateAccountWithReceiver(t, env, nil)
	p := process.Serve(t, env, "serve")
	api := process.NewPartner(t, p.URL, a.TestKey)
	var ids []string
	complete := func() {
		t.Helper()
		session := api.CreateSession("")
		customer := process.OpenForm(t, process.LinkOn(p, session))
		customer.Upload("return.pdf", []byte("%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n"))
		customer.Submit()
		ids = append(ids, session.ID)
		hooks.Wait("session.pdf_ready", len(ids))
	}
	complete()
	query(t, primary, "ALTER SYSTEM SET unix_socket_directories = '"+socketOf(t, primary)+"'")
	query(t, primary, "ALTER SYSTEM SET listen_addresses = '*'")
	wantReplicas(t, primary)
	script(t, primary, "backup.sh", 0, kept, documents)
	verifyBackup(t, primary, env, kept)
	complete() // in the WAL and the later copy of the documents only
	before := files(api, ids)

	moment := nextSecond(t)
	complete() // after the moment
	script(t, primary, "backup.sh", 0, "--documents-only", kept, documents)
	archived(t, primary, wal)
	p.Stop()
	quit(t, primary)
	for _, lost := range []string{filepath.Join(dir, "a"), env["CANDOR_DATA_DIR"]} {
		if err := os.RemoveAll(lost); err != nil {
			t.Fatal(err)
		}
	}

	started := time.Now()
	data := filepath.Join(dir, "b", "data")
	if err := os.Mkdir(filepath.Dir(data), 0o700); err != nil {
		t.Fatal(err)
	}
	giveTo(t, filepath.Dir(data), kept)
	if documents != "" { // on the new machine, its folder is of another user
		if err := os.Mkdir(filepath.Dir(documents), 0o711); err != nil {
			t.Fatal(err)
		}
		giveTo(t, filepath.Dir(documents), kept)
	}
	if out := script(t, primary, "restore.sh", 1, kept, kept, "", ""); !strings.Contains(out, "is not empty") {
		t.Errorf("into a folder with files: %s", out)
	}
	if out := script(t, primary, "restore.sh", 1, kept, data, "2026-11-23T14:59:30Z"); !strings.Contains(out, "no documents") {
		t.Errorf("a moment in the documents' place: %s", out)
	}
	if out := script(t, primary, "restore.sh", 1, kept, data, documents, "2020-01-01T00:00:00Z"); !strings.Contains(out,
		"no base backup from before 2020") {
		t.Errorf("to a time before the backup: %s", out)
	}
	raised := raiseSetting(t, bases(t, kept)[0]+".conf")
	if out := script(t, primary, "restore.sh", 0, kept, data, documents, moment); !raised.MatchString(out) {
		t.Errorf("it doesn't say which settings differ, %s: %s", raised, out)
	}
	wantOwner(t, data, kept)
	if documents != "" {
		wantOwner(t, documents, kept)
	}
	if set, err := os.ReadFile(filepath.Join(data, "postgresql.auto.conf")); err != nil || !strings.Contains(string(set),
		"\nmax_connections = '") {
		t.Errorf("the restored server hasn't got the settings that it needs to recover: %v, %s", err, set)
	}
	env = env.With("DATABASE_URL", startRestored(t, filepath.Dir(data)).DSN("candor"))
	r := process.Run(t, env, "verify")
	t.Logf("restored in %s\n%s", time.Since(started).Round(time.Millisecond), r.Stdout)
	for _, want := range []string{"ok     documents: 2 files", "ok     PDFs: 2 PDFs",
		"ok     finished sessions have their event: 2 ", "All 12 checks passed."} {
		if r.Code != 0 || !strings.Contains(r.Stdout, want) {
			t.Errorf("candor verify: exit code %d, %s%s, want %q", r.Code, r.Stdout, r.Stderr, want)
		}
	}
	p = process.Serve(t, env, "serve")
	api = process.NewPartner(t, p.URL, a.TestKey)
	if after := files(api, ids[:2]); !slices.Equal(before, after) {
		t.Error("data or PDFs of the sessions before the moment are others than before")
	}
	if status, _, body := api.Do(http.MethodGet, "/sessions/"+ids[2], ""); status != http.StatusNotFound {
		t.Errorf("the session after the moment: %d %s, want 404", status, body)
	}
	complete() // the restored service works
	p.Stop()
}

// raiseSetting gives the server of a backup more connections than it had, and returns what a
// restore says of that.
func raiseSetting(t *testing.T, conf string) *regexp.Regexp {
	t.Helper()
	kept, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	raised := regexp.MustCompile(`(?m)^max_connections = '`).ReplaceAll(kept, []byte("${0}1"))
	if err := os.WriteFile(conf, raised, 0o600); err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^restore: max_connections = '1\d{2,}' in the backup, '\d+' on this server$`)
}

// wantReplicas wants what takes a backup not to be counted as a replica, which would be missed
// afterwards, by a role that may see no more than the service's.
func wantReplicas(t *testing.T, server *devpg.Server) {
	t.Helper()
	query(t, server, "CREATE ROLE service LOGIN")
	query(t, server, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO service")
	at, err := url.Parse(server.DSN("candor"))
	if err != nil {
		t.Fatal(err)
	}
	with := func(pairs ...string) string {
		values := at.Query()
		for i := 0; i < len(pairs); i += 2 {
			values.Set(pairs[i], pairs[i+1])
		}
		u := *at
		u.User, u.RawQuery = nil, values.Encode()
		return u.String()
	}
	for _, name := range []string{"pg_basebackup", "pg_receivewal", "db2"} {
		follows, err := pgconn.Connect(t.Context(), with("user", "candor", "replication", "true", "application_name", name))
		if err != nil {
			t.Fatal(err)
		}
		defer follows.Close(context.Background())
	}
	d, err := db.Open(t.Context(), with("user", "service"), db.Options{MaxOpenConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if s, err := d.Signs(t.Context()); err != nil || s.Replicas != 1 {
		t.Errorf("beside a base backup and pg_receivewal there are %d replicas, %v, want 1", s.Replicas, err)
	}
}

// verifyBackup tries the newest backup while the service runs. Its server has a place of its own,
// whatever ALTER SYSTEM has set, and lets no other role in, and no other user of the machine.
func verifyBackup(t *testing.T, server *devpg.Server, env process.Environment, kept string) {
	t.Helper()
	command := filepath.Join(openDir(t), "candor")
	if err := os.WriteFile(command, []byte(`#!/bin/sh
if psql -Atd "$(echo "$DATABASE_URL" | sed 's/user=candor/user=backup/')" -c 'SELECT 1' 2>/dev/null ||
	{ [ "$(id -u)" -eq 0 ] && su -s /bin/sh daemon -c "psql -Atd '$DATABASE_URL' -c 'SELECT 1'" 2>/dev/null; }; then
	echo "a stranger reads the backup"
	exit 1
fi
exec `+process.Binary(t)+` "$@"
`), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := scriptCommand(t, server, "verify-backup.sh", kept)
	cmd.Env = append(cmd.Env, "CANDOR="+command)
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "All 12 checks passed.") {
		t.Errorf("verify-backup.sh: %v, %s", err, out)
	}
	taken, _ := os.ReadFile(filepath.Join(kept, "base.time"))
	if verified, err := os.ReadFile(filepath.Join(kept, "verified.time")); err != nil || string(verified) != string(taken) {
		t.Errorf("verified.time: %q, %v, want that of the base backup, %q", verified, err, taken)
	}
}

// A server that was restored to a moment is restored a second time, with what came since:
// from the base backup that the steps after a restore ask for, and without it.
func TestDrillRestoreTwice(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	kept, wal := filepath.Join(dir, "kept"), filepath.Join(dir, "kept", "wal")
	server := startArchiving(t, filepath.Join(dir, "a"), wal)
	query(t, server, "CREATE TABLE note (text text)")
	script(t, server, "backup.sh", 0, kept)
	query(t, server, "INSERT INTO note VALUES ('before')")
	moment := nextSecond(t)
	query(t, server, "INSERT INTO note VALUES ('mistake')")
	archived(t, server, wal)
	wantDamageFound(t, server, kept)
	restore := func(name, notes string, to ...string) (said string) {
		t.Helper()
		quit(t, server)
		data := filepath.Join(dir, name, "data")
		if err := os.Mkdir(filepath.Dir(data), 0o700); err != nil {
			t.Fatal(err)
		}
		giveTo(t, filepath.Dir(data), server.Dir())
		said = script(t, server, "restore.sh", 0, append([]string{kept, data, ""}, to...)...)
		server = startRestored(t, filepath.Dir(data))
		if got := query(t, server, "SELECT string_agg(text, ' ') FROM note"); got != notes {
			t.Errorf("restored to %v: %s, want %s", to, got, notes)
		}
		return said
	}
	restore("b", "before", moment)

	if got := examined(t,
		server); got != "warning the database was restored and archive_mode is off: another restore loses all that came since" {
		t.Errorf("candor doctor after a restore: %s", got)
	}
	query(t, server, "ALTER SYSTEM SET archive_mode = 'on'")
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	server = startPostgres(t, server.Dir())
	script(t, server, "backup.sh", 0, kept)
	query(t, server, "INSERT INTO note VALUES ('after')")
	archived(t, server, wal)
	restore("c", "before after")
	made := bases(t, kept)
	if err := errors.Join(os.RemoveAll(made[1]), os.Remove(made[0]+".conf")); err != nil {
		t.Fatal(err)
	}
	if said := restore("d", "before after"); strings.Count(said, made[0]+".conf") != 1 ||
		!strings.Contains(said, ".conf is missing") {
		t.Errorf("of the settings that weren't kept it says: %s", said)
	}
}

// wantDamageFound: a segment that can't be read ends the trial of a backup, also if it comes
// after PostgreSQL has started.
func wantDamageFound(t *testing.T, server *devpg.Server, kept string) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(kept, "wal", "*.gz")) // pg_stat_archiver may not know the last one yet
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	segment := segments[len(segments)-1]
	whole, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	started := openDir(t)
	if err := errors.Join(os.WriteFile(segment, whole[:len(whole)/2], 0o600), os.WriteFile(filepath.Join(started, "pg_ctl"),
		[]byte("#!/bin/sh\n"+server.BinDir()+"/pg_ctl \"$@\" || [ $1 = start ]\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := scriptCommand(t, server, "verify-backup.sh", kept)
	cmd.Env = append(cmd.Env, "CANDOR=false", "PATH="+started+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "the recovery ended: ") {
		t.Errorf("verify-backup.sh with a damaged archive: %v, %s", err, out)
	}
	if err := os.WriteFile(segment, whole, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What fails to be archived is found, and old base backups are removed with their WAL.
func TestDrillBackup(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	kept, wal := filepath.Join(dir, "kept"), filepath.Join(dir, "kept", "wal")
	server := startArchiving(t, filepath.Join(dir, "a"), wal)

	documents, fresh := t.TempDir(), filepath.Join(dir, "fresh")
	script(t, server, "backup.sh", 0, "--documents-only", fresh, documents)
	if _, err := os.Stat(filepath.Join(fresh, "wal")); err == nil {
		t.Error("a copy of the documents made the folder that PostgreSQL must own")
	}
	if os.Getuid() == 0 { // PostgreSQL is another user
		for range 2 {
			if out := script(t, server, "backup.sh", 1, fresh); !strings.Contains(out, "install -d -m 700 -o postgres "+fresh+"/wal") {
				t.Errorf("PostgreSQL can't write the WAL, and the backup says: %s", out)
			}
			_ = os.Mkdir(filepath.Join(fresh, "wal"), 0o700)
		}
	}

	if err := os.Rename(wal, wal+".away"); err != nil {
		t.Fatal(err)
	}
	query(t, server, "SELECT pg_switch_wal() FROM (SELECT pg_logical_emit_message(false, 'test', 'x')) x")
	testkit.Await(t, "archiving fails", func() bool {
		return query(t, server, "SELECT failed_count > 0 FROM pg_stat_archiver") == "true"
	})
	if got := examined(t, server); !strings.HasPrefix(got, "failed archive_command fails") {
		t.Errorf("candor doctor, of an archive that is gone: %s", got)
	}
	if err := os.Rename(wal+".away", wal); err != nil {
		t.Fatal(err)
	}

	var aged, needs []string // base backups, and the first segment of each
	for i, age := range []int{10, 3} {
		script(t, server, "backup.sh", 0, kept)
		made := bases(t, kept)[i]
		label, err := os.ReadFile(filepath.Join(made, "backup_label"))
		if err != nil {
			t.Fatal(err)
		}
		needs = append(needs, filepath.Join(wal, regexp.MustCompile(`file (\w+)`).FindStringSubmatch(string(label))[1]+".gz"))
		ended := time.Now().UTC().AddDate(0, 0, -age)
		old := filepath.Join(filepath.Dir(made), ended.Format("20060102T150405Z"))
		aged = append(aged, old)
		if err := errors.Join(os.Rename(made, old), os.Chtimes(old, ended, ended)); err != nil {
			t.Fatal(err)
		}
	}
	script(t, server, "backup.sh", 0, "--keep", "7", kept)
	if left := bases(t, kept); len(left) != 2 || left[0] != aged[1] {
		t.Errorf("--keep 7 kept %q, want those of 3 days ago and of now", left)
	}
	if _, err := os.Stat(needs[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the WAL of a base backup that is gone: %v, want none", err)
	}
	if _, err := os.Stat(needs[1]); err != nil {
		t.Errorf("the WAL of a base backup that is kept: %v", err)
	}
	if got := examined(t, server); got != "ok the WAL is archived" {
		t.Errorf("candor doctor: %s", got)
	}
	wantHangFound(t, server, wal)

	keepsSettings(t, server, kept)
	copiesWhole(t, server, fresh, documents)

	query(t, server, "ALTER SYSTEM SET archive_mode = 'off'")
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	server = startPostgres(t, server.Dir())
	impatient := t.TempDir() // its clock stands until sleep is called
	last := bases(t, kept)
	taken := filepath.Base(last[len(last)-1])
	for command, does := range map[string]string{"sleep": "touch " + impatient + "/slept",
		"date": "test ! -e " + impatient + "/slept && echo " + taken + " || echo 20991231T235959Z"} {
		if err := os.WriteFile(filepath.Join(impatient, command), []byte("#!/bin/sh\n"+does+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	backup := scriptCommand(t, server, "backup.sh", kept)
	backup.Env = append(backup.Env, "PATH="+impatient+":"+server.BinDir()+":"+os.Getenv("PATH"))
	if out, err := backup.CombinedOutput(); err == nil || !strings.Contains(string(out), "PostgreSQL doesn't archive its WAL") {
		t.Errorf("a backup without archived WAL: %v, %s", err, out)
	}
	if now := bases(t, kept); !slices.Equal(now, append(last, filepath.Join(filepath.Dir(last[0]), "20991231T235959Z"))) {
		t.Errorf("a base backup in the second of another: %q, want one more than %q", now, last)
	}
}

// wantHangFound: an archive that neither fails nor ends is found after a while, as a folder of a
// machine that is gone. A server that has nothing to archive isn't taken for one.
func wantHangFound(t *testing.T, server *devpg.Server, wal string) {
	t.Helper()
	hangs := wal + ".hangs"
	if err := os.WriteFile(hangs, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(hangs) }) // or the server wouldn't stop
	query(t, server, "ALTER SYSTEM SET archive_command = 'while test -e "+hangs+"; do sleep 0.1; done; "+archiveCommand(t, wal)+"'")
	query(t, server, "ALTER SYSTEM SET archive_timeout = 60")
	query(t, server, "SELECT pg_reload_conf()")
	query(t, server, "CREATE SCHEMA later")
	query(t, server, "CREATE FUNCTION later.clock_timestamp() RETURNS timestamptz "+
		"LANGUAGE sql AS $$ SELECT pg_catalog.clock_timestamp() + interval '16 minutes' $$")
	later := "&search_path=later,pg_catalog,public"
	segment := query(t, server, "SELECT pg_walfile_name(pg_current_wal_lsn())")
	query(t, server, "SELECT pg_switch_wal() FROM (SELECT pg_logical_emit_message(false, 'test', 'x')) x")
	query(t, server, "SELECT pg_logical_emit_message(false, 'test', 'x')")
	if got := examined(t, server); got != "ok the WAL is archived" {
		t.Errorf("candor doctor, of a segment that has just ended: %s", got)
	}
	if got := examined(t, server, later); !strings.HasPrefix(got, "failed archive_command fails or hangs") {
		t.Errorf("candor doctor, of an archive that hangs: %s", got)
	}
	if err := os.Remove(hangs); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the WAL is archived", func() bool {
		return query(t, server, "SELECT last_archived_wal >= '"+segment+"' FROM pg_stat_archiver") == "true"
	})
	if got := examined(t, server, later); got != "ok the WAL is archived" {
		t.Errorf("candor doctor, of a server that is idle: %s", got)
	}
}

// keepsSettings: a backup has the service's settings without secrets; it has PostgreSQL's, and is
// one without them, if its role may only replicate.
func keepsSettings(t *testing.T, server *devpg.Server, kept string) {
	t.Helper()
	dir := openDir(t)
	lines := "CANDOR_BASE_URL=https://forms.example.com\n #CANDOR_S3_SECRET_KEY=s3cr3t\n# until May: k0:s3cr3t\n"
	for _, v := range new(config.Config).Variables() {
		if v.File() != "" {
			lines += " " + v.Name + "=s3cr3t\n"
		}
	}
	admin, err := pgconn.Connect(t.Context(), server.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.Background())
	_, err = admin.Exec(t.Context(),
		"GRANT SELECT ON pg_hba_file_rules TO backup; GRANT EXECUTE ON FUNCTION pg_hba_file_rules() TO backup").ReadAll()
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "candor.env"), []byte(lines), 0o600),
		os.WriteFile(filepath.Join(dir, "web.env"), []byte("CANDOR_METRICS_ADDR=localhost:9091\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "pg_basebackup"), []byte("#!/bin/sh\n"+server.BinDir()+
			"/pg_basebackup \"$@\" && rm \"$4/pg_hba.conf\"\n"), 0o755)); err != nil { // as on Debian
		t.Fatal(err)
	}
	backup := func() (said, made string) {
		t.Helper()
		before := len(bases(t, kept))
		cmd := scriptCommand(t, server, "backup.sh", kept)
		cmd.Env = append(cmd.Env, "SETTINGS="+filepath.Join(dir, "*.env"), "PATH="+dir+":"+server.BinDir()+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		all := bases(t, kept)
		if err != nil || len(all) != before+1 {
			t.Fatalf("%d base backups, want another than %d: %v, %s", len(all), before, err, out)
		}
		return string(out), all[before]
	}
	said, made := backup()
	if strings.Contains(said, "n't kept") {
		t.Errorf("a backup by a role that may see all: %s", said)
	}
	for file, want := range map[string]string{made + ".conf": "\narchive_command = '", made + ".hba": "local all all trust",
		filepath.Join(kept, "candor.env"): "CANDOR_BASE_URL=https://forms.example.com\n# CANDOR_S3_SECRET_KEY is a secret",
		filepath.Join(kept, "web.env"):    "CANDOR_METRICS_ADDR=localhost:9091\n"} {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), "s3cr3t") {
			t.Errorf("in %s there is no %q, or a secret: %v, %s", file, want, err, text)
		}
	}

	hba := filepath.Join(server.Dir(), "data", "pg_hba.conf")
	rules, err := os.ReadFile(hba)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hba, append([]byte("local all backup reject\n"), rules...), 0o600); err != nil {
		t.Fatal(err)
	}
	query(t, server, "SELECT pg_reload_conf()")
	said, made = backup()
	if !strings.Contains(said, "PostgreSQL's settings aren't kept") || !strings.Contains(said, "pg_hba.conf isn't kept") {
		t.Errorf("a backup by a role that may only replicate: %s", said)
	}
	for _, none := range []string{".conf", ".hba"} {
		if _, err := os.Stat(made + none); err == nil {
			t.Errorf("there is a file %s for what couldn't be read", none)
		}
	}
}

// copiesWhole: a copy of a document that was cut off is made again, what the service is still
// writing isn't copied, and what it has deleted stays.
func copiesWhole(t *testing.T, server *devpg.Server, kept, documents string) {
	t.Helper()
	folder, copied := filepath.Join(documents, "ab"), filepath.Join(kept, "documents", "ab")
	for _, dir := range []string{folder, copied} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, content := range map[string]string{
		filepath.Join(folder, "doc_whole_ab"): "whole", filepath.Join(folder, "doc_next_ab.part"): "wh",
		filepath.Join(copied, "doc_whole_ab"): "wh", filepath.Join(copied, "doc_deleted_ab"): "deleted",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script(t, server, "backup.sh", 0, "--documents-only", kept, documents)
	for name, want := range map[string]string{"doc_whole_ab": "whole", "doc_deleted_ab": "deleted", "doc_next_ab.part": ""} {
		if got, _ := os.ReadFile(filepath.Join(copied, name)); string(got) != want {
			t.Errorf("the copy of %s is %q, want %q", name, got, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(kept, ".*.*")); len(left) > 0 {
		t.Errorf("it leaves %q", left)
	}
}

// PostgreSQL repeats a command that succeeded if it crashed before it noted that.
func TestArchiveCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	segment := filepath.Join(dir, "1")
	command := strings.NewReplacer("%p", segment, "%f", "1").Replace(archiveCommand(t, filepath.Join(dir, "wal")))
	if err := os.Mkdir(filepath.Join(dir, "wal"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		content  string
		archives bool
	}{{"WAL", true}, {"WAL", true}, {"another server's", false}} {
		if err := os.WriteFile(segment, []byte(step.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); (err == nil) != step.archives {
			t.Errorf("archiving %q: %v, %s", step.content, err, out)
		}
	}
}

// archiveCommand is the one that doc/operations.md has, for another folder.
func archiveCommand(t *testing.T, wal string) string {
	t.Helper()
	return strings.ReplaceAll(documented(t, `archive_command = '(.*)'`), "/backup/wal", wal)
}

// documented is what doc/operations.md has in the pattern's parentheses.
func documented(t *testing.T, pattern string) string {
	t.Helper()
	root, err := testkit.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "doc", "operations.md"))
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if err != nil || found == nil {
		t.Fatalf("operations.md has no %s: %v", pattern, err)
	}
	return string(found[1])
}

// archived ends the WAL's current segment and waits until it is archived.
func archived(t *testing.T, on database, wal string) {
	t.Helper()
	segment := query(t, on, "SELECT pg_walfile_name(pg_current_wal_lsn())")
	query(t, on, "SELECT pg_switch_wal()")
	testkit.Await(t, "the WAL is archived", func() bool {
		_, err := os.Stat(filepath.Join(wal, segment+".gz"))
		return err == nil
	})
}

// nextSecond waits for it, and returns it as restore.sh takes a moment.
func nextSecond(t *testing.T) string {
	t.Helper()
	moment := time.Now().UTC().Truncate(time.Second).Add(time.Second)
	testkit.Await(t, "the next second", func() bool { return time.Now().After(moment.Add(10 * time.Millisecond)) })
	return moment.Format("2006-01-02T15:04:05Z")
}

// A database is a server of PostgreSQL, alone or in a cluster.
type database interface{ DSN(name string) string }

// query runs a statement and returns the value of its last row, if it has one.
func query(t *testing.T, on database, statement string) (value string) {
	t.Helper()
	d, err := db.Open(t.Context(), on.DSN("candor"), db.Options{MaxOpenConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Raw().GetContext(t.Context(), &value, statement); err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatalf("%s: %v", statement, err)
	}
	return value
}

// examined is what candor doctor says of the archive, with more parameters of the connection.
func examined(t *testing.T, server *devpg.Server, parameters ...string) string {
	t.Helper()
	out := process.Run(t, process.NewEnvironment(t).With("DATABASE_URL", server.DSN("candor")+strings.Join(parameters, "")),
		"doctor", "--json").Stdout
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range r.Checks {
		if c.Check == "archive" {
			return c.Status + " " + c.Result
		}
	}
	t.Fatalf("candor doctor says nothing of the archive: %s", out)
	return ""
}

// bases are the base backups in a folder, oldest first.
func bases(t *testing.T, kept string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(kept, "base", "*Z"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// files are the data and PDFs of sessions.
func files(api process.Partner, ids []string) (out []string) {
	for _, id := range ids {
		for _, path := range []string{"/data", "/pdf"} {
			_, _, body := api.Do(http.MethodGet, "/sessions/"+id+path, "")
			out = append(out, string(body))
		}
	}
	return out
}

// startArchiving starts a server that archives its WAL in a folder.
func startArchiving(t *testing.T, dir, wal string) *devpg.Server {
	t.Helper()
	server := startPostgres(t, dir)
	if err := os.MkdirAll(wal, 0o700); err != nil {
		t.Fatal(err)
	}
	giveTo(t, filepath.Dir(wal), server.Dir())
	d, err := db.Open(t.Context(), server.DSN("candor"), db.Options{MaxOpenConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"ALTER SYSTEM SET archive_mode = 'on'", "ALTER SYSTEM SET archive_command = '" +
		archiveCommand(t, wal) + "'", "CREATE ROLE backup LOGIN REPLICATION"} {
		if _, err := d.Raw().ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	_ = d.Close()
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	return startPostgres(t, dir)
}

// wantOwner wants all of a folder to have the owner of another one.
func wantOwner(t *testing.T, dir, like string) {
	t.Helper()
	owner := func(path string) uint32 {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Uid //nolint:forcetypeassert // on each system that the tests run on
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && owner(path) != owner(like) {
			t.Errorf("%s is of user %d, want %d", path, owner(path), owner(like))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// script runs a script, which must end with the exit code, and returns its output.
func script(t *testing.T, server *devpg.Server, name string, code int, args ...string) string {
	t.Helper()
	cmd := scriptCommand(t, server, name, args...)
	out, _ := cmd.CombinedOutput() // the exit code tells
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("%s: exit code %d, want %d: %s", name, got, code, out)
	}
	return string(out)
}

// scriptCommand runs a script with the programs of a server.
func scriptCommand(t *testing.T, server *devpg.Server, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := shell(t, name, args...)
	cmd.Env = append(os.Environ(), "PATH="+server.BinDir()+":"+os.Getenv("PATH"), "BACKUP_URL="+strings.Replace(documented(t,
		`BACKUP_URL='(host=db1 .*?)'`), "host=db1", "host="+socketOf(t, server)+" port=5432", 1))
	return cmd
}

// shell runs a script of scripts/.
func shell(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	root, err := testkit.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), "sh", append([]string{filepath.Join(root, "scripts", name)}, args...)...)
}

// startRestored starts a server and waits for the end of its recovery.
func startRestored(t *testing.T, dir string) *devpg.Server {
	t.Helper()
	server, err := devpg.Start(t.Context(), dir, devpg.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	d, err := db.Open(t.Context(), server.DSN("candor"), db.Options{MaxOpenConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	testkit.Await(t, "the recovery ends", func() bool {
		recovering := true
		err := d.Raw().GetContext(t.Context(), &recovering, "SELECT pg_is_in_recovery()")
		return err == nil && !recovering
	})
	return server
}
