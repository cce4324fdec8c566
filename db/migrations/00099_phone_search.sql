-- +goose NO TRANSACTION
-- +goose Up

-- Whose telephone number it is, as a keyed hash (D132). It is in the section of the answers,
-- so that it is erased with them.
ALTER TABLE section ADD COLUMN IF NOT EXISTS phone_hash text;

DROP INDEX CONCURRENTLY IF EXISTS section_phone_idx;
CREATE INDEX CONCURRENTLY section_phone_idx ON section (phone_hash) WHERE phone_hash IS NOT NULL;

-- +goose Down
DROP INDEX section_phone_idx;
ALTER TABLE section DROP COLUMN phone_hash;
