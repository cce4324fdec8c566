-- +goose Up

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

-- Who keeps the password although the account signs in only with its company.
ALTER TABLE staff_user ADD COLUMN break_glass boolean DEFAULT false NOT NULL;

-- By which connection and session of the provider a staff session was opened: removing the
-- connection ends it.
ALTER TABLE staff_session
    ADD COLUMN sso_account_id uuid REFERENCES sso_connection ON DELETE CASCADE,
    ADD COLUMN sso_sid text;

-- +goose Down
ALTER TABLE staff_session DROP COLUMN sso_sid, DROP COLUMN sso_account_id;
ALTER TABLE staff_user DROP COLUMN break_glass;
DROP TABLE sso_used;
DROP TABLE sso_identity;
DROP TABLE sso_domain;
DROP TABLE sso_connection;
