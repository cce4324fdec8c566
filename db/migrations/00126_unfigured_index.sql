-- +goose NO TRANSACTION
-- +goose Up

-- Days that are to be counted, the newest at the end.
DROP INDEX CONCURRENTLY IF EXISTS session_count_unfigured_idx;
CREATE INDEX CONCURRENTLY session_count_unfigured_idx ON session_count (day, account_id, livemode) WHERE NOT figured;

-- +goose Down
DROP INDEX session_count_unfigured_idx;
