package main_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/testkit"
	"candor/internal/testkit/hatest"
)

// A cluster of packaging/ha is backed up through HAProxy, as doc/operations.md says, and loses its
// primary. The backup of before and the WAL of all machines have what came after, and are restored
// by its commands: then Patroni decides again which replicas commits wait for, and archives.
func TestDrillHighAvailabilityBackup(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	c := hatest.Start(t)
	c.CreateDatabase()
	folder, url := c.Backup(documented(t, `BACKUP_URL='(host=localhost .*?)'`))
	on := func(n *hatest.Node, statement string) (value string) {
		t.Helper()
		d, err := db.Open(t.Context(), n.DSN("candor"), db.Options{MaxOpenConns: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if err := d.Raw().GetContext(t.Context(), &value, statement); err != nil && !errors.Is(err, sql.ErrNoRows) {
			t.Fatalf("%s: %v", statement, err)
		}
		return value
	}
	run := func(script, data string, env ...string) string {
		t.Helper()
		cmd := shell(t, script, strings.Fields(folder+" "+data)...)
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v, %s", script, err, out)
		}
		return string(out)
	}
	former := c.Leader(nil)
	run("backup.sh", "", "BACKUP_URL="+url)
	on(former, "CREATE TABLE note (text text)")
	on(former, "GRANT SELECT ON note TO candor")
	on(former, "INSERT INTO note VALUES ('before')")
	former.PowerOff()
	var primary *hatest.Node
	testkit.Await(t, "another primary", func() bool {
		if primary = c.Leader(former); primary == nil {
			return false
		}
		_, err := primary.Commit(time.Second)
		return err == nil
	})
	on(primary, "INSERT INTO note VALUES ('after')")
	segment := on(primary, "SELECT pg_walfile_name(pg_current_wal_lsn())")
	on(primary, "SELECT pg_switch_wal()")
	testkit.Await(t, "the WAL is archived", func() bool {
		_, err := os.Stat(filepath.Join(folder, "wal", segment+".gz"))
		return err == nil
	})
	reads := filepath.Join(openDir(t), "candor")
	if err := os.WriteFile(reads, []byte("#!/bin/sh\npsql -Atd \"$DATABASE_URL\" -c \"SELECT string_agg(text, ' ') FROM note\"\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	if out := run("verify-backup.sh", "", "CANDOR="+reads); !strings.HasPrefix(out, "before after\n") {
		t.Errorf("the backup has %q, want what came before and after the failover", out)
	}
	steps := strings.Split(documented(t, "(?s)For steps 1 and 4, as `postgres`:\n\n    (.*?)\n\n"), "\n    ")
	c.Restore(primary, func(data string) { run("restore.sh", data) }, steps)
	if got := on(primary, "SELECT string_agg(text, ' ') || ', archive_mode ' || current_setting('archive_mode') FROM note"); got !=
		"before after, archive_mode always" {
		t.Errorf("the restored cluster has %q", got)
	}
}
