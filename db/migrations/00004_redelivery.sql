-- +goose Up

-- A delivery names its scope and its event's type itself.
ALTER TABLE delivery
    ADD COLUMN account_id uuid,
    ADD COLUMN livemode boolean,
    ADD COLUMN type text,
    ADD COLUMN redelivery_id uuid; -- the redelivery of many that made it pending last; null for none
UPDATE delivery d SET account_id = e.account_id, livemode = e.livemode, type = e.type FROM event e WHERE e.id = d.event_id;
ALTER TABLE delivery ALTER COLUMN account_id SET NOT NULL, ALTER COLUMN livemode SET NOT NULL, ALTER COLUMN type SET NOT NULL;

-- Where the event was to go when it happened; null for nowhere. So a delivery
-- that is missing is told from one that was never meant to be.
ALTER TABLE event
    ADD COLUMN url text,
    ADD COLUMN endpoint_id uuid; -- without a constraint: an endpoint goes only with its account
UPDATE event e SET url = d.url, endpoint_id = d.endpoint_id FROM delivery d WHERE d.event_id = e.id;

-- Lists of events and of deliveries are read in the order of the sequence.
-- Those of everything are led by indexes on events, which are written once
-- and never changed; what isn't delivered is little and has its own.
CREATE INDEX event_type_idx ON event (account_id, livemode, type, sequence);
CREATE INDEX event_endpoint_idx ON event (endpoint_id, sequence) WHERE endpoint_id IS NOT NULL;
DROP INDEX delivery_failed_idx;
CREATE INDEX delivery_pending_idx ON delivery (account_id, livemode, sequence) WHERE state = 'pending';
CREATE INDEX delivery_ended_badly_idx ON delivery (account_id, livemode, sequence) WHERE state IN ('failed', 'cancelled');

-- Many failed deliveries made again, at a rate. Those that it is about are
-- fixed when it starts; what came to it since is found in the counts.
CREATE TABLE redelivery (
    id           uuid PRIMARY KEY,
    account_id   uuid NOT NULL REFERENCES account ON DELETE CASCADE,
    livemode     boolean NOT NULL,
    since        timestamptz, -- the filter: null for any
    until        timestamptz,
    endpoint_id  uuid REFERENCES webhook_endpoint ON DELETE CASCADE,
    type         text,
    status       text,        -- 4xx, or an error class
    rate         smallint NOT NULL CHECK (rate BETWEEN 1 AND 100), -- a second
    state        text NOT NULL CHECK (state IN ('running', 'done', 'stopped')),
    matched      bigint NOT NULL,
    requeued     bigint NOT NULL DEFAULT 0,
    skipped      bigint NOT NULL DEFAULT 0, -- no longer failed, or deleted, when their turn came
    paced_until  timestamptz NOT NULL,      -- the rate is used up to here, by the database's clock; never long ago while it runs
    created_by   text NOT NULL,
    created_at   timestamptz NOT NULL,
    finished_at  timestamptz
);
CREATE INDEX redelivery_account_idx ON redelivery (account_id, livemode, created_at DESC);
CREATE INDEX redelivery_running_idx ON redelivery (paced_until) WHERE state = 'running';
CREATE INDEX redelivery_created_idx ON redelivery (created_at);

-- What a redelivery has still to do.
CREATE TABLE redelivery_item (
    redelivery_id uuid NOT NULL REFERENCES redelivery ON DELETE CASCADE,
    endpoint_id   uuid NOT NULL,
    delivery_id   uuid NOT NULL,
    PRIMARY KEY (redelivery_id, endpoint_id, delivery_id)
);

-- What redeliveries have made pending at an endpoint and wasn't attempted yet.
CREATE INDEX delivery_redelivered_idx ON delivery (endpoint_id) WHERE state = 'pending' AND attempts = 0 AND redelivery_id IS NOT NULL;

-- +goose Down
DROP TABLE redelivery_item, redelivery;
DROP INDEX delivery_redelivered_idx, delivery_ended_badly_idx, delivery_pending_idx, event_endpoint_idx, event_type_idx;
CREATE INDEX delivery_failed_idx ON delivery (endpoint_id, finished_at) WHERE state = 'failed';
ALTER TABLE event DROP COLUMN endpoint_id, DROP COLUMN url;
ALTER TABLE delivery DROP COLUMN redelivery_id, DROP COLUMN type, DROP COLUMN livemode, DROP COLUMN account_id;
