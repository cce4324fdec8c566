-- +goose Up

-- An account is a partner (D3). What it owns exists in one of two modes, test
-- or live, told apart by livemode.
CREATE TABLE account (
    id            uuid PRIMARY KEY,
    name          text NOT NULL,
    billing_email text NOT NULL,
    created_at    timestamptz NOT NULL
);

CREATE TABLE staff_user (
    id            uuid PRIMARY KEY,
    account_id    uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    email         text NOT NULL,
    password_hash text NOT NULL, -- Argon2id, PHC string
    role          text NOT NULL CHECK (role IN ('owner', 'developer', 'support', 'finance')),
    created_at    timestamptz NOT NULL
);
CREATE UNIQUE INDEX staff_user_email_key ON staff_user (lower(email));
CREATE INDEX staff_user_account_idx ON staff_user (account_id);

-- A key is found by the SHA-256 of its text; the text is kept nowhere (D6).
-- permissions is null for full access (D29).
CREATE TABLE api_key (
    id          uuid PRIMARY KEY,
    account_id  uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode    boolean NOT NULL,
    name        text NOT NULL,
    hash        bytea NOT NULL,
    last4       text NOT NULL,
    permissions text[],
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz
);
CREATE UNIQUE INDEX api_key_hash_key ON api_key (hash);
CREATE INDEX api_key_account_idx ON api_key (account_id, livemode);

-- Where an account's events go when a session names no URL of its own (D33),
-- and what they are signed with; secrets are sealed (D7). next_secret is the
-- one being deployed, previous_secret can be restored until
-- previous_secret_until (D36).
CREATE TABLE webhook_setting (
    account_id            uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode              boolean NOT NULL,
    default_url           text,
    secret                bytea NOT NULL,
    next_secret           bytea,
    previous_secret       bytea,
    previous_secret_until timestamptz,
    PRIMARY KEY (account_id, livemode)
);

CREATE TABLE plan (
    id                text PRIMARY KEY,
    name              text NOT NULL,
    sessions_included integer, -- null: unlimited (D41)
    overage_cents     bigint   -- null: none (D41)
);
INSERT INTO plan (id, name, sessions_included, overage_cents) VALUES
    ('starter', 'Starter', 10, 1000),
    ('professional', 'Professional', 100, 500),
    ('enterprise', 'Enterprise', NULL, NULL);

-- Periods are months counted from started_at, UTC (D42).
CREATE TABLE subscription (
    id           uuid PRIMARY KEY,
    account_id   uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    plan_id      text NOT NULL REFERENCES plan,
    status       text NOT NULL CHECK (status IN ('active', 'past_due', 'cancelled')),
    started_at   timestamptz NOT NULL,
    effective_at timestamptz -- when a cancellation takes effect (D43)
);
CREATE UNIQUE INDEX subscription_current_key ON subscription (account_id) WHERE effective_at IS NULL;
CREATE INDEX subscription_account_idx ON subscription (account_id, started_at DESC);

-- Live sessions counted in the transaction that creates them (D42). Spread
-- over shards so that creations side by side don't queue for one row.
CREATE TABLE subscription_usage (
    account_id   uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    period_start timestamptz NOT NULL,
    shard        smallint NOT NULL,
    sessions     bigint NOT NULL,
    PRIMARY KEY (account_id, period_start, shard)
);

CREATE TABLE session (
    id                 uuid PRIMARY KEY,
    account_id         uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode           boolean NOT NULL,
    status             text NOT NULL CHECK (status IN ('pending', 'in_progress', 'completed', 'expired', 'cancelled')),
    form_type          text NOT NULL,
    customer_email     text NOT NULL,
    customer_name      text,
    reference_id       text,
    webhook_url        text,
    metadata           json NOT NULL, -- as it was written, numbers too
    sections_completed smallint NOT NULL DEFAULT 0,
    created_at         timestamptz NOT NULL,
    expires_at         timestamptz NOT NULL,
    accessed_at        timestamptz,
    completed_at       timestamptz,
    cancelled_at       timestamptz,
    last_activity_at   timestamptz, -- the last opening or save (D48)
    pdf_ready_at       timestamptz,
    erased_at          timestamptz  -- when retention deleted PDF and documents
);
-- The list's orders and filters (D10).
CREATE INDEX session_list_idx ON session (account_id, livemode, created_at DESC, id DESC);
CREATE INDEX session_status_idx ON session (account_id, livemode, status, created_at DESC, id DESC);
CREATE INDEX session_reference_idx ON session (account_id, livemode, reference_id, created_at DESC, id DESC) WHERE reference_id IS NOT NULL;
CREATE INDEX session_email_idx ON session (account_id, livemode, lower(customer_email), created_at DESC, id DESC);
-- What the sweep and the readers between two sweeps look for (D11).
CREATE INDEX session_expiring_idx ON session (expires_at) WHERE status IN ('pending', 'in_progress');
CREATE INDEX session_overdue_idx ON session (account_id, livemode, expires_at) WHERE status IN ('pending', 'in_progress');
CREATE INDEX session_without_pdf_idx ON session (completed_at) WHERE status = 'completed' AND pdf_ready_at IS NULL AND erased_at IS NULL;
CREATE INDEX session_retention_idx ON session (completed_at) WHERE status = 'completed' AND erased_at IS NULL;

