-- +goose Up

-- One random key a session, sealed by the keyring (D63). It is made when the
-- first answer is stored.
CREATE TABLE session_key (
    session_id uuid PRIMARY KEY REFERENCES session ON DELETE CASCADE,
    sealed     bytea NOT NULL
);

-- What is sealed can't be compressed.
ALTER TABLE section
    ALTER COLUMN answers TYPE bytea USING convert_to(answers::text, 'UTF8'),
    ALTER COLUMN draft TYPE bytea USING convert_to(draft::text, 'UTF8'),
    ALTER COLUMN answers SET STORAGE EXTERNAL,
    ALTER COLUMN draft SET STORAGE EXTERNAL;

-- Sessions that hold clear values of earlier releases. An upkeep job seals them.
-- A sealed value begins with the byte 1, which none of the clear ones does.
CREATE TABLE unsealed_session (
    session_id uuid PRIMARY KEY REFERENCES session ON DELETE CASCADE
);
INSERT INTO unsealed_session
SELECT session_id FROM section WHERE answers IS NOT NULL OR draft IS NOT NULL
UNION
SELECT session_id FROM statement_pdf;

-- +goose Down

-- Fails if anything is sealed: it can't be opened here.
DROP TABLE unsealed_session;
ALTER TABLE section
    ALTER COLUMN answers TYPE jsonb USING convert_from(answers, 'UTF8')::jsonb,
    ALTER COLUMN draft TYPE json USING convert_from(draft, 'UTF8')::json;
DROP TABLE session_key;
