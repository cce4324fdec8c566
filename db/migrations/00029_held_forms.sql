-- +goose Up

-- A form that waits for its sender's password, sealed with where it was posted
-- to. A carried-out form loses its content and stays until it expires, so that
-- a reload of its result is told apart from an expired prompt.
CREATE TABLE held_form (
    id               uuid PRIMARY KEY,
    staff_session_id uuid NOT NULL REFERENCES staff_session ON DELETE CASCADE,
    sealed           bytea, -- null: carried out
    expires_at       timestamptz NOT NULL
);
CREATE INDEX held_form_session_idx ON held_form (staff_session_id);
CREATE INDEX held_form_expires_idx ON held_form (expires_at);

-- The result of a test event, kept for a short time so that its page can be
-- loaded again without another request to the receiver.
CREATE TABLE test_event (
    id         uuid PRIMARY KEY, -- the delivery id that the receiver saw
    account_id uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    content    jsonb NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX test_event_created_idx ON test_event (created_at);
CREATE INDEX test_event_account_idx ON test_event (account_id);

-- +goose Down
DROP TABLE test_event, held_form;