-- Sessions counted by the UTC day they were created on, and completions by
-- the day they happened on, kept by the trigger below so that no path can
-- forget them. Totals and usage read these few rows, never the sessions.
CREATE TABLE session_count (
    account_id         uuid NOT NULL,
    livemode           boolean NOT NULL,
    day                date NOT NULL,
    shard              smallint NOT NULL,
    created            bigint NOT NULL DEFAULT 0,
    pending            bigint NOT NULL DEFAULT 0,
    in_progress        bigint NOT NULL DEFAULT 0,
    completed          bigint NOT NULL DEFAULT 0,
    expired            bigint NOT NULL DEFAULT 0,
    cancelled          bigint NOT NULL DEFAULT 0,
    completion_seconds numeric NOT NULL DEFAULT 0, -- sum over completed, completed_at - created_at
    completed_that_day bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, livemode, day, shard)
);
CREATE INDEX session_count_unfolded_idx ON session_count (day) WHERE shard <> 0;

-- Shards 1 to 16 are the writers', each connection its own, so that writers
-- side by side rarely meet in a row. Shard 0 holds what folding has put
-- together. Rows are taken in the order of the key, so that nobody deadlocks.
-- +goose StatementBegin
CREATE FUNCTION count_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO session_count AS c (account_id, livemode, day, shard, created, pending, in_progress, completed, expired, cancelled, completion_seconds, completed_that_day)
        SELECT account_id, livemode, day, 1 + pg_backend_pid() % 16,
               sum(created), sum(pending), sum(in_progress), sum(completed), sum(expired), sum(cancelled), sum(seconds), sum(that_day)
        FROM (
            SELECT account_id, livemode, (created_at AT TIME ZONE 'UTC')::date AS day, 1 AS created,
                   (status = 'pending')::int AS pending, (status = 'in_progress')::int AS in_progress, (status = 'completed')::int AS completed,
                   (status = 'expired')::int AS expired, (status = 'cancelled')::int AS cancelled,
                   coalesce(extract(epoch FROM completed_at - created_at), 0) AS seconds, 0 AS that_day
            FROM after_rows
            UNION ALL
            SELECT account_id, livemode, (completed_at AT TIME ZONE 'UTC')::date, 0, 0, 0, 0, 0, 0, 0, 1 FROM after_rows WHERE completed_at IS NOT NULL
        ) n
        GROUP BY account_id, livemode, day
        ORDER BY account_id, livemode, day
        ON CONFLICT (account_id, livemode, day, shard) DO UPDATE SET
            created = c.created + excluded.created, pending = c.pending + excluded.pending, in_progress = c.in_progress + excluded.in_progress,
            completed = c.completed + excluded.completed, expired = c.expired + excluded.expired, cancelled = c.cancelled + excluded.cancelled,
            completion_seconds = c.completion_seconds + excluded.completion_seconds,
            completed_that_day = c.completed_that_day + excluded.completed_that_day;
    ELSE
        INSERT INTO session_count AS c (account_id, livemode, day, shard, created, pending, in_progress, completed, expired, cancelled, completion_seconds, completed_that_day)
        SELECT account_id, livemode, day, 1 + pg_backend_pid() % 16,
               0, sum(pending), sum(in_progress), sum(completed), sum(expired), sum(cancelled), sum(seconds), sum(that_day)
        FROM (
            SELECT account_id, livemode, (created_at AT TIME ZONE 'UTC')::date AS day,
                   (status = 'pending')::int AS pending, (status = 'in_progress')::int AS in_progress, (status = 'completed')::int AS completed,
                   (status = 'expired')::int AS expired, (status = 'cancelled')::int AS cancelled,
                   coalesce(extract(epoch FROM completed_at - created_at), 0) AS seconds, 0 AS that_day
            FROM after_rows
            UNION ALL
            SELECT account_id, livemode, (created_at AT TIME ZONE 'UTC')::date,
                   -(status = 'pending')::int, -(status = 'in_progress')::int, -(status = 'completed')::int,
                   -(status = 'expired')::int, -(status = 'cancelled')::int,
                   -coalesce(extract(epoch FROM completed_at - created_at), 0), 0
            FROM before_rows
            UNION ALL
            SELECT account_id, livemode, (completed_at AT TIME ZONE 'UTC')::date, 0, 0, 0, 0, 0, 0, 1 FROM after_rows WHERE completed_at IS NOT NULL
            UNION ALL
            SELECT account_id, livemode, (completed_at AT TIME ZONE 'UTC')::date, 0, 0, 0, 0, 0, 0, -1 FROM before_rows WHERE completed_at IS NOT NULL
        ) n
        GROUP BY account_id, livemode, day
        HAVING sum(pending) <> 0 OR sum(in_progress) <> 0 OR sum(completed) <> 0 OR sum(expired) <> 0 OR sum(cancelled) <> 0
            OR sum(seconds) <> 0 OR sum(that_day) <> 0
        ORDER BY account_id, livemode, day
        ON CONFLICT (account_id, livemode, day, shard) DO UPDATE SET
            pending = c.pending + excluded.pending, in_progress = c.in_progress + excluded.in_progress,
            completed = c.completed + excluded.completed, expired = c.expired + excluded.expired, cancelled = c.cancelled + excluded.cancelled,
            completion_seconds = c.completion_seconds + excluded.completion_seconds,
            completed_that_day = c.completed_that_day + excluded.completed_that_day;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER session_counted_insert AFTER INSERT ON session
    REFERENCING NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION count_sessions();
