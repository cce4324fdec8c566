package db

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"
)

// MinServerVersion is the oldest PostgreSQL that Candor works with, as PostgreSQL's
// server_version_num.
const MinServerVersion = 150_000

// RequiredExtensions are what the migrations create.
var RequiredExtensions = []string{"btree_gin", "pg_trgm"}

// ServerFacts is what operators should know of the database's server.
type ServerFacts struct {
	Version           string         `db:"version"`
	VersionNumber     int            `db:"version_number"`
	ReadOnly          bool           `db:"read_only"` // it is a standby, or transactions can't write
	Encoding          string         `db:"encoding"`
	CharacterType     string         `db:"character_type"` // the locale that knows letters
	SynchronousCommit string         `db:"synchronous_commit"`
	Fsync             bool           `db:"fsync"`
	FullPageWrites    bool           `db:"full_page_writes"`
	Connections       int            `db:"connections"` // in use
	MaxConnections    int            `db:"max_connections"`
	Archives          bool           `db:"archives"`      // archive_mode is on
	ArchiveFails      bool           `db:"archive_fails"` // the last attempt to archive WAL failed, or hangs
	Restored          bool           `db:"restored"`      // it has a restore_command
	Extensions        pq.StringArray `db:"extensions"`
}

// archiveFails is whether the last attempt to archive WAL failed, or hangs: with archive_timeout
// a segment was archived a while ago, and one before the current one wasn't. Where nothing is
// written PostgreSQL begins no segment, so that the time alone says nothing.
const archiveFails sqlText = `(
	SELECT coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false)
		OR current_setting('archive_timeout')::interval > '0'
			AND greatest(last_archived_time, pg_postmaster_start_time())
				< clock_timestamp() - greatest('15 minutes', 3 * current_setting('archive_timeout')::interval)
			AND CASE WHEN NOT pg_is_in_recovery() THEN coalesce(last_archived_wal, '') COLLATE "C"
				< pg_walfile_name(pg_current_wal_lsn() - pg_size_bytes(current_setting('wal_segment_size'))) ELSE false END
	FROM pg_stat_archiver)`

// ServerFacts reads them.
func (q *Queries) ServerFacts(ctx context.Context) (ServerFacts, error) {
	var f ServerFacts
	err := q.get(ctx, &f, `
		SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS version_number,
			pg_is_in_recovery() OR current_setting('transaction_read_only')::bool AS read_only,
			pg_encoding_to_char(d.encoding) AS encoding, d.datctype AS character_type,
			current_setting('synchronous_commit') AS synchronous_commit, current_setting('fsync')::bool AS fsync,
			current_setting('full_page_writes')::bool AS full_page_writes,
			(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
			current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS max_connections,
			current_setting('archive_mode') <> 'off' AS archives, current_setting('restore_command') <> '' AS restored,
			`+archiveFails+` AS archive_fails,
			ARRAY(SELECT extname::text FROM pg_extension ORDER BY extname) AS extensions
		FROM pg_database d WHERE d.datname = current_database()`)
	return f, wrap(err, "read the server's settings")
}

// TryCommit commits a transaction that writes nothing but a record of itself, and waits for
// replicas as every other commit does.
func (q *Queries) TryCommit(ctx context.Context) error {
	_, err := q.exec(ctx, `SELECT pg_logical_emit_message(true, 'candor', '')`)
	return wrap(err, "try a commit")
}

// ServerTime returns the server's clock.
func (q *Queries) ServerTime(ctx context.Context) (time.Time, error) {
	var at time.Time
	err := q.get(ctx, &at, `SELECT clock_timestamp()`)
	return at, wrap(err, "read the server's clock")
}

// MissingRights returns the tables and sequences on which this connection's role
// lacks what Grant gives, in alphabetical order.
func (q *Queries) MissingRights(ctx context.Context) ([]string, error) {
	var names []string
	err := q.all(ctx, &names, `
		SELECT c.relname FROM pg_class c
		WHERE c.relnamespace = 'public'::regnamespace AND CASE
			WHEN c.relkind = 'S' THEN NOT has_sequence_privilege(c.oid, 'USAGE')
			WHEN c.relkind NOT IN ('r', 'p') THEN false
			WHEN c.relname IN ('goose_db_version', 'river_migration', 'plan') THEN NOT has_table_privilege(c.oid, 'SELECT')
			WHEN c.relname = 'invoice_number' THEN NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'UPDATE'))
			ELSE NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT'))
		END
		ORDER BY c.relname`)
	return names, wrap(err, "look at the role's privileges")
}

