-- +goose Up

-- Where the customer goes back to (D96).
ALTER TABLE session ADD COLUMN return_url text;

-- +goose Down
ALTER TABLE session DROP COLUMN return_url;
