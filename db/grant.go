package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

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

// RoleOf returns the role that a connection string names.
func RoleOf(dsn string) (string, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return "", errors.New("db: the connection string is not valid")
	}
	return config.User, nil
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
