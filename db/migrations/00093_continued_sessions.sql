-- +goose NO TRANSACTION
-- +goose Up

-- The session whose answers this one offers (D101).
ALTER TABLE session ADD COLUMN IF NOT EXISTS previous_session_id uuid;

-- What the customer of that session left in the section, and what the partner asks for
-- there (D102). Both are sealed by this session's data key.
ALTER TABLE section ADD COLUMN IF NOT EXISTS offered bytea;
ALTER TABLE section ADD COLUMN IF NOT EXISTS ask bytea;

DROP INDEX CONCURRENTLY IF EXISTS session_previous_idx;
CREATE INDEX CONCURRENTLY session_previous_idx ON session (previous_session_id) WHERE previous_session_id IS NOT NULL;

-- +goose Down
DROP INDEX session_previous_idx;
ALTER TABLE section DROP COLUMN offered, DROP COLUMN ask;
ALTER TABLE session DROP COLUMN previous_session_id;
