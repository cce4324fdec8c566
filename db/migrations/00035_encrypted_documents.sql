-- +goose Up

-- A document's name is sealed like its bytes (D63).
ALTER TABLE document ALTER COLUMN file_name TYPE bytea USING convert_to(file_name, 'UTF8');

INSERT INTO unsealed_session SELECT DISTINCT session_id FROM document ON CONFLICT DO NOTHING;

-- +goose Down

-- Fails if anything is sealed: it can't be opened here.
ALTER TABLE document ALTER COLUMN file_name TYPE text USING convert_from(file_name, 'UTF8');
