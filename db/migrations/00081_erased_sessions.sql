-- +goose Up

-- Nothing is written of a session that is erased (D90). The lock waits for an erasure under
-- way and then sees what it did: the check of a foreign key waits, too, but inserts. It is
-- a trigger so that every statement of every release is held to it. Retention erases what
-- was entered, and not who opened the link.
-- +goose StatementBegin
CREATE FUNCTION leave_erased() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    erased timestamptz;
BEGIN
    SELECT CASE TG_TABLE_NAME WHEN 'link_use' THEN customer_erased_at ELSE data_erased_at END INTO erased
    FROM session WHERE id = NEW.session_id FOR KEY SHARE;
    IF erased IS NULL THEN
        RETURN NEW;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

CREATE TRIGGER customer_receipt_leaves_erased BEFORE INSERT ON customer_receipt FOR EACH ROW EXECUTE FUNCTION leave_erased();
CREATE TRIGGER document_leaves_erased BEFORE INSERT ON document FOR EACH ROW EXECUTE FUNCTION leave_erased();
CREATE TRIGGER link_use_leaves_erased BEFORE INSERT ON link_use FOR EACH ROW EXECUTE FUNCTION leave_erased();
CREATE TRIGGER section_leaves_erased BEFORE INSERT ON section FOR EACH ROW EXECUTE FUNCTION leave_erased();
CREATE TRIGGER session_key_leaves_erased BEFORE INSERT ON session_key FOR EACH ROW EXECUTE FUNCTION leave_erased();
CREATE TRIGGER statement_pdf_leaves_erased BEFORE INSERT ON statement_pdf FOR EACH ROW EXECUTE FUNCTION leave_erased();

-- What was written beside erasures before.
DELETE FROM customer_receipt WHERE session_id IN (SELECT session_id FROM erasure);
-- contract: these are few, found by their sessions' ids.
DELETE FROM link_use WHERE session_id IN (SELECT session_id FROM erasure);

-- +goose Down
DROP FUNCTION leave_erased() CASCADE;
