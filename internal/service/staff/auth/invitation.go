package auth

import (
	"context"
	"errors"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
	"candor/internal/service/staff/passwords"
)

// Invitation returns the live invitation of a link's token, or not_found.
func (s *Service) Invitation(ctx context.Context, token string) (*domain.Invitation, error) {
	i, err := s.DB.InvitationByToken(ctx, domain.HashToken(token), s.Clock.Now())
	return i, db.MissingAs(err, errLinkGone)
}

// AcceptInvitation makes the invited person a staff user and signs them in: it
// returns the new session's token. Errors: not_found for a link that works no
// more, validation_error by field name or new_password.
func (s *Service) AcceptInvitation(ctx context.Context, token, name, password string, from domain.Visitor) (string, error) {
	hashing, err := s.Passwords.Strangers()
	if err != nil {
		return "", err
	}
	defer hashing.Leave()
	i, err := s.Invitation(ctx, token)
	if err != nil {
		return "", err
	}
	name, err = checkPerson(name, passwords.Broken(password, i.Email, name, i.AccountName))
	if err != nil {
		return "", err
	}
	hash, err := hashing.Hash(ctx, password)
	if err != nil {
		return "", err
	}
	staff := domain.Staff{
		ID: domain.NewStaffID(), AccountID: i.AccountID, Email: i.Email, Name: name, Role: i.Role, MayDownload: i.MayDownload,
		CreatedAt: s.Clock.Now(),
	}
	session := s.newStaffSession(staff, from)
	cookie, tokenHash := domain.NewToken()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if _, err := tx.DeleteInvitation(ctx, i.AccountID, i.ID); err != nil {
			return db.MissingAs(err, errLinkGone)
		}
		if err := tx.InsertStaff(ctx, &staff, hash); err != nil {
			return err
		}
		if c, err := tx.HoldSSOConnection(ctx, i.AccountID); err == nil && c.OnlySSO {
			return errJoinByCompany
		} else if err != nil && !errors.Is(err, db.ErrNotFound) {
			return err
		}
		of, err := tx.SSOConnectionOf(ctx, domain.EmailDomain(i.Email))
		switch { // a copied link proves nothing about the mailbox, and its company couldn't sign the person in any more
		case err == nil && of.AccountID != i.AccountID:
			return errJoinElsewhere
		case err != nil && !errors.Is(err, db.ErrNotFound):
			return err
		}
		if err := s.startStaffSession(ctx, tx, session, tokenHash, from); err != nil {
			return err
		}
		if _, err := tx.NoteKnownBrowser(ctx, session.ID, session.StartedAt); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, i.AccountID, session.Actor(), audit.Entry{
			Action: domain.AuditJoined, TargetID: staff.ID.String(), TargetName: staff.Email, After: audit.Rights{Role: i.Role,
				MayDownload: i.MayDownload},
		})
	})
	if errors.Is(err, db.ErrEmailTaken) {
		return "", errLinkGone // joined another team in the meantime
	}
	if err != nil {
		return "", err
	}
	return cookie, nil
}

var (
	errJoinByCompany = domain.Breaks(domain.CodeValidation, "new_password", form.Rule{Code: "sso_join"})
	errJoinElsewhere = domain.Breaks(domain.CodeValidation, "new_password", form.Rule{Code: "sso_elsewhere"})
)

// checkPerson returns the name as it is kept, and what is wrong with it and
// with the password.
func checkPerson(name string, brokenPassword form.Rule) (string, error) {
	name, invalid := ownName(name)
	return name, domain.Invalid(invalid, form.Error{Field: "new_password", Rule: brokenPassword})
}
