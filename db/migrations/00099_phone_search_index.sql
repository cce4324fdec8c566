-- +goose NO TRANSACTION
-- +goose Up

-- Ids begin with the time of creation: the newest sessions of a number are at the end.
DROP INDEX CONCURRENTLY IF EXISTS section_phone_idx;
CREATE INDEX CONCURRENTLY section_phone_idx ON section (phone_hash, session_id) WHERE phone_hash IS NOT NULL;

-- +goose Down
DROP INDEX section_phone_idx;
