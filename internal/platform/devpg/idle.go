package devpg

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Advisory locks in the database postgres. Every process using a detached
// server holds the lease shared on a connection of its own, so that it ends
// with the process however that dies; the watch takes it exclusively before it
// stops the server, so that no process can connect in between.
const (
	leaseKey = 7_203_311_001
	watchKey = 7_203_311_002
)

// idleWatch runs inside the server, because no process of ours lasts as long.
// It ends at once where a watch is already running. COMMIT lets go of the
// snapshot, which would hold up VACUUM. It must stay a single statement: several
// in one message would be one transaction, in which COMMIT is an error.
const idleWatch = `
DO $watch$
DECLARE
	idle int := 0;
BEGIN
	IF NOT pg_try_advisory_lock(%[1]d) THEN
		RETURN;
	END IF;
	LOOP
		COMMIT;
		PERFORM pg_sleep(1);
		IF NOT pg_try_advisory_lock(%[2]d) THEN
			idle := 0;
			CONTINUE;
		END IF;
		idle := idle + 1;
		EXIT WHEN idle >= %[3]d;
		PERFORM pg_advisory_unlock(%[2]d);
	END LOOP;
	COPY (SELECT 1) TO PROGRAM 'cat >/dev/null; kill -INT %[4]d';
END
$watch$`

// startIdleWatch sends the watch to the server and hangs up: a backend that is
// busy doesn't notice that its client has gone.
func (s *Server) startIdleWatch(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return fmt.Errorf("devpg: start the idle watch: %w", err)
	}
	seconds := max(1, int((s.opts.IdleStop+time.Second-1)/time.Second))
	front := conn.PgConn().Frontend()
	front.Send(&pgproto3.Query{String: fmt.Sprintf(idleWatch, int64(watchKey), int64(leaseKey), seconds, s.pid)})
	if err := front.Flush(); err != nil {
		return fmt.Errorf("devpg: start the idle watch: %w", err)
	}
	return conn.PgConn().Conn().Close()
}
