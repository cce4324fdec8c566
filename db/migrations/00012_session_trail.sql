-- +goose Up

-- Who created it, as they were called then; null for sessions from before it
-- was noted.
ALTER TABLE session
    ADD COLUMN created_by_kind text,
    ADD COLUMN created_by      text;

-- +goose Down
ALTER TABLE session DROP COLUMN created_by, DROP COLUMN created_by_kind;
