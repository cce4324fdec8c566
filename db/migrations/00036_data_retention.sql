-- +goose Up

-- How long an account keeps what was entered: for so many days after a session
-- ended without completion, and after completion; 0: until it is erased (D50).
ALTER TABLE account
    ADD COLUMN unsubmitted_days smallint NOT NULL DEFAULT 30 CHECK (unsubmitted_days BETWEEN 1 AND 90),
    ADD COLUMN answer_days      smallint NOT NULL DEFAULT 0 CHECK (answer_days = 0 OR answer_days BETWEEN 90 AND 2557);

-- data_erased_at is when what was entered was erased, by retention or on
-- request. A request also erases who the customer is, at customer_erased_at.
ALTER TABLE session ADD COLUMN customer_erased_at timestamptz;
UPDATE session SET customer_erased_at = data_erased_at WHERE data_erased_at IS NOT NULL;

CREATE INDEX session_unsubmitted_idx ON session (account_id, (coalesce(cancelled_at, expires_at)))
    WHERE status IN ('expired', 'cancelled') AND data_erased_at IS NULL;
CREATE INDEX session_answers_idx ON session (account_id, completed_at)
    WHERE status = 'completed' AND data_erased_at IS NULL;

-- +goose Down

-- The older release takes every erased session for one erased on request.
DROP INDEX session_answers_idx;
DROP INDEX session_unsubmitted_idx;
ALTER TABLE session DROP COLUMN customer_erased_at;
ALTER TABLE account DROP COLUMN answer_days, DROP COLUMN unsubmitted_days;
