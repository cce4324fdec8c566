-- +goose Up

-- Counters that triggers keep (doc/adr/010, 011): lists and figures read them, never the sessions.

-- Sessions counted by the UTC day they were created on, and completions by the day they happened
-- on, kept by the trigger below so that no path can forget them. Totals and usage read these few
-- rows, never the sessions.
CREATE TABLE session_count (
    account_id         uuid NOT NULL,
    livemode           boolean NOT NULL,
    day                date NOT NULL,
    shard              smallint NOT NULL,
    created            bigint DEFAULT 0 NOT NULL,
    pending            bigint DEFAULT 0 NOT NULL,
    in_progress        bigint DEFAULT 0 NOT NULL,
    completed          bigint DEFAULT 0 NOT NULL,
    expired            bigint DEFAULT 0 NOT NULL,
    cancelled          bigint DEFAULT 0 NOT NULL,
    completion_seconds numeric DEFAULT 0 NOT NULL, -- sum over completed, completed_at - created_at
    completed_that_day bigint DEFAULT 0 NOT NULL,
    -- Counters also know the days of the account's zone (D62). A UTC day lies in at most two
    -- days of a zone, so a day has up to two rows: ahead says how many days the zone's date is ahead of day. The API adds up day, the dashboard day + ahead.
    -- Days counted in another zone keep the date that they were counted for.
    ahead              smallint DEFAULT 0 NOT NULL CHECK (ahead BETWEEN -1 AND 1),
    -- Whether figure_count has what the row counts, and when its day may be counted again: a day of
    -- many sessions takes a while, and isn't counted all the time.
    figured            boolean DEFAULT false NOT NULL,
    refigure_after     timestamptz,
    PRIMARY KEY (account_id, livemode, day, shard)
);
-- Days that are to be counted, the newest at the end.
CREATE INDEX session_count_unfigured_idx ON session_count (day, account_id, livemode) WHERE NOT figured;
CREATE INDEX session_count_unfolded_idx ON session_count (day) WHERE shard <> 0;
CREATE INDEX session_count_writers_idx ON session_count (day) WHERE shard > 0;

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

-- How sessions get on with the form, counted by the UTC day they were created on and kept by the
-- triggers below, so that the dashboard reads these few rows and never the sessions. They hold
-- nothing of any one session.
CREATE TABLE form_count (
    account_id uuid NOT NULL,
    livemode   boolean NOT NULL,
    day        date NOT NULL,
    section    text NOT NULL, -- '' for the whole form: opened, completed, and timed from creation
    reached    bigint DEFAULT 0 NOT NULL,
    completed  bigint DEFAULT 0 NOT NULL,
    times      bigint[] DEFAULT '{}' NOT NULL, -- sessions by the step of their time, see time_step
    seconds    bigint[] DEFAULT '{}' NOT NULL, -- the sum of each step's times
    PRIMARY KEY (account_id, livemode, day, section)
) WITH (fillfactor='50');

-- How many sessions met with a problem at least once.
CREATE TABLE form_problem_count (
    account_id uuid NOT NULL,
    livemode   boolean NOT NULL,
    day        date NOT NULL,
    section    text NOT NULL,
    field      text NOT NULL, -- without the number of a list's item
    problem    text NOT NULL, -- what the form said
    sessions   bigint NOT NULL,
    -- A rule's texts as one number: to read and to sum up, they take three times as long.
    rule       bigint GENERATED ALWAYS AS (hashtextextended(section || ' ' || field || ' ' || problem, 0)) STORED,
    PRIMARY KEY (account_id, livemode, day, section, field, problem)
) WITH (fillfactor='70');
CREATE INDEX form_problem_count_rule_idx ON form_problem_count (account_id, livemode, day, rule) INCLUDE (sessions);

-- Adds n at a place, from 1, and makes the array long enough; null adds nothing.
-- +goose StatementBegin
CREATE FUNCTION add_at(counts bigint[], place integer, n bigint) RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF place IS NULL THEN
        RETURN counts;
    END IF;
    counts := counts || array_fill(0::bigint, ARRAY[greatest(0, place - cardinality(counts))]);
    counts[place] := counts[place] + n;
    RETURN counts;
END $$;
-- +goose StatementEnd

