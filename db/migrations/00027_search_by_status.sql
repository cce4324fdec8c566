-- +goose Up

-- The state at the end of what a customer's sessions are found by: a rare one
-- among very many is found in the index, in the list's order, without reading
-- each row. A change of state writes to every index of the row already. The
-- collation makes it a condition that session_status_idx can't meet: that one
-- would read all sessions of the state for a customer who has few.
DROP INDEX session_email_idx;
CREATE INDEX session_email_idx ON session (account_id, livemode, lower(customer_email), created_at DESC, id DESC, status COLLATE "C");
DROP INDEX session_reference_idx;
CREATE INDEX session_reference_idx ON session (account_id, livemode, reference_id, created_at DESC, id DESC, status COLLATE "C") WHERE reference_id IS NOT NULL;

-- +goose Down
DROP INDEX session_reference_idx;
CREATE INDEX session_reference_idx ON session (account_id, livemode, reference_id, created_at DESC, id DESC) WHERE reference_id IS NOT NULL;
DROP INDEX session_email_idx;
CREATE INDEX session_email_idx ON session (account_id, livemode, lower(customer_email), created_at DESC, id DESC);
