-- +goose Up

-- Webhook endpoints that an account sets up (D109). url says that the endpoint exists: it is
-- null of rows that stand for URLs of sessions, and of an endpoint that was deleted. The row
-- is_default is the account's default URL, whose secrets sign the webhooks to URLs of sessions,
-- too; it stays without a URL.
ALTER TABLE webhook_endpoint
    ADD COLUMN is_default            boolean DEFAULT false NOT NULL,
    ADD COLUMN url                   text,
    ADD COLUMN description           text DEFAULT '' NOT NULL,
    ADD COLUMN event_types           text[],      -- null: all
    ADD COLUMN paused_at             timestamptz,
    ADD COLUMN deleted_at            timestamptz,
    ADD COLUMN secret                bytea,       -- sealed, as in webhook_setting
    ADD COLUMN next_secret           bytea,
    ADD COLUMN next_secret_at        timestamptz,
    ADD COLUMN previous_secret       bytea,
    ADD COLUMN previous_secret_until timestamptz,
    -- origin is unique, as the previous release needs it, so that of an endpoint ends with # and
    -- its id. This one is without them.
    ADD COLUMN site text GENERATED ALWAYS AS (split_part(origin, '#', 1)) STORED;
ALTER TABLE webhook_endpoint ADD CONSTRAINT webhook_endpoint_secret_check CHECK (url IS NULL AND NOT is_default OR secret IS NOT NULL) NOT VALID;
ALTER TABLE webhook_endpoint ADD CONSTRAINT webhook_endpoint_next_check CHECK ((next_secret IS NULL) = (next_secret_at IS NULL)) NOT VALID;
ALTER TABLE webhook_endpoint ADD CONSTRAINT webhook_endpoint_previous_check
    CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL)) NOT VALID;
ALTER TABLE webhook_endpoint ADD CONSTRAINT webhook_endpoint_types_check CHECK (event_types <> '{}') NOT VALID;
-- contract: the previous release writes such a row through webhook_setting alone, which has one for an account and mode.
CREATE UNIQUE INDEX webhook_endpoint_default_key ON webhook_endpoint (account_id, livemode) WHERE is_default;
CREATE INDEX webhook_endpoint_url_idx ON webhook_endpoint (account_id, livemode) WHERE url IS NOT NULL;
CREATE INDEX webhook_endpoint_site_idx ON webhook_endpoint (account_id, livemode, site);
CREATE INDEX webhook_endpoint_held_idx ON webhook_endpoint (id) WHERE paused_at IS NOT NULL OR deleted_at IS NOT NULL;
CREATE INDEX webhook_endpoint_previous_idx ON webhook_endpoint (previous_secret_until) WHERE previous_secret IS NOT NULL;

-- The scheme, host and port of a URL, as domain.Origin makes it.
-- +goose StatementBegin
CREATE FUNCTION webhook_origin(url text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT regexp_replace(lower(substring(url FROM '^[^:]+://[^/?#]+')), '^(https://.*):443$|^(http://.*):80$', '\1\2');
$$;
-- +goose StatementEnd

-- The previous release reads and writes the default URL and its secrets in webhook_setting. Until
-- it is gone, each of the two follows the other.
-- +goose StatementBegin
CREATE FUNCTION endpoint_follows_setting() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE fresh uuid := gen_random_uuid();
BEGIN
    IF pg_trigger_depth() > 1 THEN
        RETURN NULL;
    END IF;
    INSERT INTO webhook_endpoint AS e (id, account_id, livemode, origin, is_default, url, created_at,
        secret, next_secret, next_secret_at, previous_secret, previous_secret_until)
    VALUES (fresh, NEW.account_id, NEW.livemode, coalesce(webhook_origin(NEW.default_url), '') || '#' || fresh, true, NEW.default_url, now(),
        NEW.secret, NEW.next_secret, NEW.next_secret_at, NEW.previous_secret, NEW.previous_secret_until)
    ON CONFLICT (account_id, livemode) WHERE is_default DO UPDATE SET url = excluded.url,
        origin = coalesce(webhook_origin(excluded.url), e.site) || '#' || e.id,
        secret = excluded.secret, next_secret = excluded.next_secret, next_secret_at = excluded.next_secret_at,
        previous_secret = excluded.previous_secret, previous_secret_until = excluded.previous_secret_until;
    RETURN NULL;
END;
$$;
CREATE FUNCTION setting_follows_endpoint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_trigger_depth() > 1 THEN
        RETURN NULL;
    END IF;
    INSERT INTO webhook_setting (account_id, livemode, default_url, secret, next_secret, next_secret_at, previous_secret, previous_secret_until)
    VALUES (NEW.account_id, NEW.livemode, NEW.url, NEW.secret, NEW.next_secret, NEW.next_secret_at, NEW.previous_secret, NEW.previous_secret_until)
    ON CONFLICT (account_id, livemode) DO UPDATE SET default_url = excluded.default_url,
        secret = excluded.secret, next_secret = excluded.next_secret, next_secret_at = excluded.next_secret_at,
        previous_secret = excluded.previous_secret, previous_secret_until = excluded.previous_secret_until;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER endpoint_follows_setting AFTER INSERT OR UPDATE ON webhook_setting
    FOR EACH ROW EXECUTE FUNCTION endpoint_follows_setting();

-- The row of the default URL's origin becomes the default endpoint's, with its health and history.
UPDATE webhook_endpoint e SET is_default = true, url = s.default_url, origin = e.origin || '#' || e.id, secret = s.secret
FROM webhook_setting s
WHERE s.account_id = e.account_id AND s.livemode = e.livemode AND e.origin = webhook_origin(s.default_url);
UPDATE webhook_setting SET default_url = default_url;

CREATE TRIGGER setting_follows_endpoint
    AFTER INSERT OR UPDATE OF url, secret, next_secret, next_secret_at, previous_secret, previous_secret_until ON webhook_endpoint
    FOR EACH ROW WHEN (NEW.is_default) EXECUTE FUNCTION setting_follows_endpoint();

-- A further delivery of its event: the event names the endpoint of its first one.
ALTER TABLE delivery ADD COLUMN further boolean DEFAULT false NOT NULL;

-- +goose Down
ALTER TABLE delivery DROP COLUMN further;
DROP TRIGGER setting_follows_endpoint ON webhook_endpoint;
DROP TRIGGER endpoint_follows_setting ON webhook_setting;
DROP FUNCTION setting_follows_endpoint;
DROP FUNCTION endpoint_follows_setting;
DROP FUNCTION webhook_origin;
UPDATE webhook_endpoint e SET origin = e.site WHERE e.is_default AND NOT EXISTS (
    SELECT 1 FROM webhook_endpoint o WHERE o.account_id = e.account_id AND o.livemode = e.livemode AND o.origin = e.site);
ALTER TABLE webhook_endpoint
    DROP COLUMN site, DROP COLUMN previous_secret_until, DROP COLUMN previous_secret, DROP COLUMN next_secret_at,
    DROP COLUMN next_secret, DROP COLUMN secret, DROP COLUMN deleted_at, DROP COLUMN paused_at, DROP COLUMN event_types,
    DROP COLUMN description, DROP COLUMN url, DROP COLUMN is_default;
