-- +goose Up

-- Events and their way to partners: endpoints, deliveries, attempts, redeliveries, alerts.

-- Where an account's events of one mode go: the endpoints that it sets up (D109), and one for each
-- origin of the URLs of sessions. Its health is what the last attempts came to; nothing is disabled by
-- it (D40). url says that an endpoint was set up: it is null of one that stands for URLs of sessions,
-- and of one that was deleted. The one that is_default is the account's default URL (D33), whose
-- secrets sign the webhooks to URLs of sessions, too; it stays without a URL. Secrets are sealed (D7):
-- next_secret is the one being deployed, previous_secret can be restored until previous_secret_until
-- (D36).
CREATE TABLE webhook_endpoint (
    id                   uuid PRIMARY KEY,
    account_id           uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode             boolean NOT NULL,
    origin               text NOT NULL, -- https://example.com:8443, of an endpoint with # and its id
    consecutive_failures integer DEFAULT 0 NOT NULL,
    failing_since        timestamptz, -- null while the last attempt succeeded
    last_success_at      timestamptz,
    last_failure_at      timestamptz,
    last_status_code     integer, -- of the last attempt; null without a response
    last_error_class     text, -- of the last attempt; null after a success
    gone                 boolean DEFAULT false NOT NULL, -- the last answer was 410
    created_at           timestamptz NOT NULL,
    -- How far an endpoint's failing was reported: 0 not, 1 after an hour, 2 after three days;
    -- and when last.
    alerted              smallint DEFAULT 0 NOT NULL,
    alerted_at           timestamptz,
    is_default            boolean DEFAULT false NOT NULL,
    url                   text,
    description           text DEFAULT '' NOT NULL,
    event_types           text[] CONSTRAINT webhook_endpoint_types_check CHECK (event_types <> '{}'), -- null: all
    paused_at             timestamptz,
    deleted_at            timestamptz,
    secret                bytea,
    next_secret           bytea,
    next_secret_at        timestamptz, -- when the next secret was created; null without one
    previous_secret       bytea,
    previous_secret_until timestamptz,
    site                  text GENERATED ALWAYS AS (split_part(origin, '#', 1)) STORED,
    CONSTRAINT webhook_endpoint_secret_check CHECK (url IS NULL AND NOT is_default OR secret IS NOT NULL),
    CONSTRAINT webhook_endpoint_next_check CHECK ((next_secret IS NULL) = (next_secret_at IS NULL)),
    CONSTRAINT webhook_endpoint_previous_check CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL))
);
CREATE INDEX webhook_endpoint_failing_idx ON webhook_endpoint (alerted, failing_since) WHERE failing_since IS NOT NULL;
CREATE UNIQUE INDEX webhook_endpoint_origin_key ON webhook_endpoint (account_id, livemode, origin);
CREATE UNIQUE INDEX webhook_endpoint_default_key ON webhook_endpoint (account_id, livemode) WHERE is_default;
CREATE INDEX webhook_endpoint_url_idx ON webhook_endpoint (account_id, livemode) WHERE url IS NOT NULL;
CREATE INDEX webhook_endpoint_site_idx ON webhook_endpoint (account_id, livemode, site);
CREATE INDEX webhook_endpoint_held_idx ON webhook_endpoint (id) WHERE paused_at IS NOT NULL OR deleted_at IS NOT NULL;
CREATE INDEX webhook_endpoint_previous_idx ON webhook_endpoint (previous_secret_until) WHERE previous_secret IS NOT NULL;
-- The newest endpoints of an account and mode, and those whose last attempts failed: sessions' own
-- URLs can have any number of origins.
CREATE INDEX webhook_endpoint_created_idx ON webhook_endpoint (account_id, livemode, created_at);
CREATE INDEX webhook_endpoint_failed_idx ON webhook_endpoint (account_id, livemode, last_failure_at)
    WHERE failing_since IS NOT NULL;
CREATE INDEX webhook_endpoint_recovered_idx ON webhook_endpoint (last_failure_at) WHERE (alerted > 0) AND (failing_since IS NULL);

-- The attempts of each endpoint and UTC day, for its success rate and response times over 30 days.
-- Counted as attempts are recorded: a receiver that took a million deliveries is read as 30 rows.
CREATE TABLE endpoint_day (
    endpoint_id uuid NOT NULL REFERENCES webhook_endpoint ON DELETE CASCADE,
    day         date NOT NULL,
    attempts    bigint NOT NULL,
    delivered   bigint NOT NULL,
    times       bigint[] NOT NULL, -- attempts by how long they took, in steps 9 % apart from 1 ms
    PRIMARY KEY (endpoint_id, day)
);
CREATE INDEX endpoint_day_day_idx ON endpoint_day (day);

