-- +goose Up

-- When the reminder before the due date was sent; null if it wasn't.
ALTER TABLE invoice ADD COLUMN reminded_at timestamptz;

-- +goose Down
ALTER TABLE invoice DROP COLUMN reminded_at;
