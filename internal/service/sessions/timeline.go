package sessions

import (
	"context"
	"errors"
	"slices"
	"time"

	"candor/internal/domain"
	"candor/internal/platform/keyring"
	"candor/internal/statement"
)

// A Timeline is everything that happened to a session.
type Timeline struct {
	Session    *domain.Session // its status as it is now
	Events     []domain.Event
	Deliveries []domain.Delivery
	Audit      []domain.AuditEntry // who read or changed it, the latest first
	LinkUses   []domain.LinkUse    // the latest first
	Refused    []domain.RefusedOften
	Documents  []domain.Document
	Delivery   *domain.LinkDelivery // nil if Candor doesn't email the link
	Names      *statement.Names     // nil until it is signed, and if it can't be read
	Asks       map[string]string    // what the customer was asked for, by section (D102); nil if it can't be read
	Changed    []string             // the sections that differ from the former session's; nil as Names
	Next       []domain.SessionID   // the sessions that continue this one, the newest first
	Retained   bool                 // PDF and documents are still to be had
	Missing    []string             // the sections that the customer hasn't finished, in order; nil of a completed or erased session
	CancelsAt  *time.Time           // when it is cancelled, if that isn't undone (D126); nil: never
	DataUntil  *time.Time           // when retention erases what was entered; nil: never, or not known yet
	DataGone   bool                 // what was entered is erased, or as good as that
}

// maxNext is how many sessions that continue one are shown.
const maxNext = 10

// maxAudit is how many reads and changes of a session are shown.
const maxAudit = 200

// Timeline returns everything that happened to a session of the scope, or
// session_not_found.
func (s *Service) Timeline(ctx context.Context, scope domain.Scope, id domain.SessionID) (*Timeline, error) {
	session, err := s.Get(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	timeline := &Timeline{Session: session}
	account, err := s.DB.Account(ctx, scope.AccountID)
	if err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	timeline.Retained = session.Retained(now, account.Retention())
	timeline.DataUntil, timeline.DataGone = session.DataKeptUntil(account, now), session.DataGone(account, now)
	// Deliveries first: the events they are of are then among the events.
	if timeline.Deliveries, err = s.DB.Deliveries(ctx, id); err != nil {
		return nil, err
	}
	if timeline.Events, err = s.DB.Events(ctx, id); err != nil {
		return nil, err
	}
	if timeline.Audit, err = s.DB.AuditOf(ctx, scope.AccountID, id.String(), maxAudit); err != nil {
		return nil, err
	}
	if timeline.LinkUses, err = s.DB.LinkUses(ctx, id); err != nil {
		return nil, err
	}
	if timeline.Delivery, err = s.Delivery(ctx, session); err != nil {
		return nil, err
	}
	if timeline.CancelsAt, err = s.DB.CancelsAt(ctx, id); err != nil {
		return nil, err
	}
	if timeline.Next, err = s.DB.SessionsContinuing(ctx, scope, id, maxNext); err != nil {
		return nil, err
	}
	if timeline.Missing, err = s.missing(ctx, session); err != nil || timeline.DataGone {
		return timeline, err
	}
	if timeline.Refused, err = s.DB.RefusedRules(ctx, id); err != nil {
		return nil, err
	}
	timeline.Asks, err = s.Vault.Asks(ctx, s.DB, id)
	if errors.Is(err, keyring.ErrSealed) { // the rest of the page is still of use
		s.Logger.ErrorContext(ctx, "what was asked for can't be opened", "session_id", id, "error", err)
	} else if err != nil {
		return nil, err
	}
	if err = s.readSigned(ctx, timeline); err != nil {
		return nil, err
	}
	timeline.Documents, err = s.Vault.Documents(ctx, s.DB, id)
	if errors.Is(err, keyring.ErrSealed) { // the rest of the page is still of use
		s.Logger.ErrorContext(ctx, "names of documents can't be opened", "session_id", id, "error", err)
		timeline.Documents, err = s.DB.Documents(ctx, id)
		for i := range timeline.Documents {
			timeline.Documents[i].FileName = "A document whose name can’t be read now"
		}
	}
	return timeline, err
}

// missing are the sections of a session without a signature that aren't completed, or have a
// draft that isn't valid, unless they are erased. It opens no answers.
func (s *Service) missing(ctx context.Context, session *domain.Session) (names []string, err error) {
	if session.Status == domain.Completed || session.DataErasedAt != nil {
		return nil, nil
	}
	finished, err := s.DB.FinishedSections(ctx, []domain.SessionID{session.ID})
	for _, name := range statement.SectionNames {
		if !slices.Contains(finished[session.ID], name) {
			names = append(names, name)
		}
	}
	return names, err
}

// readSigned fills in what a completed session's statement tells. Names are compared at
// each time, so that sessions of any age have them (D79).
func (s *Service) readSigned(ctx context.Context, timeline *Timeline) error {
	session := timeline.Session
	if session.Status != domain.Completed {
		return nil
	}
	answers, err := s.Vault.Statement(ctx, s.DB, session.ID)
	if errors.Is(err, keyring.ErrSealed) { // the rest of the page is still of use
		s.Logger.ErrorContext(ctx, "answers can't be opened", "session_id", session.ID, "error", err)
		return nil
	}
	if err != nil || answers.Personal.FullName == "" { // "" if it was erased since
		return err
	}
	names := answers.Names(session.CustomerName)
	timeline.Names = &names
	if answers.PreviousSession() != "" {
		timeline.Changed = answers.ChangedSections()
	}
	return nil
}
