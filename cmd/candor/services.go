package main

import (
	"candor/internal/billing"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/service/accounts"
	"candor/internal/service/audit"
	servicebilling "candor/internal/service/billing"
	"candor/internal/service/forms"
	"candor/internal/service/home"
	"candor/internal/service/idempotency"
	"candor/internal/service/keys"
	"candor/internal/service/requestlog"
	"candor/internal/service/sealing"
	"candor/internal/service/sessions"
	"candor/internal/service/staff/attempts"
	"candor/internal/service/staff/auth"
	"candor/internal/service/staff/passwords"
	"candor/internal/service/staff/team"
	"candor/internal/service/webhooks"
	"candor/internal/vault"
)

// services are the use cases, in the order in which they need each other.
type services struct {
	vault       *vault.Vault
	idempotency *idempotency.Store
	audit       *audit.Service
	keys        *keys.Service
	webhooks    *webhooks.Service
	billing     *servicebilling.Service
	accounts    *accounts.Service
	attempts    *attempts.Service
	auth        *auth.Service
	team        *team.Service
	sessions    *sessions.Service
	forms       *forms.Service
	requestLog  *requestlog.Service
	home        *home.Service
	sealing     *sealing.Service
}

// servicesAt puts the use cases on what the app has opened, with that clock.
func (a *app) servicesAt(clock domain.Clock) services {
	var s services
	ledger := &billing.Ledger{Events: a.outbox, Terms: a.terms}
	hasher := passwords.NewHasher(passwords.Cost{}, passwords.Queue{})
	s.vault = vault.New(a.ring, a.blobs)
	s.idempotency = &idempotency.Store{DB: a.db, Clock: clock, Ring: a.ring}
	s.audit = audit.New(audit.Config{DB: a.db, Clock: clock})
	s.keys = keys.New(keys.Config{DB: a.db, Clock: clock, Logger: a.logger, Audit: s.audit})
	s.webhooks = webhooks.New(webhooks.Config{
		DB: a.db, Clock: clock, Logger: a.logger, Ring: a.ring, Outbox: a.outbox, Policy: a.policy, Audit: s.audit,
		SecretsLease: delivery.SecretsLease, TestClient: a.tester, TestLimiter: a.testLimiter,
	})
	bills := servicebilling.Config{DB: a.db, Clock: clock, Logger: a.logger, Ledger: ledger, Audit: s.audit}
	if a.stripe != nil {
		bills.Cards = a.stripe
	}
	s.billing = servicebilling.New(bills)
	s.accounts = accounts.New(accounts.Config{
		DB: a.db, Clock: clock, Outbox: a.outbox, Ledger: ledger, Audit: s.audit, Keys: s.keys, Webhooks: s.webhooks, Passwords: hasher,
	})
	s.attempts = attempts.New(attempts.Config{DB: a.db, Clock: clock, Logger: a.logger, Outbox: a.outbox, Audit: s.audit, Observer: a.metrics})
	s.auth = auth.New(auth.Config{
		DB: a.db, Clock: clock, Logger: a.logger, Ring: a.ring, Outbox: a.outbox, BaseURL: a.baseURL,
		Audit: s.audit, Attempts: s.attempts, Accounts: s.accounts, Passwords: hasher,
	})
	s.team = team.New(team.Config{DB: a.db, Clock: clock, Outbox: a.outbox, Audit: s.audit, Attempts: s.attempts})
	s.sessions = sessions.New(sessions.Config{
		DB: a.db, Clock: clock, Logger: a.logger, Ring: a.ring, Vault: s.vault, Blobs: a.blobs, Policy: a.policy, BaseURL: a.baseURL,
		Audit: s.audit, Idempotency: s.idempotency,
	})
	s.forms = forms.New(forms.Config{
		DB: a.db, Clock: clock, Logger: a.logger, Ring: a.ring, Vault: s.vault, Blobs: a.blobs, Outbox: a.outbox, Idempotency: s.idempotency,
	})
	s.requestLog = requestlog.New(requestlog.Config{DB: a.db, Clock: clock})
	s.home = home.New(home.Config{DB: a.db, Clock: clock, Billing: s.billing})
	s.sealing = sealing.New(sealing.Config{DB: a.db, Ring: a.ring})
	return s
}
