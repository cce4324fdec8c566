package postgres

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

// Pooled gives connections for a pool. Each keeps size statements prepared; 0: 256,
// negative: none. It may lead through a pooler.
func Pooled(c driver.Connector, size int, pooler bool) driver.Connector {
	if size == 0 {
		size = defaultStatementCache
	}
	return &poolConnector{Connector: c, size: max(size, 0), pooler: pooler}
}

// settings has statements planned without parallel workers. Starting them takes 5 ms and
// other requests' processor time. With 10,000,000 sessions the count of those that are
// overdue took 16 times as long: there are few, and PostgreSQL expects many. And it has
// the server look whether the client is still there: it ends the statement of one that
// isn't, which holds locks. They are no settings of the connection string because PgBouncer
// refuses them there.
const settings = "SET max_parallel_workers_per_gather = 0; SET client_connection_check_interval = 1000"

// Connect opens a connection with an empty cache. database/sql opens some without a
// deadline, one after another.
func (c *poolConnector) Connect(ctx context.Context) (driver.Conn, error) {
	epoch := c.epoch.Load()
	ctx, cancel := context.WithTimeout(ctx, lostAfter)
	defer cancel()
	opening, h := newHandshake(ctx)
	defer func() { h.release() }()
	raw, err := c.Connector.Connect(opening)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotConnected, err)
	}
	inner, ok := raw.(fullConn)
	if !ok {
		_ = raw.Close() // it was never used
		return nil, fmt.Errorf("postgres: driver connection %T lacks an interface the statement cache passes on", raw)
	}
	if !c.pooler {
		if _, err := inner.ExecContext(context.WithoutCancel(ctx), settings, nil); err != nil {
			_ = inner.Close()
			return nil, fmt.Errorf("postgres: settings of a connection: %w", err)
		}
	}
	conn := &poolConn{fullConn: inner, pool: c, epoch: epoch, socket: h.socket}
	if c.size == 0 {
		return conn, nil
	}
	conn.stmts, err = simplelru.NewLRU(c.size, func(_ string, s cachedStmt) {
		// A connection on which this fails is broken, and its next use says so.
		_ = s.Close()
	})
	if err != nil {
		_ = inner.Close()
		return nil, fmt.Errorf("postgres: statement cache: %w", err)
	}
	return conn, nil
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

	socket *socket // cut off when the context of a statement or a transaction ends
}

// lost reports whether the connection is from before a server was lost, or was cut off.
func (c *poolConn) lost() bool { return c.epoch != c.pool.epoch.Load() || c.socket.cut.Load() }

// ResetSession refuses a connection that is lost.
func (c *poolConn) ResetSession(ctx context.Context) error {
	if c.lost() {
		return driver.ErrBadConn
	}
	return c.fullConn.ResetSession(ctx)
}

// IsValid reports whether the connection can be used again.
func (c *poolConn) IsValid() bool { return !c.lost() && c.fullConn.IsValid() }

// until bounds a use of the connection by ctx, until its release. The context that it
// returns is for lib/pq, which would send a request to cancel at the end of the other.
func (c *poolConn) until(ctx context.Context) (inner context.Context, release func()) {
	return context.WithoutCancel(ctx), c.socket.until(ctx)
}

