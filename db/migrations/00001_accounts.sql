-- +goose Up

-- Accounts, the audit log, the kept answers to idempotent calls, and the running workers.
-- The schema is in files by area; db/schema.sql is what they and the migrations after them make.

-- An account is a partner (D3). What it owns exists in one of two modes, test or live, told apart
-- by livemode.
CREATE TABLE account (
    id                      uuid PRIMARY KEY,
    name                    text NOT NULL,
    billing_email           text NOT NULL,
    created_at              timestamptz NOT NULL,
    -- How customers see the account on their forms; null for nothing.
    help_email              text,
    help_phone              text,
    brand_colour            text CHECK (brand_colour ~ '^[0-9a-f]{6}$'), -- red, green, blue
    -- What an account wants for its sessions, and its logo. The logo's name is a hash of its
    -- bytes, which are read by it alone.
    default_expires_in_days smallint DEFAULT 30 NOT NULL CHECK (default_expires_in_days BETWEEN 1 AND 90),
    retention_days          smallint DEFAULT 90 NOT NULL CHECK (retention_days BETWEEN 1 AND 90),
    logo                    bytea,
    logo_name               text,
    logo_width              smallint, -- pixels
    logo_height             smallint,
    -- The languages that the account's forms offer besides English, as BCP 47 tags.
    form_languages          text[] DEFAULT '{}' NOT NULL,
    -- How long an account keeps what was entered: for so many days after a session ended
    -- without completion, and after completion; 0: until it is erased (D50).
    unsubmitted_days        smallint DEFAULT 30 NOT NULL CHECK (unsubmitted_days BETWEEN 1 AND 90),
    answer_days             smallint DEFAULT 0 NOT NULL CHECK ((answer_days = 0) OR (answer_days BETWEEN 90 AND 2557)),
    -- Live mode opens when an operator approves the account (D52).
    approved_at             timestamptz,
    -- An owner can require a second factor of everyone in the team.
    two_step_required       boolean DEFAULT false NOT NULL,
    -- Where customers in money trouble get free help; NULL for the National Debt Helpline.
    money_help              text,
    money_help_url          text,
    -- The zone of the dashboard, its emails and its exports (D62). The check calls PostgreSQL's
    -- own list of zones: counters convert times with this name, and a name that PostgreSQL
    -- doesn't know would fail every new session.
    time_zone               text DEFAULT 'Australia/Sydney' NOT NULL CHECK (('2026-01-01 00:00:00+00'::timestamptz AT TIME ZONE time_zone) IS NOT NULL),
    -- What customers read after they have submitted (NULL: that the partner reads it), and
    -- whether they get an email that it arrived (D83).
    next_steps              text CHECK (char_length(next_steps) BETWEEN 1 AND 500),
    receipt_email           boolean DEFAULT false NOT NULL,
    CONSTRAINT account_check CHECK ((money_help_url IS NULL) OR ((money_help_url LIKE 'https://%') AND (money_help IS NOT NULL))),
    CONSTRAINT account_logo_check CHECK (num_nulls(logo, logo_name, logo_width, logo_height) IN (0, 4))
);
CREATE INDEX account_logo_idx ON account (logo_name) WHERE logo_name IS NOT NULL;

-- What staff, keys and operators did. Rows are added and never changed.
CREATE TABLE audit_log (
    id          uuid PRIMARY KEY,
    account_id  uuid NOT NULL, -- without a constraint: it outlives what it tells of
    livemode    boolean, -- null for what both modes share
    at          timestamptz NOT NULL,
    actor_kind  text NOT NULL CHECK (actor_kind IN ('staff', 'key', 'operator', 'system', 'stranger')),
    actor_id    text NOT NULL,
    actor_name  text NOT NULL, -- as it was then
    action      text NOT NULL, -- api_key.created
    target_id   text NOT NULL,
    target_name text NOT NULL, -- as it was then
    address     text NOT NULL, -- '' without a client
    before      jsonb, -- what changed, without secrets
    after       jsonb,
    -- An entry can stand for several that differ in their time alone (D89).
    times       integer DEFAULT 1 NOT NULL,
    until       timestamptz
);
CREATE INDEX audit_log_account_idx ON audit_log (account_id, at DESC, id DESC);
CREATE INDEX audit_log_action_idx ON audit_log (account_id, action, at DESC, id DESC);
CREATE INDEX audit_log_actor_idx ON audit_log (account_id, actor_name, at DESC, id DESC);
CREATE INDEX audit_log_target_idx ON audit_log (account_id, target_id, at DESC, id DESC);

-- Such entries of the last minutes, which are still counted. "alike" names what is the
-- same in them.
CREATE TABLE audit_repeat (LIKE audit_log INCLUDING DEFAULTS, alike text PRIMARY KEY);
CREATE INDEX audit_repeat_at_idx ON audit_repeat (at);

-- A POST's answer for 24 hours, sealed (D31).
CREATE TABLE idempotency_key (
    account_id  uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode    boolean NOT NULL,
    path        text NOT NULL,
    key         text NOT NULL,
    fingerprint bytea NOT NULL, -- SHA-256 of the request body
    status      smallint NOT NULL,
    response    bytea NOT NULL,
    created_at  timestamptz NOT NULL,
    -- A hash of what a request's body means: the same JSON in another order is the same
    -- request (D98).
    meaning     bytea,
    PRIMARY KEY (account_id, livemode, path, key)
);
CREATE INDEX idempotency_key_created_idx ON idempotency_key (created_at);

-- The running workers, by their ids in river_job.attempted_by. One that has shown no sign
-- of life for some seconds is dead, and its jobs are for others (D95).
CREATE TABLE worker (
    id       text PRIMARY KEY,
    alive_at timestamptz NOT NULL,
    since    timestamptz NOT NULL -- of the signs without a gap
);

-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
-- +goose StatementEnd

CREATE TRIGGER audit_log_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
