-- +goose Up

-- A hash of what a request's body means: the same JSON in another order is the same request
-- (D98). The previous release compares fingerprint alone, and a row that it replaces keeps a
-- meaning that fits no body, because fingerprint is a part of it.
ALTER TABLE idempotency_key ADD COLUMN meaning bytea;

-- +goose Down
ALTER TABLE idempotency_key DROP COLUMN meaning;
