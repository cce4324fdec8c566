-- +goose Up

-- An entry of the audit log can stand for several that differ in their time alone (D89).
ALTER TABLE audit_log
    ADD COLUMN times integer NOT NULL DEFAULT 1,
    ADD COLUMN until timestamptz;

-- Such entries of the last minutes, which are still counted. "alike" names what is the
-- same in them.
CREATE TABLE audit_repeat (LIKE audit_log INCLUDING DEFAULTS, alike text PRIMARY KEY);
CREATE INDEX audit_repeat_at_idx ON audit_repeat (at);

-- +goose Down
DROP TABLE audit_repeat;
ALTER TABLE audit_log DROP COLUMN until, DROP COLUMN times;
