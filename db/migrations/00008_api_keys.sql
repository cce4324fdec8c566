-- +goose Up
ALTER TABLE api_key
    ADD COLUMN created_by     text NOT NULL DEFAULT '', -- as the actor was called then
    ADD COLUMN networks       text[],                   -- CIDR; null: from anywhere
    ADD COLUMN last_used_at   timestamptz,              -- to the minute
    ADD COLUMN last_used_from text;

-- +goose Down
ALTER TABLE api_key DROP COLUMN last_used_from, DROP COLUMN last_used_at, DROP COLUMN networks, DROP COLUMN created_by;
