-- +goose Up

-- Counters also know the days of the account's zone (D62). A UTC day lies in at
-- most two days of a zone, so session_count has up to two rows where it had one:
-- ahead says how many days the zone's date is ahead of day. The API adds up day,
-- the dashboard day + ahead. Days counted before this, or in another zone, keep
-- the date that they were counted for.
ALTER TABLE session_count ADD COLUMN ahead smallint NOT NULL DEFAULT 0 CHECK (ahead BETWEEN -1 AND 1);

-- Shards keep the two rows apart, so that the primary key stays the former
-- release's. Those above 0 are the writers', 0 and below are folded.
-- +goose StatementBegin
CREATE FUNCTION count_shard(ahead integer) RETURNS integer LANGUAGE sql AS $$
    SELECT 1 + pg_backend_pid() % 16 + CASE ahead WHEN 0 THEN 0 WHEN 1 THEN 32 ELSE 64 END
$$;
-- +goose StatementEnd
CREATE INDEX session_count_writers_idx ON session_count (day) WHERE shard > 0;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- The funnel is the dashboard's alone: its days are the zone's.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_progress(account uuid, live boolean, created timestamptz, name text, reaches boolean, completes boolean, spent bigint)
RETURNS void LANGUAGE plpgsql AS $$
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
CREATE OR REPLACE FUNCTION count_section() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    s record;
    reaches boolean := OLD.reached_at IS NULL AND NEW.reached_at IS NOT NULL;
    completes boolean := OLD.completed_at IS NULL AND NEW.completed_at IS NOT NULL;
BEGIN
    SELECT account_id, livemode, created_at INTO s FROM session WHERE id = NEW.session_id;
    IF reaches OR completes THEN
        PERFORM count_progress(s.account_id, s.livemode, s.created_at, NEW.name, reaches, completes,
            CASE WHEN completes THEN extract(epoch FROM NEW.completed_at - OLD.reached_at)::bigint END);
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

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
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
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_progress(account uuid, live boolean, created timestamptz, name text, reaches boolean, completes boolean, spent bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    step integer := time_step(spent);
    time bigint := greatest(spent, 0);
BEGIN
    INSERT INTO form_count AS c (account_id, livemode, day, section, reached, completed, times, seconds)
    VALUES (account, live, (created AT TIME ZONE 'UTC')::date, name, reaches::int, completes::int, add_at('{}', step, 1), add_at('{}', step, time))
    ON CONFLICT (account_id, livemode, day, section) DO UPDATE SET
        reached = c.reached + excluded.reached, completed = c.completed + excluded.completed,
        times = add_at(c.times, step, 1), seconds = add_at(c.seconds, step, time);
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_section() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    s record;
    reaches boolean := OLD.reached_at IS NULL AND NEW.reached_at IS NOT NULL;
    completes boolean := OLD.completed_at IS NULL AND NEW.completed_at IS NOT NULL;
BEGIN
    SELECT account_id, livemode, created_at INTO s FROM session WHERE id = NEW.session_id;
    IF reaches OR completes THEN
        PERFORM count_progress(s.account_id, s.livemode, s.created_at, NEW.name, reaches, completes,
            CASE WHEN completes THEN extract(epoch FROM NEW.completed_at - OLD.reached_at)::bigint END);
    END IF;
    IF NEW.problems <> coalesce(OLD.problems, '{}') THEN
        INSERT INTO form_problem_count AS c (account_id, livemode, day, section, field, problem, sessions)
        SELECT s.account_id, s.livemode, (s.created_at AT TIME ZONE 'UTC')::date, NEW.name, split_part(p, ' ', 1), substr(p, strpos(p, ' ') + 1), 1
        FROM (SELECT unnest(NEW.problems) EXCEPT SELECT unnest(OLD.problems)) AS fresh (p)
        ORDER BY p -- all in one order, or transactions deadlock
        ON CONFLICT (account_id, livemode, day, section, field, problem) DO UPDATE SET sessions = c.sessions + 1;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
DROP INDEX session_count_writers_idx;
DROP FUNCTION count_shard(integer);
ALTER TABLE session_count DROP COLUMN ahead;
