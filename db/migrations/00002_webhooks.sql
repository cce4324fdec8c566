-- +goose Up

-- Where an account's events of one mode go: scheme, host and port of the URLs.
-- Its health is what the last attempts came to; nothing is disabled by it
-- (D40).
CREATE TABLE webhook_endpoint (
    id                   uuid PRIMARY KEY,
    account_id           uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode             boolean NOT NULL,
    origin               text NOT NULL, -- https://example.com:8443
    consecutive_failures integer NOT NULL DEFAULT 0,
    failing_since        timestamptz,   -- null while the last attempt succeeded
    last_success_at      timestamptz,
    last_failure_at      timestamptz,
    last_status_code     integer,       -- of the last attempt; null without a response
    last_error_class     text,          -- of the last attempt; null after a success
    gone                 boolean NOT NULL DEFAULT false, -- the last answer was 410
    created_at           timestamptz NOT NULL
);
CREATE UNIQUE INDEX webhook_endpoint_origin_key ON webhook_endpoint (account_id, livemode, origin);

-- The last sequence number of a scope. An event's transaction holds the row
-- from taking a number until its commit, so numbers have no gap and become
-- visible in their order.
CREATE TABLE event_sequence (
    account_id uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode   boolean NOT NULL,
    last       bigint NOT NULL,
    PRIMARY KEY (account_id, livemode)
);

ALTER TABLE event ADD COLUMN sequence bigint NOT NULL;
CREATE UNIQUE INDEX event_sequence_key ON event (account_id, livemode, sequence);
DROP INDEX event_account_idx;
CREATE INDEX event_created_idx ON event (created_at);

-- A delivery is claimed by a worker until lease_until; it runs through the
-- schedule once, and again for each redelivery (cycle), with the same id.
ALTER TABLE delivery
    DROP COLUMN job_id,
    ADD COLUMN endpoint_id uuid NOT NULL REFERENCES webhook_endpoint ON DELETE CASCADE,
    ADD COLUMN session_id uuid,
    ADD COLUMN sequence bigint NOT NULL, -- the event's
    ADD COLUMN cycle smallint NOT NULL DEFAULT 1,
    ADD COLUMN attempts_total integer NOT NULL DEFAULT 0, -- over all cycles; attempts counts this one's
    ADD COLUMN lease_until timestamptz,
    ADD COLUMN last_status_code integer,
    ADD COLUMN last_error_class text;
DROP INDEX delivery_pending_idx;
CREATE INDEX delivery_due_idx ON delivery (endpoint_id, next_attempt_at, sequence) WHERE state = 'pending';
-- The deliveries that later ones of the same session wait for.
CREATE INDEX delivery_turn_idx ON delivery (session_id, endpoint_id, sequence) WHERE state = 'pending' AND attempts_total = 0;
CREATE INDEX delivery_failed_idx ON delivery (endpoint_id, finished_at) WHERE state = 'failed';

-- +goose Down
DROP INDEX delivery_failed_idx, delivery_turn_idx, delivery_due_idx;
ALTER TABLE delivery
    DROP COLUMN last_error_class, DROP COLUMN last_status_code, DROP COLUMN lease_until, DROP COLUMN attempts_total, DROP COLUMN cycle,
    DROP COLUMN sequence, DROP COLUMN session_id, DROP COLUMN endpoint_id, ADD COLUMN job_id bigint NOT NULL;
CREATE INDEX delivery_pending_idx ON delivery (next_attempt_at) WHERE state = 'pending';
DROP INDEX event_created_idx, event_sequence_key;
ALTER TABLE event DROP COLUMN sequence;
CREATE INDEX event_account_idx ON event (account_id, livemode, created_at, id);
DROP TABLE event_sequence, webhook_endpoint;
