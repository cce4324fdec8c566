-- +goose Up

-- The staff of accounts: users, company sign-in, second factors, sessions, invitations, views, and
-- counters of attempts.

-- A person of an account's team. An email address is one person's, in all accounts.
CREATE TABLE staff_user (
    id                   uuid PRIMARY KEY,
    account_id           uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    email                text NOT NULL,
    password_hash        text, -- Argon2id, PHC string
    role                 text NOT NULL CHECK (role IN ('owner', 'developer', 'support', 'finance', 'auditor')),
    created_at           timestamptz NOT NULL,
    name                 text DEFAULT '' NOT NULL,
    may_download         boolean DEFAULT false NOT NULL, -- lets support read customers' data
    -- The second factor: codes of an authenticator app (RFC 6238). The secret is sealed. The
    -- step of the last code that was used makes sure that none is used twice.
    totp_pending         bytea, -- set up, and not yet proven by a code
    totp_secret          bytea, -- null: no second factor
    totp_since           timestamptz,
    totp_step            bigint DEFAULT 0 NOT NULL,
    -- When a browser of the user was first known. A sign-in from an unknown browser is told to
    -- users who have one.
    known_browser_since  timestamptz,
    -- An operator has seen the user's password: `candor account create` printed it. The user
    -- must choose another one before anything else.
    must_change_password boolean DEFAULT false NOT NULL,
    -- Which alerts a person wants by email.
    webhook_emails       boolean DEFAULT true NOT NULL,
    key_emails           boolean DEFAULT true NOT NULL,
    -- When a staff user was last seen, kept when their staff sessions end: by signing out, by a
    -- new password, by the sweep.
    seen_at              timestamptz,
    -- Who keeps the password although the account signs in only with its company.
    break_glass          boolean DEFAULT false NOT NULL
);
CREATE INDEX staff_user_account_idx ON staff_user (account_id);
CREATE UNIQUE INDEX staff_user_email_key ON staff_user (lower(email));

-- Sign-in of the company (D141): the OpenID Connect provider of an account's staff.
CREATE TABLE sso_connection (
    account_id    uuid PRIMARY KEY REFERENCES account ON DELETE CASCADE,
    issuer        text NOT NULL,
    client_id     text NOT NULL,
    client_secret bytea NOT NULL, -- sealed
    default_role  text NOT NULL, -- '': who has no group with a role isn't let in
    groups_claim  text NOT NULL, -- '': roles are given in the dashboard
    group_roles   jsonb NOT NULL, -- [{"group", "role"}], the first that fits counts
    trusts_email  boolean NOT NULL, -- without email_verified
    only_sso      boolean DEFAULT false NOT NULL,
    created_at    timestamptz NOT NULL
);

-- A company's domains, in small letters. A verified one is one account's.
CREATE TABLE sso_domain (
    account_id  uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    domain      text NOT NULL,
    token       text NOT NULL, -- of the DNS record
    verified_at timestamptz,
    PRIMARY KEY (account_id, domain)
);
CREATE UNIQUE INDEX sso_domain_verified_key ON sso_domain (domain) WHERE verified_at IS NOT NULL;

-- Who is who at the provider.
CREATE TABLE sso_identity (
    account_id uuid NOT NULL REFERENCES sso_connection ON DELETE CASCADE,
    subject    text NOT NULL,
    staff_id   uuid NOT NULL REFERENCES staff_user ON DELETE CASCADE,
    PRIMARY KEY (account_id, subject)
);
CREATE UNIQUE INDEX sso_identity_staff_key ON sso_identity (staff_id);

-- What works once, until it has expired: an answer of a provider, a logout token.
CREATE TABLE sso_used (
    hash       bytea PRIMARY KEY, -- SHA-256
    expires_at timestamptz NOT NULL
);
CREATE INDEX sso_used_expires_idx ON sso_used (expires_at);

-- A staff user's passkeys (WebAuthn): each signs in alone, since it asks for its owner's finger,
-- face or PIN. What is stored of one is no secret.
CREATE TABLE staff_passkey (
    id            uuid PRIMARY KEY,
    staff_id      uuid NOT NULL REFERENCES staff_user ON DELETE CASCADE,
    credential_id bytea NOT NULL,
    name          text NOT NULL,
    credential    jsonb NOT NULL, -- public key, counter, flags
    created_at    timestamptz NOT NULL,
    used_at       timestamptz
);
CREATE UNIQUE INDEX staff_passkey_credential_key ON staff_passkey (credential_id);
CREATE INDEX staff_passkey_staff_idx ON staff_passkey (staff_id);

