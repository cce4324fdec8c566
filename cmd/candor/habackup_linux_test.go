package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	query(t, former, "CREATE TABLE note (text text)")
	query(t, former, "GRANT SELECT ON note TO candor")
	query(t, former, "INSERT INTO note VALUES ('before')")
	former.PowerOff()
	var primary *hatest.Node
	testkit.Await(t, "another primary", func() bool {
		if primary = c.Leader(former); primary == nil {
			return false
		}
		_, err := primary.Commit(time.Second)
		return err == nil
	})
	query(t, primary, "INSERT INTO note VALUES ('after')")
	archived(t, primary, filepath.Join(folder, "wal"))
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
	if got := query(t, primary, "SELECT string_agg(text, ' ') || ', archive_mode ' || current_setting('archive_mode') FROM note"); got !=
		"before after, archive_mode always" {
		t.Errorf("the restored cluster has %q", got)
	}
}
