package service

import (
	"cmp"
	"context"
	"errors"
	"io"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/blob"
	"candor/internal/statement"
)

// CreateSession makes a session in the caller's transaction, so that an
// idempotent answer can commit with it. A live one needs a subscription (D32)
// and counts as used in its billing period (D42).
func (s *Service) CreateSession(ctx context.Context, tx *db.Tx, scope domain.Scope, wish domain.NewSession) (*domain.Session, error) {
	session, err := wish.Session(scope, s.Clock.Now(), s.Policy.CheckURL)
	if err != nil {
		return nil, err
	}
	if scope.Livemode {
		if session, err = s.useSubscription(ctx, tx, session, wish); err != nil {
			return nil, err
		}
	}
	if wish.ExpiresInDays == nil {
		return session, tx.InsertSessionByDefault(ctx, session)
	}
	return session, tx.InsertSession(ctx, session)
}

// useSubscription counts a live session in its billing period, which is open:
// where it was closed a moment before, by a faster clock, the session is made
// at the start of the next.
func (s *Service) useSubscription(ctx context.Context, tx *db.Tx, session *domain.Session, wish domain.NewSession) (*domain.Session, error) {
	approved, err := tx.AccountApproved(ctx, session.AccountID)
	if err != nil {
		return nil, err
	}
	if !approved {
		return nil, errNotApproved
	}
	subscription, err := tx.HoldSubscription(ctx, session.AccountID, session.CreatedAt)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return nil, err
	}
	if err != nil || !subscription.Admits() {
		return nil, domain.Errorf(domain.CodeForbidden, "This account has no active subscription, so it can't create live sessions. Choose a plan in the dashboard, or use a test key.")
	}
	if moment := subscription.CountedAt(session.CreatedAt); moment != session.CreatedAt {
		if session, err = wish.Session(session.Scope(), moment, s.Policy.CheckURL); err != nil {
			return nil, err
		}
	}
	return session, tx.CountLiveSession(ctx, session.AccountID, subscription.PeriodAt(session.CreatedAt).Start)
}

// Sessions returns a page of the scope's sessions and how many match.
func (s *Service) Sessions(ctx context.Context, scope domain.Scope, f domain.SessionFilter, page domain.Page) ([]domain.Session, int, error) {
	return s.DB.Sessions(ctx, scope, f, page, s.Clock.Now())
}

// Session returns a session of the scope as it stands now, or
// session_not_found.
func (s *Service) Session(ctx context.Context, scope domain.Scope, id domain.SessionID) (*domain.Session, error) {
	session, err := s.DB.Session(ctx, scope, id)
	if err != nil {
		return nil, orCode(err, errSessionNotFound)
	}
	session.Status = session.StatusAt(s.Clock.Now())
	return session, nil
}

// Cancel cancels an open session; the conflict of D12 where it isn't open.
// No event is sent.
func (s *Service) Cancel(ctx context.Context, scope domain.Scope, id domain.SessionID, by domain.Actor) (cancelled *domain.Session, err error) {
	now := s.Clock.Now()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if cancelled, err = tx.CancelSession(ctx, scope, id, now); err != nil {
			return err
		}
		return s.audit(ctx, tx, scope.AccountID, by, sessionDeed(domain.AuditSessionCancelled, cancelled))
	})
	if !errors.Is(err, db.ErrState) {
		return cancelled, err
	}
	session, err := s.Session(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	return nil, session.Conflict(now)
}

// sessionDeed is an action on a session, which is known by its id alone: its
// customer is no matter of the audit log's.
func sessionDeed(action domain.AuditAction, session *domain.Session) deed {
	return deed{Action: action, Livemode: &session.Livemode, TargetID: session.ID.String(), TargetName: session.ID.String()}
}

// completed returns a completed session of the scope (D13).
func (s *Service) completed(ctx context.Context, scope domain.Scope, id domain.SessionID) (*domain.Session, error) {
	session, err := s.Session(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	if session.Status != domain.Completed {
		return nil, errSessionNotCompleted
	}
	return session, nil
}

// SubmittedData is a completed session with its answers.
type SubmittedData struct {
	Session   *domain.Session
	Statement *statement.Statement
}

// Data returns a completed session's answers, or session_not_completed,
// data_erased if they were erased on request, data_expired if their retention is
// over.
func (s *Service) Data(ctx context.Context, scope domain.Scope, id domain.SessionID, by domain.Actor) (*SubmittedData, error) {
	// Before the session, so that they weren't erased when these were read if
	// they aren't when that is.
	answers, answersErr := s.Vault.Statement(ctx, s.DB, id)
	session, err := s.completed(ctx, scope, id)
	if err == nil {
		err = s.dataGone(ctx, session)
	}
	if err = cmp.Or(err, answersErr); err != nil {
		return nil, err
	}
	return &SubmittedData{session, answers}, s.noteRead(ctx, session, by, sessionDeed(domain.AuditDataRead, session))
}

// dataGone says why a session's answers aren't to be had, nil if they are.
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

// noteRead tells the audit log that someone is given what a customer sent, and
// fails where it can't. Nobody's reading is none.
func (s *Service) noteRead(ctx context.Context, session *domain.Session, by domain.Actor, d deed) error {
	if by.Kind == domain.ActorNone {
		return nil
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error { return s.audit(ctx, tx, session.AccountID, by, d) })
}

// PDF returns a completed session's PDF, or pdf_not_ready while it is being
// made and pdf_expired after its retention.
func (s *Service) PDF(ctx context.Context, scope domain.Scope, id domain.SessionID, by domain.Actor) ([]byte, error) {
	session, err := s.completed(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	content, err := s.pdfOf(ctx, session)
	if err != nil {
		return nil, err
	}
	return content, s.noteRead(ctx, session, by, sessionDeed(domain.AuditPDFRead, session))
}

func (s *Service) pdfOf(ctx context.Context, session *domain.Session) ([]byte, error) {
	kept, err := s.retained(ctx, session)
	if err != nil {
		return nil, err
	}
	if !kept {
		return nil, errPDFExpired
	}
	content, err := s.Vault.PDF(ctx, s.DB, session.ID)
	return content, orCode(err, errPDFNotReady)
}

// retained reports whether the session's PDF and documents are still to be
// had, by its account's retention.
func (s *Service) retained(ctx context.Context, session *domain.Session) (bool, error) {
	account, err := s.DB.Account(ctx, session.AccountID)
	return err == nil && session.Retained(s.Clock.Now(), account.Retention()), err
}

// DocumentContent is a document being read; the caller closes it.
type DocumentContent struct {
	domain.Document
	io.ReadCloser
}

// Document returns a document of a completed session, or
// document_not_found.
func (s *Service) Document(ctx context.Context, scope domain.Scope, id domain.SessionID, document domain.DocumentID, by domain.Actor) (*DocumentContent, error) {
	session, err := s.completed(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	kept, err := s.retained(ctx, session)
	if err != nil {
		return nil, err
	}
	if !kept {
		return nil, errDocumentNotFound
	}
	row, content, err := s.Vault.Document(ctx, s.DB, id, document)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, errDocumentNotFound
	}
	if err != nil {
		return nil, orCode(err, errDocumentNotFound)
	}
	d := sessionDeed(domain.AuditDocumentRead, session)
	d.After = map[string]string{"document_id": document.String()}
	if err := s.noteRead(ctx, session, by, d); err != nil {
		return nil, errors.Join(err, content.Close())
	}
	return &DocumentContent{*row, content}, nil
}
