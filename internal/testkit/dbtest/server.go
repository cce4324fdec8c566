package dbtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"

	"candor/db"
	"candor/internal/platform/devpg"

	"github.com/jmoiron/sqlx"
)

// Databases are named prefix + lease + anything. A process holds the advisory
// lock of a lease for as long as it uses databases of that name, so a database
// whose lease no process holds is a leftover.
const (
	testPrefix     = "candor_test_"
	templatePrefix = "candor_tmpl_"
)

// leaseClass keeps our advisory locks apart from anyone else's.
const leaseClass = 720_331

// buildLease is held while a process sweeps and builds the template.
const buildLease = "build"

// server is a PostgreSQL server in which this process creates test databases.
type server struct {
	url      *url.URL
	admin    *db.DB
	leases   *sqlx.Conn // its session holds the leases; the process's end frees them
	token    string     // this process's lease
	template string
	count    atomic.Int64
	private  *devpg.Server // kept from the garbage collector, which would hang up; nil for a given server
}

func newServer(ctx context.Context, dsn string) (*server, error) {
	u, err := url.Parse(dsn)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return nil, errors.New("the test server must be given as a postgres:// URL")
	}
	fingerprint, err := db.SchemaFingerprint()
	if err != nil {
		return nil, err
	}
	admin, err := db.Open(ctx, dsn, db.Options{MaxOpenConns: 4})
	if err != nil {
		return nil, err
	}
	// A background context: the connection stays for the life of the process.
	conn, err := admin.Raw().Connx(context.Background())
	if err != nil {
		return nil, err
	}
	token := make([]byte, 6)
	if _, err := rand.Read(token); err != nil {
		return nil, err
	}
	s := &server{url: u, admin: admin, leases: conn, token: hex.EncodeToString(token), template: templatePrefix + fingerprint}
	if err := s.prepare(ctx, fingerprint); err != nil {
		return nil, err
	}
	return s, nil
}

// prepare takes the leases, drops leftovers and builds the template, one
// process at a time.
func (s *server) prepare(ctx context.Context, fingerprint string) error {
	if err := s.lock(ctx, "pg_advisory_lock", buildLease); err != nil {
		return err
	}
	if err := s.lock(ctx, "pg_advisory_lock_shared", fingerprint); err != nil {
		return err
	}
	if err := s.lock(ctx, "pg_advisory_lock_shared", s.token); err != nil {
		return err
	}
	if err := s.sweep(ctx); err != nil {
		return err
	}
	if err := s.buildTemplate(ctx, fingerprint); err != nil {
		return err
	}
	return s.lock(ctx, "pg_advisory_unlock", buildLease)
}

func (s *server) lock(ctx context.Context, function, lease string) error {
	if _, err := s.leases.ExecContext(ctx, "SELECT "+function+"($1, hashtext($2))", leaseClass, lease); err != nil {
		return fmt.Errorf("%s %s: %w", function, lease, err)
	}
	return nil
}

// sweep drops the databases of processes that have gone, and templates of
// other migrations that no process uses.
func (s *server) sweep(ctx context.Context) error {
	var names []string
	err := s.leases.SelectContext(ctx, &names, `
		SELECT datname FROM pg_database
		WHERE starts_with(datname, $1) OR starts_with(datname, $2)`, testPrefix, templatePrefix)
	if err != nil {
		return fmt.Errorf("list test databases: %w", err)
	}
	for _, name := range names {
		lease := leaseOf(name)
		if name == s.template || lease == s.token {
			continue
		}
		// On another session: this one's own locks would not stand in its way.
		if err := s.dropUnused(ctx, name, lease); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) dropUnused(ctx context.Context, name, lease string) error {
	conn, err := s.admin.Raw().Connx(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var unused bool
	err = conn.GetContext(ctx, &unused, "SELECT pg_try_advisory_lock($1, hashtext($2))", leaseClass, lease)
	if err != nil || !unused {
		return err
	}
	dropErr := s.dropDatabase(ctx, name)
	_, err = conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1, hashtext($2))", leaseClass, lease)
	return errors.Join(dropErr, err)
}

// buildTemplate makes the template under another name first, so that one left
// half-migrated by a crash is never copied.
func (s *server) buildTemplate(ctx context.Context, fingerprint string) error {
	var one int
	err := s.leases.GetContext(ctx, &one, `SELECT 1 FROM pg_database WHERE datname = $1`, s.template)
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	building := testPrefix + s.token + "_" + fingerprint
	if err := s.createDatabase(ctx, building, false); err != nil {
		return err
	}
	if err := db.Migrate(ctx, s.dsn(building)); err != nil {
		return errors.Join(err, s.dropDatabase(ctx, building))
	}
	if _, err := s.admin.Raw().ExecContext(ctx, fmt.Sprintf("ALTER DATABASE %s RENAME TO %s", building, s.template)); err != nil {
		return fmt.Errorf("name the template: %w", err)
	}
	return nil
}

func (s *server) nextName() string {
	return fmt.Sprintf("%s%s_%d", testPrefix, s.token, s.count.Add(1))
}

// createDatabase copies files, not pages: a third less work without durability.
// It needs no quoting: all names are made here, of [a-z0-9_].
func (s *server) createDatabase(ctx context.Context, name string, migrated bool) error {
	template := "template0"
	if migrated {
		template = s.template
	}
	if _, err := s.admin.Raw().ExecContext(ctx, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY FILE_COPY", name,
		template)); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	return nil
}

func (s *server) dropDatabase(ctx context.Context, name string) error {
	if _, err := s.admin.Raw().ExecContext(ctx, fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", name)); err != nil {
		return fmt.Errorf("drop %s: %w", name, err)
	}
	return nil
}

// dsn is the server's URL with another database.
func (s *server) dsn(name string) string {
	u := *s.url
	u.Path = "/" + name
	return u.String()
}

// leaseOf is the part of a database's name that says whose it is.
func leaseOf(name string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(name, testPrefix), templatePrefix)
	lease, _, _ := strings.Cut(rest, "_")
	return lease
}
