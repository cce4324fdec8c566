-- +goose Up

-- Searching for customers by a part of their name, address or reference. A role that may not
-- create extensions is told so; see doc/operations.md.

CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- It is a table of its own because of the index: in the table of sessions each change of a state
-- would write some 50 entries again, which makes it three times as slow.
CREATE TABLE session_search (
    session_id uuid PRIMARY KEY,
    account_id uuid NOT NULL,
    livemode   boolean NOT NULL,
    created_at timestamptz NOT NULL,
    text       text NOT NULL
) WITH (autovacuum_vacuum_scale_factor='0.02');
CREATE INDEX session_search_idx ON session_search USING gin (account_id, text gin_trgm_ops);

-- Searching "nguyen" finds Nguyễn, and "nguyễn" finds Nguyen (D131). Letters lose their marks as in Latin, Greek and
-- Cyrillic; what other scripts make of several parts stays one. Most texts are ASCII and are left as they are.
-- +goose StatementBegin
CREATE FUNCTION without_marks(t text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN octet_length(t) = length(t) THEN t ELSE
        normalize(translate(normalize(
            replace(replace(replace(replace(replace(replace(t, 'ß', 'ss'), 'ẞ', 'ss'), 'æ', 'ae'), 'Æ', 'ae'), 'œ', 'oe'), 'Œ', 'oe'), NFD),
            'đĐøØłŁı' || U&'\0300\0301\0302\0303\0304\0306\0307\0308\0309\030A\030B\030C\031B\0323\0326\0327\0328', 'dDoOlLi'), NFC) END;
-- +goose StatementEnd

-- What is searched, in small letters. The space before each part lets a short word be found at the
-- beginning of a part.
-- +goose StatementBegin
CREATE FUNCTION session_search_text(name text, email text, reference text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN lower(' ' || coalesce(without_marks(name), '') || ' ' || without_marks(email) || ' ' || coalesce(without_marks(reference), ''));
-- +goose StatementEnd

-- Keeps the row when a session changes or goes.
-- +goose StatementBegin
CREATE FUNCTION keep_session_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM session_search WHERE session_id = OLD.id;
        RETURN NULL;
    END IF;
    INSERT INTO session_search (session_id, account_id, livemode, created_at, text)
    VALUES (NEW.id, NEW.account_id, NEW.livemode, NEW.created_at, session_search_text(NEW.customer_name, NEW.customer_email, NEW.reference_id))
    ON CONFLICT (session_id) DO UPDATE SET text = excluded.text;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- New sessions come many at once. For each row by itself their text took twice the time.
-- +goose StatementBegin
CREATE FUNCTION search_new_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO session_search (session_id, account_id, livemode, created_at, text)
    SELECT id, account_id, livemode, created_at, session_search_text(customer_name, customer_email, reference_id) FROM after_rows;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER session_searched AFTER DELETE OR UPDATE OF customer_name, customer_email, reference_id ON session
    FOR EACH ROW EXECUTE FUNCTION keep_session_search();
CREATE TRIGGER session_searched_insert AFTER INSERT ON session
    REFERENCING NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION search_new_sessions();
