// Package webhooks holds the use cases of a partner's webhooks: the default URL,
// secrets, endpoints, deliveries, redeliveries, test events and the event feed.
package webhooks

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/outbox"
	"candor/internal/platform/keyring"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/audit"
	"candor/internal/webhook"
)

// Config is what webhooks need.
type Config struct {
	DB     *db.DB
	Clock  domain.Clock
	Logger *slog.Logger
	Ring   *keyring.Keyring
	Outbox *outbox.Outbox
	Policy webhook.Policy
	Audit  *audit.Service

	SecretsLease time.Duration // how long a change of secrets takes to reach every worker

	TestClient  *webhook.Client   // makes the attempts of test events
	TestLimiter ratelimit.Limiter // counts them, by TestEventLimit
}

// Service holds the use cases of webhooks. It is safe for concurrent use.
type Service struct {
	Config
	testEvents inFlight
	waits      waits
}

// New returns a Service.
func New(c Config) *Service { return &Service{Config: c} }

// DefaultURL returns the URL of events of sessions without their own URL (D33), or
// "".
func (s *Service) DefaultURL(ctx context.Context, scope domain.Scope) (string, error) {
	setting, err := s.DB.WebhookSetting(ctx, scope)
	if err != nil {
		return "", db.MissingAs(err, domain.ErrAccountNotFound)
	}
	if setting.DefaultURL == nil {
		return "", nil
	}
	return *setting.DefaultURL, nil
}

// SetDefaultURL sets the default URL; "" removes it. Error: validation_error on
// url (D38).
func (s *Service) SetDefaultURL(ctx context.Context, scope domain.Scope, by domain.Actor, url string) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error { return s.SetDefaultURLIn(ctx, tx, scope, by, url) })
}

// SetDefaultURLIn is SetDefaultURL in the caller's transaction.
func (s *Service) SetDefaultURLIn(ctx context.Context, tx *db.Tx, scope domain.Scope, by domain.Actor, url string) error {
	url = strings.TrimSpace(url)
	if url != "" {
		if err := s.Policy.CheckURL(url); err != nil {
			return domain.Breaks(domain.CodeValidation, "url", form.Rule{Code: "target", Value: err.Error()})
		}
	}
	setting, err := tx.WebhookSetting(ctx, scope)
	if err != nil {
		return db.MissingAs(err, domain.ErrAccountNotFound)
	}
	before := ""
	if setting.DefaultURL != nil {
		before = *setting.DefaultURL
	}
	var stored *string
	if url != "" {
		stored = &url
	}
	if err := tx.SetDefaultURL(ctx, scope, stored); err != nil {
		return err
	}
	return s.record(ctx, tx, scope, by, audit.Entry{Action: domain.AuditWebhookURL,
		Before: map[string]string{"url": urlMark(before)}, After: map[string]string{"url": urlMark(url)}})
}

// urlMark is what the audit log, which keeps it for good, has of a webhook URL:
// paths and queries hold receivers' secrets. Its end tells one URL from another
// at the same origin. "" stays "".
func urlMark(url string) string {
	if url == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(url))
	return fmt.Sprintf("%s #%x", domain.Origin(url), sum[:4])
}

// record writes an audit entry about the scope's webhooks.
func (s *Service) record(ctx context.Context, tx *db.Tx, scope domain.Scope, by domain.Actor, e audit.Entry) error {
	e.Livemode, e.TargetID, e.TargetName = &scope.Livemode, scope.AccountID.String(), "webhooks"
	return s.Audit.Record(ctx, tx, scope.AccountID, by, e)
}
