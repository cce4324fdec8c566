package db

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/lib/pq"
)

// SQL is the text of a statement, or a part of it. A constant is SQL as it
// stands, and a string doesn't compile, so no value can become a part of a
// statement: values are arguments. Only this file makes SQL of strings, which
// TestNoStringBecomesSQL holds.
type SQL string

// identifier quotes a name, which can't be an argument.
func identifier(name string) SQL { return SQL(pq.QuoteIdentifier(name)) }

// joined puts separator between the parts.
func joined(parts []SQL, separator SQL) SQL {
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString(string(separator))
		}
		b.WriteString(string(part))
	}
	return SQL(b.String())
}

// qualified puts a table's name before each of the columns.
func qualified(table, columns SQL) SQL {
	var names []SQL
	for name := range strings.SplitSeq(string(columns), ",") {
		names = append(names, table+"."+SQL(strings.TrimSpace(name)))
	}
	return joined(names, ", ")
}

// conditions builds a WHERE clause and its arguments side by side.
type conditions struct {
	clauses []SQL
	args    []any
}

// arg adds an argument and returns its placeholder.
func (c *conditions) arg(value any) SQL {
	c.args = append(c.args, value)
	return SQL("$" + strconv.Itoa(len(c.args)))
}

// and adds a clause.
func (c *conditions) and(clause SQL) { c.clauses = append(c.clauses, clause) }

// add adds a clause that compares with a value, as in add("id =", id).
func (c *conditions) add(compare SQL, value any) { c.and(compare + " " + c.arg(value)) }

// where is what was added and more, all of it.
func (c *conditions) where(more ...SQL) SQL {
	return joined(append(c.clauses[:len(c.clauses):len(c.clauses)], more...), " AND ")
}

// GetContext reads one row into dest, as sqlx does.
func (d *DB) GetContext(ctx context.Context, dest any, query SQL, args ...any) error {
	return d.DB.GetContext(ctx, dest, string(query), args...)
}

// SelectContext reads rows into the slice at dest, as sqlx does.
func (d *DB) SelectContext(ctx context.Context, dest any, query SQL, args ...any) error {
	return d.DB.SelectContext(ctx, dest, string(query), args...)
}

// QueryRowContext reads one row, as database/sql does.
func (d *DB) QueryRowContext(ctx context.Context, query SQL, args ...any) *sql.Row {
	return d.DB.QueryRowContext(ctx, string(query), args...)
}

// ExecContext runs a statement, as database/sql does.
func (d *DB) ExecContext(ctx context.Context, query SQL, args ...any) (sql.Result, error) {
	return d.DB.ExecContext(ctx, string(query), args...)
}

// GetContext reads one row into dest, as sqlx does.
func (tx *Tx) GetContext(ctx context.Context, dest any, query SQL, args ...any) error {
	return tx.Tx.GetContext(ctx, dest, string(query), args...)
}

// SelectContext reads rows into the slice at dest, as sqlx does.
func (tx *Tx) SelectContext(ctx context.Context, dest any, query SQL, args ...any) error {
	return tx.Tx.SelectContext(ctx, dest, string(query), args...)
}

// QueryRowContext reads one row, as database/sql does.
func (tx *Tx) QueryRowContext(ctx context.Context, query SQL, args ...any) *sql.Row {
	return tx.Tx.QueryRowContext(ctx, string(query), args...)
}

// ExecContext runs a statement, as database/sql does.
func (tx *Tx) ExecContext(ctx context.Context, query SQL, args ...any) (sql.Result, error) {
	return tx.Tx.ExecContext(ctx, string(query), args...)
}

// NamedExecContext runs a statement whose arguments are fields of arg, as sqlx
// does.
func (tx *Tx) NamedExecContext(ctx context.Context, query SQL, arg any) (sql.Result, error) {
	return tx.Tx.NamedExecContext(ctx, string(query), arg)
}

// PrepareContext prepares a statement, as database/sql does.
func (tx *Tx) PrepareContext(ctx context.Context, query SQL) (*sql.Stmt, error) {
	return tx.Tx.PrepareContext(ctx, string(query))
}
