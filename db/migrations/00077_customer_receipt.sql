-- +goose Up

-- The emails that tell customers of a submission, so that a job that runs twice sends
-- one (D83).
CREATE TABLE customer_receipt (
    session_id uuid PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
    sent_at    timestamptz NOT NULL
);

-- +goose Down
DROP TABLE customer_receipt;
