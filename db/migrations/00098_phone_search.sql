-- +goose Up

-- Whose telephone number it is, as a keyed hash (D132). It is in the section of the answers,
-- so that it is erased with them.
ALTER TABLE section ADD COLUMN phone_hash text;

-- +goose Down
ALTER TABLE section DROP COLUMN phone_hash;
