-- +goose Up

-- Sessions that staff cancel, until that can't be undone any more (D126).
CREATE TABLE session_cancel (
    session_id uuid PRIMARY KEY REFERENCES session(id) ON DELETE CASCADE,
    due_at     timestamptz NOT NULL,
    actor_kind text NOT NULL,
    actor_id   text NOT NULL,
    actor_name text NOT NULL,
    address    text NOT NULL
);
CREATE INDEX session_cancel_due_idx ON session_cancel (due_at);
CREATE TRIGGER session_cancel_leaves_erased BEFORE INSERT ON session_cancel FOR EACH ROW EXECUTE FUNCTION leave_erased();

-- +goose Down
DROP TABLE session_cancel;
