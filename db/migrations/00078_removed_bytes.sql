-- +goose Up

-- Whose a removed document was and how many bytes wait, so that a session's oldest can
-- be deleted before their hour is over (D87). NULL for other garbage.
ALTER TABLE blob_garbage ADD COLUMN session_id uuid, ADD COLUMN size_bytes bigint NOT NULL DEFAULT 0;
CREATE INDEX blob_garbage_removed ON blob_garbage (session_id, created_at) WHERE session_id IS NOT NULL;

-- +goose Down
DROP INDEX blob_garbage_removed;
ALTER TABLE blob_garbage DROP COLUMN session_id, DROP COLUMN size_bytes;
