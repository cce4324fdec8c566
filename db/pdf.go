package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

// InsertPDF stores a session's PDF, whose content package vault sealed, and reports
// whether it is the first: a session has one, however often a worker makes it.
// digest and size, in bytes, are those of the clear PDF.
func (tx *Tx) InsertPDF(ctx context.Context, session domain.SessionID, pdf domain.PDF, digest []byte, size int64, now time.Time) (first bool, err error) {
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
