-- +goose Up

-- What is wrong with a refused API request, as its response says it: at most ten
-- fields with their messages, JSON. Neither has what the client sent.
ALTER TABLE api_request ADD COLUMN refused text NOT NULL DEFAULT '' CHECK (length(refused) <= 8000);

-- +goose Down
ALTER TABLE api_request DROP COLUMN refused;
