-- +goose Up

-- The last 7 days' calls of the API, as the dashboard shows them: never a
-- body, a query or a header. The id is a UUIDv7 of the moment the request
-- came, so that it tells the time and sorts by it. Nothing is referenced: the
-- check of a foreign key would cost each line a look-up and a lock.
CREATE TABLE api_request (
    id          uuid     NOT NULL, -- X-Request-Id
    account_id  uuid     NOT NULL,
    key_id      uuid     NOT NULL,
    session_id  uuid,                 -- that the path names, or that was created
    document_id uuid,
    duration_us integer  NOT NULL,
    status      smallint NOT NULL,
    livemode    boolean  NOT NULL,
    replayed    boolean  NOT NULL,    -- an idempotent answer
    method      text     NOT NULL,
    route       text     NOT NULL,    -- '' for an address that isn't there
    error_code  text     NOT NULL,    -- '' for none
    address     text     NOT NULL,    -- of the caller
    PRIMARY KEY (account_id, livemode, id)
);

-- Each index begins with what is asked for, so that there is no other way to
-- read by than the right one: over an index of the id alone, the newest lines
-- of an account would be sought among everybody's.
CREATE INDEX api_request_key_idx ON api_request (key_id, id);
CREATE INDEX api_request_error_idx ON api_request (account_id, livemode, error_code, id) WHERE error_code <> '';

-- A deleted key is kept until no line of the log is of it, so that it is known
-- whose calls are refused.
ALTER TABLE api_key ADD COLUMN deleted_at timestamptz;

-- +goose Down
DELETE FROM api_key WHERE deleted_at IS NOT NULL;
ALTER TABLE api_key DROP COLUMN deleted_at;
DROP TABLE api_request;
