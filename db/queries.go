package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Queries are the statements that run on a DB and in a Tx alike. Both embed it.
// A statement that is only correct together with others is a method of Tx.
type Queries struct{ on runner }

// runner is what sqlx's DB and Tx have in common.
type runner interface {
	GetContext(ctx context.Context, dest any, query string, args ...any) error
	SelectContext(ctx context.Context, dest any, query string, args ...any) error
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// get reads one row into dest, a pointer to a struct or a single value.
func (q *Queries) get(ctx context.Context, dest any, query sqlText, args ...any) error {
	return q.on.GetContext(ctx, dest, string(query), args...)
}

// all reads every row into dest, a pointer to a slice.
func (q *Queries) all(ctx context.Context, dest any, query sqlText, args ...any) error {
	return q.on.SelectContext(ctx, dest, string(query), args...)
}

// row reads one row, to be scanned column by column.
func (q *Queries) row(ctx context.Context, query sqlText, args ...any) *sql.Row {
	return q.on.QueryRowContext(ctx, string(query), args...)
}

// exec runs a statement that returns no rows.
func (q *Queries) exec(ctx context.Context, query sqlText, args ...any) (sql.Result, error) {
	return q.on.ExecContext(ctx, string(query), args...)
}

// execNamed runs a statement whose parameters are fields of arg.
func (tx *Tx) execNamed(ctx context.Context, query sqlText, arg any) (sql.Result, error) {
	return tx.tx.NamedExecContext(ctx, string(query), arg)
}

// prepare prepares a statement, which COPY needs.
func (tx *Tx) prepare(ctx context.Context, query sqlText) (*sql.Stmt, error) {
	return tx.tx.PrepareContext(ctx, string(query))
}

// wrap says what failed. A missing row becomes ErrNotFound.
func wrap(err error, doing string) error { return wrapMissing(err, ErrNotFound, doing) }

// wrapChange is wrap for a change that its row's state must allow. Without such
// a row the error is ErrState.
func wrapChange(err error, doing string) error { return wrapMissing(err, ErrState, doing) }

func wrapMissing(err, missing error, doing string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		err = missing
	}
	return fmt.Errorf("db: %s: %w", doing, err)
}

// affected returns how many rows a statement changed.
func affected(result sql.Result, err error, doing string) (int, error) {
	if err != nil {
		return 0, wrap(err, doing)
	}
	n, err := result.RowsAffected()
	return int(n), wrap(err, doing)
}

// changedOne returns ErrNotFound if an update or delete found no row.
func changedOne(result sql.Result, err error, doing string) error {
	return oneRow(result, err, ErrNotFound, doing)
}

// changedState returns ErrState if an update found no row in the state it needs.
func changedState(result sql.Result, err error, doing string) error {
	return oneRow(result, err, ErrState, doing)
}

func oneRow(result sql.Result, err, missing error, doing string) error {
	n, err := affected(result, err, doing)
	if err == nil && n == 0 {
		return fmt.Errorf("db: %s: %w", doing, missing)
	}
	return err
}
