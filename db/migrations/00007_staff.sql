-- +goose Up

ALTER TABLE staff_user
    ADD COLUMN name text NOT NULL DEFAULT '',
    ADD COLUMN may_download boolean NOT NULL DEFAULT false, -- lets support read customers' data
    ALTER COLUMN password_hash DROP NOT NULL;               -- null: none chosen yet

-- A browser in which a staff user is signed in. It is found by the SHA-256 of
-- the token in its cookie. In stage 'password' the second factor is still to
-- come, and nothing else may be done.
CREATE TABLE staff_session (
    id           uuid PRIMARY KEY,
    token_hash   bytea NOT NULL,
    staff_id     uuid NOT NULL REFERENCES staff_user ON DELETE CASCADE,
    stage        text NOT NULL CHECK (stage IN ('password', 'full')),
    created_at   timestamptz NOT NULL,
    seen_at      timestamptz NOT NULL, -- to the minute
    confirmed_at timestamptz NOT NULL, -- when it was last proven that the user is there
    expires_at   timestamptz NOT NULL, -- at the latest
    address      text NOT NULL,
    user_agent   text NOT NULL
);
CREATE UNIQUE INDEX staff_session_token_key ON staff_session (token_hash);
CREATE INDEX staff_session_staff_idx ON staff_session (staff_id);
CREATE INDEX staff_session_seen_idx ON staff_session (seen_at);

-- Tries to prove who one is, by what they are counted by: the SHA-256 of an
-- e-mail address or of a network. Those that succeed are taken out again.
CREATE TABLE sign_in_attempt (
    subject bytea NOT NULL,
    at      timestamptz NOT NULL
);
CREATE INDEX sign_in_attempt_subject_idx ON sign_in_attempt (subject, at);
CREATE INDEX sign_in_attempt_at_idx ON sign_in_attempt (at);

-- What staff, keys and operators did. Rows are added and never changed, not by
-- this program either.
CREATE TABLE audit_log (
    id          uuid PRIMARY KEY,
    account_id  uuid NOT NULL, -- without a constraint: it outlives what it tells of
    livemode    boolean,       -- null for what both modes share
    at          timestamptz NOT NULL,
    actor_kind  text NOT NULL CHECK (actor_kind IN ('staff', 'key', 'operator', 'system')),
    actor_id    text NOT NULL,
    actor_name  text NOT NULL, -- as it was then
    action      text NOT NULL, -- api_key.created
    target_id   text NOT NULL,
    target_name text NOT NULL, -- as it was then
    address     text NOT NULL, -- '' where nobody was connected
    before      jsonb,         -- what changed, without secrets
    after       jsonb
);
CREATE INDEX audit_log_account_idx ON audit_log (account_id, at DESC, id DESC);
CREATE INDEX audit_log_action_idx ON audit_log (account_id, action, at DESC, id DESC);
CREATE INDEX audit_log_actor_idx ON audit_log (account_id, actor_name, at DESC, id DESC);
CREATE INDEX audit_log_target_idx ON audit_log (account_id, target_id, at DESC, id DESC);

-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_log_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- +goose Down
DROP TABLE audit_log, sign_in_attempt, staff_session;
DROP FUNCTION refuse_change();
ALTER TABLE staff_user DROP COLUMN may_download, DROP COLUMN name;
