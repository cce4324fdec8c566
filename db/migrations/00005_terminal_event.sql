-- +goose Up

-- A session ends with one event at most, whatever goes wrong.
CREATE UNIQUE INDEX event_terminal_key ON event (session_id) WHERE type IN ('session.completed', 'session.expired');

-- How far reconciliation has come: the sessions of the status that finished
-- until checked_to have their event and its delivery.
CREATE TABLE reconciliation (
    status     text PRIMARY KEY CHECK (status IN ('completed', 'expired')),
    checked_to timestamptz NOT NULL
);
CREATE INDEX session_expired_idx ON session (expires_at, id) WHERE status = 'expired';

-- +goose Down
DROP INDEX session_expired_idx;
DROP TABLE reconciliation;
DROP INDEX event_terminal_key;
