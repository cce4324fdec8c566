// Package service wires the areas of use cases, for the program and for tests.
// It only wires: the use cases are in the packages below it, each an area. An
// area must not know this package, and neither must an application of handlers:
// each takes the areas that it calls.
package service

import (
	"log/slog"

	"candor/db"
	ledger "candor/internal/billing"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/accounts"
	"candor/internal/service/audit"
	"candor/internal/service/billing"
	"candor/internal/service/forms"
	"candor/internal/service/home"
	"candor/internal/service/idempotency"
	"candor/internal/service/keys"
	"candor/internal/service/live"
	"candor/internal/service/requestlog"
	"candor/internal/service/sealing"
	"candor/internal/service/search"
	"candor/internal/service/sessions"
	"candor/internal/service/simulator"
	"candor/internal/service/staff/attempts"
	"candor/internal/service/staff/auth"
	"candor/internal/service/staff/passwords"
	"candor/internal/service/staff/sso"
	"candor/internal/service/staff/team"
	"candor/internal/service/webhooks"
	"candor/internal/vault"
	"candor/internal/webhook"
)

// Config is what the areas need.
type Config struct {
	DB       *db.DB
	Outbox   *outbox.Outbox
	Ring     *keyring.Keyring
	Blobs    blob.Store
	Policy   webhook.Policy
	BaseURL  string // without a slash at its end
	Clock    domain.Clock
	Logger   *slog.Logger
	Terms    ledger.Terms
	Cards    billing.Cards     // nil: invoices are paid by bank transfer
	Observer attempts.Observer // nil for none

	PasswordCost  passwords.Cost
	PasswordQueue passwords.Queue // the zero value suits the machine

	TestClient  *webhook.Client   // makes the attempts of test events
	TestLimiter ratelimit.Limiter // counts them, by webhooks.TestEventLimit
}

// Services are the areas of use cases.
type Services struct {
	Idempotency *idempotency.Store
	Audit       *audit.Service
	Keys        *keys.Service
	RequestLog  *requestlog.Service
	Webhooks    *webhooks.Service
	Billing     *billing.Service
	Accounts    *accounts.Service
	Attempts    *attempts.Service
	StaffAuth   *auth.Service
	SSO         *sso.Service
	Team        *team.Service
	Sessions    *sessions.Service
	Forms       *forms.Service
	Home        *home.Service
	Live        *live.Service
	Sealing     *sealing.Service
	Search      *search.Service
	Simulator   *simulator.Service
}

// New wires the areas, in the order in which they need each other.
func New(c Config) Services {
	var s Services
	accounting := &ledger.Ledger{Events: c.Outbox, Terms: c.Terms}
	safe := vault.New(c.Ring, c.Blobs)
	hasher := passwords.NewHasher(c.PasswordCost, c.PasswordQueue)
	s.Idempotency = &idempotency.Store{DB: c.DB, Clock: c.Clock, Ring: c.Ring}
	s.Audit = audit.New(audit.Config{DB: c.DB, Clock: c.Clock})
	s.Keys = keys.New(keys.Config{DB: c.DB, Clock: c.Clock, Logger: c.Logger, Audit: s.Audit})
	s.RequestLog = requestlog.New(requestlog.Config{DB: c.DB, Clock: c.Clock})
	s.Webhooks = webhooks.New(webhooks.Config{
		DB: c.DB, Clock: c.Clock, Logger: c.Logger, Ring: c.Ring, Outbox: c.Outbox, Policy: c.Policy, Audit: s.Audit,
		Idempotency: s.Idempotency, SecretsLease: delivery.SecretsLease,
		TestClient: c.TestClient, TestLimiter: c.TestLimiter,
	})
	s.Billing = billing.New(billing.Config{DB: c.DB, Clock: c.Clock, Logger: c.Logger, Ledger: accounting, Cards: c.Cards,
		Audit: s.Audit})
	s.Accounts = accounts.New(accounts.Config{
		DB: c.DB, Clock: c.Clock, Outbox: c.Outbox, Ledger: accounting, Audit: s.Audit, Keys: s.Keys, Webhooks: s.Webhooks,
		Passwords: hasher,
	})
	s.Attempts = attempts.New(attempts.Config{DB: c.DB, Clock: c.Clock, Logger: c.Logger, Outbox: c.Outbox, Audit: s.Audit,
		Observer: c.Observer})
	s.StaffAuth = auth.New(auth.Config{
		DB: c.DB, Clock: c.Clock, Logger: c.Logger, Ring: c.Ring, Outbox: c.Outbox, BaseURL: c.BaseURL,
		Audit: s.Audit, Attempts: s.Attempts, Accounts: s.Accounts, Passwords: hasher,
	})
	s.Team = team.New(team.Config{DB: c.DB, Clock: c.Clock, Outbox: c.Outbox, Audit: s.Audit, Attempts: s.Attempts})
	s.SSO = sso.New(sso.Config{
		DB: c.DB, Clock: c.Clock, Logger: c.Logger, Ring: c.Ring, BaseURL: c.BaseURL, Policy: c.Policy, Audit: s.Audit,
		Attempts: s.Attempts, Auth: s.StaffAuth, Team: s.Team,
	})
	s.Sessions = sessions.New(sessions.Config{
		DB: c.DB, Clock: c.Clock, Logger: c.Logger, Ring: c.Ring, Vault: safe, Blobs: c.Blobs, Policy: c.Policy, BaseURL: c.BaseURL,
		Outbox: c.Outbox, Audit: s.Audit, Idempotency: s.Idempotency,
	})
	s.Forms = forms.New(forms.Config{
		DB: c.DB, Clock: c.Clock, Logger: c.Logger, Ring: c.Ring, Vault: safe, Blobs: c.Blobs, Outbox: c.Outbox,
		Idempotency: s.Idempotency,
	})
	s.Simulator = simulator.New(simulator.Config{
		Clock: c.Clock, Outbox: c.Outbox, Sessions: s.Sessions, Forms: s.Forms, Webhooks: s.Webhooks,
		Idempotency: s.Idempotency,
	})
	s.Home = home.New(home.Config{DB: c.DB, Clock: c.Clock, Billing: s.Billing})
	s.Live = live.New(live.Config{DB: c.DB, Clock: c.Clock})
	s.Search = search.New(search.Config{DB: c.DB, Vault: safe, Clock: c.Clock, RequestLog: s.RequestLog, Sessions: s.Sessions})
	s.Sealing = sealing.New(sealing.Config{DB: c.DB, Ring: c.Ring})
	return s
}
