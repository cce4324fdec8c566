-- +goose Up

-- From which networks a key was used: an IPv4 /24 or an IPv6 /48 and its last
-- address. Written with the log of API requests, a row a key and network in each
-- batch, so that no request writes it. state: 0 not looked at, 1 known from the
-- start, 2 reported as new.
CREATE TABLE api_key_network (
    key_id uuid NOT NULL REFERENCES api_key ON DELETE CASCADE,
    network text NOT NULL,
    address text NOT NULL,
    first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL,
    requests bigint NOT NULL,
    state smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (key_id, network)
);
CREATE INDEX api_key_network_unseen_idx ON api_key_network (key_id) WHERE state = 0;
CREATE INDEX api_key_network_last_idx ON api_key_network (last_at);

-- +goose Down
DROP TABLE api_key_network;
