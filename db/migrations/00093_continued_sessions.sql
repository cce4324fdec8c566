-- +goose Up

-- The session whose answers this one offers (D101).
ALTER TABLE session ADD COLUMN previous_session_id uuid;

-- What the customer of that session left in the section, and what the partner asks for
-- there (D102). Both are sealed by this session's data key.
ALTER TABLE section ADD COLUMN offered bytea;
ALTER TABLE section ADD COLUMN ask bytea;

-- +goose Down
ALTER TABLE section DROP COLUMN offered, DROP COLUMN ask;
ALTER TABLE session DROP COLUMN previous_session_id;
