package jobs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"candor/db"
	"candor/internal/platform/postgres"
)

// minConnections is enough for six queues to fetch and complete jobs while one
// connection listens.
const minConnections = 8

// pools are the workers' own connections: of all work, and of LISTEN, which a pooler in
// transaction mode would lose without an error. Without a pooler both are one.
type pools struct{ work, listen *pgxpool.Pool }

func connect(ctx context.Context, c Config) (*pools, error) {
	work, err := newPool(ctx, c.DB, c.DSN, c.DirectDSN != "")
	if err != nil || c.DirectDSN == "" {
		return &pools{work, work}, err
	}
	listen, err := newPool(ctx, c.DB, c.DirectDSN, false)
	if err != nil {
		work.Close()
		return nil, err
	}
	return &pools{work, listen}, nil
}

func newPool(ctx context.Context, d *db.DB, dsn string, pooler bool) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("jobs: the database's connection string is not valid")
	}
	config.MaxConns = max(config.MaxConns, minConnections)
	if pooler {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // prepares nothing
	}
	config.BeforeConnect = func(_ context.Context, one *pgx.ConnConfig) error {
		// pgx asks PostgreSQL to cancel what has taken too long (D95). That takes another
		// connection with the same settings, so it can't be opened.
		var connected atomic.Bool
		one.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			if connected.Load() {
				return nil, errors.New("PostgreSQL isn't asked to cancel a statement")
			}
			return d.Dial(ctx, network, address)
		}
		one.AfterConnect = func(context.Context, *pgconn.PgConn) error {
			connected.Store(true)
			return nil
		}
		return nil
	}
	// Dial looks it up
	config.ConnConfig.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	closes := config.ConnConfig.OnPgError
	config.ConnConfig.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		// A former primary would keep its connections and refuse every job.
		return err.Code != postgres.CodeReadOnlyTransaction && closes(conn, err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("jobs: connect the workers: %w", err)
	}
	return pool, nil
}

func (p *pools) close() {
	p.work.Close()
	p.listen.Close()
}

// driver is River's driver on the connections.
func (p *pools) driver() riverdriver.Driver[pgx.Tx] {
	return &driver{Driver: riverpgxv5.New(p.work), listen: riverpgxv5.New(p.listen)}
}

type driver struct {
	*riverpgxv5.Driver
	listen *riverpgxv5.Driver
}

// GetListener returns a listener on PostgreSQL itself.
func (d *driver) GetListener(params *riverdriver.GetListenenerParams) riverdriver.Listener {
	return d.listen.GetListener(params)
}
