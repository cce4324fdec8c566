package auth

import (
	"context"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
)

// ChangeName stores the name that colleagues and the audit log see. Error:
// validation_error on name.
func (s *Service) ChangeName(ctx context.Context, session *domain.StaffSession, name string, from domain.Visitor) error {
	name, invalid := ownName(name)
	if err := domain.Invalid(invalid); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.SetStaffName(ctx, session.ID, name); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, session.AccountID, session.ActorAt(from.IPAddress), audit.Entry{
			Action: domain.AuditStaffNamed, TargetID: session.ID.String(), TargetName: session.Email,
			Before: map[string]string{"name": session.Name}, After: map[string]string{"name": name},
		})
	})
}

// AlertEmails returns which alerts the user gets by email.
func (s *Service) AlertEmails(ctx context.Context, session *domain.StaffSession) (domain.AlertEmails, error) {
	reader, err := s.DB.AlertReader(ctx, session.ID)
	if err != nil {
		return domain.AlertEmails{}, err
	}
	return reader.AlertEmails, nil
}

// ChooseAlertEmails stores which alerts the user gets by email.
func (s *Service) ChooseAlertEmails(ctx context.Context, session *domain.StaffSession, chosen domain.AlertEmails,
	from domain.Visitor) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		before, err := tx.AlertReader(ctx, session.ID)
		if err != nil {
			return err
		}
		if err := tx.SetAlertEmails(ctx, session.ID, chosen); err != nil {
			return err
		}
		state := func(e domain.AlertEmails) map[string]bool {
			return map[string]bool{"webhooks": e.Webhooks, "keys": e.Keys}
		}
		return s.Audit.Record(ctx, tx, session.AccountID, session.ActorAt(from.IPAddress), audit.Entry{
			Action: domain.AuditEmailsChosen, TargetID: session.ID.String(), TargetName: session.Email,
			Before: state(before.AlertEmails), After: state(chosen),
		})
	})
}

// ownName returns a person's name as it is kept, and what is wrong with it.
func ownName(name string) (string, form.Error) {
	name, broken := domain.CleanName(name, form.Rule{Code: "person_name"}, "person")
	return name, form.Error{Field: "name", Rule: broken}
}
