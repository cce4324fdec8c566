-- +goose Up

-- The names that an API request has and its endpoint doesn't know, as the
-- response's Candor-Ignored lists them: at most ten, plain ones only.
ALTER TABLE api_request ADD COLUMN ignored text NOT NULL DEFAULT '' CHECK (length(ignored) <= 1000);

-- +goose Down
ALTER TABLE api_request DROP COLUMN ignored;
