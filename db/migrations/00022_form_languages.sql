-- +goose Up

-- The languages that the account's forms offer besides English, as BCP 47 tags.
ALTER TABLE account ADD COLUMN form_languages text[] NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE account DROP COLUMN form_languages;
