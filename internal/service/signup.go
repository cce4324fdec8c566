package service

import (
	"context"
	"errors"
	"strings"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
)

// NewSignUp is what somebody types who opens an account.
type NewSignUp struct{ Company, Name, Email, Password string }

// SignUp sends a link that opens the account to the address or, where somebody
// has it already, a letter that says so. Whoever asks doesn't learn which.
// Errors: validation_error by field company, name, email or new_password;
// rate_limit_exceeded.
func (s *Service) SignUp(ctx context.Context, wish NewSignUp, from Visitor) error {
	wish.Email = strings.TrimSpace(wish.Email)
	company, companyProblem := form.CleanText(wish.Company, maxName)
	name, wrongName := ownName(wish.Name)
	emailProblem := ""
	switch {
	case companyProblem != "":
		companyProblem = "The name of your company " + companyProblem
	case company == "":
		companyProblem = "Enter the name of your company"
	case linkProblem(company) != "":
		companyProblem = "The name of your company " + linkProblem(company)
	}
	if !form.ValidEmail(wish.Email) {
		emailProblem = errEmail.Message
	}
	err := fieldProblems(field{"company", companyProblem}, wrongName, field{"email", emailProblem},
		field{"new_password", refusePassword(wish.Password, wish.Email, name, company)})
	if err != nil {
		return err
	}
	hashing, err := s.queue(from)
	if err != nil {
		return err
	}
	defer hashing.leave()
	if err := s.countAttempt(ctx, networkCounter(from), counter(lettersForOne, "sign-up letter", strings.ToLower(wish.Email))); err != nil {
		return err
	}
	hash, err := hashing.hash(ctx, wish.Password)
	if err != nil {
		return err
	}
	return s.request(ctx, domain.RequestSignUp, domain.RequestDetails{Email: wish.Email, Company: company, Name: name, PasswordHash: hash})
}

// CheckSignUp returns which address the link's token stands for, or not_found.
func (s *Service) CheckSignUp(ctx context.Context, token string) (email string, err error) {
	_, details, err := s.requested(ctx, domain.RequestSignUp, token)
	return details.Email, err
}

// OpenAccount opens the account that a letter's link stands for, on the
// Starter plan, and signs its owner in: it returns the session's token. The
// password proves that whoever opens the link chose it: else a stranger could
// sign up with somebody's address and wait for them to press the button.
// Errors: not_found for a link that works no more, unauthorized for a wrong
// password.
func (s *Service) OpenAccount(ctx context.Context, token, password string, from Visitor) (string, error) {
	hashing, err := s.queue(from)
	if err != nil {
		return "", err
	}
	defer hashing.leave()
	r, details, err := s.requested(ctx, domain.RequestSignUp, token)
	if err != nil {
		return "", err
	}
	if err := s.countAttempt(ctx, counter(attemptsForOne, "sign-up", r.ID.String())); err != nil {
		return "", err
	}
	right, err := hashing.verify(ctx, details.PasswordHash, password)
	if err != nil {
		return "", err
	}
	if !right {
		return "", s.failed(ctx, trial{outcome: domain.AttemptWrongPassword, from: from}, errNotConfirmed)
	}
	now := s.Clock.Now()
	account := &domain.Account{ID: domain.NewAccountID(), Name: details.Company, BillingEmail: details.Email, CreatedAt: now}
	owner := &domain.Staff{ID: domain.NewStaffID(), AccountID: account.ID, Email: details.Email, Name: details.Name, Role: domain.RoleOwner, CreatedAt: now}
	session := s.newStaffSession(*owner, from)
	cookie, tokenHash := domain.NewToken()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.UseStaffRequest(ctx, r); err != nil {
			return orCode(err, errLinkGone)
		}
		if err := s.insertAccount(ctx, tx, account, startPlan, owner, details.PasswordHash); err != nil {
			return err
		}
		for _, live := range []bool{false, true} {
			if _, err := s.openWebhooks(ctx, tx, domain.Scope{AccountID: account.ID, Livemode: live}); err != nil {
				return err
			}
		}
		if err := s.startStaffSession(ctx, tx, session, tokenHash, from); err != nil {
			return err
		}
		if _, err := tx.NoteKnownBrowser(ctx, session.ID, session.StartedAt); err != nil {
			return err
		}
		return s.audit(ctx, tx, account.ID, session.Actor(), deed{Action: domain.AuditAccountOpened, TargetID: account.ID.String(), TargetName: account.Name})
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
