-- +goose Up

-- How many documents a session was submitted with. NULL: it wasn't, or that was before this was kept.
ALTER TABLE session ADD COLUMN documents smallint;

-- Whether figure_count has what the row counts, and when its day may be counted again: a day of many sessions
-- takes a while, and isn't counted all the time.
ALTER TABLE session_count ADD COLUMN figured boolean DEFAULT false NOT NULL, ADD COLUMN refigure_after timestamptz;

-- Sessions by the day of the account's zone on which they were created, and by what they have (D129): name is
-- 'way', 'documents' or 'metadata.' and a member. The value '' stands for all that aren't counted by their own.
CREATE TABLE figure_count (
    account_id uuid NOT NULL,
    livemode   boolean NOT NULL,
    name       text NOT NULL,
    day        date NOT NULL,
    value      text NOT NULL,
    created    bigint NOT NULL,
    completed  bigint NOT NULL, -- of those
    PRIMARY KEY (account_id, livemode, name, day, value)
);
CREATE INDEX figure_count_day_idx ON figure_count (account_id, livemode, day);

-- A session's metadata, {} if it has characters that PostgreSQL doesn't read: U+0000, and halves of pairs.
-- +goose StatementBegin
CREATE FUNCTION readable(metadata json) RETURNS json LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN metadata::text ~ '\\u(0000|[dD][89a-fA-F])' THEN '{}'::json ELSE metadata END
$$;
-- +goose StatementEnd

-- Whatever changes what figures are counted from, also the previous release's fold. Other states aren't among it.
-- +goose StatementBegin
CREATE FUNCTION refigure_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.figured := false;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER session_count_refigured BEFORE UPDATE ON session_count
    FOR EACH ROW WHEN (old.created <> new.created OR old.completed <> new.completed) EXECUTE FUNCTION refigure_count();

-- What counters don't tell apart: a link that is emailed later, and an erasure, also by the previous
-- release (D90), which takes the values out of the day at once. The lock is that of the count of the day.
-- +goose StatementBegin
CREATE FUNCTION refigure_session() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    utc date := (OLD.created_at AT TIME ZONE 'UTC')::date;
    local date := (OLD.created_at AT TIME ZONE (SELECT time_zone FROM account WHERE id = OLD.account_id))::date;
BEGIN
    IF NEW.customer_erased_at IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'figures', OLD.account_id, OLD.livemode, local), 0));
        DELETE FROM figure_count f USING json_each_text(readable(OLD.metadata)) m
        WHERE (f.account_id, f.livemode, f.name, f.day, f.value) = (OLD.account_id, OLD.livemode, 'metadata.' || m.key, local, m.value);
    END IF;
    INSERT INTO session_count (account_id, livemode, day, shard, ahead)
    VALUES (OLD.account_id, OLD.livemode, utc, count_shard(local - utc), local - utc)
    ON CONFLICT (account_id, livemode, day, shard) DO UPDATE SET figured = false;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER session_refigured AFTER UPDATE ON session
    FOR EACH ROW WHEN (old.emailed <> new.emailed OR old.customer_erased_at IS NULL AND new.customer_erased_at IS NOT NULL)
    EXECUTE FUNCTION refigure_session();

-- In another time zone other sessions are a day's: the counters to which writers' are folded mark each date that had or has some.
-- +goose StatementBegin
CREATE FUNCTION refigure_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO session_count (account_id, livemode, day, shard, ahead)
    SELECT DISTINCT c.account_id, c.livemode, c.day, CASE a.ahead WHEN 0 THEN 0 WHEN 1 THEN -1 ELSE -2 END, a.ahead
    FROM session_count c, (VALUES (-1), (0), (1)) a (ahead) WHERE c.account_id = NEW.id ORDER BY 1, 2, 3, 5
    ON CONFLICT (account_id, livemode, day, shard) DO UPDATE SET figured = false;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER account_refigured AFTER UPDATE OF time_zone ON account
    FOR EACH ROW WHEN (old.time_zone <> new.time_zone) EXECUTE FUNCTION refigure_account();

-- +goose Down
DROP TRIGGER account_refigured ON account;
DROP TRIGGER session_refigured ON session;
DROP FUNCTION refigure_account();
DROP FUNCTION refigure_session();
DROP TRIGGER session_count_refigured ON session_count;
DROP FUNCTION refigure_count();
DROP FUNCTION readable(json);
DROP TABLE figure_count;
ALTER TABLE session_count DROP COLUMN figured, DROP COLUMN refigure_after;
ALTER TABLE session DROP COLUMN documents;
