// Package webhooks holds the use cases of a partner's webhooks: endpoints,
// secrets, deliveries, redeliveries, test events and the event feed.
package webhooks

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/platform/keyring"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/audit"
	"candor/internal/service/idempotency"
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

	Idempotency *idempotency.Store

	SecretsLease time.Duration // how long a change of secrets takes to reach every worker

	TestClient  *webhook.Client   // makes the attempts of test events
	TestLimiter ratelimit.Limiter // counts them, by TestEventLimit
}

// Service holds the use cases of webhooks. It is safe for concurrent use.
type Service struct {
	Config
	testEvents inFlight
	waits      waits
	over       chan struct{} // closed once waiting has ended
	endWaits   func()
}

// New returns a Service.
func New(c Config) *Service {
	s := &Service{Config: c, waits: waits{count: map[domain.Scope]int{}}, over: make(chan struct{})}
	s.endWaits = sync.OnceFunc(func() { close(s.over) })
	return s
}

// record writes an audit entry about an endpoint, nil for the default one.
func (s *Service) record(ctx context.Context, tx *db.Tx, scope domain.Scope, endpoint *domain.EndpointID, by domain.Actor,
	e audit.Entry) error {
	e.Livemode, e.TargetID, e.TargetName = &scope.Livemode, scope.AccountID.String(), "webhooks"
	if endpoint != nil {
		e.TargetID = endpoint.String()
	}
	return s.Audit.Record(ctx, tx, scope.AccountID, by, e)
}
