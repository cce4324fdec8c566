-- +goose Up

-- Who signed a session's PDF, by the certificate: its subject and who issued it
-- (D81). Like the digest they outlive the PDF, and erasing the customer deletes them.
-- NULL for a PDF without a signature.
ALTER TABLE session ADD COLUMN pdf_signer text, ADD COLUMN pdf_signer_issuer text;

-- +goose Down
ALTER TABLE session DROP COLUMN pdf_signer, DROP COLUMN pdf_signer_issuer;
