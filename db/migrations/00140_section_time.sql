-- +goose Up

-- A section that was completed in the millisecond in which it was reached took no time, as its list says.
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

-- +goose Down
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