-- A browser in which a staff user is signed in. It is found by the SHA-256 of the token in its
-- cookie. In stage 'password' the second factor is still to come, and nothing else may be done.
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
    user_agent   text NOT NULL,
    -- The passkey that a staff session was made by: removing the passkey ends the session. Null
    -- for a password.
    passkey_id   uuid REFERENCES staff_passkey ON DELETE CASCADE,
    -- By which connection and session of the provider it was opened: removing the connection ends it.
    sso_account_id uuid REFERENCES sso_connection ON DELETE CASCADE,
    sso_sid        text
);
CREATE INDEX staff_session_passkey_idx ON staff_session (passkey_id) WHERE passkey_id IS NOT NULL;
CREATE INDEX staff_session_sso_idx ON staff_session (sso_account_id) WHERE sso_account_id IS NOT NULL;
CREATE INDEX staff_session_seen_idx ON staff_session (seen_at);
CREATE INDEX staff_session_staff_idx ON staff_session (staff_id);
CREATE UNIQUE INDEX staff_session_token_key ON staff_session (token_hash);

-- A form that waits for its sender's password, sealed with where it was posted to. A carried-out
-- form loses its content and stays until it expires, so that a reload of its result is told apart
-- from an expired prompt.
CREATE TABLE held_form (
    id               uuid PRIMARY KEY,
    staff_session_id uuid NOT NULL REFERENCES staff_session ON DELETE CASCADE,
    sealed           bytea, -- null: carried out
    expires_at       timestamptz NOT NULL
);
CREATE INDEX held_form_expires_idx ON held_form (expires_at);
CREATE INDEX held_form_session_idx ON held_form (staff_session_id);

-- What a passkey is asked to sign, for a few minutes and once. It is found by the SHA-256 of the
-- token in the page's form.
CREATE TABLE passkey_challenge (
    token_hash bytea PRIMARY KEY,
    staff_id   uuid REFERENCES staff_user ON DELETE CASCADE, -- who makes a passkey; null for signing in
    data       jsonb NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX passkey_challenge_expires_idx ON passkey_challenge (expires_at);

-- What stands in for the app when it is lost, each once: SHA-256 of 80 bits.
CREATE TABLE staff_recovery_code (
    staff_id uuid NOT NULL REFERENCES staff_user ON DELETE CASCADE,
    hash     bytea NOT NULL,
    PRIMARY KEY (staff_id, hash)
);

-- What a person who isn't signed in asks for and proves by an emailed link: a new password, or an
-- account. What was typed is sealed. The token is made when the email is sent; only its SHA-256 is
-- kept.
CREATE TABLE staff_request (
    id         uuid PRIMARY KEY,
    kind       text NOT NULL CHECK (kind IN ('reset', 'sign_up')),
    subject    bytea NOT NULL, -- SHA-256 of the email address
    sealed     bytea NOT NULL,
    token_hash bytea, -- null until the email is sent
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX staff_request_expires_idx ON staff_request (expires_at);
CREATE INDEX staff_request_subject_idx ON staff_request (subject);
CREATE UNIQUE INDEX staff_request_token_key ON staff_request (token_hash);

-- An invitation to an account's team. It is gone when it was accepted.
CREATE TABLE invitation (
    id           uuid PRIMARY KEY,
    account_id   uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    email        text NOT NULL,
    role         text NOT NULL CHECK (role IN ('owner', 'developer', 'support', 'finance', 'auditor')),
    may_download boolean NOT NULL,
    invited_by   text NOT NULL, -- as it was then
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    token_hash   bytea, -- null until the email is sent
    -- Who sent an invitation: it ends when the sender leaves the team or may no longer manage
    -- the account. Null if an operator sent it.
    sender_id    uuid REFERENCES staff_user ON DELETE CASCADE
);
CREATE UNIQUE INDEX invitation_email_key ON invitation (account_id, lower(email));
CREATE INDEX invitation_expires_idx ON invitation (expires_at);
CREATE INDEX invitation_sender_idx ON invitation (sender_id) WHERE sender_id IS NOT NULL;
CREATE UNIQUE INDEX invitation_token_key ON invitation (token_hash);

-- A person's views of the list of sessions of a mode (D144).
CREATE TABLE staff_view (
    staff_id uuid NOT NULL REFERENCES staff_user ON DELETE CASCADE,
    livemode boolean NOT NULL,
    name     text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 40),
    folded   text NOT NULL GENERATED ALWAYS AS (lower(name)) STORED,
    query    text NOT NULL,
    PRIMARY KEY (staff_id, livemode, folded)
);

-- Attempts to sign in and the like: one row for each subject and window, so a refused attempt only
-- reads. The subject is a SHA-256. No attempt is admitted before next_at; null admits the next
-- one at once.
CREATE TABLE attempt_count (
    subject bytea PRIMARY KEY,
    n       integer NOT NULL,
    until   timestamptz NOT NULL, -- n starts over then
    next_at timestamptz
) WITH (fillfactor='70');
CREATE INDEX attempt_count_until_idx ON attempt_count (until);

-- +goose StatementBegin
CREATE FUNCTION keep_staff_seen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE staff_user SET seen_at = OLD.seen_at
    WHERE id = OLD.staff_id AND OLD.stage = 'full' AND (seen_at IS NULL OR seen_at < OLD.seen_at);
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER staff_seen AFTER DELETE ON staff_session
    FOR EACH ROW EXECUTE FUNCTION keep_staff_seen();
