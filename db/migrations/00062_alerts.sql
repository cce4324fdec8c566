-- +goose Up

-- An alert that was emailed to an account's developers. It is stored in the
-- transaction that inserts its emails, so each is sent once; the time of the last
-- one of its kind keeps a flapping endpoint from sending a thousand.
CREATE TABLE alert (
    id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode boolean NOT NULL,
    kind text NOT NULL,
    subjects jsonb NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX alert_scope_idx ON alert (account_id, livemode, kind, created_at);
CREATE INDEX alert_created_idx ON alert (created_at);

-- How far an endpoint's failing was reported: 0 not, 1 after an hour, 2 after
-- three days; and when last.
ALTER TABLE webhook_endpoint
    ADD COLUMN alerted smallint NOT NULL DEFAULT 0,
    ADD COLUMN alerted_at timestamptz;
CREATE INDEX webhook_endpoint_failing_idx ON webhook_endpoint (alerted, failing_since) WHERE failing_since IS NOT NULL;
CREATE INDEX webhook_endpoint_recovered_idx ON webhook_endpoint (last_failure_at) WHERE alerted > 0 AND failing_since IS NULL;

-- Which alerts a person wants by email.
ALTER TABLE staff_user
    ADD COLUMN webhook_emails boolean NOT NULL DEFAULT true,
    ADD COLUMN key_emails boolean NOT NULL DEFAULT true;

-- +goose Down
ALTER TABLE staff_user DROP COLUMN key_emails, DROP COLUMN webhook_emails;
DROP INDEX webhook_endpoint_recovered_idx;
DROP INDEX webhook_endpoint_failing_idx;
ALTER TABLE webhook_endpoint DROP COLUMN alerted_at, DROP COLUMN alerted;
DROP TABLE alert;