-- The step of a time, from 1, on a ladder on which each is 9 % longer than the one before (an
-- eighth of a doubling). The first is the first minute.
-- +goose StatementBegin
CREATE FUNCTION time_step(seconds bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN seconds < 60 THEN 1 ELSE 2 + floor(8 * ln(seconds / 60.0::float8) / ln(2::float8))::integer END
$$;
-- +goose StatementEnd

-- Shards above 0 are the writers', each connection its own, so that writers side by side rarely meet
-- in a row; 32 and 64 keep the rows of a day apart by ahead. 0 and below hold what folding has put
-- together.
-- +goose StatementBegin
CREATE FUNCTION count_shard(ahead integer) RETURNS integer LANGUAGE sql AS $$
    SELECT 1 + pg_backend_pid() % 16 + CASE ahead WHEN 0 THEN 0 WHEN 1 THEN 32 ELSE 64 END
$$;
-- +goose StatementEnd

-- Rows are taken in the order of the key, so that transactions don't deadlock.
-- +goose StatementBegin
CREATE FUNCTION count_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO session_count AS c (account_id, livemode, day, shard, ahead, created, pending, in_progress, completed, expired, cancelled, completion_seconds, completed_that_day)
        SELECT account_id, livemode, day, count_shard(ahead), ahead,
               sum(created), sum(pending), sum(in_progress), sum(completed), sum(expired), sum(cancelled), sum(seconds), sum(that_day)
        FROM (
            SELECT account_id, livemode, (at AT TIME ZONE 'UTC')::date AS day,
                   (at AT TIME ZONE (SELECT time_zone FROM account a WHERE a.id = n.account_id))::date - (at AT TIME ZONE 'UTC')::date AS ahead,
                   created, pending, in_progress, completed, expired, cancelled, seconds, that_day
            FROM (
                SELECT account_id, livemode, created_at AS at, 1 AS created,
                       (status = 'pending')::int AS pending, (status = 'in_progress')::int AS in_progress, (status = 'completed')::int AS completed,
                       (status = 'expired')::int AS expired, (status = 'cancelled')::int AS cancelled,
                       coalesce(extract(epoch FROM completed_at - created_at), 0) AS seconds, 0 AS that_day
                FROM after_rows
                UNION ALL
                SELECT account_id, livemode, completed_at, 0, 0, 0, 0, 0, 0, 0, 1 FROM after_rows WHERE completed_at IS NOT NULL
            ) n
        ) n
        GROUP BY account_id, livemode, day, ahead
        ORDER BY account_id, livemode, day, ahead
        ON CONFLICT (account_id, livemode, day, shard) DO UPDATE SET
            created = c.created + excluded.created, pending = c.pending + excluded.pending, in_progress = c.in_progress + excluded.in_progress,
            completed = c.completed + excluded.completed, expired = c.expired + excluded.expired, cancelled = c.cancelled + excluded.cancelled,
            completion_seconds = c.completion_seconds + excluded.completion_seconds,
            completed_that_day = c.completed_that_day + excluded.completed_that_day;
    ELSE
        INSERT INTO session_count AS c (account_id, livemode, day, shard, ahead, created, pending, in_progress, completed, expired, cancelled, completion_seconds, completed_that_day)
        SELECT account_id, livemode, day, count_shard(ahead), ahead,
               0, sum(pending), sum(in_progress), sum(completed), sum(expired), sum(cancelled), sum(seconds), sum(that_day)
        FROM (
            SELECT account_id, livemode, (at AT TIME ZONE 'UTC')::date AS day,
                   (at AT TIME ZONE (SELECT time_zone FROM account a WHERE a.id = n.account_id))::date - (at AT TIME ZONE 'UTC')::date AS ahead,
                   pending, in_progress, completed, expired, cancelled, seconds, that_day
            FROM (
                SELECT account_id, livemode, created_at AS at,
                       (status = 'pending')::int AS pending, (status = 'in_progress')::int AS in_progress, (status = 'completed')::int AS completed,
                       (status = 'expired')::int AS expired, (status = 'cancelled')::int AS cancelled,
                       coalesce(extract(epoch FROM completed_at - created_at), 0) AS seconds, 0 AS that_day
                FROM after_rows
                UNION ALL
                SELECT account_id, livemode, created_at,
                       -(status = 'pending')::int, -(status = 'in_progress')::int, -(status = 'completed')::int,
                       -(status = 'expired')::int, -(status = 'cancelled')::int,
                       -coalesce(extract(epoch FROM completed_at - created_at), 0), 0
                FROM before_rows
                UNION ALL
                SELECT account_id, livemode, completed_at, 0, 0, 0, 0, 0, 0, 1 FROM after_rows WHERE completed_at IS NOT NULL
                UNION ALL
                SELECT account_id, livemode, completed_at, 0, 0, 0, 0, 0, 0, -1 FROM before_rows WHERE completed_at IS NOT NULL
            ) n
        ) n
        GROUP BY account_id, livemode, day, ahead
        HAVING sum(pending) <> 0 OR sum(in_progress) <> 0 OR sum(completed) <> 0 OR sum(expired) <> 0 OR sum(cancelled) <> 0
            OR sum(seconds) <> 0 OR sum(that_day) <> 0
        ORDER BY account_id, livemode, day, ahead
        ON CONFLICT (account_id, livemode, day, shard) DO UPDATE SET
            pending = c.pending + excluded.pending, in_progress = c.in_progress + excluded.in_progress,
            completed = c.completed + excluded.completed, expired = c.expired + excluded.expired, cancelled = c.cancelled + excluded.cancelled,
            completion_seconds = c.completion_seconds + excluded.completion_seconds,
            completed_that_day = c.completed_that_day + excluded.completed_that_day;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- Counts what is new of one form or section; null spent has no time. The funnel is the dashboard's
-- alone: its days are the zone's.
-- +goose StatementBegin
CREATE FUNCTION count_progress(account uuid, live boolean, created timestamptz, name text, reaches boolean, completes boolean, spent bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    step integer := time_step(spent);
    time bigint := greatest(spent, 0);
BEGIN
    INSERT INTO form_count AS c (account_id, livemode, day, section, reached, completed, times, seconds)
    VALUES (account, live, (created AT TIME ZONE (SELECT a.time_zone FROM account a WHERE a.id = count_progress.account))::date, name, reaches::int, completes::int, add_at('{}', step, 1), add_at('{}', step, time))
    ON CONFLICT (account_id, livemode, day, section) DO UPDATE SET
        reached = c.reached + excluded.reached, completed = c.completed + excluded.completed,
        times = add_at(c.times, step, 1), seconds = add_at(c.seconds, step, time);
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION count_form() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    completes boolean := OLD.completed_at IS NULL AND NEW.completed_at IS NOT NULL;
BEGIN
    PERFORM count_progress(NEW.account_id, NEW.livemode, NEW.created_at, '', OLD.accessed_at IS NULL AND NEW.accessed_at IS NOT NULL, completes,
        CASE WHEN completes THEN extract(epoch FROM NEW.completed_at - NEW.created_at)::bigint END);
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- A section's time is counted where the customer saw it before: not where a program sends one
-- unseen, or completes it in the millisecond in which it was reached.
-- +goose StatementBegin
CREATE FUNCTION count_section() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    s record;
    reaches boolean := OLD.reached_at IS NULL AND NEW.reached_at IS NOT NULL;
    completes boolean := OLD.completed_at IS NULL AND NEW.completed_at IS NOT NULL;
BEGIN
    SELECT account_id, livemode, created_at INTO s FROM session WHERE id = NEW.session_id;
    IF reaches OR completes THEN
        PERFORM count_progress(s.account_id, s.livemode, s.created_at, NEW.name, reaches, completes,
            CASE WHEN completes AND NEW.completed_at > OLD.reached_at THEN extract(epoch FROM NEW.completed_at - OLD.reached_at)::bigint END);
    END IF;
    IF NEW.problems <> coalesce(OLD.problems, '{}') THEN
        INSERT INTO form_problem_count AS c (account_id, livemode, day, section, field, problem, sessions)
        SELECT s.account_id, s.livemode, (s.created_at AT TIME ZONE (SELECT a.time_zone FROM account a WHERE a.id = s.account_id))::date, NEW.name, split_part(p, ' ', 1), substr(p, strpos(p, ' ') + 1), 1
        FROM (SELECT unnest(NEW.problems) EXCEPT SELECT unnest(OLD.problems)) AS fresh (p)
        ORDER BY p -- all in one order, or transactions deadlock
        ON CONFLICT (account_id, livemode, day, section, field, problem) DO UPDATE SET sessions = c.sessions + 1;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER section_counted_insert AFTER INSERT ON section
    FOR EACH ROW EXECUTE FUNCTION count_section();
-- What was saved before and is saved again counts nothing, and costs nothing.
CREATE TRIGGER section_counted_update AFTER UPDATE ON section
    FOR EACH ROW WHEN ((((old.reached_at IS NULL) AND (new.reached_at IS NOT NULL)) OR ((old.completed_at IS NULL) AND (new.completed_at IS NOT NULL)) OR (old.problems <> new.problems))) EXECUTE FUNCTION count_section();
CREATE TRIGGER session_counted_insert AFTER INSERT ON session
    REFERENCING NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION count_sessions();
CREATE TRIGGER session_counted_update AFTER UPDATE ON session
    REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION count_sessions();
-- A session is opened and completed by an update, never made so.
CREATE TRIGGER session_form_counted AFTER UPDATE ON session
    FOR EACH ROW WHEN ((((old.accessed_at IS NULL) AND (new.accessed_at IS NOT NULL)) OR ((old.completed_at IS NULL) AND (new.completed_at IS NOT NULL)))) EXECUTE FUNCTION count_form();

-- A session's metadata, {} if it has characters that PostgreSQL doesn't read: U+0000, and halves of pairs.
-- Metadata without any escape takes half the time: a pattern costs more than a constant.
-- +goose StatementBegin
CREATE FUNCTION readable(metadata json) RETURNS json LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN strpos(metadata::text, '\u') > 0 AND metadata::text ~ '\\u(0000|[dD][89a-fA-F])' THEN '{}'::json ELSE metadata END
$$;
-- +goose StatementEnd

-- Whatever changes what figures are counted from. Other states aren't among it.
-- +goose StatementBegin
CREATE FUNCTION refigure_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.figured := false;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER session_count_refigured BEFORE UPDATE ON session_count
    FOR EACH ROW WHEN (old.created <> new.created OR old.completed <> new.completed) EXECUTE FUNCTION refigure_count();

-- What counters don't tell apart: a link that is emailed later, and an erasure (D90), which takes the
-- values out of the day at once. The lock is that of the count of the day.
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
