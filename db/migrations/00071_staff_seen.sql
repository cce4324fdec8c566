-- +goose Up

-- When a staff user was last seen, kept when their staff sessions end: by signing out,
-- by a new password, by the sweep.
ALTER TABLE staff_user ADD COLUMN seen_at timestamptz;
-- +goose StatementBegin
CREATE FUNCTION keep_staff_seen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE staff_user SET seen_at = OLD.seen_at
    WHERE id = OLD.staff_id AND OLD.stage = 'full' AND (seen_at IS NULL OR seen_at < OLD.seen_at);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER staff_seen AFTER DELETE ON staff_session FOR EACH ROW EXECUTE FUNCTION keep_staff_seen();

-- +goose Down
DROP TRIGGER staff_seen ON staff_session;
DROP FUNCTION keep_staff_seen;
ALTER TABLE staff_user DROP COLUMN seen_at;
