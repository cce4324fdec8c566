-- +goose Up

-- One row for each subject and window, in place of one for each attempt: a
-- refused attempt only reads it. The subject is a SHA-256. No attempt is
-- admitted before next_at; null admits the next one at once.
DROP TABLE sign_in_attempt;
CREATE TABLE attempt_count (
    subject bytea PRIMARY KEY,
    n       integer NOT NULL,
    until   timestamptz NOT NULL, -- n starts over then
    next_at timestamptz
) WITH (fillfactor = 70);
CREATE INDEX attempt_count_until_idx ON attempt_count (until);

-- +goose Down
DROP TABLE attempt_count;
CREATE TABLE sign_in_attempt (
    subject bytea NOT NULL,
    at      timestamptz NOT NULL
);
CREATE INDEX sign_in_attempt_subject_idx ON sign_in_attempt (subject, at);
CREATE INDEX sign_in_attempt_at_idx ON sign_in_attempt (at);
