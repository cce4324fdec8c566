package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

const documentColumns = `id, session_id, category, file_name, content_type, size_bytes, sha256, uploaded_at`

// ReserveBlob notes a blob that is about to be written, so that a crash
// before its document row leaves garbage that will be found.
func (d *DB) ReserveBlob(ctx context.Context, id domain.DocumentID, now time.Time) error {
	_, err := d.exec(ctx, `INSERT INTO blob_garbage (document_id, created_at) VALUES ($1, $2)`, id, now)
	return wrap(err, "reserve blob")
}

// ReserveUpload adds bytes to what a session has uploaded. Returns ErrState if
// that would exceed budget.
func (tx *Tx) ReserveUpload(ctx context.Context, id domain.SessionID, bytes, budget int64) error {
	result, err := tx.exec(ctx, `
		UPDATE session SET uploaded_bytes = uploaded_bytes + $2 WHERE id = $1 AND uploaded_bytes + $2 <= $3`,
		id, bytes, budget)
	return changedState(result, err, "reserve upload")
}

// SettleUpload takes reserved bytes that were not received off what a session
// has uploaded.
func (q *Queries) SettleUpload(ctx context.Context, id domain.SessionID, unused int64) error {
	_, err := q.exec(ctx, `UPDATE session SET uploaded_bytes = uploaded_bytes - $2 WHERE id = $1`, id, unused)
	return wrap(err, "settle upload")
}

