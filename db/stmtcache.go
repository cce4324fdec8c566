package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/lib/pq"
)

const defaultStatementCache = 256

// cachingConnector gives connections that prepare each statement with
// parameters once and keep it. lib/pq by itself has the server parse and plan
// it every time, which costs about half the throughput.
type cachingConnector struct {
	driver.Connector
	size int
}

func newCachingConnector(c driver.Connector, size int) driver.Connector {
	if size <= 0 {
		size = defaultStatementCache
	}
	return &cachingConnector{Connector: c, size: size}
}

// Connect opens a connection with an empty cache.
func (c *cachingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	raw, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner, ok := raw.(fullConn)
	if !ok {
		_ = raw.Close() // it was never used
		return nil, fmt.Errorf("db: driver connection %T lacks an interface the statement cache passes on", raw)
	}
	stmts, err := simplelru.NewLRU(c.size, func(_ string, s cachedStmt) {
		// A connection on which this fails is broken, and its next use says so.
		_ = s.Close()
	})
	if err != nil {
		_ = inner.Close()
		return nil, fmt.Errorf("db: statement cache: %w", err)
	}
	return &cachingConn{fullConn: inner, stmts: stmts}, nil
}

// fullConn is everything lib/pq's connection offers that database/sql still
// uses; the deprecated Queryer and Execer are never asked for beside these.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// cachedStmt is what lib/pq's prepared statement offers.
type cachedStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// cachingConn is used by one goroutine at a time, as database/sql promises.
type cachingConn struct {
	fullConn
	stmts *simplelru.LRU[string, cachedStmt]
	inTx  bool
}

// BeginTx notes the transaction: inside one a failed statement can't be repeated.
func (c *cachingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.fullConn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	c.inTx = true
	return &cachingTx{Tx: tx, conn: c}, nil
}

// cachingTx notes the end of a transaction.
type cachingTx struct {
	driver.Tx
	conn *cachingConn
}

// Commit ends the transaction, whatever it returns.
func (t *cachingTx) Commit() error {
	t.conn.inTx = false
	return t.Tx.Commit()
}

// Rollback ends the transaction, whatever it returns.
func (t *cachingTx) Rollback() error {
	t.conn.inTx = false
	return t.Tx.Rollback()
}

// QueryContext runs a query, prepared if it has parameters.
func (c *cachingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) == 0 {
		return c.fullConn.QueryContext(ctx, query, args) // one round trip already
	}
	return withStmt(ctx, c, query, func(s cachedStmt) (driver.Rows, error) { return s.QueryContext(ctx, args) })
}

// ExecContext runs a statement, prepared if it has parameters.
func (c *cachingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 0 {
		return c.fullConn.ExecContext(ctx, query, args)
	}
	return withStmt(ctx, c, query, func(s cachedStmt) (driver.Result, error) { return s.ExecContext(ctx, args) })
}

// withStmt runs a statement from the cache. One that the schema has left behind
// is dropped and, outside a transaction, prepared and run once more; such an
// error precedes execution, so nothing happens twice.
func withStmt[T any](ctx context.Context, c *cachingConn, query string, run func(cachedStmt) (T, error)) (T, error) {
	result, err := runStmt(ctx, c, query, run)
	var e *pq.Error
	if errors.As(err, &e) && isStalePlan(e) {
		c.stmts.Remove(query)
		if !c.inTx {
			result, err = runStmt(ctx, c, query, run)
		}
	}
	if ctx.Err() != nil && errors.As(err, &e) && e.Code == codeQueryCanceled {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return result, err
}

func runStmt[T any](ctx context.Context, c *cachingConn, query string, run func(cachedStmt) (T, error)) (T, error) {
	s, err := c.prepared(ctx, query)
	if err != nil {
		var none T
		return none, err
	}
	return run(s)
}

// prepared takes a statement from the cache or prepares it. One that fails to
// prepare isn't kept.
func (c *cachingConn) prepared(ctx context.Context, query string) (cachedStmt, error) {
	if s, ok := c.stmts.Get(query); ok {
		return s, nil
	}
	raw, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s, ok := raw.(cachedStmt)
	if !ok {
		_ = raw.Close()
		return nil, fmt.Errorf("db: driver statement %T can't be run with a context", raw)
	}
	c.stmts.Add(query, s)
	return s, nil
}
