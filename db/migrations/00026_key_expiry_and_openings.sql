-- +goose Up

-- A key that is being replaced ends with the overlap, which is its expires_at:
-- processes of a former release go by that alone. When it was to end without
-- it is kept beside, null for never, and goes to the keys that replace it.
ALTER TABLE api_key
    ADD COLUMN replaced_at timestamptz,
    ADD COLUMN meant_expires_at timestamptz;

-- Whether a session was ever opened: where none was, it is seen without
-- reading them all.
CREATE INDEX session_opened_idx ON session (account_id, livemode) WHERE accessed_at IS NOT NULL;

-- +goose Down
DROP INDEX session_opened_idx;
ALTER TABLE api_key
    DROP COLUMN meant_expires_at,
    DROP COLUMN replaced_at;