-- Outages of webhook endpoints (D137): from the first failed attempt until the endpoint answers.
-- Its events are those from the first to the last number that failed at least once.
CREATE TABLE outage (
    id              uuid PRIMARY KEY,
    account_id      uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode        boolean NOT NULL,
    endpoint_id     uuid NOT NULL REFERENCES webhook_endpoint ON DELETE CASCADE,
    started_at      timestamptz NOT NULL,
    last_failure_at timestamptz NOT NULL,
    answered_at     timestamptz, -- the first success since the last failure; null until then
    confirmed_at    timestamptz, -- when the last of its events was confirmed so far
    first_sequence  bigint NOT NULL,
    last_sequence   bigint NOT NULL,
    answers         jsonb NOT NULL -- failed attempts by status, or by error class without one
);
CREATE INDEX outage_endpoint_idx ON outage (endpoint_id, started_at);
CREATE INDEX outage_ended_idx ON outage (last_failure_at);

-- The last sequence number of a scope. An event's transaction holds the row from taking a number
-- until its commit, so numbers have no gap and become visible in their order.
CREATE TABLE event_sequence (
    account_id uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode   boolean NOT NULL,
    last       bigint NOT NULL,
    PRIMARY KEY (account_id, livemode)
);

-- What happened, with the webhook body that says so (D34).
CREATE TABLE event (
    id          uuid PRIMARY KEY,
    account_id  uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode    boolean NOT NULL,
    session_id  uuid REFERENCES session ON DELETE CASCADE,
    type        text NOT NULL,
    body        bytea NOT NULL,
    created_at  timestamptz NOT NULL,
    sequence    bigint NOT NULL,
    -- Where the event was to go when it happened; null for nowhere. So a delivery that is
    -- missing is told from one that was never meant to be.
    url         text,
    endpoint_id uuid -- without a constraint: an endpoint goes only with its account
) WITH (autovacuum_vacuum_scale_factor='0.02');
CREATE INDEX event_created_idx ON event (created_at);
CREATE INDEX event_endpoint_idx ON event (endpoint_id, sequence) WHERE endpoint_id IS NOT NULL;
CREATE UNIQUE INDEX event_sequence_key ON event (account_id, livemode, sequence);
CREATE INDEX event_session_idx ON event (session_id) WHERE session_id IS NOT NULL;
-- A session ends with one event at most, whatever goes wrong.
CREATE UNIQUE INDEX event_terminal_key ON event (session_id) WHERE type IN ('session.completed', 'session.expired');
-- Lists of events and of deliveries are read in the order of the sequence. Those of everything are
-- led by indexes on events, which are written once and never changed; what isn't delivered is
-- little and has its own.
CREATE INDEX event_type_idx ON event (account_id, livemode, type, sequence);

-- One event on its way to one URL; attempts counts those made and recorded.
CREATE TABLE delivery (
    id               uuid PRIMARY KEY,
    event_id         uuid NOT NULL REFERENCES event ON DELETE CASCADE,
    url              text NOT NULL,
    state            text NOT NULL CHECK (state IN ('pending', 'delivered', 'failed', 'cancelled')),
    attempts         smallint DEFAULT 0 NOT NULL,
    first_attempt_at timestamptz,
    next_attempt_at  timestamptz, -- null once no further attempt is due
    finished_at      timestamptz,
    created_at       timestamptz NOT NULL,
    -- A delivery is claimed by a worker until lease_until; it runs through the schedule once,
    -- and again for each redelivery (cycle), with the same id.
    endpoint_id      uuid NOT NULL REFERENCES webhook_endpoint ON DELETE CASCADE,
    session_id       uuid,
    sequence         bigint NOT NULL, -- the event's
    cycle            smallint DEFAULT 1 NOT NULL,
    attempts_total   integer DEFAULT 0 NOT NULL, -- over all cycles; attempts counts this one's
    lease_until      timestamptz,
    last_status_code integer,
    last_error_class text,
    -- A delivery names its scope and its event's type itself.
    account_id       uuid NOT NULL,
    livemode         boolean NOT NULL,
    type             text NOT NULL,
    redelivery_id    uuid, -- the redelivery of many that made it pending last; null for none
    further          boolean DEFAULT false NOT NULL, -- not the event's first one, whose endpoint it names
    CONSTRAINT delivery_pending_check CHECK (((state = 'pending') = (next_attempt_at IS NOT NULL)) AND ((state = 'pending') = (finished_at IS NULL)))
) WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02');
-- What is pending is little beside what isn't, comes in bursts, and has gone when statistics are
-- gathered: to the planner all indexes of it are empty and as good as each other. So each is
-- spelled in its own way, and a query that spells it that way has no other to choose.
CREATE INDEX delivery_due_idx ON delivery (endpoint_id, next_attempt_at, sequence) WHERE next_attempt_at IS NOT NULL;
-- The deliveries that ended badly by their state, with all that they are filtered by, so that a
-- filter that hardly any match is answered from the index: the rows, half a page apart, would be
-- read one by one. It costs a delivery that arrives nothing.
CREATE INDEX delivery_ended_badly_idx ON delivery (account_id, livemode, state, sequence, last_error_class, last_status_code, type, endpoint_id, created_at) WHERE state IN ('failed', 'cancelled');
-- Further deliveries of their events at an endpoint. Those that an event names are found by it.
CREATE INDEX delivery_further_idx ON delivery (endpoint_id, sequence) WHERE further;
CREATE INDEX delivery_event_idx ON delivery (event_id);
CREATE INDEX delivery_pending_idx ON delivery (account_id, livemode, sequence) WHERE state = 'pending';
-- What redeliveries have made pending at an endpoint and wasn't attempted yet.
CREATE INDEX delivery_redelivered_idx ON delivery (endpoint_id) WHERE (finished_at IS NULL) AND (attempts = 0) AND (redelivery_id IS NOT NULL);
-- What became of the deliveries that a redelivery made again. Its condition is spelled as no other
-- query's, so that none is led here instead of to its own.
CREATE INDEX delivery_redelivery_idx ON delivery (redelivery_id, state) WHERE redelivery_id > '00000000-0000-0000-0000-000000000000'::uuid;
-- The deliveries that later ones of the same session wait for.
CREATE INDEX delivery_turn_idx ON delivery (session_id, endpoint_id, sequence) WHERE (finished_at IS NULL) AND (attempts_total = 0);

