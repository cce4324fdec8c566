-- +goose Up

-- A session's link can be renewed: the link names this version, and the one before
-- stops. The first version is not named in links.
ALTER TABLE session ADD COLUMN link_version integer NOT NULL DEFAULT 0;

-- Who used a session's link: a row for each browser, the latest ones, and one row for
-- all wrong links, so that no flood of them grows it.
CREATE TABLE link_use (
    session_id uuid        NOT NULL REFERENCES session,
    kind       text        NOT NULL CHECK (kind IN ('opened', 'replaced', 'wrong')),
    user_agent text        NOT NULL DEFAULT '',
    address    text        NOT NULL DEFAULT '',
    times      integer     NOT NULL DEFAULT 1,
    first_at   timestamptz NOT NULL,
    last_at    timestamptz NOT NULL,
    PRIMARY KEY (session_id, kind, user_agent, address)
);

CREATE INDEX link_use_last_at_idx ON link_use (last_at);

-- +goose Down
DROP TABLE link_use;
ALTER TABLE session DROP COLUMN link_version;
