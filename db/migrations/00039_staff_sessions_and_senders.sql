-- +goose Up

-- Who sent an invitation: it ends when the sender leaves the team or may no
-- longer manage the account. Null if an operator sent it. The sender of an
-- older invitation is found by the address that it was sent under.
ALTER TABLE invitation ADD COLUMN sender_id uuid REFERENCES staff_user ON DELETE CASCADE;
UPDATE invitation i SET sender_id = u.id FROM staff_user u WHERE u.account_id = i.account_id AND lower(u.email) = lower(i.invited_by);
CREATE INDEX invitation_sender_idx ON invitation (sender_id) WHERE sender_id IS NOT NULL;

-- The passkey that a staff session was made by: removing the passkey ends the
-- session. Null for a password, and for sessions made before this column.
ALTER TABLE staff_session ADD COLUMN passkey_id uuid REFERENCES staff_passkey ON DELETE CASCADE;
CREATE INDEX staff_session_passkey_idx ON staff_session (passkey_id) WHERE passkey_id IS NOT NULL;

-- +goose Down
DROP INDEX staff_session_passkey_idx;
ALTER TABLE staff_session DROP COLUMN passkey_id;
DROP INDEX invitation_sender_idx;
ALTER TABLE invitation DROP COLUMN sender_id;
