-- +goose NO TRANSACTION
-- +goose Up

-- The newest endpoints of an account and mode, and those whose last attempts failed: sessions' own
-- URLs can have any number of origins.
DROP INDEX CONCURRENTLY IF EXISTS webhook_endpoint_created_idx;
CREATE INDEX CONCURRENTLY webhook_endpoint_created_idx ON webhook_endpoint (account_id, livemode, created_at);

DROP INDEX CONCURRENTLY IF EXISTS webhook_endpoint_failed_idx;
CREATE INDEX CONCURRENTLY webhook_endpoint_failed_idx ON webhook_endpoint (account_id, livemode, last_failure_at)
    WHERE failing_since IS NOT NULL;

-- +goose Down
DROP INDEX webhook_endpoint_failed_idx;
DROP INDEX webhook_endpoint_created_idx;
