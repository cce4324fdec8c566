package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// poolerRounds is how often two connections are compared. In a quiet pool the
	// first round tells. In a busy one other clients take turns in between.
	poolerRounds = 10
	// poolerTimeout bounds the comparison.
	poolerTimeout = 10 * time.Second
)

// SharesConnections reports whether dsn leads to a pooler that gives a server's
// connection to another client after each transaction, such as PgBouncer with
// pool_mode=transaction.
//
// A pooler makes up the process id that it tells a client at its start. If that id is
// the server's own, there is no pooler. If not, the pooler may still keep one
// connection for each client (pool_mode=session). So two clients ask for their server
// processes in turn: in transaction mode one of them is soon at two processes, or both
// are at one.
func SharesConnections(ctx context.Context, dsn string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, poolerTimeout)
	defer cancel()
	first, err := connectPlainly(ctx, dsn)
	if err != nil {
		return false, err
	}
	defer first.Close(ctx)
	own, err := serverProcess(ctx, first)
	if err != nil || own == first.PgConn().PID() {
		return false, err
	}
	second, err := connectPlainly(ctx, dsn)
	if err != nil {
		return false, err
	}
	defer second.Close(ctx)
	clients := []*pgx.Conn{first, first, second}
	processes := map[*pgx.Conn]uint32{first: own}
	for range poolerRounds {
		for _, client := range clients {
			now, err := serverProcess(ctx, client)
			if err != nil {
				return false, err
			}
			if before, known := processes[client]; known && now != before {
				return true, nil
			}
			processes[client] = now
		}
		if processes[first] == processes[second] {
			return true, nil
		}
	}
	return false, nil
}

// connectPlainly connects without anything that a pooler could get wrong.
func connectPlainly(ctx context.Context, dsn string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errDSN
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: look for a pooler: %w", err)
	}
	return conn, nil
}

// serverProcess is the id of the server's process that answers.
func serverProcess(ctx context.Context, conn *pgx.Conn) (pid uint32, err error) {
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return 0, fmt.Errorf("postgres: look for a pooler: %w", err)
	}
	return pid, nil
}

// SameDatabase reports whether both connection strings lead to one database of one
// server.
func SameDatabase(ctx context.Context, dsn, other string) (bool, error) {
	var names [2]string
	for i, one := range []string{dsn, other} {
		conn, err := connectPlainly(ctx, one)
		if err != nil {
			return false, err
		}
		err = conn.QueryRow(ctx, "SELECT current_database() || ' ' || extract(epoch FROM pg_postmaster_start_time())").Scan(&names[i])
		if err := errors.Join(err, conn.Close(ctx)); err != nil {
			return false, fmt.Errorf("postgres: compare databases: %w", err)
		}
	}
	return names[0] == names[1], nil
}
