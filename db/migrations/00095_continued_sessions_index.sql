-- +goose NO TRANSACTION
-- +goose Up

DROP INDEX CONCURRENTLY IF EXISTS session_previous_idx;
CREATE INDEX CONCURRENTLY session_previous_idx ON session (previous_session_id) WHERE previous_session_id IS NOT NULL;

-- +goose Down
DROP INDEX session_previous_idx;
