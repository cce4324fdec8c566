package forms

import (
	"context"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/vault"
)

// Reach records the first time that the customer of an open form sees the named
// section. Names that aren't sections are ignored.
func (s *Service) Reach(ctx context.Context, state *State, name string) error {
	if state.reached[name] || statement.SectionNumber(name) == 0 {
		return nil
	}
	state.reached[name] = true
	return s.queries().ReachSection(ctx, state.Session.ID, name, s.Clock.Now())
}

// CountErrors counts the validation errors of a section that has no draft.
func (s *Service) CountErrors(ctx context.Context, id domain.SessionID, name string, refused form.Errors) error {
	if len(refused) == 0 {
		return nil
	}
	return s.DB.NoteProblems(ctx, id, name, domain.FailedRules(refused), s.Clock.Now())
}

// CompleteDocuments completes the documents section, with any number of
// files (D23). validation_error for each one without a category.
func (s *Service) CompleteDocuments(ctx context.Context, seen *domain.Session) error {
	return s.change(ctx, seen, func(tx *db.Tx, session *domain.Session, now time.Time) error {
		if err := described(ctx, tx, session.ID); err != nil {
			return err
		}
		return s.completeSection(ctx, tx, session, nil, statement.DocumentsSection, []byte("{}"), now)
	})
}

func (s *Service) completeSection(ctx context.Context, tx *db.Tx, session *domain.Session, read *vault.Form, name string,
	answers []byte, now time.Time) error {
	first, err := s.Vault.SaveSection(ctx, tx, session, read, name, answers, now)
	if err != nil || !first {
		return err
	}
	session.SectionsCompleted++
	if err := tx.SetSectionsCompleted(ctx, session.ID, session.SectionsCompleted); err != nil {
		return err
	}
	return s.sectionCompleted(ctx, tx, session, name, now)
}

func (s *Service) sectionCompleted(ctx context.Context, tx *db.Tx, session *domain.Session, name string, now time.Time) error {
	return s.Outbox.SessionEvent(ctx, tx, session, domain.SectionCompletedPayload{
		SessionID: session.ID, Section: statement.SectionName(name), SectionNumber: statement.SectionNumber(name),
		SectionsTotal: statement.SectionsTotal, SectionsCompleted: session.SectionsCompleted,
		ProgressPercentage: statement.Percentage(session.SectionsCompleted),
	}, now)
}
