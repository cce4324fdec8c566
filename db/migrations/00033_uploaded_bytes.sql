-- +goose Up

-- What a session has uploaded in all, refused and removed files included, so
-- that one link can't fill the disk.
ALTER TABLE session ADD COLUMN uploaded_bytes bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE session DROP COLUMN uploaded_bytes;
