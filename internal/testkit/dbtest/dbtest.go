// Package dbtest gives each test a migrated PostgreSQL database of its own. One that is
// new is copied from a template in some 40 ms and dropped when the test ends; one that is
// lent was another test's.
//
// The server is the one of CANDOR_TEST_DATABASE_URL (a superuser's URL) if that
// is set, else a private one without durability that all test binaries of this
// checkout share and that stops a minute after the last of them. This package
// is for tests only and must not know what the tables hold.
package dbtest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"candor/db"
	"candor/internal/platform/devpg"
	"candor/internal/testkit"
)

const (
	setUpTimeout   = 2 * time.Minute
	maxConnections = 300
	idleStop       = time.Minute
	poolSize       = 8
)

// shared is this process's server, set up when the first test asks for it.
var shared = sync.OnceValues(setUp)

// New returns a fresh migrated database, closed and dropped when t ends.
func New(t testing.TB) *db.DB {
	t.Helper()
	return Open(t, DSN(t))
}

// Open connects to a database, usually DSN's, with a small pool that is closed
// when t ends.
func Open(t testing.TB, dsn string) *db.DB {
	t.Helper()
	d, err := db.Open(context.Background(), dsn, db.Options{MaxOpenConns: poolSize})
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("dbtest: close: %v", err)
		}
	})
	return d
}

// DSN returns the URL of a fresh migrated database, dropped when t ends even
// if something is still connected. For tests of other drivers or of the binary.
func DSN(t testing.TB) string {
	t.Helper()
	return create(t, true)
}

// EmptyDSN is DSN without the migrations.
func EmptyDSN(t testing.TB) string {
	t.Helper()
	return create(t, false)
}

// BinDir is the folder of the server's programs, such as pg_dump; with a
// server of CANDOR_TEST_DATABASE_URL that of the programs installed here.
func BinDir(t testing.TB) string {
	t.Helper()
	dir, err := devpg.FindBinDir("")
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	return dir
}

func create(t testing.TB, migrated bool) string {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	name := s.nextName()
	if err := s.createDatabase(context.Background(), name, migrated); err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	t.Cleanup(func() {
		if err := s.dropDatabase(context.Background(), name); err != nil {
			t.Errorf("dbtest: %v", err)
		}
	})
	return s.dsn(name)
}

// setUp finds or starts the server, sweeps what crashed runs left, and makes
// sure of the template.
func setUp() (*server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), setUpTimeout)
	defer cancel()
	if dsn := os.Getenv("CANDOR_TEST_DATABASE_URL"); dsn != "" {
		return newServer(ctx, dsn)
	}
	root, err := testkit.ModuleRoot()
	if err != nil {
		return nil, err
	}
	h := sha256.Sum256([]byte(root))
	dir := filepath.Join(Parent(), fmt.Sprintf("candor-test-%d-%x", os.Getuid(), h[:5]))
	pg, err := devpg.Start(ctx, dir, devpg.Options{Unsafe: true, IdleStop: idleStop, MaxConnections: maxConnections})
	if err != nil {
		return nil, err
	}
	s, err := newServer(ctx, pg.DSN("postgres"))
	if err != nil {
		return nil, err
	}
	s.private = pg
	return s, nil
}

// Parent is the folder for the folders of private servers: memory if there is
// enough of it, because a database is some 600 files, which a disk may take ten
// times as long to create. At rest the server's folder has about 100 MB,
// and 15 for each lent database, until the next process drops those.
func Parent() string {
	const memory, need = "/dev/shm", 4 << 30
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && syscall.Statfs(memory, &fs) == nil && fs.Bavail*uint64(fs.Bsize) > need {
		return memory
	}
	return os.TempDir()
}
