package sessions

import (
	"cmp"
	"context"
	"errors"
	"io"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/blob"
	"candor/internal/service/audit"
	"candor/internal/statement"
)

var (
	errPDFNotReady = domain.Errorf(domain.CodePDFNotReady, "The PDF is still being generated. Try again in a few seconds.")
	errPDFExpired  = domain.Errorf(domain.CodePDFExpired, "The PDF is not kept any more.")
	errDataExpired = domain.Errorf(domain.CodeDataExpired,
		"The answers were deleted: the time for which this account keeps them is over.")
	errDataErased       = domain.Errorf(domain.CodeDataErased, "The customer’s data were erased on request.")
	errDocumentNotFound = domain.Errorf(domain.CodeDocumentNotFound, "This session has no document with this id.")
)

// completed returns a completed session of the scope (D13).
func (s *Service) completed(ctx context.Context, scope domain.Scope, id domain.SessionID) (*domain.Session, error) {
	session, err := s.Get(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	if session.Status != domain.Completed {
		return nil, notCompleted(session)
	}
	return session, nil
}

// notCompleted says why a session has no data or PDF (D13).
func notCompleted(s *domain.Session) error {
	if s.Status.Open() {
		return domain.Errorf(domain.CodeSessionNotCompleted,
			"This session is %s, with %d of %d sections completed. It has data and a PDF once the customer has signed: wait for the event session.completed.",
			s.Status, s.SectionsCompleted, statement.SectionsTotal)
	}
	return domain.Errorf(domain.CodeSessionNotCompleted, "This session is %s: the customer didn’t sign, so it has no data or PDF.",
		s.Status)
}

// Submitted is a completed session with its answers.
type Submitted struct {
	Session   *domain.Session
	Statement *statement.Statement
}

// Data returns a completed session's answers, or session_not_completed,
// data_erased if they were erased on request, data_expired if their retention is
// over.
func (s *Service) Data(ctx context.Context, scope domain.Scope, id domain.SessionID, by domain.Actor) (*Submitted, error) {
	// Before the answers: they don't change once they are signed.
	if _, err := s.completed(ctx, scope, id); err != nil {
		return nil, err
	}
	answers, answersErr := s.Vault.Statement(ctx, s.DB, id)
	// And after them: if the session isn't erased now, they weren't when they were read.
	session, err := s.completed(ctx, scope, id)
	if err == nil {
		err = s.dataGone(ctx, session)
	}
	if err = cmp.Or(err, answersErr); err != nil {
		return nil, err
	}
	return &Submitted{session, answers}, s.noteRead(ctx, session, by, entryOf(domain.AuditDataRead, session))
}

// dataGone returns why a session's answers can't be read, or nil.
func (s *Service) dataGone(ctx context.Context, session *domain.Session) error {
	if session.CustomerErasedAt != nil {
		return errDataErased
	}
	account, err := s.DB.Account(ctx, session.AccountID)
	if err == nil && session.DataGone(account, s.Clock.Now()) {
		err = errDataExpired
	}
	return err
}

// noteRead writes the audit entry of reading what a customer sent, and fails if it
// can't. ActorNone writes none.
func (s *Service) noteRead(ctx context.Context, session *domain.Session, by domain.Actor, e audit.Entry) error {
	if by.Kind == domain.ActorNone {
		return nil
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error { return s.Audit.Record(ctx, tx, session.AccountID, by, e) })
}

// PDF returns a completed session's PDF, or pdf_not_ready while it is being
// made, pdf_expired after its retention and data_erased after an erasure.
func (s *Service) PDF(ctx context.Context, scope domain.Scope, id domain.SessionID, by domain.Actor) ([]byte, error) {
	session, err := s.completed(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	content, err := s.pdfOf(ctx, session)
	if err != nil {
		return nil, err
	}
	return content, s.noteRead(ctx, session, by, entryOf(domain.AuditPDFRead, session))
}

// CustomerPDF returns a completed session's PDF for the customer who holds its
// form; the errors are those of PDF.
func (s *Service) CustomerPDF(ctx context.Context, session *domain.Session) ([]byte, error) {
	if session.Status != domain.Completed {
		return nil, notCompleted(session)
	}
	return s.pdfOf(ctx, session)
}

func (s *Service) pdfOf(ctx context.Context, session *domain.Session) ([]byte, error) {
	if err := s.fileGone(ctx, session, errPDFExpired); err != nil {
		return nil, err
	}
	content, err := s.Vault.PDF(ctx, s.DB, session.ID)
	return content, db.MissingAs(err, errPDFNotReady)
}

// fileGone returns why a session's PDF and documents can't be read, or nil: expired if the
// account's retention doesn't keep them any more.
func (s *Service) fileGone(ctx context.Context, session *domain.Session, expired error) error {
	if session.CustomerErasedAt != nil {
		return errDataErased
	}
	account, err := s.DB.Account(ctx, session.AccountID)
	if err == nil && !session.Retained(s.Clock.Now(), account.Retention()) {
		err = expired
	}
	return err
}

// DocumentContent is a document being read; the caller closes it.
type DocumentContent struct {
	domain.Document
	io.ReadCloser
}

// Document returns a document of a completed session, or
// document_not_found, or data_erased.
func (s *Service) Document(ctx context.Context, scope domain.Scope, id domain.SessionID, document domain.DocumentID,
	by domain.Actor) (*DocumentContent, error) {
	session, err := s.completed(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	if err := s.fileGone(ctx, session, errDocumentNotFound); err != nil {
		return nil, err
	}
	row, content, err := s.Vault.Document(ctx, s.DB, id, document)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, errDocumentNotFound
	}
	if err != nil {
		return nil, db.MissingAs(err, errDocumentNotFound)
	}
	e := entryOf(domain.AuditDocumentRead, session)
	e.After = map[string]string{"document_id": document.String()}
	if err := s.noteRead(ctx, session, by, e); err != nil {
		return nil, errors.Join(err, content.Close())
	}
	return &DocumentContent{*row, content}, nil
}
