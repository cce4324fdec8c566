-- +goose Up

-- What the partner gave of a section's answers when it made the session, sealed
-- by the session's key.
ALTER TABLE section ADD COLUMN prefill bytea;
ALTER TABLE section ALTER COLUMN prefill SET STORAGE EXTERNAL;

-- Whether any section has it: the session's link shows it before the customer
-- has opened the form.
ALTER TABLE session ADD COLUMN prefilled boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE session DROP COLUMN prefilled;
ALTER TABLE section DROP COLUMN prefill;