// checked says so if a statement was cut off because its context ended, and notes that
// the server is lost. A statement that found the server
// read-only had no effect: outside a transaction database/sql repeats it on another
// connection.
func (c *poolConn) checked(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && c.socket.cut.Load() {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	if err == nil || ctx.Err() != nil || !Lost(err) {
		return err
	}
	c.pool.epoch.CompareAndSwap(c.epoch, c.epoch+1) // once for all connections of an epoch
	if IsReadOnly(err) && !c.inTx {
		return fmt.Errorf("%w: %w", driver.ErrBadConn, err)
	}
	return err
}

// BeginTx notes the transaction: inside one a failed statement can't be repeated.
func (c *poolConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	inner, release := c.until(ctx)
	tx, err := c.fullConn.BeginTx(inner, opts)
	if e, ok := errors.AsType[*pq.Error](err); ok && e.Code == codeFeatureNotSupported {
		err = fmt.Errorf("%w: %w", errReadOnlyServer, err) // what a replica says to lib/pq's BEGIN READ WRITE
	}
	if err != nil {
		release()
		return nil, c.checked(ctx, err)
	}
	c.inTx = true
	return &poolTx{Tx: tx, conn: c, ctx: ctx, release: release}, nil
}

// poolTx notes the end of a transaction.
type poolTx struct {
	driver.Tx
	conn *poolConn
	ctx  context.Context // of the transaction

	release func() // ends its being bounded by ctx
}

// Commit ends the transaction, whatever it returns.
func (t *poolTx) Commit() error {
	defer t.release()
	t.conn.inTx = false
	return t.conn.checked(t.ctx, t.Tx.Commit())
}

// Rollback ends the transaction, whatever it returns.
func (t *poolTx) Rollback() error {
	defer t.release()
	t.conn.inTx = false
	return t.Tx.Rollback()
}

// Ping asks the server for nothing.
func (c *poolConn) Ping(ctx context.Context) error {
	inner, release := c.until(ctx)
	defer release()
	return c.fullConn.Ping(inner)
}

// QueryContext runs a query, prepared if it has parameters.
func (c *poolConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	inner, release := c.until(ctx)
	rows, err := c.query(ctx, inner, query, args)
	if err != nil {
		release()
		return nil, err
	}
	all, ok := rows.(allOfRows)
	if !ok {
		release()
		return nil, fmt.Errorf("postgres: driver rows %T lack an interface that is passed on", rows)
	}
	return &poolRows{all, release}, nil
}

func (c *poolConn) query(ctx, inner context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) == 0 || c.stmts == nil {
		rows, err := c.fullConn.QueryContext(inner, query, args) // one round trip already
		return rows, c.checked(ctx, err)
	}
	return withStmt(ctx, c, query, func(s cachedStmt) (driver.Rows, error) { return s.QueryContext(inner, args) })
}

// allOfRows is what lib/pq's rows offer.
type allOfRows interface {
	driver.RowsNextResultSet
	driver.RowsColumnTypeScanType
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeLength
	driver.RowsColumnTypePrecisionScale
}

// poolRows are rows whose reading is bounded, too.
type poolRows struct {
	allOfRows
	release func()
}

// Close ends the reading.
func (r *poolRows) Close() error {
	defer r.release()
	return r.allOfRows.Close()
}

// ExecContext runs a statement, prepared if it has parameters.
func (c *poolConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	inner, release := c.until(ctx)
	defer release()
	if len(args) == 0 || c.stmts == nil {
		result, err := c.fullConn.ExecContext(inner, query, args)
		return result, c.checked(ctx, err)
	}
	return withStmt(ctx, c, query, func(s cachedStmt) (driver.Result, error) { return s.ExecContext(inner, args) })
}

// withStmt runs a statement from the cache. One that the schema has left behind
// is dropped and, outside a transaction, prepared and run once more; such an
// error precedes execution, so nothing happens twice.
func withStmt[T any](ctx context.Context, c *poolConn, query string, run func(cachedStmt) (T, error)) (T, error) {
	result, err := runStmt(ctx, c, query, run)
	if e, ok := errors.AsType[*pq.Error](err); ok && IsStalePlan(e) {
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
	raw, err := c.PrepareContext(context.WithoutCancel(ctx), query)
	if err != nil {
		return nil, err
	}
	s, ok := raw.(cachedStmt)
	if !ok {
		_ = raw.Close()
		return nil, fmt.Errorf("postgres: driver statement %T can't be run with a context", raw)
	}
	c.stmts.Add(query, s)
	return s, nil
}
