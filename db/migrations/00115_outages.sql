-- +goose Up

-- Outages of webhook endpoints (D137): from the first failed attempt until the endpoint answers.
-- Its events are those from the first to the last number that failed at least once.
CREATE TABLE outage (
    id              uuid PRIMARY KEY,
    account_id      uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode        boolean NOT NULL,
    endpoint_id     uuid NOT NULL REFERENCES webhook_endpoint ON DELETE CASCADE,
    started_at      timestamptz NOT NULL,
    last_failure_at timestamptz NOT NULL,
    answered_at     timestamptz, -- the first success since the last failure; null until then
    confirmed_at    timestamptz, -- when the last of its events was confirmed so far
    first_sequence  bigint NOT NULL,
    last_sequence   bigint NOT NULL,
    answers         jsonb NOT NULL -- failed attempts by status, or by error class without one
);
CREATE INDEX outage_endpoint_idx ON outage (endpoint_id, started_at);
CREATE INDEX outage_ended_idx ON outage (last_failure_at);

-- +goose Down
DROP TABLE outage;
