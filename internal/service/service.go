// Package service holds Candor's use cases, shared by the API, the customer's
// form, the dashboard and the operators' commands. It decides what happens and
// in which transaction, and knows no HTTP. Failures meant for the caller's eyes
// are *domain.Error; any other error is the log's alone.
package service

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"candor/db"
	"candor/internal/billing"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/platform/ratelimit"
	"candor/internal/vault"
	"candor/internal/webhook"
)

// Config is what the use cases need.
type Config struct {
	DB      *db.DB
	Outbox  *outbox.Outbox
	Ring    *keyring.Keyring
	Blobs   blob.Store
	Policy  webhook.Policy
	BaseURL string // without a slash at its end
	Clock   domain.Clock
	Logger  *slog.Logger
	Terms   billing.Terms
	Cards   Cards // nil where no payment provider collects by itself

	Observer AccessObserver // nil for none

	PasswordCost  PasswordCost  // of what is hashed from now on
	PasswordQueue PasswordQueue // the zero value suits the machine

	TestClient  *webhook.Client   // makes the attempts of test events
	TestLimiter *ratelimit.Memory // counts them, by TestEventLimit
}

// Service is safe for concurrent use.
type Service struct {
	Config
	Vault        *vault.Vault // what customers gave
	passwords    *passwords
	ledger       *billing.Ledger
	secretsLease time.Duration
	testEvents   inFlight
	uploads      uploads
	keyUses      *keyUses
	drawing      chan struct{} // holds who draws a logo: one at once, since it can take 100 MB
}

// New returns a Service.
func New(c Config) *Service {
	if c.Observer == nil {
		c.Observer = noAccess{}
	}
	return &Service{
		Config: c, Vault: vault.New(c.Ring, c.Blobs), passwords: newPasswords(c.PasswordCost, c.PasswordQueue), ledger: &billing.Ledger{Events: c.Outbox, Terms: c.Terms},
		secretsLease: delivery.SecretsLease, keyUses: newKeyUses(), drawing: make(chan struct{}, 1),
	}
}

// InTx runs fn in a transaction, for use cases that take one.
func (s *Service) InTx(ctx context.Context, fn func(tx *db.Tx) error) error {
	return s.DB.InTx(ctx, fn)
}

// SessionURL is the link that opens a session's form (D5).
func (s *Service) SessionURL(id domain.SessionID) string {
	return s.BaseURL + "/f/" + id.String() + "/" + s.Ring.Token(id.String())
}

// orCode returns the caller's error if a row is missing or not in the state that
// a change needs, and else err.
func orCode(err error, missing *domain.Error) error {
	if errors.Is(err, db.ErrNotFound) || errors.Is(err, db.ErrState) {
		return missing
	}
	return err
}

var (
	errSessionNotFound      = domain.Errorf(domain.CodeSessionNotFound, "There is no session with this id.")
	errSessionNotCompleted  = domain.Errorf(domain.CodeSessionNotCompleted, "The session is not completed, so there is no data or PDF yet.")
	errPDFNotReady          = domain.Errorf(domain.CodePDFNotReady, "The PDF is still being generated. Try again in a few seconds.")
	errPDFExpired           = domain.Errorf(domain.CodePDFExpired, "The PDF is not kept any more.")
	errDataExpired          = domain.Errorf(domain.CodeDataExpired, "The answers were deleted: the time for which this account keeps them is over.")
	errDataErased           = domain.Errorf(domain.CodeDataErased, "The customer's data were erased on request.")
	errDocumentNotFound     = domain.Errorf(domain.CodeDocumentNotFound, "This session has no document with this id.")
	errSubscriptionNotFound = domain.Errorf(domain.CodeSubscriptionNotFound, "This account has no active subscription.")
)