// WorkerSigns show whether workers are alive.
type WorkerSigns struct {
	Leads      bool       `db:"leads"`       // a worker has the leader's lease, which lasts seconds
	LastJob    *time.Time `db:"last_job"`    // when the last job ended; nil for none
	OldestJob  *time.Time `db:"oldest_job"`  // since when the oldest available job waits; nil for none
	ServerTime time.Time  `db:"server_time"` // now
}

// WorkerSigns reads them from River's tables.
func (q *Queries) WorkerSigns(ctx context.Context) (WorkerSigns, error) {
	var s WorkerSigns
	err := q.get(ctx, &s, `
		SELECT EXISTS (SELECT FROM river_leader WHERE expires_at > now()) AS leads,
			(SELECT max(finalized_at) FROM river_job WHERE state = 'completed' AND finalized_at IS NOT NULL) AS last_job,
			(SELECT min(scheduled_at) FROM river_job WHERE state = 'available') AS oldest_job,
			now() AS server_time`)
	return s, wrap(err, "look for workers")
}

// Signs are what alerts watch in the database besides deliveries.
type Signs struct {
	Workers      int        `db:"workers"`       // that have shown a sign of life
	Replicas     int        `db:"replicas"`      // that stream from this server, without backups
	Archives     bool       `db:"archives"`      // archive_mode is on
	ArchiveFails bool       `db:"archive_fails"` // the last attempt to archive WAL failed, or hangs
	ServerTime   time.Time  `db:"server_time"`   // now
	Queues       []QueueAge `db:"-"`             // those that have an unfinished job
}

// QueueAge is how long the jobs of a queue have waited.
type QueueAge struct {
	Queue  string     `db:"queue"`
	Due    *time.Time `db:"due"`    // when the oldest job that waits for a worker became due; nil for none
	Oldest *time.Time `db:"oldest"` // when the oldest job that isn't put off was made; nil for none
}

// Signs reads them. Any role may: of replicas only their names are asked for, which each sees.
func (q *Queries) Signs(ctx context.Context) (Signs, error) {
	var s Signs
	if err := q.get(ctx, &s, `
		SELECT (SELECT count(*) FROM worker WHERE alive_at > clock_timestamp() - make_interval(secs => $1)) AS workers,
			(SELECT count(*) FROM pg_stat_replication WHERE application_name NOT IN ('pg_basebackup', 'pg_receivewal')) AS replicas,
			current_setting('archive_mode') <> 'off' AS archives,
			`+archiveFails+` AS archive_fails,
			now() AS server_time`, workerDeadAfter.Seconds()); err != nil {
		return Signs{}, wrap(err, "look for workers and replicas")
	}
	err := q.all(ctx, &s.Queues, `
		SELECT queue, min(scheduled_at) FILTER (WHERE state = 'available' OR state <> 'running' AND scheduled_at < now()) AS due,
			min(created_at) FILTER (WHERE state <> 'scheduled') AS oldest
		FROM river_job WHERE state IN ('available', 'running', 'retryable', 'scheduled') GROUP BY queue ORDER BY queue`)
	return s, wrap(err, "look how long jobs wait")
}

// Grant gives the role in which the service works what it needs, and no more: it
// can't change the schema, nor what stands in the audit log, nor take invoices
// away or their numbers back. The database must be open as the tables' owner.
// Run again after each Migrate, it covers new tables. All of it is done or
// nothing: what is given to all tables is taken back from some.
func (d *DB) Grant(ctx context.Context, role string) error {
	to := identifier(role)
	return d.InTx(ctx, func(tx *Tx) error {
		for _, statement := range []sqlText{
			"GRANT USAGE ON SCHEMA public TO " + to,
			"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO " + to,
			"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO " + to,
			"REVOKE INSERT, UPDATE, DELETE ON goose_db_version, river_migration, plan FROM " + to,
			"REVOKE UPDATE, DELETE ON audit_log, erasure FROM " + to,
			"REVOKE DELETE ON invoice, plan_change FROM " + to,
			"REVOKE INSERT, DELETE ON invoice_number FROM " + to,
		} {
			if _, err := tx.exec(ctx, statement); err != nil {
				return fmt.Errorf("db: grant the role %s what it needs: %w", role, err)
			}
		}
		return nil
	})
}

// MayRewriteAudit reports whether this connection's role could change or
// delete what stands in the audit log: as its owner, or by a privilege.
func (q *Queries) MayRewriteAudit(ctx context.Context) (bool, error) {
	var may bool
	err := q.get(ctx, &may, `
		SELECT has_table_privilege('audit_log', 'UPDATE, DELETE, TRUNCATE')
			OR pg_has_role(c.relowner, 'MEMBER') FROM pg_class c WHERE c.oid = 'audit_log'::regclass`)
	return may, wrap(err, "look at the audit log's privileges")
}
