package service

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"

	"candor/db"
	"candor/form"
	"candor/intake"
	"candor/webhook"
)

// NewAccount is what an operator gives for a new partner.
type NewAccount struct{ Name, Email, Plan string }

// CreatedAccount is a new account with its secrets, which are shown this once.
type CreatedAccount struct {
	AccountID         intake.AccountID
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
func (s *Service) CreateAccount(ctx context.Context, wish NewAccount) (*CreatedAccount, error) {
	name, problem := form.CleanText(wish.Name, 200)
	switch {
	case problem != "":
		return nil, intake.FieldError(intake.CodeValidation, "name", "name "+problem+".")
	case name == "":
		return nil, intake.FieldError(intake.CodeValidation, "name", "name must not be empty.")
	case !form.ValidEmail(wish.Email):
		return nil, intake.FieldError(intake.CodeInvalidEmail, "email", "email must be an e-mail address such as name@example.com.")
	case !knownPlan(wish.Plan):
		return nil, intake.FieldError(intake.CodeValidation, "plan", "plan must be "+strings.Join(Plans, ", ")+".")
	}
	now := s.Clock.Now()
	account := &intake.Account{ID: intake.NewAccountID(), Name: name, BillingEmail: wish.Email, CreatedAt: now}
	out := &CreatedAccount{AccountID: account.ID, Email: wish.Email, Password: newPassword()}
	hash := hashPassword(out.Password)
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.InsertAccount(ctx, account); err != nil {
			return err
		}
		if err := tx.InsertSubscription(ctx, account.ID, wish.Plan, now); err != nil {
			return err
		}
		if err := tx.InsertStaffUser(ctx, &db.StaffUser{
			ID: intake.NewStaffID(), AccountID: account.ID, Email: wish.Email, PasswordHash: hash, Role: intake.RoleOwner, CreatedAt: now,
		}); err != nil {
			return err
		}
		var err error
		if out.TestKey, out.TestWebhookSecret, err = s.openMode(ctx, tx, intake.Scope{AccountID: account.ID}); err != nil {
			return err
		}
		out.LiveKey, out.LiveWebhookSecret, err = s.openMode(ctx, tx, intake.Scope{AccountID: account.ID, Livemode: true})
		return err
	})
	if errors.Is(err, db.ErrEmailTaken) {
		return nil, intake.FieldError(intake.CodeValidation, "email", "A staff user with this e-mail address exists already.")
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

// openMode makes a scope's first API key and webhook secret.
func (s *Service) openMode(ctx context.Context, tx *db.Tx, scope intake.Scope) (key, secret string, err error) {
	row, key := intake.NewAPIKey(scope, "First key", s.Clock.Now())
	if err := tx.InsertAPIKey(ctx, &row); err != nil {
		return "", "", err
	}
	secret = webhook.NewSecret()
	sealed := s.Ring.Seal(scope.SecretOwner(), []byte(secret))
	return key, secret, tx.InsertWebhookSetting(ctx, scope, &db.WebhookSetting{Secret: sealed})
}

// NewKey is what is asked of a new API key.
type NewKey struct {
	Name        string
	Permissions intake.Permissions // nil: full access (D29)
}

// CreateAPIKey makes a key in the scope and returns it with its text, which
// is shown this once.
func (s *Service) CreateAPIKey(ctx context.Context, scope intake.Scope, wish NewKey) (intake.APIKey, string, error) {
	name, problem := form.CleanText(wish.Name, 200)
	if problem != "" {
		return intake.APIKey{}, "", intake.FieldError(intake.CodeValidation, "name", "name "+problem+".")
	}
	row, text := intake.NewAPIKey(scope, name, s.Clock.Now())
	row.Permissions = wish.Permissions
	err := s.DB.InTx(ctx, func(tx *db.Tx) error { return tx.InsertAPIKey(ctx, &row) })
	return row, text, err
}

// Accounts lists all accounts.
func (s *Service) Accounts(ctx context.Context) ([]intake.Account, error) { return s.DB.Accounts(ctx) }

// newPassword returns 120 random bits.
func newPassword() string {
	b := make([]byte, 15)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// The Argon2id parameters: t=2, m=19 MiB, p=1 (OWASP).
const (
	argonTime    = 2
	argonMemory  = 19 * 1024 // KiB
	argonThreads = 1
	argonKeyLen  = 32
	argonSaltLen = 16
)

// hashPassword returns the password's Argon2id hash as a PHC string.
func hashPassword(password string) string {
	salt := make([]byte, argonSaltLen)
	_, _ = rand.Read(salt) // never fails
	key := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKeyLen)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}

// verifyPassword reports whether the password made the PHC string.
func verifyPassword(phc, password string) bool {
	var version, memory, time, threads int
	var rest string
	if n, err := fmt.Sscanf(phc, "$argon2id$v=%d$m=%d,t=%d,p=%d$%s", &version, &memory, &time, &threads, &rest); n != 5 || err != nil {
		return false
	}
	saltText, keyText, _ := strings.Cut(rest, "$")
	salt, saltErr := base64.RawStdEncoding.DecodeString(saltText)
	key, keyErr := base64.RawStdEncoding.DecodeString(keyText)
	if saltErr != nil || keyErr != nil || len(key) == 0 {
		return false
	}
	got := argon2.IDKey([]byte(password), salt, uint32(time), uint32(memory), uint8(threads), uint32(len(key)))
	return subtle.ConstantTimeCompare(got, key) == 1
}
