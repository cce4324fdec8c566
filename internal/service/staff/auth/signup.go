package auth

import (
	"context"
	"errors"
	"strings"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
	"candor/internal/service/staff/attempts"
	"candor/internal/service/staff/passwords"
)

// NewAccount is what a visitor types to open an account.
type NewAccount struct{ Company, Name, Email, Password string }

// SignUp sends an email to the address: a link that opens the account, or a note
// that the address has an account already. The caller doesn't learn which. Errors:
// validation_error by field company, name, email or new_password;
// rate_limit_exceeded.
func (s *Service) SignUp(ctx context.Context, params NewAccount, from domain.Visitor) error {
	params.Email = strings.TrimSpace(params.Email)
	company, brokenCompany := domain.CleanName(params.Company, form.Rule{Code: "company_name"}, "company")
	name, invalidName := ownName(params.Name)
	var brokenEmail form.Rule
	if !form.ValidEmail(params.Email) {
		brokenEmail = form.Rule{Code: "staff_email"}
	}
	err := domain.Invalid(form.Error{Field: "company", Rule: brokenCompany}, invalidName,
		form.Error{Field: "email", Rule: brokenEmail},
		form.Error{Field: "new_password", Rule: passwords.Broken(params.Password, params.Email, name, company)})
	if err != nil {
		return err
	}
	hashing, err := s.Passwords.Strangers()
	if err != nil {
		return err
	}
	defer hashing.Leave()
	if err := s.Attempts.Count(ctx, attempts.NetworkCounter(from.IPAddress), attempts.Counter(attempts.EmailsForOne, "sign-up email",
		strings.ToLower(params.Email))); err != nil {
		return err
	}
	hash, err := hashing.Hash(ctx, params.Password)
	if err != nil {
		return err
	}
	return s.request(ctx, domain.RequestSignUp, domain.RequestDetails{Email: params.Email, Company: company, Name: name,
		PasswordHash: hash})
}

// CheckSignUp returns which address the link's token stands for, or not_found.
func (s *Service) CheckSignUp(ctx context.Context, token string) (email string, err error) {
	_, details, err := s.requested(ctx, domain.RequestSignUp, token)
	return details.Email, err
}

// OpenAccount opens the account that an email's link stands for, on the
// Starter plan, and signs its owner in: it returns the session's token. The
// password proves that the person who opens the link also signed up. Without it a
// stranger could sign up with another person's address and wait for the click.
// Errors: not_found for a used or expired link, unauthorized for a wrong
// password.
func (s *Service) OpenAccount(ctx context.Context, token, password string, from domain.Visitor) (string, error) {
	hashing, err := s.Passwords.Strangers()
	if err != nil {
		return "", err
	}
	defer hashing.Leave()
	r, details, err := s.requested(ctx, domain.RequestSignUp, token)
	if err != nil {
		return "", err
	}
	if err := s.Attempts.Count(ctx, attempts.Counter(attempts.ForOne, "sign-up", r.ID.String())); err != nil {
		return "", err
	}
	right, err := hashing.Verify(ctx, details.PasswordHash, password)
	if err != nil {
		return "", err
	}
	if !right {
		return "", s.Attempts.Fail(ctx, attempts.Trial{Outcome: domain.AttemptWrongPassword, From: from}, errNotConfirmed)
	}
	now := s.Clock.Now()
	account := &domain.Account{ID: domain.NewAccountID(), Name: details.Company, BillingEmail: details.Email, CreatedAt: now}
	owner := &domain.Staff{ID: domain.NewStaffID(), AccountID: account.ID, Email: details.Email, Name: details.Name,
		Role: domain.RoleOwner, CreatedAt: now}
	session := s.newStaffSession(*owner, from)
	cookie, tokenHash := domain.NewToken()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.UseStaffRequest(ctx, r); err != nil {
			return db.MissingAs(err, errLinkGone)
		}
		if _, err := s.Accounts.Open(ctx, tx, account, startPlan, owner, details.PasswordHash); err != nil {
			return err
		}
		if err := s.startStaffSession(ctx, tx, session, tokenHash, from); err != nil {
			return err
		}
		if _, err := tx.NoteKnownBrowser(ctx, session.ID, session.StartedAt); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, account.ID, session.Actor(), audit.Entry{Action: domain.AuditAccountOpened,
			TargetID: account.ID.String(), TargetName: account.Name})
	})
	if errors.Is(err, db.ErrEmailTaken) {
		return "", errLinkGone // joined a team in the meantime
	}
	if err != nil {
		return "", err
	}
	return cookie, nil
}

// startPlan is the plan that a new account begins with.
const startPlan = "starter"
