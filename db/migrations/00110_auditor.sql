-- +goose Up
-- A staff user can be an auditor (D135). The previous release lets a role that it doesn't
-- know do nothing.
-- contract: a wider check takes its place at once.
ALTER TABLE staff_user DROP CONSTRAINT staff_user_role_check;
ALTER TABLE staff_user ADD CONSTRAINT staff_user_role_check
    CHECK (role IN ('owner', 'developer', 'support', 'finance', 'auditor')) NOT VALID;
-- contract: a wider check takes its place at once.
ALTER TABLE invitation DROP CONSTRAINT invitation_role_check;
ALTER TABLE invitation ADD CONSTRAINT invitation_role_check
    CHECK (role IN ('owner', 'developer', 'support', 'finance', 'auditor')) NOT VALID;

-- +goose Down
-- An auditor becomes the role that opens least.
UPDATE staff_user SET role = 'support', may_download = false WHERE role = 'auditor';
DELETE FROM invitation WHERE role = 'auditor';
ALTER TABLE staff_user DROP CONSTRAINT staff_user_role_check;
ALTER TABLE staff_user ADD CONSTRAINT staff_user_role_check CHECK (role IN ('owner', 'developer', 'support', 'finance'));
ALTER TABLE invitation DROP CONSTRAINT invitation_role_check;
ALTER TABLE invitation ADD CONSTRAINT invitation_role_check CHECK (role IN ('owner', 'developer', 'support', 'finance'));
