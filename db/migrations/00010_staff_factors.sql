-- +goose Up

-- The second factor: codes of an authenticator app (RFC 6238). The secret is
-- sealed. The step of the last code that was used makes sure that none is used
-- twice.
ALTER TABLE staff_user
    ADD COLUMN totp_pending bytea,       -- set up, and not yet proven by a code
    ADD COLUMN totp_secret bytea,        -- null: no second factor
    ADD COLUMN totp_since timestamptz,
    ADD COLUMN totp_step bigint NOT NULL DEFAULT 0;

-- What stands in for the app when it is lost, each once: SHA-256 of 80 bits.
CREATE TABLE staff_recovery_code (
    staff_id uuid NOT NULL REFERENCES staff_user ON DELETE CASCADE,
    hash     bytea NOT NULL,
    PRIMARY KEY (staff_id, hash)
);

-- What somebody asks for who isn't signed in, and proves by a link in a
-- letter: a new password, or an account. What was typed is sealed. The token
-- is made when the letter is sent; only its SHA-256 is kept.
CREATE TABLE staff_request (
    id         uuid PRIMARY KEY,
    kind       text NOT NULL CHECK (kind IN ('reset', 'sign_up')),
    subject    bytea NOT NULL, -- SHA-256 of the e-mail address
    sealed     bytea NOT NULL,
    token_hash bytea,          -- null until the letter is sent
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX staff_request_token_key ON staff_request (token_hash);
CREATE INDEX staff_request_subject_idx ON staff_request (subject);
CREATE INDEX staff_request_expires_idx ON staff_request (expires_at);

-- An invitation to an account's team. It is gone when it was accepted.
CREATE TABLE invitation (
    id           uuid PRIMARY KEY,
    account_id   uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    email        text NOT NULL,
    role         text NOT NULL CHECK (role IN ('owner', 'developer', 'support', 'finance')),
    may_download boolean NOT NULL,
    invited_by   text NOT NULL, -- as it was then
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    token_hash   bytea          -- null until the letter is sent
);
CREATE UNIQUE INDEX invitation_email_key ON invitation (account_id, lower(email));
CREATE UNIQUE INDEX invitation_token_key ON invitation (token_hash);
CREATE INDEX invitation_expires_idx ON invitation (expires_at);

-- +goose Down
DROP TABLE invitation, staff_request, staff_recovery_code;
ALTER TABLE staff_user DROP COLUMN totp_step, DROP COLUMN totp_since, DROP COLUMN totp_secret, DROP COLUMN totp_pending;
