-- +goose Up

-- Searching for customers by a part of their name, address or reference. A role that
-- may not create extensions is told so; see operations.md.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- What is searched, in small letters. The space before each part lets a short word
-- be found at the beginning of a part.
-- +goose StatementBegin
CREATE FUNCTION session_search_text(name text, email text, reference text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN lower(' ' || coalesce(name, '') || ' ' || email || ' ' || coalesce(reference, ''));
-- +goose StatementEnd

-- It is a table of its own because of the index: in the table of sessions each change
-- of a state would write some 50 entries again, which makes it three times as slow.
CREATE TABLE session_search (
    session_id uuid PRIMARY KEY,
    account_id uuid NOT NULL,
    livemode boolean NOT NULL,
    created_at timestamptz NOT NULL,
    text text NOT NULL
);

-- The row is written again and not deleted if a customer's data are: a row that the
-- next migration inserts at that moment can't bring them back.
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
CREATE TRIGGER session_searched AFTER INSERT OR DELETE OR UPDATE OF customer_name, customer_email, reference_id ON session
    FOR EACH ROW EXECUTE FUNCTION keep_session_search();

-- +goose Down
DROP TRIGGER session_searched ON session;
DROP FUNCTION keep_session_search;
DROP TABLE session_search;
DROP FUNCTION session_search_text;
DROP EXTENSION btree_gin;
DROP EXTENSION pg_trgm;
