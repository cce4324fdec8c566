-- +goose Up

-- API keys, the networks they are used from, and the log of API requests.

-- A key is found by the SHA-256 of its text; the text is kept nowhere (D6). permissions is null for
-- full access (D29).
CREATE TABLE api_key (
    id               uuid PRIMARY KEY,
    account_id       uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode         boolean NOT NULL,
    name             text NOT NULL,
    hash             bytea NOT NULL,
    last4            text NOT NULL,
    permissions      text[],
    created_at       timestamptz NOT NULL,
    expires_at       timestamptz,
    created_by       text DEFAULT '' NOT NULL, -- as the actor was called then
    networks         text[], -- CIDR; null: from anywhere
    last_used_at     timestamptz, -- to the minute
    last_used_from   text,
    -- A deleted key is kept until no line of the log is of it, so that it is known whose calls
    -- are refused.
    deleted_at       timestamptz,
    -- A key that is being replaced ends with the overlap, which is its expires_at.
    -- When it was to end without it is kept beside, null for never, and goes to the keys that
    -- replace it.
    replaced_at      timestamptz,
    meant_expires_at timestamptz
);
CREATE INDEX api_key_account_idx ON api_key (account_id, livemode);
CREATE UNIQUE INDEX api_key_hash_key ON api_key (hash);

-- From which networks a key was used: an IPv4 /24 or an IPv6 /48 and its last address. Written with
-- the log of API requests, a row a key and network in each batch, so that no request writes it.
-- state: 0 not looked at, 1 known from the start, 2 reported as new.
CREATE TABLE api_key_network (
    key_id   uuid NOT NULL REFERENCES api_key ON DELETE CASCADE,
    network  text NOT NULL,
    address  text NOT NULL,
    first_at timestamptz NOT NULL,
    last_at  timestamptz NOT NULL,
    requests bigint NOT NULL,
    state    smallint DEFAULT 0 NOT NULL,
    PRIMARY KEY (key_id, network)
);
CREATE INDEX api_key_network_last_idx ON api_key_network (last_at);
-- The list of keys shows which were used from a new network; a key can have 500.
CREATE INDEX api_key_network_new_idx ON api_key_network (key_id, first_at) WHERE state = 2;
CREATE INDEX api_key_network_unseen_idx ON api_key_network (key_id) WHERE state = 0;

-- The last 7 days' calls of the API, as the dashboard shows them: never a body, a query or a
-- header. The id is a UUIDv7 of the moment the request came, so that it tells the time and sorts by
-- it. Nothing is referenced: the check of a foreign key would cost each line a look-up and a lock.
CREATE TABLE api_request (
    id          uuid NOT NULL, -- X-Request-Id
    account_id  uuid NOT NULL,
    key_id      uuid NOT NULL,
    session_id  uuid, -- that the path names, or that was created
    document_id uuid,
    duration_us integer NOT NULL,
    status      smallint NOT NULL,
    livemode    boolean NOT NULL,
    replayed    boolean NOT NULL, -- an idempotent answer
    method      text NOT NULL,
    route       text NOT NULL, -- '' for an address that isn't there
    error_code  text NOT NULL, -- '' for none
    address     text NOT NULL, -- of the caller
    -- The names that an API request has and its endpoint doesn't know, as the response's
    -- Candor-Ignored lists them: at most ten, plain ones only.
    ignored     text DEFAULT '' NOT NULL CHECK (length(ignored) <= 1000),
    -- What is wrong with a refused API request, as its response says it: at most ten fields
    -- with their messages, JSON. Neither has what the client sent.
    refused     text DEFAULT '' NOT NULL CHECK (length(refused) <= 8000),
    PRIMARY KEY (account_id, livemode, id)
) WITH (autovacuum_vacuum_scale_factor='0.02');
-- The errors in the log of API requests, with what they are filtered by.
CREATE INDEX api_request_error_idx ON api_request (account_id, livemode, error_code, id) INCLUDE (method, key_id) WHERE error_code <> '';
-- Each index begins with what is asked for, so that there is no other way to read by than the right
-- one: over an index of the id alone, the newest lines of an account would be sought among
-- those of all.
CREATE INDEX api_request_key_idx ON api_request (key_id, id);
