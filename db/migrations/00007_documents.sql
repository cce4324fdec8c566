-- +goose Up

-- Uploaded documents and PDFs.

-- The bytes are in the blob store under the document's id.
CREATE TABLE document (
    id           uuid PRIMARY KEY,
    session_id   uuid NOT NULL REFERENCES session ON DELETE CASCADE,
    category     text NOT NULL,
    file_name    bytea NOT NULL,
    content_type text NOT NULL,
    size_bytes   bigint NOT NULL,
    sha256       bytea NOT NULL,
    uploaded_at  timestamptz NOT NULL
);
CREATE INDEX document_session_idx ON document (session_id, id);

-- The PDF of a completed session, sealed.
CREATE TABLE statement_pdf (
    session_id uuid PRIMARY KEY REFERENCES session ON DELETE CASCADE,
    content    bytea NOT NULL,
    size_bytes bigint NOT NULL,
    page_count integer NOT NULL,
    created_at timestamptz NOT NULL
);
ALTER TABLE statement_pdf ALTER COLUMN content SET STORAGE EXTERNAL; -- a PDF is compressed already

-- Blobs that no document row stands for: being uploaded, or removed. A row comes before its blob is
-- written and goes with the document row's insert, so no crash can leave a blob behind.
CREATE TABLE blob_garbage (
    document_id uuid PRIMARY KEY,
    created_at  timestamptz NOT NULL,
    -- Whose a removed document was and how many bytes wait, so that a session's oldest can
    -- be deleted before their hour is over (D87). NULL for other garbage.
    session_id  uuid,
    size_bytes  bigint DEFAULT 0 NOT NULL
);
CREATE INDEX blob_garbage_removed ON blob_garbage (session_id, created_at) WHERE session_id IS NOT NULL;

CREATE TRIGGER document_leaves_erased BEFORE INSERT ON document FOR EACH ROW EXECUTE FUNCTION leave_erased();
CREATE TRIGGER statement_pdf_leaves_erased BEFORE INSERT ON statement_pdf FOR EACH ROW EXECUTE FUNCTION leave_erased();
