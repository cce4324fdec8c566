-- +goose Up

-- A hash of the secret of the browser that saved last in a session's form. A link for
-- those who may not read answers opens the form in that browser alone (D92).
ALTER TABLE session ADD COLUMN saved_by text;

-- Such a link in another browser is noted, too.
-- contract: a wider check takes its place at once.
ALTER TABLE link_use DROP CONSTRAINT link_use_kind_check;
ALTER TABLE link_use ADD CONSTRAINT link_use_kind_check CHECK (kind IN ('opened', 'replaced', 'wrong', 'elsewhere')) NOT VALID;

-- +goose Down
DELETE FROM link_use WHERE kind = 'elsewhere';
ALTER TABLE link_use DROP CONSTRAINT link_use_kind_check;
ALTER TABLE link_use ADD CONSTRAINT link_use_kind_check CHECK (kind IN ('opened', 'replaced', 'wrong'));
ALTER TABLE session DROP COLUMN saved_by;
