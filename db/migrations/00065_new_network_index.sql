-- +goose Up

-- The list of keys shows which were used from a new network; a key can have 500.
CREATE INDEX api_key_network_new_idx ON api_key_network (key_id, first_at) WHERE state = 2;

-- +goose Down
DROP INDEX api_key_network_new_idx;