CREATE TRIGGER session_counted_update AFTER UPDATE ON session
    REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION count_sessions();

-- One row a session and section: the last valid answers, and what was typed
-- since and isn't valid yet.
CREATE TABLE section (
    session_id   uuid NOT NULL REFERENCES session ON DELETE CASCADE,
    name         text NOT NULL,
    answers      jsonb,
    draft        json,
    completed_at timestamptz,
    updated_at   timestamptz NOT NULL,
    PRIMARY KEY (session_id, name)
);

-- The bytes are in the blob store under the document's id.
CREATE TABLE document (
    id           uuid PRIMARY KEY,
    session_id   uuid NOT NULL REFERENCES session ON DELETE CASCADE,
    category     text NOT NULL,
    file_name    text NOT NULL,
    content_type text NOT NULL,
    size_bytes   bigint NOT NULL,
    sha256       bytea NOT NULL,
    uploaded_at  timestamptz NOT NULL
);
CREATE INDEX document_session_idx ON document (session_id, id);

-- Blobs that no document row stands for: being uploaded, or removed. A row
-- comes before its blob is written and goes with the document row's insert,
-- so no crash can leave a blob behind.
CREATE TABLE blob_garbage (
    document_id uuid PRIMARY KEY,
    created_at  timestamptz NOT NULL
);

CREATE TABLE statement_pdf (
    session_id uuid PRIMARY KEY REFERENCES session ON DELETE CASCADE,
    content    bytea NOT NULL,
    size_bytes bigint NOT NULL,
    page_count integer NOT NULL,
    created_at timestamptz NOT NULL
);
ALTER TABLE statement_pdf ALTER COLUMN content SET STORAGE EXTERNAL; -- a PDF is compressed already

-- What happened, with the webhook body that says so (D34).
CREATE TABLE event (
    id         uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode   boolean NOT NULL,
    session_id uuid REFERENCES session ON DELETE CASCADE,
    type       text NOT NULL,
    body       bytea NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX event_account_idx ON event (account_id, livemode, created_at, id);
CREATE INDEX event_session_idx ON event (session_id) WHERE session_id IS NOT NULL;

-- One event on its way to one URL; attempts counts those made and recorded.
CREATE TABLE delivery (
    id               uuid PRIMARY KEY,
    event_id         uuid NOT NULL REFERENCES event ON DELETE CASCADE,
    url              text NOT NULL,
    state            text NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'cancelled')),
    attempts         smallint NOT NULL DEFAULT 0,
    first_attempt_at timestamptz,
    next_attempt_at  timestamptz, -- null once no further attempt is due
    finished_at      timestamptz,
    job_id           bigint NOT NULL, -- the River job that makes the attempts; a sweep replaces a lost one
    created_at       timestamptz NOT NULL
);
CREATE INDEX delivery_event_idx ON delivery (event_id);
CREATE INDEX delivery_pending_idx ON delivery (next_attempt_at) WHERE state = 'pending';

CREATE TABLE delivery_attempt (
    delivery_id     uuid NOT NULL REFERENCES delivery ON DELETE CASCADE,
    number          smallint NOT NULL, -- 1 to 7
    started_at      timestamptz NOT NULL,
    duration_ms     integer NOT NULL,
    status_code     integer,          -- null where there was no response
    error_class     text,             -- dns, connect, tls, timeout, refused_target, status, protocol
    error           text,
    request_headers jsonb NOT NULL,
    response        text,             -- its first 2 KiB (D37)
    PRIMARY KEY (delivery_id, number)
);

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
    PRIMARY KEY (account_id, livemode, path, key)
);
CREATE INDEX idempotency_key_created_idx ON idempotency_key (created_at);

-- +goose Down
DROP TABLE idempotency_key, delivery_attempt, delivery, event, statement_pdf, blob_garbage, document, section, session_count, session,
    subscription_usage, subscription, plan, webhook_setting, api_key, staff_user, account;
DROP FUNCTION count_sessions();
