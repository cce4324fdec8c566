-- +goose Up

-- When the form refused each of a section's problems last, by problem, and its last refusal: null if
-- nothing was refused at the last try. What was refused then is still to be corrected. Problems of
-- before this migration have no time.
ALTER TABLE section
    ADD COLUMN refused jsonb DEFAULT '{}' NOT NULL,
    ADD COLUMN refused_at timestamptz;

-- +goose Down
ALTER TABLE section DROP COLUMN refused, DROP COLUMN refused_at;
