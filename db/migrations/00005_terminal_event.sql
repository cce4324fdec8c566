-- +goose Up

-- A session ends with one event at most, whatever goes wrong.
CREATE UNIQUE INDEX event_terminal_key ON event (session_id) WHERE type IN ('session.completed', 'session.expired');

-- Where the event was to go when it happened; null for nowhere. So a delivery
-- that is missing is told from one that was never meant to be.
ALTER TABLE event ADD COLUMN url text;

-- How far reconciliation has come: the sessions of the status that finished
-- until checked_to have their event and its delivery.
CREATE TABLE reconciliation (
    status     text PRIMARY KEY CHECK (status IN ('completed', 'expired')),
    checked_to timestamptz NOT NULL
);
CREATE INDEX session_expired_idx ON session (expires_at) WHERE status = 'expired';

-- The oldest delivery that hasn't come to an end; a redelivery's age says
-- nothing.
CREATE INDEX delivery_oldest_idx ON delivery (created_at) WHERE state = 'pending' AND cycle = 1;

-- +goose Down
DROP INDEX delivery_oldest_idx, session_expired_idx;
DROP TABLE reconciliation;
ALTER TABLE event DROP COLUMN url;
DROP INDEX event_terminal_key;
