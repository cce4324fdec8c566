-- +goose NO TRANSACTION
-- +goose Up

-- For lists of one open state by the end of the link. A session leaves it when it ends, and
-- writes to it only what it writes to session_status_idx and session_overdue_idx anyhow.
DROP INDEX CONCURRENTLY IF EXISTS session_ends_idx;
CREATE INDEX CONCURRENTLY session_ends_idx ON session (account_id, livemode, status, expires_at, id)
    WHERE status IN ('pending', 'in_progress');

-- +goose Down
DROP INDEX session_ends_idx;
