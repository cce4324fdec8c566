package service

import (
	"context"
	"errors"
	"strings"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/webhook"
)

// NewAccount is what an operator gives for a new partner.
type NewAccount struct {
	Name, Email, Plan string
	// ChangePassword makes the owner choose another password before anything else:
	// the operator sees the first one.
	ChangePassword bool
}

// CreatedAccount is a new account with its secrets, which are shown this once.
type CreatedAccount struct {
	AccountID         domain.AccountID
	TestKey           string
	LiveKey           string
	TestWebhookSecret string
	LiveWebhookSecret string
	Email             string
	Password          string
}

// Plans are the ids of the plans an account can start with.
var Plans = []string{"starter", "professional", "enterprise"}

// CreateAccount makes an account with a key and a webhook secret for each
// mode, a subscription and its owner, the first staff user.
func (s *Service) CreateAccount(ctx context.Context, wish NewAccount, by domain.Actor) (*CreatedAccount, error) {
	name, problem := form.CleanText(wish.Name, 200)
	switch {
	case problem != "":
		return nil, domain.FieldError(domain.CodeValidation, "name", "name "+problem+".")
	case name == "":
		return nil, domain.FieldError(domain.CodeValidation, "name", "name must not be empty.")
	case !form.ValidEmail(wish.Email):
		return nil, domain.FieldError(domain.CodeInvalidEmail, "email", "email must be an e-mail address such as name@example.com.")
	case !knownPlan(wish.Plan):
		return nil, domain.FieldError(domain.CodeValidation, "plan", "plan must be "+strings.Join(Plans, ", ")+".")
	}
	now := s.Clock.Now()
	account := &domain.Account{ID: domain.NewAccountID(), Name: name, BillingEmail: wish.Email, CreatedAt: now, ApprovedAt: &now}
	out := &CreatedAccount{AccountID: account.ID, Email: wish.Email, Password: newPassword()}
	hash := hashPassword(out.Password, s.passwords.cost)
	owner := &domain.Staff{ID: domain.NewStaffID(), AccountID: account.ID, Email: wish.Email, Role: domain.RoleOwner, CreatedAt: now, MustChangePassword: wish.ChangePassword}
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := s.insertAccount(ctx, tx, account, wish.Plan, owner, hash); err != nil {
			return err
		}
		err := s.audit(ctx, tx, account.ID, by, deed{
			Action: domain.AuditAccountCreated, TargetID: account.ID.String(), TargetName: account.Name,
			After: map[string]string{"plan": wish.Plan, "owner": owner.ID.String()},
		})
		if err != nil {
			return err
		}
		if out.TestKey, out.TestWebhookSecret, err = s.openMode(ctx, tx, domain.Scope{AccountID: account.ID}, by); err != nil {
			return err
		}
		out.LiveKey, out.LiveWebhookSecret, err = s.openMode(ctx, tx, domain.Scope{AccountID: account.ID, Livemode: true}, by)
		return err
	})
	if errors.Is(err, db.ErrEmailTaken) {
		return nil, domain.FieldError(domain.CodeValidation, "email", "A staff user with this e-mail address exists already.")
	}
	return out, err
}

func knownPlan(id string) bool {
	for _, plan := range Plans {
		if plan == id {
			return true
		}
	}
	return false
}

// insertAccount stores an account with its subscription and its owner.
func (s *Service) insertAccount(ctx context.Context, tx *db.Tx, account *domain.Account, plan string, owner *domain.Staff, passwordHash string) error {
	if err := tx.InsertAccount(ctx, account); err != nil {
		return err
	}
	if _, err := s.ledger.Start(ctx, tx, account.ID, plan, account.CreatedAt); err != nil {
		return err
	}
	return tx.InsertStaff(ctx, owner, passwordHash)
}

// openMode makes a scope's first API key and webhook secret.
func (s *Service) openMode(ctx context.Context, tx *db.Tx, scope domain.Scope, by domain.Actor) (key, secret string, err error) {
	row, key := domain.NewAPIKey(scope, "First key", s.Clock.Now())
	row.CreatedBy = by.Name
	if err := s.storeKey(ctx, tx, &row, by); err != nil {
		return "", "", err
	}
	secret, err = s.openWebhooks(ctx, tx, scope)
	return key, secret, err
}

// openWebhooks makes a scope's first webhook secret.
func (s *Service) openWebhooks(ctx context.Context, tx *db.Tx, scope domain.Scope) (secret string, err error) {
	secret = webhook.NewSecret()
	sealed := s.Ring.Seal(scope.SecretOwner(), []byte(secret))
	return secret, tx.InsertWebhookSetting(ctx, scope, &db.WebhookSetting{Secret: sealed})
}

// Accounts lists all accounts.
func (s *Service) Accounts(ctx context.Context) ([]domain.Account, error) { return s.DB.Accounts(ctx) }
