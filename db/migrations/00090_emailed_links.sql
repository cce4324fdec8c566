-- +goose Up

-- Whether Candor emails the session's link to the customer (D103).
ALTER TABLE session ADD COLUMN emailed boolean DEFAULT false NOT NULL;

-- How it does.
CREATE TABLE link_delivery (
    session_id  uuid PRIMARY KEY REFERENCES session(id) ON DELETE CASCADE,
    remind      boolean NOT NULL,
    one_browser boolean NOT NULL,    -- the link is one for those who may not read answers (D92)
    stopped_at  timestamptz,         -- when the customer wanted no more reminders
    look_at     timestamptz          -- when a worker looks what is due; null: never again
);
CREATE INDEX link_delivery_look_idx ON link_delivery (look_at) WHERE look_at IS NOT NULL;

-- Each email, from its first try (D105). It has neither the address nor the link.
CREATE TABLE link_email (
    session_id     uuid NOT NULL REFERENCES session(id) ON DELETE CASCADE,
    kind           text NOT NULL CHECK (kind IN ('link', 'unopened_1', 'unopened_2', 'unfinished_1', 'unfinished_2', 'ending')),
    state          text NOT NULL CHECK (state IN ('queued', 'sending', 'sent', 'failed', 'not_sent', 'unknown')),
    tries          smallint DEFAULT 0 NOT NULL,
    first_tried_at timestamptz,
    ended_at       timestamptz,
    problem        text DEFAULT '' NOT NULL,
    PRIMARY KEY (session_id, kind)
);

CREATE TRIGGER link_delivery_leaves_erased BEFORE INSERT ON link_delivery FOR EACH ROW EXECUTE FUNCTION leave_erased();
CREATE TRIGGER link_email_leaves_erased BEFORE INSERT ON link_email FOR EACH ROW EXECUTE FUNCTION leave_erased();

-- How many links were emailed on the last day that had any (D106).
CREATE TABLE link_email_count (
    account_id uuid NOT NULL REFERENCES account(id) ON DELETE CASCADE,
    livemode   boolean NOT NULL,
    day        date NOT NULL,
    links      integer NOT NULL,
    PRIMARY KEY (account_id, livemode)
);

-- +goose Down
DROP TABLE link_email_count;
DROP TABLE link_email;
DROP TABLE link_delivery;
ALTER TABLE session DROP COLUMN emailed;
