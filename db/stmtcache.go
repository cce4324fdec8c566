package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/lib/pq"
)

const defaultStatementCache = 256

// poolConnector gives connections that prepare each statement with
// parameters once and keep it. lib/pq by itself has the server parse and plan
// it every time, which costs about half the throughput.
//
// If a connection finds that its server is gone or takes no writes, all that were
// opened before it are closed instead of being used once more: after a failover
// each of them would fail a request.
type poolConnector struct {
	driver.Connector
	size   int          // of the statement cache; 0 for none
	pooler bool         // between here and the server, which may change in between
	epoch  atomic.Int64 // goes up when a server is lost
}

func newPoolConnector(c driver.Connector, size int, pooler bool) driver.Connector {
	if size == 0 {
		size = defaultStatementCache
	}
	return &poolConnector{Connector: c, size: max(size, 0), pooler: pooler}
}

// noHelpers has statements planned without parallel workers. Starting them takes 5 ms and
// other requests' processor time. With 10,000,000 sessions the count of those that are
// overdue took 16 times as long: there are few, and PostgreSQL expects many. It is no
// setting of the connection string because PgBouncer refuses it there.
const noHelpers = "SET max_parallel_workers_per_gather = 0"

// Connect opens a connection with an empty cache.
func (c *poolConnector) Connect(ctx context.Context) (driver.Conn, error) {
	epoch := c.epoch.Load()
	raw, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotConnected, err)
	}
	inner, ok := raw.(fullConn)
	if !ok {
		_ = raw.Close() // it was never used
		return nil, fmt.Errorf("db: driver connection %T lacks an interface the statement cache passes on", raw)
	}
	if !c.pooler {
		if _, err := inner.ExecContext(ctx, noHelpers, nil); err != nil {
			_ = inner.Close()
			return nil, fmt.Errorf("db: settings of a connection: %w", err)
		}
	}
	if c.size == 0 {
		return &poolConn{fullConn: inner, pool: c, epoch: epoch}, nil
	}
	stmts, err := simplelru.NewLRU(c.size, func(_ string, s cachedStmt) {
		// A connection on which this fails is broken, and its next use says so.
		_ = s.Close()
	})
	if err != nil {
		_ = inner.Close()
		return nil, fmt.Errorf("db: statement cache: %w", err)
	}
	return &poolConn{fullConn: inner, pool: c, epoch: epoch, stmts: stmts}, nil
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

// poolConn is used by one goroutine at a time, as database/sql promises.
type poolConn struct {
	fullConn
	pool  *poolConnector
	epoch int64                              // of the pool when it was opened
	stmts *simplelru.LRU[string, cachedStmt] // nil for no cache
	inTx  bool
}

// ResetSession refuses a connection from before a server was lost.
func (c *poolConn) ResetSession(ctx context.Context) error {
	if c.epoch != c.pool.epoch.Load() {
		return driver.ErrBadConn
	}
	return c.fullConn.ResetSession(ctx)
}

// IsValid reports whether the connection can be used again.
func (c *poolConn) IsValid() bool { return c.epoch == c.pool.epoch.Load() && c.fullConn.IsValid() }

// checked says so if a statement was cut off because its context ended, and notes that
// the server is lost. A statement that found the server
// read-only had no effect: outside a transaction database/sql repeats it on another
// connection.
func (c *poolConn) checked(ctx context.Context, err error) error {
	var e *pq.Error
	if ctx.Err() != nil && errors.As(err, &e) && e.Code == codeQueryCanceled {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	if err == nil || ctx.Err() != nil || !serverLost(err) {
		return err
	}
	c.pool.epoch.CompareAndSwap(c.epoch, c.epoch+1) // once for all connections of an epoch
	if isReadOnly(err) && !c.inTx {
		return fmt.Errorf("%w: %w", driver.ErrBadConn, err)
	}
	return err
}

// BeginTx notes the transaction: inside one a failed statement can't be repeated.
func (c *poolConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.fullConn.BeginTx(ctx, opts)
	var e *pq.Error
	if errors.As(err, &e) && e.Code == codeFeatureNotSupported {
		err = fmt.Errorf("%w: %w", errReadOnlyServer, err) // what a replica says to lib/pq's BEGIN READ WRITE
	}
	if err != nil {
		return nil, c.checked(ctx, err)
	}
	c.inTx = true
	return &poolTx{Tx: tx, conn: c, ctx: ctx}, nil
}

// poolTx notes the end of a transaction.
type poolTx struct {
	driver.Tx
	conn *poolConn
	ctx  context.Context // of the transaction
}

// Commit ends the transaction, whatever it returns.
func (t *poolTx) Commit() error {
	t.conn.inTx = false
	return t.conn.checked(t.ctx, t.Tx.Commit())
}

// Rollback ends the transaction, whatever it returns.
func (t *poolTx) Rollback() error {
	t.conn.inTx = false
	return t.Tx.Rollback()
}

// QueryContext runs a query, prepared if it has parameters.
func (c *poolConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) == 0 || c.stmts == nil {
		rows, err := c.fullConn.QueryContext(ctx, query, args) // one round trip already
		return rows, c.checked(ctx, err)
	}
	return withStmt(ctx, c, query, func(s cachedStmt) (driver.Rows, error) { return s.QueryContext(ctx, args) })
}

// ExecContext runs a statement, prepared if it has parameters.
func (c *poolConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 0 || c.stmts == nil {
		result, err := c.fullConn.ExecContext(ctx, query, args)
		return result, c.checked(ctx, err)
	}
	return withStmt(ctx, c, query, func(s cachedStmt) (driver.Result, error) { return s.ExecContext(ctx, args) })
}

// withStmt runs a statement from the cache. One that the schema has left behind
// is dropped and, outside a transaction, prepared and run once more; such an
// error precedes execution, so nothing happens twice.
func withStmt[T any](ctx context.Context, c *poolConn, query string, run func(cachedStmt) (T, error)) (T, error) {
	result, err := runStmt(ctx, c, query, run)
	var e *pq.Error
	if errors.As(err, &e) && isStalePlan(e) {
		c.stmts.Remove(query)
		if !c.inTx {
			result, err = runStmt(ctx, c, query, run)
		}
	}
	return result, c.checked(ctx, err)
}

func runStmt[T any](ctx context.Context, c *poolConn, query string, run func(cachedStmt) (T, error)) (T, error) {
	s, err := c.prepared(ctx, query)
	if err != nil {
		var none T
		return none, err
	}
	return run(s)
}

// prepared takes a statement from the cache or prepares it. One that fails to
// prepare isn't kept.
func (c *poolConn) prepared(ctx context.Context, query string) (cachedStmt, error) {
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
