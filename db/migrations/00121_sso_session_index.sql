-- +goose NO TRANSACTION
-- +goose Up

DROP INDEX CONCURRENTLY IF EXISTS staff_session_sso_idx;
CREATE INDEX CONCURRENTLY staff_session_sso_idx ON staff_session (sso_account_id) WHERE sso_account_id IS NOT NULL;

-- +goose Down
DROP INDEX staff_session_sso_idx;
