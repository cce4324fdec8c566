-- +goose Up

-- A staff user's passkeys (WebAuthn): each signs in alone, since it asks for
-- its owner's finger, face or PIN. What is stored of one is no secret.
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

-- What a passkey is asked to sign, for a few minutes and once. It is found by
-- the SHA-256 of the token in the page's form.
CREATE TABLE passkey_challenge (
    token_hash bytea PRIMARY KEY,
    staff_id   uuid REFERENCES staff_user ON DELETE CASCADE, -- who makes a passkey; null for signing in
    data       jsonb NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX passkey_challenge_expires_idx ON passkey_challenge (expires_at);

-- +goose Down
DROP TABLE passkey_challenge, staff_passkey;
