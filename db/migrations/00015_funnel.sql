-- +goose Up

-- When the customer first saw the section, null where it wasn't noted; and
-- what the form has refused in it, "field message" each, once each and without
-- what was typed.
ALTER TABLE section
    ADD COLUMN reached_at timestamptz,
    ADD COLUMN problems   text[] NOT NULL DEFAULT '{}';

-- How sessions get on with the form, counted by the UTC day they were created
-- on and kept by the triggers below, so that the dashboard reads these few rows
-- and never the sessions. They hold nothing of any one session.
CREATE TABLE form_count (
    account_id uuid NOT NULL,
    livemode   boolean NOT NULL,
    day        date NOT NULL,
    section    text NOT NULL, -- '' for the whole form: opened, completed, and timed from creation
    reached    bigint NOT NULL DEFAULT 0,
    completed  bigint NOT NULL DEFAULT 0,
    times      bigint[] NOT NULL DEFAULT '{}', -- sessions by the step of their time, see time_step
    seconds    bigint[] NOT NULL DEFAULT '{}', -- the sum of each step's times
    PRIMARY KEY (account_id, livemode, day, section)
) WITH (fillfactor = 50); -- updated in place

-- How many sessions met with a problem at least once.
CREATE TABLE form_problem_count (
    account_id uuid NOT NULL,
    livemode   boolean NOT NULL,
    day        date NOT NULL,
    section    text NOT NULL,
    field      text NOT NULL, -- without the number of a list's item
    problem    text NOT NULL, -- what the form said
    sessions   bigint NOT NULL,
    PRIMARY KEY (account_id, livemode, day, section, field, problem)
) WITH (fillfactor = 70);

-- The step of a time, from 1, on a ladder on which each is 9 % longer than the
-- one before (an eighth of a doubling). The first is the first minute.
-- +goose StatementBegin
CREATE FUNCTION time_step(seconds bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN seconds < 60 THEN 1 ELSE 2 + floor(8 * ln(seconds / 60.0::float8) / ln(2::float8))::integer END
$$;

-- Adds n at a place, from 1, and makes the array long enough; null adds nothing.
CREATE FUNCTION add_at(counts bigint[], place integer, n bigint) RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF place IS NULL THEN
        RETURN counts;
    END IF;
    counts := counts || array_fill(0::bigint, ARRAY[greatest(0, place - cardinality(counts))]);
    counts[place] := counts[place] + n;
    RETURN counts;
END $$;

-- Counts what is new of one form or section; null spent has no time.
CREATE FUNCTION count_progress(account uuid, live boolean, created timestamptz, name text, reaches boolean, completes boolean, spent bigint)
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

-- A section's time is counted where the customer saw it before: not where a
-- program sends one unseen.
CREATE FUNCTION count_section() RETURNS trigger LANGUAGE plpgsql AS $$
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
        ORDER BY p -- everyone in one order, so that nobody deadlocks
        ON CONFLICT (account_id, livemode, day, section, field, problem) DO UPDATE SET sessions = c.sessions + 1;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION count_form() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    completes boolean := OLD.completed_at IS NULL AND NEW.completed_at IS NOT NULL;
BEGIN
    PERFORM count_progress(NEW.account_id, NEW.livemode, NEW.created_at, '', OLD.accessed_at IS NULL AND NEW.accessed_at IS NOT NULL, completes,
        CASE WHEN completes THEN extract(epoch FROM NEW.completed_at - NEW.created_at)::bigint END);
    RETURN NULL;
END $$;

-- What came before these counters, as far as it is known.
UPDATE section n SET reached_at = coalesce(n.completed_at, n.updated_at)
FROM session s WHERE s.id = n.session_id AND s.status IN ('pending', 'in_progress');
INSERT INTO form_count (account_id, livemode, day, section, reached, completed)
SELECT account_id, livemode, (created_at AT TIME ZONE 'UTC')::date, '', count(accessed_at), count(completed_at) FROM session GROUP BY 1, 2, 3
UNION ALL
SELECT s.account_id, s.livemode, (s.created_at AT TIME ZONE 'UTC')::date, n.name, count(*), count(n.completed_at)
FROM section n JOIN session s ON s.id = n.session_id GROUP BY 1, 2, 3, 4;
DO $$
DECLARE
    known record;
BEGIN
    FOR known IN
        SELECT account_id, livemode, (created_at AT TIME ZONE 'UTC')::date AS day, time_step(spent) AS step, count(*) AS n, sum(spent) AS seconds
        FROM (SELECT *, greatest(0, extract(epoch FROM completed_at - created_at))::bigint AS spent FROM session WHERE completed_at IS NOT NULL) s
        GROUP BY 1, 2, 3, 4
    LOOP
        UPDATE form_count SET times = add_at(times, known.step, known.n), seconds = add_at(seconds, known.step, known.seconds::bigint)
        WHERE (account_id, livemode, day, section) = (known.account_id, known.livemode, known.day, '');
    END LOOP;
END $$;
-- +goose StatementEnd

CREATE TRIGGER section_counted_insert AFTER INSERT ON section
    FOR EACH ROW EXECUTE FUNCTION count_section();
-- What was saved before and is saved again counts nothing, and costs nothing.
CREATE TRIGGER section_counted_update AFTER UPDATE ON section FOR EACH ROW
    WHEN (OLD.reached_at IS NULL AND NEW.reached_at IS NOT NULL OR OLD.completed_at IS NULL AND NEW.completed_at IS NOT NULL
        OR OLD.problems <> NEW.problems)
    EXECUTE FUNCTION count_section();
-- A session is opened and completed by an update, never made so.
CREATE TRIGGER session_form_counted AFTER UPDATE ON session FOR EACH ROW
    WHEN (OLD.accessed_at IS NULL AND NEW.accessed_at IS NOT NULL OR OLD.completed_at IS NULL AND NEW.completed_at IS NOT NULL)
    EXECUTE FUNCTION count_form();

-- +goose Down
DROP TRIGGER session_form_counted ON session;
DROP TRIGGER section_counted_update ON section;
DROP TRIGGER section_counted_insert ON section;
DROP FUNCTION count_form(), count_section(), count_progress(uuid, boolean, timestamptz, text, boolean, boolean, bigint), add_at(bigint[], integer, bigint), time_step(bigint);
DROP TABLE form_problem_count, form_count;
ALTER TABLE section DROP COLUMN problems, DROP COLUMN reached_at;