// InsertDocument stores the row of a document whose blob is written. ErrNotFound if the
// session is erased.
func (tx *Tx) InsertDocument(ctx context.Context, doc *domain.Document) error {
	result, err := tx.exec(ctx, `
		WITH kept AS (DELETE FROM blob_garbage WHERE document_id = $1)
		INSERT INTO document (id, session_id, category, file_name, content_type, size_bytes, sha256, uploaded_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		doc.ID, doc.SessionID, doc.Category, []byte(doc.FileName), doc.ContentType, doc.SizeBytes, doc.SHA256, doc.UploadedAt)
	return changedOne(result, err, "insert document")
}

// DeleteDocument deletes a document of a session; its blob becomes garbage, which waits.
// ErrNotFound where there is none.
func (tx *Tx) DeleteDocument(ctx context.Context, session domain.SessionID, id domain.DocumentID, now time.Time) error {
	result, err := tx.exec(ctx, `
		WITH gone AS (DELETE FROM document WHERE id = $2 AND session_id = $1 RETURNING id, size_bytes)
		INSERT INTO blob_garbage (document_id, session_id, size_bytes, created_at) SELECT id, $1, size_bytes, $3 FROM gone`,
		session, id, now)
	return changedOne(result, err, "delete document")
}

// ExcessGarbage returns the oldest blobs of a session's deleted documents, without which
// at most that many bytes wait (D87).
func (tx *Tx) ExcessGarbage(ctx context.Context, session domain.SessionID, bytes int64) ([]domain.DocumentID, error) {
	var out []domain.DocumentID
	err := tx.all(ctx, &out, `
		SELECT document_id FROM (
			SELECT document_id, sum(size_bytes) OVER (ORDER BY created_at DESC, document_id DESC) AS up_to
			FROM blob_garbage WHERE session_id = $1) g
		WHERE up_to > $2`, session, bytes)
	return out, wrap(err, "list excess garbage")
}

// Documents returns a session's documents in the order of their upload.
func (q *Queries) Documents(ctx context.Context, session domain.SessionID) ([]domain.Document, error) {
	var out []domain.Document
	err := q.all(ctx, &out, `SELECT `+documentColumns+` FROM document WHERE session_id = $1 ORDER BY id`, session)
	return out, wrap(err, "list documents")
}

// Document returns one document of a session, or ErrNotFound.
func (q *Queries) Document(ctx context.Context, session domain.SessionID, id domain.DocumentID) (*domain.Document, error) {
	var doc domain.Document
	err := q.get(ctx, &doc, `SELECT `+documentColumns+` FROM document WHERE session_id = $1 AND id = $2`, session, id)
	return &doc, wrap(err, "get document")
}

// SessionOfDocument returns the scope's session to which a document belongs, or
// ErrNotFound.
func (q *Queries) SessionOfDocument(ctx context.Context, scope domain.Scope, id domain.DocumentID) (session domain.SessionID,
	err error) {
	err = q.get(ctx, &session, `
		SELECT s.id FROM document d JOIN session s ON s.id = d.session_id
		WHERE d.id = $1 AND s.account_id = $2 AND s.livemode = $3`, id, scope.AccountID, scope.Livemode)
	return session, wrap(err, "find document")
}

// DocumentKept reports whether there is a document of that id.
func (q *Queries) DocumentKept(ctx context.Context, id domain.DocumentID) (kept bool, err error) {
	err = q.get(ctx, &kept, `SELECT EXISTS (SELECT FROM document WHERE id = $1)`, id)
	return kept, wrap(err, "look for a document")
}

// DescribeDocument stores a document's category. A missing document is no error.
func (tx *Tx) DescribeDocument(ctx context.Context, session domain.SessionID, id domain.DocumentID, category string) error {
	_, err := tx.exec(ctx, `UPDATE document SET category = $3 WHERE session_id = $1 AND id = $2`, session, id, category)
	return wrap(err, "describe document")
}

// BlobGarbage returns up to limit blobs that no document stood for since
// before the given time.
func (q *Queries) BlobGarbage(ctx context.Context, before time.Time, limit int) ([]domain.DocumentID, error) {
	var out []domain.DocumentID
	err := q.all(ctx, &out, `
		SELECT document_id FROM blob_garbage WHERE created_at <= $1 ORDER BY created_at LIMIT $2`, before, limit)
	return out, wrap(err, "list blob garbage")
}

// ForgetBlob drops the note of a blob that is deleted.
func (q *Queries) ForgetBlob(ctx context.Context, id domain.DocumentID) error {
	_, err := q.exec(ctx, `DELETE FROM blob_garbage WHERE document_id = $1`, id)
	return wrap(err, "forget blob")
}

// PostponeBlob lets a blob that can't be deleted now wait as long again, behind the others.
func (q *Queries) PostponeBlob(ctx context.Context, id domain.DocumentID, now time.Time) error {
	_, err := q.exec(ctx, `UPDATE blob_garbage SET created_at = $2 WHERE document_id = $1`, id, now)
	return wrap(err, "postpone blob")
}

// InsertPDF stores a session's PDF, whose content package vault sealed, and reports
// whether it is the first: a session has one, however often a worker makes it.
// digest and size, in bytes, are those of the clear PDF.
func (tx *Tx) InsertPDF(ctx context.Context, session domain.SessionID, pdf domain.PDF, digest []byte, size int64,
	now time.Time) (first bool, err error) {
	result, err := tx.exec(ctx, `
		WITH marked AS (
			UPDATE session SET pdf_ready_at = $5, pdf_sha256 = $6, pdf_signer = NULLIF($7, ''), pdf_signer_issuer = NULLIF($8, '')
			WHERE id = $1 AND status = 'completed' AND pdf_ready_at IS NULL AND erased_at IS NULL
			RETURNING id)
		INSERT INTO statement_pdf (session_id, content, size_bytes, page_count, created_at)
		SELECT id, $2, $3, $4, $5 FROM marked
		ON CONFLICT (session_id) DO NOTHING`,
		session, pdf.Content, size, pdf.Pages, now, digest, pdf.Signer, pdf.SignerIssuer)
	n, err := affected(result, err, "insert PDF")
	return n > 0, err
}

// PDF returns a session's sealed PDF, or ErrNotFound while there is none.
func (q *Queries) PDF(ctx context.Context, session domain.SessionID) ([]byte, error) {
	var content []byte
	err := q.get(ctx, &content, `SELECT content FROM statement_pdf WHERE session_id = $1`, session)
	return content, wrap(err, "get PDF")
}

// SessionsWithoutPDF returns up to limit sessions that completed before the
// given time and have no PDF yet.
func (q *Queries) SessionsWithoutPDF(ctx context.Context, completedBefore time.Time, limit int) ([]domain.SessionID, error) {
	var out []domain.SessionID
	err := q.all(ctx, &out, `
		SELECT id FROM session
		WHERE status = 'completed' AND pdf_ready_at IS NULL AND erased_at IS NULL AND completed_at <= $1
		ORDER BY completed_at
		LIMIT $2`, completedBefore, limit)
	return out, wrap(err, "list sessions without PDF")
}
