-- +goose Up

-- When a browser of the user was first known. A sign-in from an unknown browser
-- is told to users who have one.
ALTER TABLE staff_user ADD COLUMN known_browser_since timestamptz;

-- Failed attempts are in the audit log, and no one knows who made them.
ALTER TABLE audit_log
    DROP CONSTRAINT audit_log_actor_kind_check,
    ADD CONSTRAINT audit_log_actor_kind_check CHECK (actor_kind IN ('staff', 'key', 'operator', 'system', 'stranger'));

-- +goose Down
ALTER TABLE audit_log
    DROP CONSTRAINT audit_log_actor_kind_check,
    ADD CONSTRAINT audit_log_actor_kind_check CHECK (actor_kind IN ('staff', 'key', 'operator', 'system')) NOT VALID;
ALTER TABLE staff_user DROP COLUMN known_browser_since;
