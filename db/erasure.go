package db

import (
	"context"

	"candor/internal/domain"
)

// LockSession returns a session of the scope and keeps others from changing it
// until the transaction ends. ErrNotFound where there is none.
func (tx *Tx) LockSession(ctx context.Context, scope domain.Scope, id domain.SessionID) (*domain.Session, error) {
	return tx.session(ctx, scope, id, "FOR UPDATE", "lock session")
}

// ShareSession returns a session of the scope and keeps others from changing or erasing it
// until the transaction ends; others can read it so at the same time. ErrNotFound if there
// is none.
func (tx *Tx) ShareSession(ctx context.Context, scope domain.Scope, id domain.SessionID) (*domain.Session, error) {
	return tx.session(ctx, scope, id, "FOR SHARE", "share session")
}

// EraseSession takes what a session knows of its customer out of it, stores it
// with the status it has now, and deletes answers, documents, PDF, webhooks and
// their attempts; the documents' blobs become garbage. It counts in e what it
// deleted and returns the documents. The session must be locked: what others insert of it
// waits, and then inserts nothing (D90, leave_erased in the migrations).
//
// Webhooks are deleted, not only emptied: what an attempt under way brings back
// finds no row to be recorded in.
func (tx *Tx) EraseSession(ctx context.Context, session *domain.Session, e *domain.Erasure) ([]domain.DocumentID, error) {
	_, err := tx.exec(ctx, `
		UPDATE session SET status = $3, cancelled_at = $4, customer_email = $5, customer_name = NULL, reference_id = NULL,
			webhook_url = NULL, return_url = NULL, metadata = '{}', customer_erased_at = $2, pdf_sha256 = NULL, pdf_signer = NULL,
				pdf_signer_issuer = NULL,
			data_erased_at = coalesce(data_erased_at, $2), erased_at = coalesce(erased_at, $2)
		WHERE id = $1`, session.ID, e.At, session.Status, session.CancelledAt, domain.ErasedEmail)
	if err != nil {
		return nil, wrap(err, "erase session")
	}
	tx.Announce(session.Scope(), domain.SessionChanged|domain.DeliveryChanged, &session.ID)
	var documents []domain.DocumentID
	err = tx.all(ctx, &documents, `
		WITH gone AS (DELETE FROM document WHERE session_id = $1 RETURNING id)
		INSERT INTO blob_garbage (document_id, created_at) SELECT id, $2 FROM gone RETURNING document_id`, session.ID, e.At)
	if err != nil {
		return nil, wrap(err, "erase documents")
	}
	e.Documents = len(documents)
	if err := tx.DestroySessionKey(ctx, session.ID); err != nil {
		return nil, err
	}
	err = tx.get(ctx, e, `
		WITH uses AS (DELETE FROM link_use WHERE session_id = $1),
			receipts AS (DELETE FROM customer_receipt WHERE session_id = $1),
			emails AS (DELETE FROM link_email WHERE session_id = $1),
			emailed AS (DELETE FROM link_delivery WHERE session_id = $1),
			sections AS (DELETE FROM section WHERE session_id = $1 RETURNING coalesce(answers, draft, prefill,
				offered) IS NOT NULL AS filled),
			pdfs AS (DELETE FROM statement_pdf WHERE session_id = $1 RETURNING 1),
			deliveries AS (DELETE FROM delivery WHERE event_id IN (SELECT id FROM event WHERE session_id = $1) RETURNING 1)
		SELECT (SELECT count(*) FROM sections WHERE filled) AS sections, (SELECT count(*) FROM pdfs) AS pdfs, (SELECT count(*)
			FROM deliveries) AS deliveries`,
		session.ID)
	return documents, wrap(err, "erase answers, PDF and webhooks")
}

// LockEvents returns a session's events, oldest first, and keeps others from
// delivering them again until the transaction ends.
func (tx *Tx) LockEvents(ctx context.Context, session domain.SessionID) ([]domain.Event, error) {
	var out []domain.Event
	err := tx.all(ctx, &out, `SELECT `+eventColumns+` FROM event WHERE session_id = $1 ORDER BY sequence FOR UPDATE`, session)
	return out, wrap(err, "lock events")
}

// ReplaceEvent replaces an event's body and destination.
func (tx *Tx) ReplaceEvent(ctx context.Context, e *domain.Event) error {
	result, err := tx.exec(ctx, `UPDATE event SET body = $2, url = $3, endpoint_id = $4 WHERE id = $1`, e.ID, e.Body, e.URL,
		e.EndpointID)
	return changedOne(result, err, "replace event")
}

// InsertErasure stores a receipt.
func (tx *Tx) InsertErasure(ctx context.Context, e *domain.Erasure) error {
	_, err := tx.execNamed(ctx, `
		INSERT INTO erasure (id, account_id, livemode, session_id, at, by_kind, by_name, former_status, sections, documents, pdfs,
			events, deliveries)
		VALUES (:id, :account_id, :livemode, :session_id, :at, :by_kind, :by_name, :former_status, :sections, :documents, :pdfs,
			:events, :deliveries)`, e)
	return wrap(err, "insert erasure")
}

// Erasure returns the receipt for a session's data, or ErrNotFound.
func (q *Queries) Erasure(ctx context.Context, session domain.SessionID) (*domain.Erasure, error) {
	var e domain.Erasure
	err := q.get(ctx, &e, `
		SELECT id, account_id, livemode, session_id, at, by_kind, by_name, former_status, sections, documents, pdfs, events, deliveries
		FROM erasure WHERE session_id = $1`, session)
	return &e, wrap(err, "get erasure")
}
