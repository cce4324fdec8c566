-- +goose Up

-- An owner can require a second factor of everyone in the team.
ALTER TABLE account ADD COLUMN two_step_required boolean NOT NULL DEFAULT false;

-- An operator has seen the user's password: `candor account create` printed it.
-- The user must choose another one before anything else.
ALTER TABLE staff_user ADD COLUMN must_change_password boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE staff_user DROP COLUMN must_change_password;
ALTER TABLE account DROP COLUMN two_step_required;
