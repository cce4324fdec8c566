-- +goose Up

-- How customers see the account on their forms; null for nothing.
ALTER TABLE account
    ADD COLUMN help_email   text,
    ADD COLUMN help_phone   text,
    ADD COLUMN brand_colour text CHECK (brand_colour ~ '^[0-9a-f]{6}$'); -- red, green, blue

-- +goose Down
ALTER TABLE account DROP COLUMN brand_colour, DROP COLUMN help_phone, DROP COLUMN help_email;
