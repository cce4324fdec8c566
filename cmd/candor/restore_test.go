package main_test

import (
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

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
func TestRestore(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.NewEnvironment(t)
	restoring(t, env, filepath.Join(env["CANDOR_DATA_DIR"], "documents"))
}

// TestRestoreWithDocumentsInS3 is TestRestore with a bucket. It outlives the machine, and
// has a document from after the moment, too.
func TestRestoreWithDocumentsInS3(t *testing.T) {
	t.Parallel()
	bucket := s3test.Start(t)
	restoring(t, process.NewEnvironment(t).With(bucket.Settings()...).With("CANDOR_BLOBS", "s3"), "")
}

// restoring is TestRestore of a service whose documents are in the folder, or in S3 for "".
func restoring(t *testing.T, env process.Environment, documents string) {
	t.Helper()
	dir := openDir(t)
	kept, wal := filepath.Join(dir, "kept"), filepath.Join(dir, "kept", "wal")
	primary := startArchiving(t, filepath.Join(dir, "a"), wal)
	env = env.With("CANDOR_SWEEP_INTERVAL", "1s", "CANDOR_SECRET_KEYS", keyring.Generate("k1"), "DATABASE_URL", primary.DSN("candor"))
	hooks := process.NewReceiver(t, nil)
	a := process.CreateAccount(t, env, "--webhook-url", hooks.URL)
	hooks.SetSecret(a.TestWebhookSecret)
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
	script(t, primary, "backup.sh", 0, kept, documents)
	complete() // in the WAL and the later copy of the documents only
	before := files(api, ids)

	admin, err := db.Open(t.Context(), primary.DSN("candor"), db.Options{MaxOpenConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	moment := time.Now().UTC().Truncate(time.Second).Add(time.Second)
	process.Eventually(t, "the next second", func() bool { return time.Now().After(moment.Add(10 * time.Millisecond)) })
	complete() // after the moment
	script(t, primary, "backup.sh", 0, "--documents-only", kept, documents)
	var segment string
	if err := admin.Raw().GetContext(t.Context(), &segment, "SELECT pg_walfile_name(pg_current_wal_lsn())"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Raw().ExecContext(t.Context(), "SELECT pg_switch_wal()"); err != nil {
		t.Fatal(err)
	}
	process.Eventually(t, "the WAL is archived", func() bool {
		_, err := os.Stat(filepath.Join(wal, segment))
		return err == nil
	})
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
	if out := script(t, primary, "restore.sh", 1, kept, data, documents, "2020-01-01T00:00:00Z"); !strings.Contains(out, "no base backup from before 2020") {
		t.Errorf("to a time before the backup: %s", out)
	}
	script(t, primary, "restore.sh", 0, kept, data, documents, moment.Format("2006-01-02T15:04:05Z"))
	wantOwner(t, data, kept)
	if documents != "" {
		wantOwner(t, documents, kept)
	}
	restored, err := devpg.Start(t.Context(), filepath.Join(dir, "b"), devpg.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = restored.Stop() })
	env = env.With("DATABASE_URL", restored.DSN("candor"))
	wantRecovered(t, restored)
	r := process.Run(t, env, "verify")
	t.Logf("restored in %s\n%s", time.Since(started).Round(time.Millisecond), r.Stdout)
	for _, want := range []string{"ok     documents: 2 files", "ok     PDFs: 2 PDFs", "ok     finished sessions have their event: 2 ", "All 12 checks passed."} {
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
	for _, statement := range []string{"ALTER SYSTEM SET archive_mode = 'on'", "ALTER SYSTEM SET archive_command = 'cp %p " + wal + "/%f.part && mv " + wal + "/%f.part " + wal + "/%f'"} {
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
	root, err := testkit.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{filepath.Join(root, "scripts", name)}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+server.BinDir()+":"+os.Getenv("PATH"), "BACKUP_URL=host="+socketOf(t, server)+" port=5432 user=candor dbname=candor")
	out, _ := cmd.CombinedOutput() // the exit code tells
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("%s: exit code %d, want %d: %s", name, got, code, out)
	}
	return string(out)
}

func wantRecovered(t *testing.T, server *devpg.Server) {
	t.Helper()
	d, err := db.Open(t.Context(), server.DSN("candor"), db.Options{MaxOpenConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	process.Eventually(t, "the recovery ends", func() bool {
		recovering := true
		err := d.Raw().GetContext(t.Context(), &recovering, "SELECT pg_is_in_recovery()")
		return err == nil && !recovering
	})
}
