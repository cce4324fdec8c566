-- +goose Up

-- The SHA-256 of a session's PDF as it was issued. It outlives the PDF, so that
-- a copy can be verified after the retention; erasing the customer deletes it.
-- NULL for a PDF of an earlier version.
ALTER TABLE session ADD COLUMN pdf_sha256 bytea CHECK (octet_length(pdf_sha256) = 32);

-- +goose Down
ALTER TABLE session DROP COLUMN pdf_sha256;
