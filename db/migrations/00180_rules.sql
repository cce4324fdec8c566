-- +goose Up

-- What the form refuses, once for all accounts. Counters have its number besides: to read and to sum up, the three
-- texts take three times as long.
CREATE TABLE form_rule (
    id      integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    section text NOT NULL,
    field   text NOT NULL,
    problem text NOT NULL,
    UNIQUE (section, field, problem)
);
ALTER TABLE form_problem_count ADD COLUMN rule integer; -- of form_rule
INSERT INTO form_rule (section, field, problem) SELECT DISTINCT section, field, problem FROM form_problem_count;
UPDATE form_problem_count c SET rule = r.id FROM form_rule r
WHERE (r.section, r.field, r.problem) = (c.section, c.field, c.problem);
CREATE INDEX form_problem_count_rule_idx ON form_problem_count (account_id, livemode, day, rule) INCLUDE (sessions);

-- Whatever counts, also what waited for this migration.
-- +goose StatementBegin
CREATE FUNCTION number_rule() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT id INTO NEW.rule FROM form_rule WHERE (section, field, problem) = (NEW.section, NEW.field, NEW.problem);
    IF NEW.rule IS NULL THEN
        INSERT INTO form_rule (section, field, problem) VALUES (NEW.section, NEW.field, NEW.problem)
        ON CONFLICT (section, field, problem) DO UPDATE SET section = excluded.section RETURNING id INTO NEW.rule;
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER form_problem_numbered BEFORE INSERT ON form_problem_count FOR EACH ROW EXECUTE FUNCTION number_rule();

-- +goose Down
DROP TRIGGER form_problem_numbered ON form_problem_count;
DROP FUNCTION number_rule;
ALTER TABLE form_problem_count DROP COLUMN rule;
DROP TABLE form_rule;
