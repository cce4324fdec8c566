-- +goose Up

-- How often the link was emailed again: each time is a message of its own (D124).
ALTER TABLE link_email ADD COLUMN again smallint DEFAULT 0 NOT NULL;

-- The language that the customer chose on a page; null: none yet.
ALTER TABLE session ADD COLUMN chosen_language text;

-- +goose Down
ALTER TABLE session DROP COLUMN chosen_language;
ALTER TABLE link_email DROP COLUMN again;
