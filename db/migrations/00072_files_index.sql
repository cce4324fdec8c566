-- +goose NO TRANSACTION
-- +goose Up

-- In place of session_kept_idx, which goes a release later. Its predicate is spelled so that
-- only what names it can use it, and no other index serves instead: by the one of all
-- accounts' ends, session_retention_idx, an account that keeps files for a month was led
-- through those that others keep for three.
DROP INDEX CONCURRENTLY IF EXISTS session_files_idx;
CREATE INDEX CONCURRENTLY session_files_idx ON session (account_id, completed_at)
	WHERE status COLLATE "C" = 'completed' AND erased_at IS NULL;

-- +goose Down
DROP INDEX session_files_idx;
