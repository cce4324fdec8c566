-- +goose Up

-- The language in which the partner wants the form to open; NULL: the browser's.
ALTER TABLE session ADD COLUMN language text;

-- +goose Down
ALTER TABLE session DROP COLUMN language;
