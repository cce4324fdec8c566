// Package accounts holds the use cases of a partner's account: creating,
// approving, its settings, its logo and how long it keeps customers' data.
package accounts

import (
	"context"
	"errors"
	"slices"
	"strings"

	"candor/db"
	ledger "candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/outbox"
	"candor/internal/service/audit"
	"candor/internal/service/keys"
	"candor/internal/service/staff/passwords"
	"candor/internal/service/webhooks"
)

// Config is what accounts need.
type Config struct {
	DB       *db.DB
	Clock    domain.Clock
	Outbox   *outbox.Outbox
	Ledger   *ledger.Ledger
	Audit    *audit.Service
	Keys     *keys.Service
	Webhooks *webhooks.Service

	Passwords *passwords.Hasher // hashes the first password of an owner
}

// Service holds the use cases of accounts. It is safe for concurrent use.
type Service struct {
	Config
	drawing chan struct{} // bounds drawing of logos to one at a time: it can take 100 MB
}

// New returns a Service.
func New(c Config) *Service { return &Service{Config: c, drawing: make(chan struct{}, 1)} }

// Get returns one account, or not_found.
func (s *Service) Get(ctx context.Context, id domain.AccountID) (*domain.Account, error) {
	account, err := s.DB.Account(ctx, id)
	return account, db.MissingAs(err, domain.ErrAccountNotFound)
}

// Params is what an operator gives for a new partner.
type Params struct {
	Name, Email, Plan string
	WebhookURL        string // where its events go by default, "" for nowhere
	// ChangePassword makes the owner choose another password before anything else:
	// the operator sees the first one.
	ChangePassword bool
}

// Created is a new account with its secrets, which are shown this once.
type Created struct {
	AccountID         domain.AccountID `json:"account_id"`
	TestKey           string           `json:"test_key"`
	LiveKey           string           `json:"live_key"`
	TestWebhookSecret string           `json:"test_webhook_secret"`
	LiveWebhookSecret string           `json:"live_webhook_secret"`
	Email             string           `json:"email"`
	Password          string           `json:"password"`
}

// Create makes an account with a key and a webhook secret for each
// mode, a subscription and its owner, the first staff user.
func (s *Service) Create(ctx context.Context, params Params, by domain.Actor) (*Created, error) {
	name, broken := form.CleanLine(params.Name, domain.MaxName)
	switch {
	case broken != (form.Rule{}):
		return nil, domain.Breaks(domain.CodeValidation, "name", broken)
	case name == "":
		return nil, domain.Breaks(domain.CodeValidation, "name", form.Rule{Code: "missing"})
	case !form.ValidEmail(params.Email):
		return nil, domain.Breaks(domain.CodeInvalidEmail, "email", form.Rule{Code: form.RuleEmail})
	case !slices.Contains(domain.PlanIDs, params.Plan):
		return nil, domain.Breaks(domain.CodeValidation, "plan", form.Rule{Code: "one_of", Value: strings.Join(domain.PlanIDs, ", ")})
	}
	now := s.Clock.Now()
	account := &domain.Account{ID: domain.NewAccountID(), Name: name, BillingEmail: params.Email, CreatedAt: now, ApprovedAt: &now}
	out := &Created{AccountID: account.ID, Email: params.Email, Password: passwords.Random()}
	hash := s.Passwords.HashNow(out.Password)
	owner := &domain.Staff{ID: domain.NewStaffID(), AccountID: account.ID, Email: params.Email, Role: domain.RoleOwner,
		CreatedAt: now, MustChangePassword: params.ChangePassword}
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		secrets, err := s.Open(ctx, tx, account, params.Plan, owner, hash)
		if err != nil {
			return err
		}
		out.TestWebhookSecret, out.LiveWebhookSecret = secrets.Test, secrets.Live
		err = s.Audit.Record(ctx, tx, account.ID, by, audit.Entry{
			Action: domain.AuditAccountCreated, TargetID: account.ID.String(), TargetName: account.Name,
			After: map[string]string{"plan": params.Plan, "owner": owner.ID.String()},
		})
		if err != nil {
			return err
		}
		test, live := domain.Scope{AccountID: account.ID}, domain.Scope{AccountID: account.ID, Livemode: true}
		if out.TestKey, err = s.Keys.CreateFirst(ctx, tx, test, by); err != nil {
			return err
		}
		if out.LiveKey, err = s.Keys.CreateFirst(ctx, tx, live, by); err != nil || params.WebhookURL == "" {
			return err
		}
		if err := s.Webhooks.SetDefaultURLIn(ctx, tx, test, by, params.WebhookURL); err != nil {
			return err
		}
		return s.Webhooks.SetDefaultURLIn(ctx, tx, live, by, params.WebhookURL)
	})
	if errors.Is(err, db.ErrEmailTaken) {
		return nil, domain.Breaks(domain.CodeValidation, "email", form.Rule{Code: "email_taken"})
	}
	return out, err
}

// Open stores an account with its subscription, its owner and a webhook secret
// for each mode.
func (s *Service) Open(ctx context.Context, tx *db.Tx, account *domain.Account, plan string, owner *domain.Staff,
	passwordHash string) (Secrets, error) {
	var secrets Secrets
	if err := tx.InsertAccount(ctx, account); err != nil {
		return secrets, err
	}
	if _, err := s.Ledger.Start(ctx, tx, account.ID, plan, account.CreatedAt); err != nil {
		return secrets, err
	}
	if err := tx.InsertStaff(ctx, owner, passwordHash); err != nil {
		return secrets, err
	}
	var err error
	if secrets.Test, err = s.Webhooks.CreateFirstSecret(ctx, tx, domain.Scope{AccountID: account.ID}); err != nil {
		return secrets, err
	}
	secrets.Live, err = s.Webhooks.CreateFirstSecret(ctx, tx, domain.Scope{AccountID: account.ID, Livemode: true})
	return secrets, err
}

// Secrets are a new account's webhook secrets by mode.
type Secrets struct{ Test, Live string }

// Approve opens live mode to an account and writes to its owners (D52).
// Done again, it changes nothing. Error: not_found.
func (s *Service) Approve(ctx context.Context, id domain.AccountID, by domain.Actor) (account *domain.Account, err error) {
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if account, err = tx.LockAccount(ctx, id); err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		if account.ApprovedAt != nil {
			return nil
		}
		owners, err := tx.ApproveAccount(ctx, id, s.Clock.Now())
		if err != nil {
			return err
		}
		for _, owner := range owners {
			if err := s.Outbox.NoticeEmail(ctx, tx, owner, domain.NoticeLiveMode); err != nil {
				return err
			}
		}
		return s.Audit.Record(ctx, tx, id, by, audit.Entry{Action: domain.AuditAccountApproved, TargetID: id.String(),
			TargetName: account.Name})
	})
	return account, err
}
