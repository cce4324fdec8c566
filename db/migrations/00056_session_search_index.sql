-- +goose NO TRANSACTION
-- +goose Up

-- Sessions can be created and changed while this runs, about a minute for 1,000,000.
INSERT INTO session_search (session_id, account_id, livemode, created_at, text)
SELECT id, account_id, livemode, created_at, session_search_text(customer_name, customer_email, reference_id) FROM session
ON CONFLICT (session_id) DO NOTHING;
DROP INDEX CONCURRENTLY IF EXISTS session_search_idx;
CREATE INDEX CONCURRENTLY session_search_idx ON session_search USING gin (account_id, text gin_trgm_ops);

-- +goose Down
DROP INDEX session_search_idx;