CREATE TABLE delivery_attempt (
    delivery_id     uuid NOT NULL REFERENCES delivery ON DELETE CASCADE,
    number          smallint NOT NULL, -- 1 to 7
    started_at      timestamptz NOT NULL,
    duration_ms     integer NOT NULL,
    status_code     integer, -- null where there was no response
    error_class     text, -- dns, connect, tls, timeout, refused_target, status, protocol
    error           text,
    request_headers jsonb NOT NULL,
    response        text, -- its first 2 KiB (D37)
    PRIMARY KEY (delivery_id, number)
) WITH (autovacuum_vacuum_scale_factor='0.02');

-- Many failed deliveries made again, at a rate. Those that it is about are fixed when it starts;
-- what came to it since is found in the counts.
CREATE TABLE redelivery (
    id          uuid PRIMARY KEY,
    account_id  uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode    boolean NOT NULL,
    since       timestamptz, -- the filter: null for any
    until       timestamptz,
    endpoint_id uuid REFERENCES webhook_endpoint ON DELETE CASCADE,
    type        text,
    status      text, -- 4xx, or an error class
    rate        smallint NOT NULL CHECK (rate BETWEEN 1 AND 100), -- a second
    state       text NOT NULL CHECK (state IN ('running', 'done', 'stopped')),
    matched     bigint NOT NULL,
    requeued    bigint DEFAULT 0 NOT NULL,
    skipped     bigint DEFAULT 0 NOT NULL, -- no longer failed, or deleted, when their turn came
    paced_until timestamptz NOT NULL, -- the rate is used up to here, by the database's clock; never long ago while it runs
    created_by  text NOT NULL,
    created_at  timestamptz NOT NULL,
    finished_at timestamptz
);
CREATE INDEX redelivery_account_idx ON redelivery (account_id, livemode, created_at DESC);
CREATE INDEX redelivery_created_idx ON redelivery (created_at);
CREATE INDEX redelivery_running_idx ON redelivery (paced_until) WHERE state = 'running';

-- What a redelivery has still to do.
CREATE TABLE redelivery_item (
    redelivery_id uuid NOT NULL REFERENCES redelivery ON DELETE CASCADE,
    endpoint_id   uuid NOT NULL,
    delivery_id   uuid NOT NULL,
    PRIMARY KEY (redelivery_id, endpoint_id, delivery_id)
);

-- The result of a test event, kept for a short time so that its page can be loaded again without
-- another request to the receiver.
CREATE TABLE test_event (
    id         uuid PRIMARY KEY, -- the delivery id that the receiver saw
    account_id uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    content    jsonb NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX test_event_account_idx ON test_event (account_id);
CREATE INDEX test_event_created_idx ON test_event (created_at);

-- How far reconciliation has come: the sessions of the status that finished until checked_to have
-- their event and its delivery.
CREATE TABLE reconciliation (
    status     text PRIMARY KEY CHECK (status IN ('completed', 'expired')),
    checked_to timestamptz NOT NULL
);

-- An alert that was emailed to an account's developers. It is stored in the transaction that
-- inserts its emails, so each is sent once; the time of the last one of its kind keeps a flapping
-- endpoint from sending a thousand.
CREATE TABLE alert (
    id         uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode   boolean NOT NULL,
    kind       text NOT NULL,
    subjects   jsonb NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX alert_created_idx ON alert (created_at);
CREATE INDEX alert_scope_idx ON alert (account_id, livemode, kind, created_at);
