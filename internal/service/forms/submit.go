package forms

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// Submit signs and submits the form: in one transaction it completes the
// declaration and the session, sends both events and asks for the PDF (D16).
// The declaration's section is validated by the caller. Errors:
// validation_error naming the sections that are unfinished, and those of a
// session that isn't open. It keeps which browser signed, for SignedBy; "" if
// that isn't known.
func (s *Service) Submit(ctx context.Context, id domain.SessionID, signed statement.Declaration, browser string) error {
	return s.change(ctx, id, func(tx *db.Tx, session *domain.Session, now time.Time) error {
		stored, err := tx.Sections(ctx, id)
		if err != nil {
			return err
		}
		documents, err := tx.Documents(ctx, id)
		if err != nil {
			return err
		}
		if err := unfinished(stored, documents); err != nil {
			return err
		}
		signed.SignedAt = now
		declaration := (&statement.Statement{Declaration: signed}).Section(statement.DeclarationSection, now)
		answers, err := declaration.MarshalJSON()
		if err != nil {
			return err
		}
		if _, err := s.Vault.SaveSection(ctx, tx, id, statement.DeclarationSection, answers, now); err != nil {
			return err
		}
		if err := s.complete(ctx, tx, session, now); err != nil || browser == "" {
			return err
		}
		return s.Idempotency.Mark(ctx, tx, signature(session, browser))
	})
}

func unfinished(stored []db.Section, documents []domain.Document) error {
	state := State{Sections: map[string]SectionState{}, Statement: &statement.Statement{}}
	for _, d := range documents {
		state.Statement.Documents = append(state.Statement.Documents, statement.Document{Category: statement.DocumentCategory(d.Category)})
	}
	for _, section := range stored {
		own := SectionState{Completed: section.CompletedAt != nil}
		if section.Draft != nil {
			own.Draft = url.Values{}
		}
		state.Sections[section.Name] = own
	}
	var fields form.Errors
	for _, name := range state.Unfinished() {
		fields = append(fields, form.Error{Field: name, Rule: form.Rule{Code: "unfinished"}})
	}
	return domain.Invalid(fields...)
}

func (s *Service) complete(ctx context.Context, tx *db.Tx, session *domain.Session, now time.Time) error {
	session.Status, session.CompletedAt, session.SectionsCompleted = domain.Completed, &now, statement.SectionsTotal
	if err := tx.CompleteSession(ctx, session); err != nil {
		return err
	}
	if err := s.sectionCompleted(ctx, tx, session, statement.DeclarationSection, now); err != nil {
		return err
	}
	answers, err := s.Vault.Statement(ctx, tx, session.ID)
	if err != nil {
		return err
	}
	if err := s.Outbox.SessionEvent(ctx, tx, session, domain.NewCompletedPayload(session, answers.Summary()), now); err != nil {
		return err
	}
	return s.Outbox.PDF(ctx, tx, session.ID)
}

// signature is the idempotency key under which the signing of a session is stored:
// the signing browser's own secret.
func signature(session *domain.Session, browser string) db.IdempotencyKey {
	sum := sha256.Sum256([]byte(browser))
	return db.IdempotencyKey{
		Scope: session.Scope(), Path: "/f/" + session.ID.String() + "/" + statement.DeclarationSection, Key: hex.EncodeToString(sum[:]),
	}
}

// SignedBy reports whether that browser signed the session after the given time,
// at most a day ago.
func (s *Service) SignedBy(ctx context.Context, session *domain.Session, browser string, since time.Time) (bool, error) {
	return s.Idempotency.Marked(ctx, signature(session, browser), since)
}

// Signed returns what was signed in a session. The caller has checked that this
// visitor may read it.
func (s *Service) Signed(ctx context.Context, id domain.SessionID) (*statement.Statement, error) {
	return s.Vault.Statement(ctx, s.DB, id)
}
