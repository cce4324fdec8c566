-- +goose Up

-- By default autovacuum comes when a fifth of a table's rows are dead. With ten million
-- sessions that is seven million events, and who asks for the oldest one reads past them.
ALTER TABLE session SET (autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE session_search SET (autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE event SET (autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE delivery SET (autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE delivery_attempt SET (autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE api_request SET (autovacuum_vacuum_scale_factor = 0.02);

-- New sessions come many at once. For each row by itself their text took twice the time.
-- +goose StatementBegin
CREATE FUNCTION search_new_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO session_search (session_id, account_id, livemode, created_at, text)
    SELECT id, account_id, livemode, created_at, session_search_text(customer_name, customer_email, reference_id) FROM after_rows;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE OR REPLACE TRIGGER session_searched AFTER DELETE OR UPDATE OF customer_name, customer_email, reference_id ON session
	FOR EACH ROW EXECUTE FUNCTION keep_session_search();
CREATE TRIGGER session_searched_insert AFTER INSERT ON session
	REFERENCING NEW TABLE AS after_rows FOR EACH STATEMENT EXECUTE FUNCTION search_new_sessions();

-- +goose Down
DROP TRIGGER session_searched_insert ON session;
CREATE OR REPLACE TRIGGER session_searched AFTER INSERT OR DELETE OR UPDATE OF customer_name, customer_email, reference_id ON session
	FOR EACH ROW EXECUTE FUNCTION keep_session_search();
DROP FUNCTION search_new_sessions();
ALTER TABLE session RESET (autovacuum_vacuum_scale_factor);
ALTER TABLE session_search RESET (autovacuum_vacuum_scale_factor);
ALTER TABLE event RESET (autovacuum_vacuum_scale_factor);
ALTER TABLE delivery RESET (autovacuum_vacuum_scale_factor);
ALTER TABLE delivery_attempt RESET (autovacuum_vacuum_scale_factor);
ALTER TABLE api_request RESET (autovacuum_vacuum_scale_factor);
