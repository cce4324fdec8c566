-- +goose Up

-- contract: session_files_idx took its place in the release before, and no query names it.
DROP INDEX session_kept_idx;

-- What a database from before 1.0.0 still has. The release before doesn't use it.
-- contract: each of the two followed the other for a release that is gone.
DROP FUNCTION IF EXISTS endpoint_follows_setting, setting_follows_endpoint, webhook_origin CASCADE;
-- contract: its rows are copies of those of webhook_endpoint.
DROP TABLE IF EXISTS webhook_setting;
-- contract: nothing was ever stored in clear.
DROP TABLE IF EXISTS unsealed_session;

-- +goose Down
CREATE INDEX session_kept_idx ON session (account_id, completed_at) WHERE status = 'completed' AND erased_at IS NULL;
